/**
 * A day of all branches of a customer: sums since the day's start at the ends of windows, which are a
 * quarter-hour long today and an hour long on past days.
 */
import { HOUR_MS } from '../../base/duration.ts';
import { COUNTERS } from '../../base/model.ts';
import type { Span } from '../calendar/calendar.ts';
import { countOf, plus } from '../rows/counts.ts';
import type { Counts, CountsByKey } from '../rows/counts.ts';
import { packSteps, weekdayOf } from '../rows/day-counts.ts';
import type { DayCounts } from '../rows/day-counts.ts';
import type { Calendar } from '../calendar/calendar.ts';
import { compareKeys, MAX_KEYS } from '../breakdowns/poll-breakdown.ts';
import { QUARTER_MS, QUARTERS_PER_DAY } from '../occupancy/door-model.ts';

/**
 * Entries and exits since a day's start, in pairs: those of the whole response, then those of each known
 * key. An array that ends before a key has no counts of it. 10,000 branches keep 28 days of them.
 */
export type Sums = Uint16Array | Float64Array;

/** Immutable: replaced as a whole. */
export interface BranchDay {
  readonly day: Span;
  /** Length of a window. The last one of a day may be shorter. */
  readonly stepMs: number;
  /** At the end of each window from the day's start on, as far as they are known. */
  readonly sums: readonly Sums[];
  /** How many more people the branches had than the customer at the last known end. */
  readonly gap: Counts;
}

export const WINDOW_MS = QUARTER_MS;
export const PAST_WINDOW_MS = HOUR_MS;

const COUNTERS_PER_KEY = COUNTERS.people.length;
const QUARTERS_PER_PAST_WINDOW = PAST_WINDOW_MS / QUARTER_MS;
const MAX_SMALL_SUM = 2 ** 16 - 1;
export const NO_SUMS: Sums = new Uint16Array(COUNTERS_PER_KEY);
export const NO_GAP: Counts = COUNTERS.people.map(() => 0);

/** Returns a day of which nothing is known. */
export function unknownDay(day: Span, stepMs: number): BranchDay {
  return { day, stepMs, sums: [], gap: NO_GAP };
}

/** Returns the number of windows of a whole day. */
export function windowsOf({ day, stepMs }: BranchDay): number {
  return Math.ceil((day.endMs - day.startMs) / stepMs);
}

/** Returns true if all windows of the day are known. */
export function isComplete(branchDay: BranchDay): boolean {
  return branchDay.sums.length >= windowsOf(branchDay);
}

/** Returns the end of the first `windows` windows; without any, the day's start. */
export function endMsOf({ day, stepMs }: BranchDay, windows: number): number {
  return Math.min(day.startMs + windows * stepMs, day.endMs);
}

/** Returns the sums after the first `windows` windows. */
export function sumsAt(sums: readonly Sums[], windows: number): Sums {
  return sums[windows - 1] ?? NO_SUMS;
}

/** Returns the entries and exits of all branches together. */
export function totalOf(sums: Sums): Counts {
  return NO_GAP.map((_, counter) => countOf(sums, counter));
}

/** Returns the entries and exits of a key; `index` is its place in the list of known keys. */
export function sumOfKey(sums: Sums, index: number): Counts {
  return NO_GAP.map((_, counter) => countOf(sums, COUNTERS_PER_KEY * (index + 1) + counter));
}

/** Returns true if all sums are equal; an array that ends early has no counts after its end. */
export function areSumsEqual(a: Sums, b: Sums): boolean {
  const length = Math.max(a.length, b.length);
  for (let i = 0; i < length; i += 1) {
    if (countOf(a, i) !== countOf(b, i)) {
      return false;
    }
  }
  return true;
}

/** Returns the known keys and those of a response that are new, up to {@link MAX_KEYS}. */
export function addKeys(keys: readonly string[], table: CountsByKey): readonly string[] {
  const isKnown = new Set(keys);
  const added = [...table.keys()].filter((key) => !isKnown.has(key)).toSorted(compareKeys);
  return added.length === 0 ? keys : [...keys, ...added].slice(0, MAX_KEYS);
}

