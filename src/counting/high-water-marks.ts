/**
 * High-water marks: the highest exported value of each counter in its counting period. They keep a
 * counter from decreasing when the service's total does, over restarts too. A cache: without them
 * every counter is the service's total.
 */
import type { Breakdown, CounterName } from '../base/model.ts';
import { HOUR_MS } from '../base/duration.ts';
import type { CountingPeriod } from './calendar/calendar.ts';

/**
 * Owner of counters: another service or client id under the same customer name is another owner. Text,
 * made once for each customer, because every poll and every rendering reads marks.
 */
export type CounterOwner = string;

/** Returns the owner of a customer's counters: base URL of the service, client id and name. */
export function counterOwner(service: string, clientId: string, customer: string): CounterOwner {
  return JSON.stringify([service, clientId, customer]);
}

/** A counter of the customer, or of one key of a breakdown: everything after the colon is the key. */
export type MarkedCounter = CounterName | `${Breakdown}_${CounterName}:${string}`;

/** A mark as it is stored. */
export interface StoredMark extends Omit<Mark, 'month'> {
  readonly owner: CounterOwner;
  readonly counter: string;
}

export interface Mark {
  readonly periodStartMs: number;
  /** As in {@link CountingPeriod.month}. */
  readonly month: number;
  readonly value: number;
  /** When the value was exported first. */
  readonly atMs: number;
}

/** Periods kept of one counter: the running one and the one before. */
const MAX_PERIODS = 2;

export class HighWaterMarks {
  /** By owner and counter; of each, the period that was updated last first. */
  readonly #marks = new Map<CounterOwner, Map<string, readonly Mark[]>>();
  /** Counters with marks that {@link changedMarks} has not returned. */
  #changed = new Map<CounterOwner, Set<string>>();
  #newestMs = -Infinity;

  /** The number of marks, of all counters and periods. */
  get size(): number {
    const counters = [...this.#marks.values()].flatMap((byCounter) => [...byCounter.values()]);
    return counters.reduce((count, { length }) => count + length, 0);
  }

  /** When a mark was last raised, -Infinity without marks. A clock that is before it is wrong. */
  get newestMs(): number {
    return this.#newestMs;
  }

  /** Returns the mark of the newest period, of those that have begun by `nowMs`. */
  get(owner: CounterOwner, counter: MarkedCounter, nowMs = Infinity): Mark | undefined {
    return this.#of(owner, counter)
      .filter(({ periodStartMs }) => periodStartMs <= nowMs)
      .toSorted((a, b) => b.periodStartMs - a.periodStartMs)[0];
  }

  ofPeriod(owner: CounterOwner, counter: MarkedCounter, periodStartMs: number): Mark | undefined {
    return this.#of(owner, counter).find((mark) => mark.periodStartMs === periodStartMs);
  }

  /** Returns the marks of one period for every key of a breakdown, by key. */
  ofKeys(
    owner: CounterOwner,
    breakdown: Breakdown,
    kind: CounterName,
    periodStartMs: number,
  ): ReadonlyMap<string, Mark> {
    const prefix = counterOfKey(breakdown, kind, '');
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
    counter: MarkedCounter,
    { startMs: periodStartMs, month }: CountingPeriod,
    value: number,
    atMs: number,
  ): void {
    const highest = this.ofPeriod(owner, counter, periodStartMs)?.value ?? -Infinity;
    if (value > highest) {
      this.#put(owner, counter, { periodStartMs, month, value, atMs });
      const changed = this.#changed.get(owner) ?? new Set();
      this.#changed.set(owner, changed.add(counter));
    }
  }

  /** Returns the marks of counters that have changed since the last call, or all marks. */
  *changedMarks(which: 'changed' | 'all'): Generator<StoredMark> {
    const changed = which === 'all' ? this.#marks : this.#changed;
    this.#changed = new Map();
    for (const [owner, counters] of changed) {
      for (const counter of counters.keys()) {
        for (const { periodStartMs, value, atMs } of this.#marks.get(owner)?.get(counter) ?? []) {
          yield { owner, counter, periodStartMs, value, atMs };
        }
      }
    }
  }

  /**
   * Adds marks that were stored; of each counter and period, the higher one is kept. Returns how many were
   * ignored because no counting period starts then.
   */
  restore(stored: Iterable<StoredMark>): number {
    let ignored = 0;
    const byPeriod = [...stored].toSorted((a, b) => a.periodStartMs - b.periodStartMs);
    const own = Array.from(this.#marks, ([owner, counters]) => [owner, [...counters]] as const);
    for (const { owner, counter, ...mark } of byPeriod) {
      const month = monthOf(mark.periodStartMs);
      if (startsInMonth(mark.periodStartMs, month)) {
        this.#put(owner, counter, { ...mark, month });
      } else {
        ignored += 1;
      }
    }
    // Two other periods of a counter may be stored; those of this process are kept.
    for (const [owner, counters] of own) {
      for (const [counter, marks] of counters) {
        marks.toReversed().forEach((mark) => this.#put(owner, counter, mark));
      }
    }
    return ignored;
  }

  #of(owner: CounterOwner, counter: MarkedCounter): readonly Mark[] {
    return this.#marks.get(owner)?.get(counter) ?? [];
  }

  /** Puts a mark first, unless there is a higher one of its period. */
  #put(owner: CounterOwner, counter: string, mark: Mark): void {
    const counters = this.#marks.get(owner) ?? new Map<string, readonly Mark[]>();
    const marks = counters.get(counter) ?? [];
    const same = marks.find(({ periodStartMs }) => periodStartMs === mark.periodStartMs);
    const highest = same !== undefined && same.value > mark.value ? same : mark;
    const others = marks.filter((other) => other !== same);
    counters.set(counter, [highest, ...others].slice(0, MAX_PERIODS));
    this.#marks.set(owner, counters);
    this.#newestMs = Math.max(this.#newestMs, mark.atMs);
  }
}

/** Returns the name of a counter of one key. */
export function counterOfKey(breakdown: Breakdown, kind: CounterName, key: string): MarkedCounter {
  return `${breakdown}_${kind}:${key}`;
}

/**
 * A period starts up to a day after the midnight that starts its month, in a zone up to 14 hours ahead
 * of UTC or 12 behind.
 */
const EARLIEST_START_HOURS = -15;
const LATEST_START_HOURS = 37;

/** Returns the month of a period that starts then, as in {@link CountingPeriod.month}. */
function monthOf(periodStartMs: number): number {
  const date = new Date(periodStartMs - EARLIEST_START_HOURS * HOUR_MS);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

/** Whether a period of this month can start then. A mistyped start would be a period that never ends. */
function startsInMonth(periodStartMs: number, month: number): boolean {
  const hours = (periodStartMs - Date.UTC(Math.floor(month / 12), month % 12, 1)) / HOUR_MS;
  return hours >= EARLIEST_START_HOURS && hours <= LATEST_START_HOURS;
}
