/**
 * All records of one customer, made day by day when a window asks for them. Of a day that was once
 * made a summary stays; its rows may be forgotten and made again, for they are always the same.
 */
import type { Conventions } from './conventions.ts';
import type { Library } from './libraries.ts';
import { arrange, dayRecords, windowSpread } from './records.ts';
import type { Draft, Records, RecordStream } from './records.ts';
import { summarize } from './summary.ts';
import type { Summary } from './summary.ts';
import { libraryDay, LONGEST_VISIT_MS } from './traffic.ts';
import type { Zone } from './zone.ts';

/** Injected records are numbered as of this date, which no calendar reaches. */
const INJECTED_DAY = 4_000_000;

/** Records whose window time is in [fromMs, toMs], as the service knows them at `nowMs`. */
export interface Span {
  readonly stream: RecordStream;
  readonly fromMs: number;
  readonly toMs: number;
  readonly nowMs: number;
}

type ByStream<Value> = Readonly<Record<RecordStream, Value>>;

interface Day {
  readonly summaries: ByStream<Summary>;
  records: ByStream<Records> | undefined;
}

/** Remembers the rows of the days used last, of all customers together, up to a number of rows. */
export class DayCache {
  readonly #capacityRows: number;
  readonly #days = new Set<Day>();
  #rows = 0;

  constructor(capacityRows: number) {
    this.#capacityRows = capacityRows;
  }

  use(day: Day): void {
    if (!this.#days.delete(day)) {
      this.#rows += day.summaries.people.rows + day.summaries.logins.rows;
    }
    this.#days.add(day);
    for (const oldest of this.#days) {
      if (this.#rows <= this.#capacityRows || oldest === day) {
        return;
      }
      this.#days.delete(oldest);
      this.#rows -= oldest.summaries.people.rows + oldest.summaries.logins.rows;
      oldest.records = undefined;
    }
  }
}

export class Ledger {
  readonly library: Library;
  readonly conventions: Conventions;
  readonly zone: Zone;
  /** Where the dates of day buckets end. */
  readonly dayZone: Zone;
  /** The first instant of which there can be records. */
  readonly startMs: number;
  readonly #cache: DayCache;
  readonly #days = new Map<number, Day>();
  readonly #injected: Record<RecordStream, Draft[]> = { people: [], logins: [] };
  #injectedDay: Day | undefined;

  constructor(
    library: Library,
    conventions: Conventions,
    zones: (name: string) => Zone,
    sinceMs: number,
    cache: DayCache,
  ) {
    this.library = library;
    this.conventions = conventions;
    this.zone = zones(library.timezone);
    this.dayZone = conventions.dayZone === 'utc' ? zones('UTC') : this.zone;
    this.startMs = this.zone.dayStartMs(this.zone.dayOf(sinceMs));
    this.#cache = cache;
  }

  /**
   * Calls `row` for every record of the span, in no certain order. Where a day lies in the span
   * with all its records, `whole` is asked first; if it returns true the rows are not shown.
   */
  scan(
    span: Span,
    row: (records: Records, at: number) => void,
    whole: (summary: Summary) => boolean = () => false,
  ): void {
    const { laterMs, earlierMs } = windowSpread(this.conventions);
    const { retentionMs } = this.conventions;
    const earliestMs = Math.max(
      this.startMs,
      span.fromMs - laterMs - LONGEST_VISIT_MS,
      span.nowMs - retentionMs - LONGEST_VISIT_MS,
    );
    const latestMs = Math.min(span.nowMs, span.toMs + earlierMs);
    const lastDay = latestMs < earliestMs ? -Infinity : this.zone.dayOf(latestMs);
    for (let day = this.zone.dayOf(earliestMs); day <= lastDay; day++) {
      this.#scanDay(this.#dayAt(day), span, row, whole, () => this.#recordsOf(day));
    }
    const injected = this.#injectedRecords();
    if (injected !== undefined) {
      this.#scanDay(injected, span, row, whole, () => injected.records);
    }
  }

