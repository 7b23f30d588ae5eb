/**
 * The counts of a day by step. All that has an order is computed from this one form: today at a poll, the
 * past days from which doors are learned, and the days of a backfill.
 */
import { COUNTERS } from '../../base/model.ts';
import type { KeyTimes, MinuteStream } from '../../base/model.ts';
import { MINUTE_MS } from '../../base/duration.ts';
import { contains } from '../calendar/calendar.ts';
import type { Calendar, Span } from '../calendar/calendar.ts';
import type { Zone } from '../calendar/zone.ts';
import { countOf } from './counts.ts';
import type { Counts } from './counts.ts';
import { parseRows } from './keys.ts';
import type { WindowRows } from './keys.ts';

/** Counts of successive steps. */
export type Steps = Uint8Array | Int16Array | Float64Array;

export interface DayCounts {
  readonly day: Span;
  /** Local weekday of the day's start, 0 for Sunday. */
  readonly weekday: number;
  /**
   * Length of a step: a minute where minutes are known; a quarter-hour in the windows of a branch, and in
   * past days. The counts of a longer step are spread evenly over its minutes.
   */
  readonly stepMs: number;
  /** End of the last step in `counts`, if that is not as long as the others: a branch's running window. */
  readonly lastStepEndMs?: number;
  /** Number of the first step in `counts`, from the day's start on. All others counted nobody. */
  readonly first: number;
  /** The counts of successive steps, by counter of the stream. */
  readonly counts: readonly Steps[];
  /** Sums of the rows that are dated before the day. */
  readonly before: Counts;
}

/** The counts of a day at an accepted poll. */
export interface CountsToday {
  readonly counts: DayCounts;
  /** When the poll was. */
  readonly atMs: number;
  /** Steps that start before this instant had begun. */
  readonly endMs: number;
  /** Start of the newest step that counted anybody. */
  readonly lastSeenMs: number | undefined;
}

interface Table {
  readonly day: Span;
  readonly steps: readonly Float64Array[];
}

/** Adds up the counts of successive days. */
export class DayCounter {
  readonly #calendar: Pick<Calendar, 'zone'>;
  readonly #stepMs: number;
  readonly #tables: readonly Table[];
  readonly #before: number[];
  /** That of the last counts: the next ones are often of the same day. */
  #last: Table | undefined;

  /** `days` are in order, each ends where the next one starts. */
  constructor(
    calendar: Pick<Calendar, 'zone'>,
    days: readonly Span[],
    stream: MinuteStream,
    stepMs = MINUTE_MS,
  ) {
    this.#calendar = calendar;
    this.#stepMs = stepMs;
    this.#tables = days.map((day) => ({
      day,
      steps: COUNTERS[stream].map(
        () => new Float64Array(Math.ceil((day.endMs - day.startMs) / stepMs)),
      ),
    }));
    this.#before = COUNTERS[stream].map(() => 0);
  }

  /** Adds counts to the step of an instant. Those after the last day are ignored. */
  add(atMs: number, counts: ArrayLike<number>, sign: 1 | -1 = 1): void {
    const table = this.#tableAt(atMs);
    if (table === undefined) {
      return;
    }
    const step = Math.floor((atMs - table.day.startMs) / this.#stepMs);
    for (let counter = 0; counter < this.#before.length; counter += 1) {
      const sums = step < 0 ? this.#before : table.steps[counter];
      const place = step < 0 ? counter : step;
      if (sums !== undefined) {
        sums[place] = countOf(sums, place) + sign * countOf(counts, counter);
      }
    }
  }

  #tableAt(atMs: number): Table | undefined {
    if (this.#last === undefined || !contains(this.#last.day, atMs)) {
      this.#last = this.#tables.find(({ day }) => atMs < day.endMs);
    }
    return this.#last;
  }

  /** Adds the counts of one of the days, of the same step. */
  addDay({ day, first, counts, before }: DayCounts): void {
    const table = this.#tables.find(({ day: { startMs } }) => startMs === day.startMs);
    counts.forEach((added, counter) => {
      const steps = table?.steps[counter] ?? [];
      for (let i = 0; i < added.length; i += 1) {
        steps[first + i] = countOf(steps, first + i) + countOf(added, i);
      }
    });
    before.forEach((sum, counter) => {
      this.#before[counter] = countOf(this.#before, counter) + sum;
    });
  }

  /** Returns the days with what was added so far, as small as they can be. */
  days(): readonly DayCounts[] {
    return this.#tables.map(({ day, steps }, i) => ({
      day,
      weekday: weekdayOf(this.#calendar, day),
      stepMs: this.#stepMs,
      before: i === 0 ? [...this.#before] : this.#before.map(() => 0),
      ...packSteps(steps),
    }));
  }
}

