/**
 * One customer of the fake service: its records, the conventions of its responses, and the expected values.
 * Each convention is something that the interface leaves open (docs/service.md#what-is-left-open).
 */
import { dayStart, minuteMs, offsetMs, wallMs } from './local-time.ts';

export type Stream = 'people' | 'logins';
export type Side = 'in' | 'out';
export const aggregations = ['minute', 'quarter', 'day', 'branch', 'client', 'device'] as const;
export type Aggregation = (typeof aggregations)[number];

/** A count at a door, or (as `in`) a login. */
export interface LedgerRecord {
  readonly stream: Stream;
  readonly eventMs: number;
  in: number;
  out: number;
  readonly branch: number;
  readonly client: number;
  readonly device: number;
}

/** Local times without a zone. */
function naive(wall: number): string {
  return new Date(wall).toISOString().slice(0, 19);
}

function isoWithOffset(startMs: number, zone: string): string {
  const offset = offsetMs(startMs, zone);
  const distance = new Date(Math.abs(offset)).toISOString().slice(11, 16);
  return `${naive(startMs + offset)}${offset < 0 ? '-' : '+'}${distance}`;
}

/** How the keys of minutes, quarters and days are written. */
const keyFormats = {
  'ISO with Z': (startMs) => new Date(startMs).toISOString(),
  'ISO with offset': isoWithOffset,
  'ISO without zone, local': (startMs, zone) => naive(wallMs(startMs, zone)),
  'ISO without zone, UTC': naive,
  'seconds since 1970': (startMs) => startMs / 1000,
  opaque: (startMs) => `k${((startMs / minuteMs) * 7919) % 104_729}x`,
} satisfies Record<string, (startMs: number, zone: string) => string | number>;

export interface Conventions {
  readonly keyFormat: keyof typeof keyFormats;
  /** These know nothing newer than the last local midnight. */
  readonly lagging: readonly Aggregation[];
  /** Above so many rows, `day` is forced. */
  readonly forceAboveRows: number;
  /** Whether a response by minute has each row twice. */
  readonly minutesTwice: boolean;
}

const plain: Conventions = {
  keyFormat: 'ISO with Z',
  lagging: [],
  forceAboveRows: Infinity,
  minutesTwice: false,
};

export class Ledger {
  readonly zone: string;
  /** A test may change them. */
  conventions: Conventions;
  readonly records: LedgerRecord[] = [];

  constructor(zone: string, conventions: Partial<Conventions> = {}) {
    this.zone = zone;
    this.conventions = { ...plain, ...conventions };
  }

  /** Adds a record that the service receives now; by default, the device changes with each. */
  add(
    stream: Stream,
    counts: Partial<Record<Side, number>>,
    eventMs = Date.now(),
    device = 301 + (this.records.length % 4),
  ): LedgerRecord {
    const [branch, client] = [101 + ((device - 301) % 2), 201 + ((device - 301) % 3)];
    const record = { stream, eventMs, in: 0, out: 0, ...counts, branch, client, device };
    this.records.push(record);
    return record;
  }

  /** The service's total since `sinceMs`. */
  total(stream: Stream, side: Side, sinceMs: number): number {
    return this.#since(stream, sinceMs).reduce((sum, record) => sum + record[side], 0);
  }

  /** People inside: the running in minus out since `dayStartMs`, never below 0 after any minute. */
  occupancy(dayStartMs: number): number {
    return this.#rows('people', 'minute', dayStartMs, Infinity).reduce(
      (inside, row) => Math.max(0, inside + row.in - row.out),
      0,
    );
  }

  /** Start of the newest minute that counted anybody, in milliseconds. */
  lastSeenMs(stream: Stream): number {
    const counted = this.records.filter((one) => one.stream === stream && one.in + one.out > 0);
    return Math.floor(Math.max(...counted.map(({ eventMs }) => eventMs)) / minuteMs) * minuteMs;
  }

  respond(stream: Stream, aggregation: Aggregation, fromMs: number, toMs: number) {
    const { forceAboveRows, minutesTwice } = this.conventions;
    const rows = this.#rows(stream, aggregation, fromMs, toMs);
    if (rows.length > forceAboveRows && aggregation !== 'day') {
      return { aggregation: 'day', rows: this.#rows(stream, 'day', fromMs, toMs) };
    }
    return {
      aggregation,
      rows: minutesTwice && aggregation === 'minute' ? [...rows, ...rows] : rows,
    };
  }

  /** Raw records of people, the oldest first, with the fields that the interface names. */
  page(fromMs: number, toMs: number, limit: number): readonly object[] {
    const records = this.#since('people', fromMs).filter(({ eventMs }) => eventMs < toMs);
    return records
      .toSorted((a, b) => a.eventMs - b.eventMs)
      .slice(0, limit)
      .map(({ eventMs, branch, client, device, ...counts }, number) => ({
        id: `${eventMs}-${number}`,
        amount: counts.in + counts.out,
        name: 'Door',
        localTime: isoWithOffset(eventMs, this.zone),
        serverTime: new Date(eventMs).toISOString(),
        clientTime: new Date(eventMs).toISOString(),
        category: 'in',
        libraryControllerState: 'Staffed',
        customerId: 1,
        branchId: branch,
        clientId: client,
        deviceId: device,
      }));
  }

  #since(stream: Stream, fromMs: number): readonly LedgerRecord[] {
    return this.records.filter((record) => record.stream === stream && record.eventMs > fromMs);
  }

  #rows(stream: Stream, aggregation: Aggregation, fromMs: number, toMs: number) {
    const { keyFormat, lagging } = this.conventions;
    const freshUntilMs = lagging.includes(aggregation)
      ? dayStart(Date.now(), this.zone, '00:00')
      : Infinity;
    const untilMs = Math.min(toMs, freshUntilMs);
    const records = this.#since(stream, fromMs).filter(({ eventMs }) => eventMs < untilMs);
    const buckets = Map.groupBy(records, (record) => this.#bucketOf(record, aggregation));
    const isTime = /^(minute|quarter|day)$/.test(aggregation);
    return [...buckets]
      .toSorted(([a], [b]) => a - b)
      .map(([bucket, ofBucket]) => ({
        key: isTime ? keyFormats[keyFormat](bucket, this.zone) : bucket,
        in: ofBucket.reduce((sum, record) => sum + record.in, 0),
        out: ofBucket.reduce((sum, record) => sum + record.out, 0),
      }))
      .filter((row) => row.in !== 0 || row.out !== 0);
  }

  #bucketOf(record: LedgerRecord, aggregation: Aggregation): number {
    if (aggregation === 'day') {
      return dayStart(record.eventMs, this.zone, '00:00');
    }
    if (aggregation !== 'minute' && aggregation !== 'quarter') {
      return record[aggregation];
    }
    const bucketMs = (aggregation === 'minute' ? 1 : 15) * minuteMs;
    return Math.floor(record.eventMs / bucketMs) * bucketMs;
  }
}
