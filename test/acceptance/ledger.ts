/**
 * One customer of the fake service: its records, the conventions of its answers, and the expected values.
 * Each convention is something that service-interface.md leaves open.
 */
import { dayMs, hourMs, instantOfWall, minuteMs, offsetMs, wallMs } from './local-time.ts';

export type Stream = 'people' | 'logins';
export type Side = 'in' | 'out';
export const aggregations = ['minute', 'quarter', 'day', 'branch', 'client', 'device'] as const;
export type Aggregation = (typeof aggregations)[number];

/** A count at a door, or (as `in`) a login. */
export interface LedgerRecord {
  readonly stream: Stream;
  readonly eventMs: number;
  readonly arrivalMs: number;
  in: number;
  out: number;
  readonly branch: number;
  readonly client: number;
  readonly device: number;
}

function naive(wall: number): string {
  return new Date(wall).toISOString().slice(0, 19);
}

function isoWithOffset(startMs: number, zone: string): string {
  const offset = offsetMs(startMs, zone);
  const distance = new Date(Math.abs(offset)).toISOString().slice(11, 16);
  return `${naive(startMs + offset)}${offset < 0 ? '-' : '+'}${distance}`;
}

/** How the keys of minutes, quarters and days are written. */
export const keyFormats = {
  'ISO with Z': (startMs) => new Date(startMs).toISOString(),
  'ISO with offset': isoWithOffset,
  'ISO without zone, local': (startMs, zone) => naive(wallMs(startMs, zone)),
  'ISO without zone, UTC': naive,
  'seconds since 1970': (startMs) => startMs / 1000,
  'milliseconds since 1970, as a string': String,
  'yyyyMMddHHmm, local': (startMs, zone) =>
    Number(naive(wallMs(startMs, zone)).replaceAll(/\D/g, '').slice(0, 12)),
  'HH:mm, local': (startMs, zone) => naive(wallMs(startMs, zone)).slice(11, 16),
  'minute of the day': (startMs, zone) => (wallMs(startMs, zone) % (24 * hourMs)) / minuteMs,
  opaque: (startMs) => `k${((startMs / minuteMs) * 7919) % 104_729}x`,
} satisfies Record<string, (startMs: number, zone: string) => string | number>;

export interface Conventions {
  readonly keyFormat: keyof typeof keyFormats;
  /** Whether buckets without counts are listed. */
  readonly zeros: boolean;
  /** Whether an item at the very instant of `from` is in the answer. */
  readonly fromInclusive: boolean;
  readonly fromMeans: 'event' | 'arrival';
  readonly resolutionMs: number;
  /** These know nothing newer than the last local midnight. */
  readonly lagging: readonly Aggregation[];
  /** `day` answers with whole local days, whatever the time in `from`. */
  readonly daySnaps: boolean;
  readonly forceAboveRows: number;
  readonly forcedTo: Aggregation;
}

const plain: Conventions = {
  keyFormat: 'ISO with Z',
  zeros: false,
  fromInclusive: false,
  fromMeans: 'event',
  resolutionMs: 1,
  lagging: [],
  daySnaps: false,
  forceAboveRows: Infinity,
  forcedTo: 'day',
};

export interface Row {
  readonly key: string | number;
  readonly in: number;
  readonly out: number;
}

export interface Answer {
  readonly aggregation: Aggregation;
  readonly rows: readonly Row[];
}

export class Ledger {
  readonly zone: string;
  readonly conventions: Conventions;
  readonly records: LedgerRecord[] = [];

  constructor(zone: string, conventions: Partial<Conventions> = {}) {
    this.zone = zone;
    this.conventions = { ...plain, ...conventions };
  }

  /** Adds a record of an event at `eventMs` that the service receives at `arrivalMs`. */
  add(
    stream: Stream,
    counts: Partial<Record<Side, number>>,
    eventMs = Date.now(),
    arrivalMs = Date.now(),
  ): LedgerRecord {
    const { resolutionMs } = this.conventions;
    const number = this.records.length;
    const record = {
      stream,
      eventMs: Math.floor(eventMs / resolutionMs) * resolutionMs,
      arrivalMs,
      in: counts.in ?? 0,
      out: counts.out ?? 0,
      branch: 101 + (number % 2),
      client: 201 + (number % 3),
      device: 301 + (number % 4),
    };
    this.records.push(record);
    return record;
  }

