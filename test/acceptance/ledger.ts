/**
 * One customer of the fake service: the records, the conventions by which they are shown, and the
 * truth that the exporter is held against. It knows nothing of HTTP.
 */
import { keyForms } from './key-forms.ts';
import type { KeyForm } from './key-forms.ts';
import { dayMs, instantOfWall, minuteMs, wallMs } from './local-time.ts';

export type Stream = 'people' | 'logins';
export type Side = 'in' | 'out';
export const aggregations = ['minute', 'quarter', 'day', 'branch', 'client', 'device'] as const;
export type Aggregation = (typeof aggregations)[number];

/** What passed a door, or (as `in`) a login. Instants in milliseconds. */
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

/** Each is something that service-interface.md leaves open (DESIGN, section 2). */
export interface Conventions {
  readonly keyForm: KeyForm;
  /** Whether buckets without counts are listed. */
  readonly zeros: boolean;
  /** Whether an item at the very instant of `from` is in the answer. */
  readonly fromEdge: 'after' | 'at';
  /** What becomes of the zone designator of `from`: as UTC and as local mean that it is ignored. */
  readonly designator: 'honoured' | 'read as UTC' | 'read as local';
  readonly fromMeans: 'event' | 'arrival';
  readonly resolutionMs: number;
  /** These know nothing newer than the last local midnight. */
  readonly lagging: readonly Aggregation[];
  /** `day` answers with whole local days, whatever the time in `from`. */
  readonly daySnaps: boolean;
  readonly quarter: 'fifteen minutes' | 'three months';
  readonly forceAboveRows: number;
  readonly forcedTo: Aggregation;
  /** How far the devices' clocks are ahead. */
  readonly aheadMs: number;
}

const plain: Conventions = {
  keyForm: 'iso Z',
  zeros: false,
  fromEdge: 'after',
  designator: 'honoured',
  fromMeans: 'event',
  resolutionMs: 1,
  lagging: [],
  daySnaps: false,
  quarter: 'fifteen minutes',
  forceAboveRows: Infinity,
  forcedTo: 'day',
  aheadMs: 0,
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

  /** Adds a record that the service gets to know now, or at `arrivalMs`, of an event at `eventMs`. */
  add(
    stream: Stream,
    counts: Partial<Record<Side, number>>,
    eventMs = Date.now(),
    arrivalMs = Date.now(),
  ): LedgerRecord {
    const { aheadMs, resolutionMs } = this.conventions;
    const number = this.records.length;
    const record = {
      stream,
      eventMs: Math.floor((eventMs + aheadMs) / resolutionMs) * resolutionMs,
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

  /** The truth: what the service knows since `sinceMs`, by what `from` means to it. */
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
    const counted = this.records.filter((record) => record.stream === stream);
    const newest = Math.max(
      ...counted.filter((record) => record.in + record.out > 0).map(({ eventMs }) => eventMs),
    );
    return Math.floor(newest / minuteMs) * minuteMs;
  }

  /** What the service answers; `toMs` is Infinity without a `to`. */
  answer(stream: Stream, asked: Aggregation, fromMs: number, toMs: number): Answer {
    const rows = this.#rows(stream, asked, fromMs, toMs);
    const { forceAboveRows, forcedTo } = this.conventions;
    if (rows.length > forceAboveRows && asked !== 'day' && asked !== forcedTo) {
      return { aggregation: forcedTo, rows: this.#rows(stream, forcedTo, fromMs, toMs) };
    }
    return { aggregation: asked, rows };
  }

  /** Reads the `from` or `to` of a query as this service does; NaN if it is no timestamp. */
  instantOf(text: string): number {
    if (this.conventions.designator === 'honoured') {
      return Date.parse(text);
    }
    const wall = Date.parse(`${text.replace(/(Z|[+-]\d\d:?\d\d)$/i, '')}Z`);
    return this.conventions.designator === 'read as UTC' ? wall : instantOfWall(wall, this.zone);
  }

  #timeOf(record: LedgerRecord): number {
    return this.conventions.fromMeans === 'event' ? record.eventMs : record.arrivalMs;
  }

  #since(stream: Stream, fromMs: number): readonly LedgerRecord[] {
    const inclusive = this.conventions.fromEdge === 'at';
    return this.records.filter((record) => {
      const time = this.#timeOf(record);
      return record.stream === stream && (inclusive ? time >= fromMs : time > fromMs);
    });
  }

  #rows(stream: Stream, aggregation: Aggregation, askedFromMs: number, toMs: number): Row[] {
    const { zone, conventions } = this;
    const snaps = conventions.daySnaps && aggregation === 'day';
    const fromMs = snaps ? this.#midnight(askedFromMs) - 1 : askedFromMs;
    const freshMs = conventions.lagging.includes(aggregation)
      ? this.#midnight(Date.now())
      : Infinity;
    const buckets = new Map<number, { in: number; out: number }>();
    if (conventions.zeros && (aggregation === 'minute' || aggregation === 'quarter')) {
      const step = aggregation === 'minute' ? minuteMs : 15 * minuteMs;
      const firstMs = Math.ceil(fromMs / step) * step;
      for (let at = firstMs; at < Math.min(toMs, Date.now()); at += step) {
        buckets.set(at, { in: 0, out: 0 });
      }
    }
    for (const record of this.#since(stream, fromMs)) {
      if (this.#timeOf(record) < toMs && record.eventMs < freshMs) {
        const bucket = this.#bucketOf(record, aggregation);
        const sum = buckets.get(bucket) ?? { in: 0, out: 0 };
        buckets.set(bucket, { in: sum.in + record.in, out: sum.out + record.out });
      }
    }
    return [...buckets]
      .toSorted(([a], [b]) => a - b)
      .filter(([, sum]) => conventions.zeros || sum.in !== 0 || sum.out !== 0)
      .map(([start, sum]) => ({ key: this.#key(aggregation, start, zone, fromMs), ...sum }));
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
        return this.conventions.quarter === 'fifteen minutes'
          ? Math.floor(record.eventMs / (15 * minuteMs)) * 15 * minuteMs
          : this.#calendarQuarter(record.eventMs);
      case 'day':
        return this.#midnight(record.eventMs);
      case 'branch':
      case 'client':
      case 'device':
        return record[aggregation];
    }
  }

  #calendarQuarter(instantMs: number): number {
    const wall = new Date(wallMs(instantMs, this.zone));
    const month = Math.floor(wall.getUTCMonth() / 3) * 3;
    return instantOfWall(Date.UTC(wall.getUTCFullYear(), month, 1), this.zone);
  }

  #key(aggregation: Aggregation, startMs: number, zone: string, fromMs: number): string | number {
    const isTime = aggregation === 'minute' || aggregation === 'quarter' || aggregation === 'day';
    return isTime ? keyForms[this.conventions.keyForm]({ startMs, zone, fromMs }) : startMs;
  }
}
