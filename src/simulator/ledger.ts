/** All records of one customer, made date by date when a query needs them. */
import { MINUTE_STREAMS } from '../base/model.ts';
import type { MinuteStream } from '../base/model.ts';
import type { Conventions } from './conventions.ts';
import { createBuckets } from './keys.ts';
import { aliveFrom, deadFrom } from './libraries.ts';
import type { Device, Library } from './libraries.ts';
import { RecordList } from './record-list.ts';
import type { Grouping, RecordFilter } from './record-list.ts';
import { countsOf, dayRecords, recordTimes, windowSpread, withTimes } from './records.ts';
import type { Counts, ServiceRecord } from './records.ts';
import { MAX_VISIT_MS, coarseTraffic, countPasses, dayTraffic } from './traffic.ts';
import type { CountedPass } from './traffic.ts';
import type { Zone } from './zone.ts';

/** Records of one stream. */
export interface Span extends RecordFilter {
  readonly stream: MinuteStream;
}

/** A span without an end. */
export type OpenSpan = Pick<Span, 'stream' | 'fromMs' | 'nowMs'>;

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

type DayRecords = Readonly<Record<MinuteStream, RecordList>>;

type RecordsByStream = Readonly<Record<MinuteStream, ServiceRecord[]>>;

/** A record takes 200 bytes. */
const MAX_CACHED_RECORDS = 75_000;
const MAX_CACHED_DAYS = 3_000;

/** Days of all customers, and their records. Above a limit they are dropped, and made again when needed. */
export class RecordCache {
  readonly #days: { readonly days: Map<number, DayRecords>; readonly day: number }[] = [];
  /** By day; the one that was made first is the first. */
  readonly #records = new Map<object, RecordsByStream>();
  #size = 0;

  /** Keeps a day of a customer, and drops the oldest one. */
  addDay(days: Map<number, DayRecords>, day: number): void {
    this.#days.push({ days, day });
    const oldest = this.#days.length > MAX_CACHED_DAYS ? this.#days.shift() : undefined;
    oldest?.days.delete(oldest.day);
  }

  /** Returns the records of a day. If they are made, those that were made first are dropped. */
  recordsOf(day: object, make: () => RecordsByStream): RecordsByStream {
    const kept = this.#records.get(day);
    if (kept !== undefined) {
      return kept;
    }
    const made = make();
    this.#size += sizeOf(made);
    for (const [oldest, records] of this.#records) {
      if (this.#size > MAX_CACHED_RECORDS) {
        this.#records.delete(oldest);
        this.#size -= sizeOf(records);
      }
    }
    this.#records.set(day, made);
    return made;
  }
}

