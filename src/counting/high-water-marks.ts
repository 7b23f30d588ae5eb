/**
 * High-water marks: the highest exported value of each counter in its counting period. They keep a
 * counter from decreasing when the service's total does, over restarts too. A cache: without them
 * every counter is the service's total.
 */
import type { Breakdown, CounterName } from '../base/model.ts';
import { DAY_MS, isFuturePeriod } from './calendar/calendar.ts';
import type { CountingPeriod } from './calendar/calendar.ts';

/**
 * Whose counters: another service or client id under the same customer name are other counters. Text,
 * made once for each customer, because every poll and every rendering asks for marks.
 */
export type CounterOwner = string;

export function counterOwner(service: string, clientId: string, customer: string): CounterOwner {
  return JSON.stringify([service, clientId, customer]);
}

/** A counter of the customer, or of one key of a breakdown: everything after the colon is the key. */
export type MarkedKind = CounterName | `${Breakdown}_${CounterName}:${string}`;

export interface Mark {
  readonly periodStartMs: number;
  /** As in {@link CountingPeriod.month}. */
  readonly month: number;
  readonly value: number;
  /** When the value was exported first. */
  readonly atMs: number;
}

/** Serialized at once: some thousand marks. */
const CHUNK_CHARACTERS = 128 * 1024;
const FORMAT = 'library-stats-exporter state';
const VERSION = 1;
/** Marks of periods that started before this are not stored. */
const MAX_AGE_MS = 70 * DAY_MS;
/** Of one counter: the running period and the one before. */
const MAX_PERIODS = 2;

export class HighWaterMarks {
  /** By owner and counter; of each, the period that was updated last first. */
  readonly #marks = new Map<CounterOwner, Map<string, readonly Mark[]>>();
  #changes = 0;

  /** Grows with every change. */
  get changes(): number {
    return this.#changes;
  }

  /** The number of marks, of all counters and periods. */
  get size(): number {
    const counters = [...this.#marks.values()].flatMap((byCounter) => [...byCounter.values()]);
    return counters.reduce((count, { length }) => count + length, 0);
  }

  /** The mark of the newest period. */
  get(owner: CounterOwner, kind: MarkedKind): Mark | undefined {
    return this.#of(owner, kind).toSorted((a, b) => b.periodStartMs - a.periodStartMs)[0];
  }

  ofPeriod(owner: CounterOwner, kind: MarkedKind, periodStartMs: number): Mark | undefined {
    return this.#of(owner, kind).find((mark) => mark.periodStartMs === periodStartMs);
  }

  /** The marks of one period for every key of a breakdown, by key. */
  ofKeys(
    owner: CounterOwner,
    breakdown: Breakdown,
    kind: CounterName,
    periodStartMs: number,
  ): ReadonlyMap<string, Mark> {
    const prefix = kindOfKey(breakdown, kind, '');
    const found = new Map<string, Mark>();
    for (const [counter, marks] of this.#marks.get(owner) ?? []) {
      const mark = marks.find((one) => one.periodStartMs === periodStartMs);
      if (mark !== undefined && counter.startsWith(prefix)) {
        found.set(counter.slice(prefix.length), mark);
      }
    }
    return found;
  }

  /** Stores the service's `value`, unless the period's mark is at least as high. */
  update(
    owner: CounterOwner,
    kind: MarkedKind,
    { startMs: periodStartMs, month }: CountingPeriod,
    value: number,
    atMs: number,
  ): void {
    const highest = this.ofPeriod(owner, kind, periodStartMs)?.value ?? -Infinity;
    if (value > highest) {
      this.#put(owner, kind, { periodStartMs, month, value, atMs });
      this.#changes += 1;
    }
  }

  /** Removes what a clock that was ahead has left: marks of periods that start in the future. */
  discardFuture(owner: CounterOwner, nowMs: number): void {
    const counters = this.#marks.get(owner) ?? new Map<string, readonly Mark[]>();
    for (const [counter, marks] of counters) {
      const kept = marks.filter(({ periodStartMs }) => !isFuturePeriod(periodStartMs, nowMs));
      if (kept.length < marks.length) {
        counters.set(counter, kept);
        this.#changes += marks.length - kept.length;
      }
    }
  }

  /**
   * All marks as JSON, one a line: a person can delete the line of a counter that is held too high.
   * In chunks, so that no write blocks the event loop: marks may be updated in between.
   */
  *serialize(nowMs: number): Generator<string> {
    let chunk = `{"format":"${FORMAT}","version":${VERSION},"marks":[`;
    let separator = '\n';
    for (const [owner, counters] of this.#marks) {
      const start = owner.slice(0, -1);
      for (const [counter, marks] of counters) {
        const name = JSON.stringify(counter);
        for (const { periodStartMs, month, value, atMs } of marks) {
          if (nowMs - periodStartMs <= MAX_AGE_MS) {
            chunk += `${separator}${start},${name},${periodStartMs},${month},${value},${atMs}]`;
            separator = ',\n';
          }
        }
      }
      if (chunk.length >= CHUNK_CHARACTERS) {
        yield chunk;
        chunk = '';
      }
    }
    yield `${chunk}\n]}\n`;
  }

  /**
   * Adds the marks of a text from {@link serialize}. Throws an Error if the text as a whole is
   * invalid. Returns how many marks were ignored because they are invalid or too old. Marks of the
   * future are kept: the clock may be behind.
   */
  restore(text: string, nowMs: number): number {
    let ignored = 0;
    // Of one counter, the mark that was updated last comes first.
    for (const line of parseLines(text).toReversed()) {
      if (isLine(line) && nowMs - line[4] <= MAX_AGE_MS && startsInMonth(line[4], line[5])) {
        const [service, clientId, customer, counter, periodStartMs, month, value, atMs] = line;
        const owner = counterOwner(service, clientId, customer);
        this.#put(owner, counter, { periodStartMs, month, value, atMs });
      } else {
        ignored += 1;
      }
    }
    return ignored;
  }

  #of(owner: CounterOwner, kind: MarkedKind): readonly Mark[] {
    return this.#marks.get(owner)?.get(kind) ?? [];
  }

