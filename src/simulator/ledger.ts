/** All records of one customer, made date by date when a query needs them. */
import type { MinuteStream } from '../base/model.ts';
import type { Conventions } from './conventions.ts';
import { createBuckets } from './keys.ts';
import type { Library } from './libraries.ts';
import {
  addCounts,
  countsOf,
  dayRecords,
  recordTimes,
  windowSpread,
  withTimes,
} from './records.ts';
import type { Counts, ServiceRecord } from './records.ts';
import { MAX_VISIT_MS, coarseTraffic, countPasses, dayTraffic } from './traffic.ts';
import type { Zone } from './zone.ts';

/** Records with a window time from `fromMs` to `toMs`, both included, as known at `nowMs`. */
export interface Span {
  readonly stream: MinuteStream;
  readonly fromMs: number;
  readonly toMs: number;
  readonly nowMs: number;
  /** Records that were known after this instant are included, too. Default: `nowMs`. */
  readonly knownSinceMs?: number;
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

type DayRecords = Readonly<Record<MinuteStream, ServiceRecord[]>>;

/** Days of all customers in memory; the oldest are dropped above a limit, and made again when needed. */
export type RecordCache = Map<string, DayRecords>;
const MAX_CACHED_DAYS = 3_000;

/** Added records have this date, which no calendar reaches. */
const ADDED_DAY = 4_000_000;

export type Ledger = ReturnType<typeof createLedger>;

/**
 * Returns the records of a customer from the day of `sinceMs` on. Days that end before `detailedMs` have a record
 * for each door and half hour.
 */
export function createLedger(
  library: Library,
  conventions: Conventions,
  zones: (name: string) => Zone,
  sinceMs: number,
  cache: RecordCache,
  detailedMs = -Infinity,
) {
  const zone = zones(library.timezone);
  const utc = zones('UTC');
  const startMs = zone.dayStartMs(zone.dayOf(sinceMs));
  const timeOf = recordTimes(library, conventions);
  const { laterMs, earlierMs } = windowSpread(conventions);
  const added: DayRecords = { people: [], logins: [] };

  /** Returns the records of a span in no particular order. */
  function records(span: Span): readonly ServiceRecord[] {
    const { stream, fromMs, toMs, nowMs, knownSinceMs = nowMs } = span;
    const expiredMs = nowMs - conventions.retentionMs;
    const firstMs = Math.max(startMs, Math.max(fromMs - laterMs, expiredMs) - MAX_VISIT_MS);
    const lastMs = Math.min(nowMs, toMs + earlierMs);
    const lastDay = lastMs < firstMs ? -Infinity : zone.dayOf(lastMs);
    const days = [added];
    for (let day = zone.dayOf(firstMs); day <= lastDay; day++) {
      days.push(recordsOfDay(day));
    }
    const found: ServiceRecord[] = [];
    for (const day of days) {
      for (const record of day[stream]) {
        const { windowMs, knownFromMs, goneMs, eventMs } = record;
        const isInWindow = windowMs >= fromMs && windowMs <= toMs;
        if (isInWindow && knownFromMs <= nowMs && goneMs > knownSinceMs && eventMs > expiredMs) {
          found.push(record);
        }
      }
    }
    return found;
  }

  function recordsOfDay(day: number): DayRecords {
    const key = `${library.name} ${day}`;
    const cached = cache.get(key);
    if (cached !== undefined) {
      return cached;
    }
    const isCoarse = zone.dayStartMs(day + 1) <= detailedMs;
    const traffic = (isCoarse ? coarseTraffic : dayTraffic)(library, zone, day);
    function recordsOf(stream: MinuteStream): ServiceRecord[] {
      const counted = countPasses(library, traffic[stream]);
      return dayRecords(library, conventions, timeOf, day, stream, counted);
    }
    const made = { people: recordsOf('people'), logins: recordsOf('logins') };
    cache.set(key, made);
    const [oldest] = cache.keys();
    if (oldest !== undefined && cache.size > MAX_CACHED_DAYS) {
      cache.delete(oldest);
    }
    return made;
  }

  return {
    library,
    conventions,
    zone,
    utc,
    /** The zone of day buckets. */
    dayZone: conventions.dayZone === 'utc' ? utc : zone,
    /** There are no records before this instant. */
    startMs,
    timeOf,
    /** The most that the window time of a record can be before its event. */
    earlierMs,
    buckets: {
      minute: createBuckets('minute', conventions, zone, utc),
      quarter: createBuckets('quarter', conventions, zone, utc),
      day: createBuckets('day', conventions, zone, utc),
    },
    records,
    /** Sums of the records of a span by a number; undefined leaves a record out. */
    sumsBy(span: Span, numberOf: (record: ServiceRecord) => number | undefined) {
      const sums = new Map<number, Counts>();
      for (const record of records(span)) {
        const number = numberOf(record);
        if (number !== undefined) {
          addCounts(sums, number, record);
        }
      }
      return sums;
    },
    add({ kind, atMs, arrivesMs = atMs, goneMs = Infinity, amount = 1 }: AddedRecord): void {
      const stream = kind === 'login' ? 'logins' : 'people';
      const deviceKind = kind === 'login' ? 'station' : 'door';
      const device = library.devices.findIndex((one) => one.kind === deviceKind);
      if (device < 0) {
        throw new Error(`${library.name} has no ${deviceKind}`);
      }
      const record = {
        day: ADDED_DAY,
        number: added.people.length + added.logins.length,
        device,
        eventMs: atMs,
        deliveredMs: arrivesMs,
        knownFromMs: arrivesMs,
        goneMs,
        ...countsOf(kind === 'out' ? -amount : amount),
      };
      added[stream].push(withTimes(record, conventions, timeOf));
    },
  };
}
