/**
 * High-water marks: the highest exported value of each counter in its counting period. They keep a
 * counter from decreasing when the service's total does, over restarts too. A cache: without them
 * every counter is the service's total.
 */
import type { Breakdown, CounterName } from '../base/model.ts';
import { DAY_MS, HOUR_MS } from '../base/duration.ts';
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

export interface Mark {
  readonly periodStartMs: number;
  /** As in {@link CountingPeriod.month}. */
  readonly month: number;
  readonly value: number;
  /** When the value was exported first. */
  readonly atMs: number;
}

/** Some thousand marks. */
const CHUNK_CHARACTERS = 128 * 1024;
const FORMAT = 'library-stats-exporter state';
const VERSION = 2;
/**
 * Marks of periods that started so long before the newest mark are not stored. Not before now: a clock that is
 * wrong must not delete any.
 */
const MAX_AGE_MS = 70 * DAY_MS;
/** Periods kept of one counter: the running one and the one before. */
const MAX_PERIODS = 2;

export class HighWaterMarks {
  /** By owner and counter; of each, the period that was updated last first. */
  readonly #marks = new Map<CounterOwner, Map<string, readonly Mark[]>>();
  #changes = 0;
  #newestMs = -Infinity;

  /** Grows with every change. */
  get changes(): number {
    return this.#changes;
  }

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
      this.#changes += 1;
    }
  }

  /**
   * All marks as JSON, by customer and period, a counter on each line: a person can delete the line of
   * a counter that is held too high. In chunks, so that no write blocks the event loop: marks may be
   * updated in between.
   */
  *serialize(): Generator<string> {
    let chunk = `{"format":"${FORMAT}","version":${VERSION},"customers":[`;
    let separator = '\n';
    for (const [owner, counters] of this.#marks) {
      const periods = serializePeriods(counters, this.#newestMs);
      if (periods !== '') {
        const [service, client_id, customer] = JSON.parse(owner) as readonly unknown[];
        const identity = JSON.stringify({ service, client_id, customer }).slice(0, -1);
        chunk += `${separator}${identity},"periods":{${periods}}}`;
        separator = ',\n';
      }
      if (chunk.length >= CHUNK_CHARACTERS) {
        yield chunk;
        chunk = '';
      }
    }
    yield `${chunk}\n]}\n`;
  }

  /**
   * Adds the marks of a text from {@link serialize}, or from version 1 of it. Throws an Error if the
   * text as a whole is invalid. Returns how many marks were ignored because they are invalid.
   */
  restore(text: string): number {
    let ignored = 0;
    const own = Array.from(this.#marks, ([owner, counters]) => [owner, [...counters]] as const);
    for (const entry of parseEntries(text)) {
      if (isEntry(entry) && startsInMonth(entry[2], entry[3])) {
        const [owner, counter, periodStartMs, month, value, atMs] = entry;
        this.#put(owner, counter, { periodStartMs, month, value, atMs });
      } else {
        ignored += 1;
      }
    }
    // A text may have two other periods of a counter; those of this process are kept.
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
 * Returns the counters of each period as members of a JSON object, newest period first; empty without any.
 */
function serializePeriods(
  counters: ReadonlyMap<string, readonly Mark[]>,
  newestMs: number,
): string {
  const periods = new Map<number, string[]>();
  for (const [counter, marks] of counters) {
    const name = JSON.stringify(counter);
    for (const { periodStartMs, value, atMs } of marks) {
      if (newestMs - periodStartMs <= MAX_AGE_MS) {
        const lines = periods.get(periodStartMs) ?? [];
        lines.push(`${name}:[${value},${atMs}]`);
        periods.set(periodStartMs, lines);
      }
    }
  }
  return [...periods]
    .toSorted(([a], [b]) => b - a)
    .map(([startMs, lines]) => `"${new Date(startMs).toISOString()}":{\n${lines.join(',\n')}\n}`)
    .join(',');
}

/** Returns the entries of a state file, unchecked. The newest period of a counter comes last. */
function parseEntries(text: string): Iterable<readonly unknown[]> {
  const file = JSON.parse(text) as Partial<Record<string, unknown>> | null;
  const { format, version, customers, marks } = file ?? {};
  if (format === FORMAT && version === VERSION && Array.isArray(customers)) {
    return entriesOf(customers);
  }
  if (format === FORMAT && version === 1 && Array.isArray(marks)) {
    return entriesOfVersion1(marks);
  }
  throw new Error(`not a ${FORMAT} file of version 1 or ${VERSION}`);
}

function* entriesOf(customers: readonly unknown[]): Generator<readonly unknown[]> {
  for (const one of customers) {
    const { service, client_id, customer, periods } = Object(one) as Record<string, unknown>;
    const owner = ownerOf(service, client_id, customer);
    for (const [start, counters] of membersOf(periods).toReversed()) {
      const startMs = Date.parse(start);
      const month = monthOf(startMs);
      for (const [counter, mark] of membersOf(counters)) {
        const numbers: readonly unknown[] = Array.isArray(mark) ? mark : [];
        yield [owner, counter, startMs, month, ...numbers];
      }
    }
  }
}

/** Returns the entries of a line of version 1: service, client id, customer, and then as in {@link Entry}. */
function entriesOfVersion1(lines: readonly unknown[]): readonly (readonly unknown[])[] {
  return lines.toReversed().map((line) => {
    const [service, clientId, customer, ...entry] = Array.isArray(line) ? line : [];
    return [ownerOf(service, clientId, customer), ...entry] as readonly unknown[];
  });
}

function ownerOf(service: unknown, clientId: unknown, customer: unknown): CounterOwner | undefined {
  return typeof service === 'string' && typeof clientId === 'string' && typeof customer === 'string'
    ? counterOwner(service, clientId, customer)
    : undefined;
}

/** Returns one unknown member if `value` is not an object, so that it becomes an invalid entry. */
function membersOf(value: unknown): readonly (readonly [string, unknown])[] {
  return typeof value === 'object' && value !== null ? Object.entries(value) : [['', undefined]];
}

/** Owner, counter, start of the period, its month, value, when that was exported. */
type Entry = readonly [CounterOwner, string, number, number, number, number];

function isEntry(entry: readonly unknown[]): entry is Entry {
  const [owner, counter, ...numbers] = entry;
  return (
    typeof owner === 'string' &&
    typeof counter === 'string' &&
    numbers.length === 4 &&
    numbers.every((number) => Number.isSafeInteger(number) && Number(number) >= 0)
  );
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