function sizeOf({ people, logins }: RecordsByStream): number {
  return people.length + logins.length;
}

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
  const { retentionMs } = conventions;
  /** The library with its sensors as they are now. */
  let equipped = library;
  /** The days of this customer in memory. */
  const days = new Map<number, DayRecords>();
  const added: DayRecords = {
    people: emptyList(retentionMs),
    logins: emptyList(retentionMs),
  };

  /** Returns the records of a span in no particular order. */
  function records(span: Span): readonly ServiceRecord[] {
    const found: ServiceRecord[] = [];
    for (const day of daysOf(span)) {
      day[span.stream].find(found, span);
    }
    return found;
  }

  /** Returns the sums of all records from an instant on. */
  function totals({ stream, fromMs, nowMs }: OpenSpan): Readonly<Counts> {
    const sums = { in: 0, out: 0 };
    for (const day of daysOf({ fromMs, toMs: Infinity, nowMs })) {
      day[stream].addTotals(sums, fromMs, nowMs);
    }
    return sums;
  }

  /** Returns the days that can have records of a span. */
  function daysOf({ fromMs, toMs, nowMs }: RecordFilter): readonly DayRecords[] {
    const expiredMs = nowMs - retentionMs;
    const firstMs = Math.max(startMs, Math.max(fromMs - laterMs, expiredMs) - MAX_VISIT_MS);
    const lastMs = Math.min(nowMs, toMs + earlierMs);
    const lastDay = lastMs < firstMs ? -Infinity : zone.dayOf(lastMs);
    const found = [added];
    for (let day = zone.dayOf(firstMs); day <= lastDay; day++) {
      found.push(recordsOfDay(day));
    }
    return found;
  }

  /**
   * Returns time, device and people of each pass of a day by stream. They take a twentieth of the memory of records,
   * which are made of them in a fraction of the time. Apart from the closures of a day, which would keep its traffic.
   */
  function packedPasses(day: number, dayMs: number): readonly Int32Array[] {
    const isCoarse = zone.dayStartMs(day + 1) <= detailedMs;
    const traffic = (isCoarse ? coarseTraffic : dayTraffic)(library, zone, day);
    return MINUTE_STREAMS.map((stream) =>
      Int32Array.from(
        countPasses(equipped, traffic[stream]).flatMap(({ timeMs, device, people }) => [
          timeMs - dayMs,
          device,
          people,
        ]),
      ),
    );
  }

  function recordsOfDay(day: number): DayRecords {
    const cached = days.get(day);
    if (cached !== undefined) {
      return cached;
    }
    function listOf(stream: MinuteStream): RecordList {
      return new RecordList(() => cache.recordsOf(key, makeRecords)[stream], retentionMs);
    }
    const key = {};
    const dayMs = zone.dayStartMs(day);
    const packed = packedPasses(day, dayMs);
    function makeRecords(): RecordsByStream {
      const [ofPeople = [], ofLogins = []] = MINUTE_STREAMS.map((stream, i) => {
        const passes = packed[i] ?? [];
        const counted: CountedPass[] = [];
        for (let at = 0; at < passes.length; at += 3) {
          const [ms = 0, device = 0, people = 0] = [passes[at], passes[at + 1], passes[at + 2]];
          counted.push({ timeMs: dayMs + ms, device, people });
        }
        const made = dayRecords(library, conventions, timeOf, day, stream, counted);
        return made.sort((a, b) => a.windowMs - b.windowMs);
      });
      return { people: ofPeople, logins: ofLogins };
    }
    const lists = { people: listOf('people'), logins: listOf('logins') };
    days.set(day, lists);
    cache.addDay(days, day);
    return lists;
  }

  /** What depends on the zone that the service has for the customer. */
  function localTimeIn(own: Zone) {
    return {
      zone: own,
      /** The zone of day buckets. */
      dayZone: conventions.dayZone === 'utc' ? utc : own,
      buckets: {
        minute: createBuckets('minute', conventions, own, utc),
        quarter: createBuckets('quarter', conventions, own, utc),
        day: createBuckets('day', conventions, own, utc),
      },
    };
  }

  let local = localTimeIn(zone);

  return {
    library,
    conventions,
    /** The zone of the visitors' hours. */
    zone,
    utc,
    /** Local time as the service has it. */
    get local() {
      return local;
    },
    /** Changes the customer's zone at the service, for all of its records. Visitors keep their hours. */
    moveTo(timezone: string): void {
      local = localTimeIn(zones(timezone));
      for (const day of [added, ...days.values()]) {
        day.people.forgetSums();
        day.logins.forgetSums();
      }
    },
    /**
     * Lets the doors that pass a filter count from now on, or lets them die. Records until now stay. Returns the
     * doors.
     */
    setDoors(isChosen: (door: Device) => boolean, alive: boolean, nowMs: number) {
      const set = alive ? aliveFrom : deadFrom;
      const chosen = equipped.devices.filter(
        (device) => device.kind === 'door' && isChosen(device),
      );
      const devices = equipped.devices.map((one) => (chosen.includes(one) ? set(one, nowMs) : one));
      equipped = { ...equipped, devices };
      for (const day of days.keys()) {
        if (zone.dayStartMs(day + 1) + MAX_VISIT_MS > nowMs) {
          days.delete(day);
        }
      }
      return chosen;
    },
    /** There are no records before this instant. */
    startMs,
    timeOf,
    /** The most that the window time of a record can be before its event. */
    earlierMs,
    records,
    totals,
    /** Sums of the records of a span by the numbers of a grouping. */
    sumsBy(span: Span, grouping: Grouping): Map<number, Counts> {
      const sums = new Map<number, Counts>();
      for (const day of daysOf(span)) {
        day[span.stream].addSums(sums, span, grouping);
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
      added[stream].add(withTimes(record, conventions, timeOf));
    },
  };
}

function emptyList(retentionMs: number): RecordList {
  const records: ServiceRecord[] = [];
  return new RecordList(() => records, retentionMs);
}
