/** All records of one customer, made date by date when a query needs them. */
import type { Conventions } from './conventions.ts';
import { createBuckets } from './keys.ts';
import type { Buckets, TimeAggregation } from './keys.ts';
import type { Library } from './libraries.ts';
import { countsOf, dayRecords, recordTimes, windowSpread, withTimes } from './records.ts';
import type { ByStream, RecordStream, ServiceRecord, TimeOf } from './records.ts';
import { MAX_VISIT_MS, countPasses, dayTraffic } from './traffic.ts';
import type { Zone } from './zone.ts';

/** Records with a window time from `fromMs` to `toMs`, both included, as known at `nowMs`. */
export interface Span {
  readonly stream: RecordStream;
  readonly fromMs: number;
  readonly toMs: number;
  readonly nowMs: number;
}

/** A record that a test adds, of the first device that counts its kind. */
export interface AddedRecord {
  readonly kind: 'in' | 'out' | 'login';
  readonly atMs: number;
  /** Default: `atMs`. */
  readonly arrivesMs?: number;
  /** When the service removes it. Default: never. */
  readonly goneMs?: number;
  /** Default: 1. */
  readonly amount?: number;
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
    this.buckets = {
      minute: createBuckets('minute', conventions, this.zone, this.utc),
      quarter: createBuckets('quarter', conventions, this.zone, this.utc),
      day: createBuckets('day', conventions, this.zone, this.utc),
    };
    this.#cache = cache;
  }

  /** Calls `visit` for every record of the span, in no particular order. */
  forEachRecord(
    { stream, fromMs, toMs, nowMs }: Span,
    visit: (record: ServiceRecord) => void,
  ): void {
    const { laterMs, earlierMs } = this.spread;
    const expiredMs = nowMs - this.conventions.retentionMs;
    function visitShown(record: ServiceRecord): void {
      const { windowMs, knownFromMs, goneMs, eventMs } = record;
      const isInWindow = windowMs >= fromMs && windowMs <= toMs;
      if (isInWindow && knownFromMs <= nowMs && goneMs > nowMs && eventMs > expiredMs) {
        visit(record);
      }
    }
    const firstMs = Math.max(this.startMs, Math.max(fromMs - laterMs, expiredMs) - MAX_VISIT_MS);
    const lastMs = Math.min(nowMs, toMs + earlierMs);
    const lastDate = lastMs < firstMs ? -Infinity : this.zone.dayOf(lastMs);
    for (let date = this.zone.dayOf(firstMs); date <= lastDate; date++) {
      this.#recordsOf(date)[stream].forEach(visitShown);
    }
    this.#added[stream].forEach(visitShown);
  }

  add({ kind, atMs, arrivesMs = atMs, goneMs = Infinity, amount = 1 }: AddedRecord): void {
    const stream = kind === 'login' ? 'logins' : 'people';
    const deviceKind = kind === 'login' ? 'station' : 'door';
    const device = this.library.devices.findIndex((one) => one.kind === deviceKind);
    if (device < 0) {
      throw new Error(`${this.library.name} has no ${deviceKind}`);
    }
    const record = {
      day: ADDED_DAY,
      number: this.#nextAdded++,
      device,
      eventMs: atMs,
      deliveredMs: arrivesMs,
      knownFromMs: arrivesMs,
      goneMs,
      ...countsOf(kind === 'out' ? -amount : amount),
    };
    this.#added[stream].push(withTimes(record, this.conventions, this.timeOf));
  }

  #recordsOf(date: number): DayRecords {
    const { library, conventions, zone, timeOf } = this;
    const key = `${library.name} ${date}`;
    const cached = this.#cache.get(key);
    if (cached !== undefined) {
      return cached;
    }
    const traffic = dayTraffic(library, zone, date);
    function recordsOf(stream: RecordStream): readonly ServiceRecord[] {
      const counted = countPasses(library, traffic[stream]);
      return dayRecords(library, conventions, timeOf, date, stream, counted);
    }
    const records = { people: recordsOf('people'), logins: recordsOf('logins') };
    this.#cache.set(key, records);
    const [oldest] = this.#cache.keys();
    if (oldest !== undefined && this.#cache.size > MAX_CACHED_DAYS) {
      this.#cache.delete(oldest);
    }
    return records;
  }
}
