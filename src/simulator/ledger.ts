/** All records of one customer, made date by date when a query needs them. */
import type { Conventions } from './conventions.ts';
import { createBuckets } from './keys.ts';
import type { Buckets, TimeAggregation } from './keys.ts';
import type { Library } from './libraries.ts';
import {
  addCounts,
  countsOf,
  dayRecords,
  recordTimes,
  windowSpread,
  withTimes,
} from './records.ts';
import type { ByStream, Counts, RecordStream, ServiceRecord, TimeOf } from './records.ts';
import { MAX_VISIT_MS, countPasses, dayTraffic } from './traffic.ts';
import type { Zone } from './zone.ts';

/** Records with a window time from `fromMs` to `toMs`, both included, as known at `nowMs`. */
export interface Span {
  readonly stream: RecordStream;
  readonly fromMs: number;
  readonly toMs: number;
  readonly nowMs: number;
}

/** A record, or the sum of a device's records with keys of one date. */
export type Counted = Pick<ServiceRecord, 'keyMs' | 'device' | 'in' | 'out'>;

/** A record that a test adds. */
export interface AddedRecord {
  readonly kind: 'in' | 'out' | 'login';
  readonly atMs: number;
  /** Default: `atMs`. */
  readonly arrivesMs?: number;
  /** Default: 1. */
  readonly amount?: number;
  /** Default: the first device that counts this kind. */
  readonly deviceId?: number;
}

/** Identifies an added record. */
export interface AddedId {
  readonly stream: RecordStream;
  readonly number: number;
}

interface DaySums {
  readonly firstWindowMs: number;
  readonly lastWindowMs: number;
  readonly firstEventMs: number;
  /** After this instant no record arrives or changes. */
  readonly settledMs: number;
  readonly byDateAndDevice: readonly Counted[];
}

type DayRecords = ByStream<readonly ServiceRecord[]>;

/** Days of all customers in memory; the oldest are dropped above a limit, and made again when needed. */
export type RecordCache = Map<string, DayRecords>;
const MAX_CACHED_DAYS = 3_000;

/** Added records have this date, which no calendar reaches. */
const ADDED_DAY = 4_000_000;

export class Ledger {
  readonly library: Library;
  readonly conventions: Conventions;
  readonly zone: Zone;
  /** The zone of day buckets. */
  readonly dayZone: Zone;
  readonly utc: Zone;
  /** There are no records before this instant. */
  readonly startMs: number;
  readonly timeOf: TimeOf;
  readonly buckets: Readonly<Record<TimeAggregation, Buckets>>;
  /** The most that the window time of a record can be after its event, and before it. */
  readonly spread: { readonly laterMs: number; readonly earlierMs: number };
  readonly #cache: RecordCache;
  /** Of every date that was ever needed: they answer most queries without the records. */
  readonly #sums = new Map<number, ByStream<DaySums>>();
  readonly #added: ByStream<ServiceRecord[]> = { people: [], logins: [] };
  #nextAdded = 0;

  constructor(
    library: Library,
    conventions: Conventions,
    zones: (name: string) => Zone,
    sinceMs: number,
    cache: RecordCache,
  ) {
    this.library = library;
    this.conventions = conventions;
    this.zone = zones(library.timezone);
    this.utc = zones('UTC');
    this.dayZone = conventions.dayZone === 'utc' ? this.utc : this.zone;
    this.startMs = this.zone.dayStartMs(this.zone.dayOf(sinceMs));
    this.timeOf = recordTimes(library, conventions);
    this.spread = windowSpread(library, conventions);
    const [minute, quarter, day] = (['minute', 'quarter', 'day'] as const).map((aggregation) =>
      createBuckets(aggregation, conventions, this.zone, this.utc),
    ) as [Buckets, Buckets, Buckets];
    this.buckets = { minute, quarter, day };
    this.#cache = cache;
  }

  /** Calls `visit` for every record of the span, in no particular order. */
  forEachRecord(span: Span, visit: (record: ServiceRecord) => void): void {
    this.#forEachDay(span, (_, date) => this.#visitRecords(span, this.#recordsOf(date), visit));
    this.#visitRecords(span, this.#added, visit);
  }