  /** Puts a mark first, unless there is a higher one of its period. */
  #put(owner: CounterOwner, counter: string, mark: Mark): void {
    const counters = this.#marks.get(owner) ?? new Map<string, readonly Mark[]>();
    const known = counters.get(counter) ?? [];
    const same = known.find(({ periodStartMs }) => periodStartMs === mark.periodStartMs);
    const highest = same !== undefined && same.value > mark.value ? same : mark;
    const others = known.filter((other) => other !== same);
    counters.set(counter, [highest, ...others].slice(0, MAX_PERIODS));
    this.#marks.set(owner, counters);
  }
}

/** The name of a counter of one key. */
export function kindOfKey(breakdown: Breakdown, kind: CounterName, key: string): MarkedKind {
  return `${breakdown}_${kind}:${key}`;
}

function parseLines(text: string): readonly unknown[] {
  const file = JSON.parse(text) as Partial<Record<string, unknown>> | null;
  if (file?.['format'] !== FORMAT || file['version'] !== VERSION || !Array.isArray(file['marks'])) {
    throw new Error(`not a ${FORMAT} file of version ${VERSION}`);
  }
  return file['marks'] as readonly unknown[];
}

/** Service, client id, customer, counter, start of the period, month, value, when it was exported. */
type Line = readonly [string, string, string, string, number, number, number, number];

function isLine(line: unknown): line is Line {
  return (
    Array.isArray(line) &&
    line.length === 8 &&
    line.slice(0, 4).every((name) => typeof name === 'string') &&
    line.slice(4).every((number) => Number.isSafeInteger(number) && Number(number) >= 0)
  );
}

/**
 * Whether a period of this month can start then: up to a day after midnight, in a zone up to 14
 * hours ahead of UTC or 12 behind. A mistyped month would be a period that never ends.
 */
function startsInMonth(periodStartMs: number, month: number): boolean {
  const hours = (periodStartMs - Date.UTC(Math.floor(month / 12), month % 12, 1)) / 3_600_000;
  return hours >= -15 && hours <= 37;
}