/** Returns a response as sums of the known keys. Other keys are in the total alone. */
export function sumsOf(keys: readonly string[], table: CountsByKey): Sums {
  const total = [...table.values()].reduce(plus, NO_GAP);
  const byKey = keys.map((key) => table.get(key) ?? NO_GAP);
  return packSums([total, ...byKey].flat());
}

/** Returns sums, up to the last that is not 0, in the smallest array that holds them. */
export function packSums(values: readonly number[]): Sums {
  const length = values.findLastIndex((value) => value !== 0) + 1;
  const used = values.slice(0, Math.max(NO_SUMS.length, length));
  return used.every((value) => value <= MAX_SMALL_SUM)
    ? Uint16Array.from(used)
    : Float64Array.from(used);
}

/** Returns the day as a past one: what is known at its full hours. */
export function asPastDay(branchDay: BranchDay): BranchDay {
  const perWindow = PAST_WINDOW_MS / branchDay.stepMs;
  const sums = branchDay.sums.filter((_, window) => (window + 1) % perWindow === 0);
  return { ...branchDay, stepMs: PAST_WINDOW_MS, sums };
}

/** What was counted from the last known end to now. */
export interface Running {
  readonly sums: Sums;
  /** The minute after the newest one. */
  readonly endMs: number;
}

/** Returns today's counts of a key: its windows, and the running one as the last step. */
export function todayOfKey(
  calendar: Pick<Calendar, 'zone'>,
  branchDay: BranchDay,
  running: Running,
  index: number,
): DayCounts {
  const { day, stepMs, sums } = branchDay;
  const counts = sumOfKey(running.sums, index);
  const isRunning = counts.some((count) => count !== 0);
  const steps = counts.map((count, counter) =>
    Float64Array.from({ length: sums.length + (isRunning ? 1 : 0) }, (_, window) =>
      window === sums.length ? count : countOfWindow(branchDay, index, counter, window),
    ),
  );
  return {
    day,
    weekday: weekdayOf(calendar, day),
    stepMs,
    before: NO_GAP,
    ...(isRunning && { lastStepEndMs: running.endMs }),
    ...packSteps(steps),
  };
}

/** Returns a complete past day of a key by quarter-hour: each hour evenly over its quarters. */
export function pastDayOfKey(
  calendar: Pick<Calendar, 'zone'>,
  branchDay: BranchDay,
  index: number,
): DayCounts {
  const { day, sums } = branchDay;
  const lastHour = QUARTERS_PER_DAY / QUARTERS_PER_PAST_WINDOW - 1;
  const steps = NO_GAP.map((_, counter) => {
    const quarters = new Float64Array(QUARTERS_PER_DAY);
    sums.forEach((__, window) => {
      const count = Math.max(0, countOfWindow(branchDay, index, counter, window));
      // A 25th hour is added to the last one.
      const first = Math.min(window, lastHour) * QUARTERS_PER_PAST_WINDOW;
      for (let quarter = first; quarter < first + QUARTERS_PER_PAST_WINDOW; quarter += 1) {
        quarters[quarter] = countOf(quarters, quarter) + count / QUARTERS_PER_PAST_WINDOW;
      }
    });
    return quarters;
  });
  return {
    day,
    weekday: weekdayOf(calendar, day),
    stepMs: QUARTER_MS,
    before: NO_GAP,
    ...packSteps(steps),
  };
}

function countOfWindow(
  { sums }: BranchDay,
  index: number,
  counter: number,
  window: number,
): number {
  const [before, after] = [sumsAt(sums, window), sumsAt(sums, window + 1)];
  const place = COUNTERS_PER_KEY * (index + 1) + counter;
  return countOf(after, place) - countOf(before, place);
}