  /** The service's total since `sinceMs`, by what `from` means to it. */
  total(stream: Stream, side: Side, sinceMs: number): number {
    return this.#since(stream, sinceMs).reduce((sum, record) => sum + record[side], 0);
  }

  /** People inside: the running in minus out since `dayStartMs`, never below 0 after any minute. */
  occupancy(dayStartMs: number): number {
    const byMinute = new Map<number, number>();
    for (const record of this.#since('people', dayStartMs)) {
      const minute = Math.floor(record.eventMs / minuteMs);
      byMinute.set(minute, (byMinute.get(minute) ?? 0) + record.in - record.out);
    }
    return [...byMinute]
      .toSorted(([a], [b]) => a - b)
      .reduce((inside, [, change]) => Math.max(0, inside + change), 0);
  }

  /** Start of the newest minute that counted anybody, in milliseconds. */
  lastSeenMs(stream: Stream): number {
    const counted = this.records.filter((one) => one.stream === stream && one.in + one.out > 0);
    return Math.floor(Math.max(...counted.map(({ eventMs }) => eventMs)) / minuteMs) * minuteMs;
  }

  answer(stream: Stream, aggregation: Aggregation, fromMs: number, toMs: number): Answer {
    const rows = this.#rows(stream, aggregation, fromMs, toMs);
    const { forceAboveRows, forcedTo } = this.conventions;
    if (rows.length > forceAboveRows && aggregation !== 'day' && aggregation !== forcedTo) {
      return { aggregation: forcedTo, rows: this.#rows(stream, forcedTo, fromMs, toMs) };
    }
    return { aggregation, rows };
  }

  #timeOf(record: LedgerRecord): number {
    return this.conventions.fromMeans === 'event' ? record.eventMs : record.arrivalMs;
  }

  #since(stream: Stream, fromMs: number): readonly LedgerRecord[] {
    const { fromInclusive } = this.conventions;
    return this.records.filter((record) => {
      const time = this.#timeOf(record);
      return record.stream === stream && (time > fromMs || (fromInclusive && time === fromMs));
    });
  }

  #rows(stream: Stream, aggregation: Aggregation, askedFromMs: number, toMs: number): Row[] {
    const { keyFormat, zeros, daySnaps, lagging } = this.conventions;
    const snaps = daySnaps && aggregation === 'day';
    const fromMs = snaps ? this.#midnight(askedFromMs) - 1 : askedFromMs;
    const freshUntilMs = lagging.includes(aggregation) ? this.#midnight(Date.now()) : Infinity;
    const buckets = new Map<number, { in: number; out: number }>();
    if (zeros && aggregation === 'minute') {
      const firstMs = Math.ceil(fromMs / minuteMs) * minuteMs;
      for (let at = firstMs; at < Math.min(toMs, Date.now()); at += minuteMs) {
        buckets.set(at, { in: 0, out: 0 });
      }
    }
    for (const record of this.#since(stream, fromMs)) {
      if (this.#timeOf(record) < toMs && record.eventMs < freshUntilMs) {
        const bucket = this.#bucketOf(record, aggregation);
        const sum = buckets.get(bucket) ?? { in: 0, out: 0 };
        buckets.set(bucket, { in: sum.in + record.in, out: sum.out + record.out });
      }
    }
    const isTime = aggregation === 'minute' || aggregation === 'quarter' || aggregation === 'day';
    return [...buckets]
      .toSorted(([a], [b]) => a - b)
      .filter(([, sum]) => zeros || sum.in !== 0 || sum.out !== 0)
      .map(([bucket, sum]) => ({
        key: isTime ? keyFormats[keyFormat](bucket, this.zone) : bucket,
        ...sum,
      }));
  }

  #midnight(instantMs: number): number {
    const wall = wallMs(instantMs, this.zone);
    return instantOfWall(Math.floor(wall / dayMs) * dayMs, this.zone);
  }

  #bucketOf(record: LedgerRecord, aggregation: Aggregation): number {
    switch (aggregation) {
      case 'minute':
        return Math.floor(record.eventMs / minuteMs) * minuteMs;
      case 'quarter':
        return Math.floor(record.eventMs / (15 * minuteMs)) * 15 * minuteMs;
      case 'day':
        return this.#midnight(record.eventMs);
      case 'branch':
      case 'client':
      case 'device':
        return record[aggregation];
    }
  }
}