  /** Likewise where the date of a key is enough: sums take the place of records that are final. */
  forEachDateCount(span: Span, visit: (counted: Counted) => void): void {
    const expiredMs = span.nowMs - this.conventions.retentionMs;
    this.#forEachDay(span, (sums, date) => {
      const isFinal =
        sums.settledMs <= span.nowMs &&
        sums.firstWindowMs >= span.fromMs &&
        sums.lastWindowMs <= span.toMs &&
        sums.firstEventMs > expiredMs;
      if (isFinal) {
        sums.byDateAndDevice.forEach(visit);
      } else {
        this.#visitRecords(span, this.#recordsOf(date), visit);
      }
    });
    this.#visitRecords(span, this.#added, visit);
  }

  add({ kind, atMs, arrivesMs = atMs, amount = 1, deviceId }: AddedRecord): AddedId {
    const stream = kind === 'login' ? 'logins' : 'people';
    const deviceKind = kind === 'login' ? 'station' : 'door';
    const device = this.library.devices.findIndex((one) =>
      deviceId === undefined ? one.kind === deviceKind : one.id === deviceId,
    );
    if (device < 0) {
      throw new Error(`${this.library.name} has no such device`);
    }
    const number = this.#nextAdded++;
    const record = {
      day: ADDED_DAY,
      number,
      device,
      eventMs: atMs,
      deliveredMs: arrivesMs,
      knownFromMs: arrivesMs,
      goneMs: Infinity,
      ...countsOf(kind === 'out' ? -amount : amount),
    };
    this.#added[stream].push(withTimes(record, this.conventions, this.timeOf));
    this.#added[stream].sort((a, b) => a.windowMs - b.windowMs);
    return { stream, number };
  }

  /** Changes the amount of an added record from `atMs` on; 0 removes it. */
  correct({ stream, number }: AddedId, amount: number, atMs: number): void {
    const records = this.#added[stream];
    const at = records.findIndex((one) => one.number === number && one.goneMs === Infinity);
    const record = records[at];
    if (record === undefined) {
      throw new Error(`no added record ${number} of ${stream}`);
    }
    const counts = countsOf(record.out > 0 ? -amount : amount);
    const corrected = { ...record, knownFromMs: atMs, ...counts };
    records.splice(at, 1, { ...record, goneMs: atMs }, ...(amount === 0 ? [] : [corrected]));
  }

  /** The dates that can have records of the span. */
  #forEachDay(span: Span, visit: (sums: DaySums, date: number) => void): void {
    const { laterMs, earlierMs } = this.spread;
    const earliestMs = Math.max(
      this.startMs,
      span.fromMs - laterMs - MAX_VISIT_MS,
      span.nowMs - this.conventions.retentionMs - MAX_VISIT_MS,
    );
    const latestMs = Math.min(span.nowMs, span.toMs + earlierMs);
    const lastDate = latestMs < earliestMs ? -Infinity : this.zone.dayOf(latestMs);
    for (let date = this.zone.dayOf(earliestMs); date <= lastDate; date++) {
      const sums = this.#sumsOf(date)[span.stream];
      if (sums.lastWindowMs >= span.fromMs && sums.firstWindowMs <= span.toMs) {
        visit(sums, date);
      }
    }
  }

  #visitRecords(
    { stream, fromMs, toMs, nowMs }: Span,
    records: DayRecords,
    visit: (record: ServiceRecord) => void,
  ): void {
    const expiredMs = nowMs - this.conventions.retentionMs;
    const sorted = records[stream];
    for (let i = firstFrom(sorted, fromMs); i < sorted.length; i++) {
      const record = sorted[i];
      if (record === undefined || record.windowMs > toMs) {
        return;
      }
      const { knownFromMs, goneMs, eventMs } = record;
      if (knownFromMs <= nowMs && goneMs > nowMs && eventMs > expiredMs) {
        visit(record);
      }
    }
  }

  #sumsOf(date: number): ByStream<DaySums> {
    let sums = this.#sums.get(date);
    if (sums === undefined) {
      const { people, logins } = this.#recordsOf(date);
      sums = { people: this.#sum(people), logins: this.#sum(logins) };
      this.#sums.set(date, sums);
    }
    return sums;
  }

  #recordsOf(date: number): DayRecords {
    const { library, conventions, zone, timeOf } = this;
    const key = `${library.name} ${date}`;
    const cached = this.#cache.get(key);
    if (cached !== undefined) {
      return cached;
    }
    const traffic = dayTraffic(library, zone, date);
    const [people, logins] = (['people', 'logins'] as const).map((stream) => {
      const counted = countPasses(library, traffic[stream]);
      return dayRecords(library, conventions, timeOf, date, stream, counted);
    }) as [readonly ServiceRecord[], readonly ServiceRecord[]];
    const records = { people, logins };
    this.#cache.set(key, records);
    const [oldest] = this.#cache.keys();
    if (oldest !== undefined && this.#cache.size > MAX_CACHED_DAYS) {
      this.#cache.delete(oldest);
    }
    return records;
  }

  #sum(records: readonly ServiceRecord[]): DaySums {
    const sums = new Map<string, { keyMs: number; device: number } & Counts>();
    let settledMs = -Infinity;
    let firstEventMs = Infinity;
    for (const record of records) {
      const { keyMs, device, eventMs, knownFromMs, goneMs } = record;
      settledMs = Math.max(settledMs, knownFromMs, goneMs === Infinity ? knownFromMs : goneMs);
      firstEventMs = Math.min(firstEventMs, eventMs);
      if (goneMs === Infinity) {
        const key = `${this.dayZone.dayOf(keyMs)} ${device}`;
        const sum = sums.get(key) ?? { keyMs, device, in: 0, out: 0 };
        sums.set(key, sum);
        addCounts(sum, record);
      }
    }
    return {
      firstWindowMs: records[0]?.windowMs ?? Infinity,
      lastWindowMs: records.at(-1)?.windowMs ?? -Infinity,
      firstEventMs,
      settledMs,
      byDateAndDevice: [...sums.values()],
    };
  }
}

/** The index of the first record with a window time from `fromMs` on. */
function firstFrom(sorted: readonly ServiceRecord[], fromMs: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle]?.windowMs ?? Infinity) < fromMs) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}
