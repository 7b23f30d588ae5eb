/** Records of one stream in the order of their windows, with sums that do not visit every record. */
import { addCounts } from './records.ts';
import type { Counts, ServiceRecord } from './records.ts';

/** Records with a window time from `fromMs` to `toMs`, both included, as known at `nowMs`. */
export interface RecordFilter {
  readonly fromMs: number;
  readonly toMs: number;
  readonly nowMs: number;
  /** Records that were known after this instant are included, too. Default: `nowMs`. */
  readonly knownSinceMs?: number;
  /** Only records whose key is before this. Default: all. */
  readonly keyBeforeMs?: number;
}

/** How records are summed up. */
export interface Grouping {
  /** Sums of a whole list are kept under it; undefined: there are too many of them. */
  readonly name: string | undefined;
  readonly numberOf: (record: ServiceRecord) => number;
}

/** Sums of a whole list, the same at each instant from `fromMs` until `untilMs`. */
interface KnownSums {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly sums: ReadonlyMap<number, Counts>;
}

/** Sums from each change on, as a window without an end shows them. */
interface Timeline {
  /** Instants at which sums change, ascending. */
  readonly atMs: Float64Array;
  readonly in: Float64Array;
  readonly out: Float64Array;
}

/** Timelines kept in a list: windows start with a day or a month, so there are few. */
const MAX_TIMELINES = 8;

/**
 * Records in the order of their windows. `records` is called whenever they are needed, so that they need not stay
 * in memory: what most requests need of a past day is kept as sums.
 */
export class RecordList {
  readonly #recordsOf: () => ServiceRecord[];
  readonly #retentionMs: number;
  #firstMs = Infinity;
  #lastMs = -Infinity;
  #lastKeyMs = -Infinity;
  /** By the first window that they include: the records need not be made again for one that is known. */
  readonly #timelines = new Map<number, Timeline>();
  /** By name of the grouping. */
  readonly #sums = new Map<string, KnownSums>();

  constructor(records: () => ServiceRecord[], retentionMs: number) {
    this.#recordsOf = records;
    this.#retentionMs = retentionMs;
    records().forEach((record) => this.#extendTo(record));
  }

  get length(): number {
    return this.#recordsOf().length;
  }

  add(record: ServiceRecord): void {
    this.#recordsOf().splice(this.#firstFrom(record.windowMs), 0, record);
    this.#extendTo(record);
    this.#timelines.clear();
    this.#sums.clear();
  }

  /** Call it when groupings change. */
  forgetSums(): void {
    this.#sums.clear();
  }

  /** Adds the records that pass a filter to a list. */
  find(found: ServiceRecord[], filter: RecordFilter): void {
    const { fromMs, toMs, nowMs, knownSinceMs = nowMs, keyBeforeMs = Infinity } = filter;
    const expiredMs = nowMs - this.#retentionMs;
    if (fromMs > this.#lastMs || toMs < this.#firstMs) {
      return;
    }
    const records = this.#recordsOf();
    for (let i = this.#firstFrom(fromMs); i < records.length; i++) {
      const record = records[i] as ServiceRecord;
      if (record.windowMs > toMs) {
        return;
      }
      const isKnown = record.knownFromMs <= nowMs && record.goneMs > knownSinceMs;
      if (isKnown && record.eventMs > expiredMs && record.keyMs < keyBeforeMs) {
        found.push(record);
      }
    }
  }

  /** Adds the sums of the records that pass a filter to others. */
  addSums(sums: Map<number, Counts>, filter: RecordFilter, grouping: Grouping): void {
    if (grouping.name === undefined || !this.#isAll(filter)) {
      this.#sumUp(sums, filter, grouping);
      return;
    }
    for (const [number, counts] of this.#sumsOfAll(filter.nowMs, grouping.name, grouping)) {
      addCounts(sums, number, counts);
    }
  }

  /** Adds the sums of the records with a window time from `fromMs` on that are known at `nowMs`. */
  addTotals(sums: Counts, fromMs: number, nowMs: number): void {
    if (fromMs > this.#lastMs) {
      return;
    }
    const timeline = this.#timelineFrom(Math.max(fromMs, this.#firstMs));
    const last = indexAfter(timeline.atMs, nowMs) - 1;
    sums.in += timeline.in[last] ?? 0;
    sums.out += timeline.out[last] ?? 0;
  }

  /** Whether a filter lets all records pass that are known. */
  #isAll({ fromMs, toMs, nowMs, knownSinceMs = nowMs, keyBeforeMs = Infinity }: RecordFilter) {
    return (
      knownSinceMs === nowMs &&
      keyBeforeMs > this.#lastKeyMs &&
      this.#firstMs >= fromMs &&
      this.#lastMs <= toMs
    );
  }