  /** Adds a record, or a later state of one; its number is that of {@link INJECTED_DAY}. */
  inject(stream: RecordStream, draft: Omit<Draft, 'number'>): number {
    const number = this.#injected[stream].length;
    this.#injected[stream].push({ ...draft, number });
    this.#injectedDay = undefined;
    return number;
  }

  /** From `atMs` on an injected record says `amount` (not negative), or is gone if that is 0. */
  correct(stream: RecordStream, number: number, amount: number, atMs: number): void {
    const drafts = this.#injected[stream];
    const at = drafts.findIndex((draft) => draft.number === number && draft.goneMs === Infinity);
    const draft = drafts[at];
    if (draft === undefined) {
      throw new Error(`no injected record of ${stream} has the number ${number} now`);
    }
    drafts[at] = { ...draft, goneMs: atMs };
    if (amount !== 0) {
      drafts.push({ ...draft, knownFromMs: atMs, amount: Math.sign(draft.amount) * amount });
    }
    this.#injectedDay = undefined;
  }

  #scanDay(
    day: Day,
    span: Span,
    row: (records: Records, at: number) => void,
    whole: (summary: Summary) => boolean,
    load: () => ByStream<Records> | undefined,
  ): void {
    const { retentionMs } = this.conventions;
    const { fromMs, toMs, nowMs } = span;
    const summary = day.summaries[span.stream];
    if (summary.rows === 0 || summary.lastWindowMs < fromMs || summary.firstWindowMs > toMs) {
      return;
    }
    const expiry = nowMs - retentionMs;
    const complete =
      summary.settledMs <= nowMs &&
      summary.firstWindowMs >= fromMs &&
      summary.lastWindowMs <= toMs &&
      summary.firstEventMs > expiry;
    if (complete && whole(summary)) {
      return;
    }
    const records = load()?.[span.stream];
    if (records === undefined) {
      return;
    }
    const { windowMs, knownFromMs, goneMs, eventMs } = records;
    const lastAt = windowMs.length - 1;
    for (let i = firstAtOrAfter(windowMs, fromMs); i <= lastAt && at(windowMs, i) <= toMs; i++) {
      const gone = goneMs === undefined ? Infinity : at(goneMs, i);
      if (at(knownFromMs, i) <= nowMs && gone > nowMs && at(eventMs, i) > expiry) {
        row(records, i);
      }
    }
  }

  #dayAt(day: number): Day {
    const known = this.#days.get(day);
    if (known !== undefined) {
      return known;
    }
    const records = this.#make(day);
    const made = {
      summaries: {
        people: summarize(records.people, this.library, this.dayZone),
        logins: summarize(records.logins, this.library, this.dayZone),
      },
      records,
    };
    this.#days.set(day, made);
    this.#cache.use(made);
    return made;
  }

  #recordsOf(day: number): ByStream<Records> {
    const known = this.#dayAt(day);
    const records = known.records ?? this.#make(day);
    known.records = records;
    this.#cache.use(known);
    return records;
  }

  #make(day: number): ByStream<Records> {
    const events = libraryDay(this.library, this.zone, day);
    return {
      people: dayRecords(this.library, this.conventions, day, 'people', events.people),
      logins: dayRecords(this.library, this.conventions, day, 'logins', events.logins),
    };
  }

  #injectedRecords(): Day | undefined {
    if (this.#injected.people.length + this.#injected.logins.length === 0) {
      return undefined;
    }
    if (this.#injectedDay === undefined) {
      const { library, conventions } = this;
      const records = {
        people: arrange(library, conventions, INJECTED_DAY, this.#injected.people),
        logins: arrange(library, conventions, INJECTED_DAY, this.#injected.logins),
      };
      this.#injectedDay = {
        summaries: {
          people: summarize(records.people, library, this.dayZone),
          logins: summarize(records.logins, library, this.dayZone),
        },
        records,
      };
    }
    return this.#injectedDay;
  }
}

/** The place of the first value of a sorted array that is not below `bound`. */
function firstAtOrAfter(sorted: Float64Array, bound: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (at(sorted, middle) < bound) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

function at(array: Float64Array, place: number): number {
  return array[place] ?? 0;
}