/**
 * Adds the rows of one or more windows by minute. Windows may include both of their edges: of several
 * windows, each counts its own minutes. Returns false if a key cannot be parsed.
 */
export function addWindows(
  counter: DayCounter,
  windows: readonly WindowRows[],
  zone: Zone,
  keyTimes: KeyTimes,
  sign: 1 | -1 = 1,
): boolean {
  return windows.every((one) => {
    const startsMs = parseRows(one, zone, keyTimes);
    startsMs?.forEach((startMs, i) => {
      if (windows.length === 1 || contains(one.window, startMs)) {
        counter.add(startMs, one.rows[i]?.counts ?? [], sign);
      }
    });
    return startsMs !== undefined;
  });
}

/** Returns the local weekday of a day's start, 0 for Sunday. */
export function weekdayOf({ zone }: Pick<Calendar, 'zone'>, { startMs }: Span): number {
  return new Date(startMs + zone.offsetMsAt(startMs)).getUTCDay();
}

/**
 * Returns the counts of all steps of a day without those at both ends that counted nobody. Takes the smallest
 * arrays that hold the others: 10,000 customers keep two days each, which would take 500 MB as numbers of
 * eight bytes. Every poll does this, so it has plain loops.
 */
export function packSteps(steps: readonly Float64Array[]): Pick<DayCounts, 'first' | 'counts'> {
  let [first, end] = [steps[0]?.length ?? 0, 0];
  for (const all of steps) {
    let step = 0;
    while (step < first && all[step] === 0) {
      step += 1;
    }
    first = step;
    step = all.length;
    while (step > end && all[step - 1] === 0) {
      step -= 1;
    }
    end = step;
  }
  return {
    first: end === 0 ? 0 : first,
    counts: steps.map((all) => smallest(all.subarray(first, end))),
  };
}

/** Returns the counts in the smallest array that holds them. */
export function smallest(counts: Float64Array): Steps {
  const bytes = new Uint8Array(counts);
  if (areEqual(bytes, counts)) {
    return bytes;
  }
  const words = new Int16Array(counts);
  return areEqual(words, counts) ? words : counts.slice();
}

function areEqual(steps: Steps, counts: Float64Array): boolean {
  for (let step = 0; step < counts.length; step += 1) {
    if (steps[step] !== counts[step]) {
      return false;
    }
  }
  return true;
}

/** Returns the counts of one step, from the day's start on. */
export function countAt({ first, counts }: DayCounts, counter: number, step: number): number {
  return counts[counter]?.[step - first] ?? 0;
}

/** Returns the counts of one minute, from the day's start on. */
export function countInMinute(counted: DayCounts, counter: number, minute: number): number {
  const { day, stepMs, lastStepEndMs, first, counts } = counted;
  if (stepMs === MINUTE_MS) {
    return countAt(counted, counter, minute);
  }
  const elapsedMs = minute * MINUTE_MS;
  const step = Math.floor(elapsedMs / stepMs);
  const last = first + (counts[counter]?.length ?? 0) - 1;
  if (lastStepEndMs === undefined || step < last) {
    return countAt(counted, counter, step) / (stepMs / MINUTE_MS);
  }
  const endMs = lastStepEndMs - day.startMs;
  const minutes = (endMs - last * stepMs) / MINUTE_MS;
  return elapsedMs < endMs ? countAt(counted, counter, last) / minutes : 0;
}

/** Returns the sums of each counter; a step that a late correction left below 0 counts as 0. */
export function positiveSums({ counts }: DayCounts): Counts {
  return counts.map((steps) => {
    let sum = 0;
    for (const count of steps) {
      sum += Math.max(0, count);
    }
    return sum;
  });
}

/** Returns the steps that are over at `endMs`. */
export function stepsUntil(counted: DayCounts, endMs: number): DayCounts {
  const { day, stepMs, first, counts } = counted;
  const length = Math.max(0, Math.floor((endMs - day.startMs) / stepMs) - first);
  return { ...counted, counts: counts.map((steps) => steps.subarray(0, length)) };
}

/** Returns the start of the newest step before `endMs` that counted anybody, or by one counter alone. */
export function lastSeenIn(
  counted: Pick<DayCounts, 'day' | 'stepMs' | 'first' | 'counts'>,
  endMs = Infinity,
  counter?: number,
): number | undefined {
  const { day, stepMs, first } = counted;
  const counts = counter === undefined ? counted.counts : [counted.counts[counter] ?? []];
  const length = counts[0]?.length ?? 0;
  const stepsUntilEnd = Math.ceil((endMs - day.startMs) / stepMs) - first;
  for (let i = Math.min(length, stepsUntilEnd) - 1; i >= 0; i -= 1) {
    if (counts.some((steps) => countOf(steps, i) > 0)) {
      return day.startMs + (first + i) * stepMs;
    }
  }
  return undefined;
}