  #sumsOfAll(nowMs: number, name: string, grouping: Grouping): ReadonlyMap<number, Counts> {
    const kept = this.#sums.get(name);
    if (kept !== undefined && kept.fromMs <= nowMs && nowMs < kept.untilMs) {
      return kept.sums;
    }
    const sums = new Map<number, Counts>();
    this.#sumUp(sums, { fromMs: -Infinity, toMs: Infinity, nowMs }, grouping);
    let [fromMs, untilMs] = [-Infinity, Infinity];
    for (const record of this.#recordsOf()) {
      for (const ms of [record.knownFromMs, endOf(record, this.#retentionMs)]) {
        fromMs = ms <= nowMs ? Math.max(fromMs, ms) : fromMs;
        untilMs = ms > nowMs ? Math.min(untilMs, ms) : untilMs;
      }
    }
    this.#sums.set(name, { fromMs, untilMs, sums });
    return sums;
  }

  #sumUp(sums: Map<number, Counts>, filter: RecordFilter, { numberOf }: Grouping): void {
    const found: ServiceRecord[] = [];
    this.find(found, filter);
    for (const record of found) {
      addCounts(sums, numberOf(record), record);
    }
  }

  /** Returns the index of the first record with a window time at or after an instant. */
  #firstFrom(fromMs: number): number {
    let low = 0;
    // Most windows start before the day.
    if (this.#firstMs >= fromMs) {
      return 0;
    }
    const records = this.#recordsOf();
    let high = records.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((records[middle]?.windowMs ?? 0) < fromMs) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  #extendTo({ windowMs, keyMs }: ServiceRecord): void {
    this.#firstMs = Math.min(windowMs, this.#firstMs);
    this.#lastMs = Math.max(windowMs, this.#lastMs);
    this.#lastKeyMs = Math.max(keyMs, this.#lastKeyMs);
  }

  #timelineFrom(fromMs: number): Timeline {
    let timeline = this.#timelines.get(fromMs);
    if (timeline === undefined) {
      const records = this.#recordsOf().slice(this.#firstFrom(fromMs));
      timeline = timelineOf(records, this.#retentionMs);
      if (this.#timelines.size >= MAX_TIMELINES) {
        this.#timelines.clear();
      }
      this.#timelines.set(fromMs, timeline);
    }
    return timeline;
  }
}

/** Returns when the service stops to show a record. */
function endOf({ goneMs, eventMs }: ServiceRecord, retentionMs: number): number {
  return Math.min(goneMs, eventMs + retentionMs);
}

function timelineOf(records: readonly ServiceRecord[], retentionMs: number): Timeline {
  const changes: { readonly atMs: number; readonly in: number; readonly out: number }[] = [];
  for (const record of records) {
    const { knownFromMs, in: entered, out: exited } = record;
    const endMs = endOf(record, retentionMs);
    if (endMs > knownFromMs) {
      changes.push({ atMs: knownFromMs, in: entered, out: exited });
    }
    if (endMs > knownFromMs && endMs < Infinity) {
      changes.push({ atMs: endMs, in: -entered, out: -exited });
    }
  }
  changes.sort((a, b) => a.atMs - b.atMs);
  const sums = { in: 0, out: 0 };
  return {
    atMs: Float64Array.from(changes, ({ atMs }) => atMs),
    in: Float64Array.from(changes, (change) => (sums.in += change.in)),
    out: Float64Array.from(changes, (change) => (sums.out += change.out)),
  };
}

/** Returns the index of the first instant after another. */
function indexAfter(atMs: Float64Array, nowMs: number): number {
  let low = 0;
  let high = atMs.length;
  // Most days are over.
  if ((atMs[high - 1] ?? -Infinity) <= nowMs) {
    return high;
  }
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((atMs[middle] ?? 0) <= nowMs) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}
