/**
 * What service-interface.md leaves open about the service, as switches: nothing in the exporter may
 * rest on one setting of them. This file knows no record and no request.
 */
export type KeyZone = 'customer' | 'utc';
export type KeyType = 'number' | 'string';

/** How the key of a bucket of time is written. `Z` always means UTC; a naive one has no designator. */
export type MinuteKey =
  | {
      readonly form: 'iso';
      readonly zone: KeyZone;
      readonly designator: 'offset' | 'Z' | 'none';
      readonly precision: 'minute' | 'second' | 'fraction';
    }
  | { readonly form: 'epoch'; readonly unit: 's' | 'ms' | 'min'; readonly type: KeyType }
  /** yyyyMMddHHmm */
  | { readonly form: 'compact'; readonly zone: KeyZone; readonly type: KeyType }
  | { readonly form: 'minute-of-day'; readonly zone: KeyZone; readonly type: KeyType }
  /** Minutes since the window's `from`. */
  | { readonly form: 'index'; readonly type: KeyType }
  /** HH:mm */
  | { readonly form: 'clock'; readonly zone: KeyZone };

/** `start`: the first minute of the bucket, written like the key of a minute. */
export type DayKey = 'start' | 'date' | 'compact' | 'index';
/** `label`: 2026-Q1, or the number of the quarter hour in its day. */
export type QuarterKey = 'start' | 'label' | 'index';
export type GroupKey = 'number' | 'string' | 'name';
export type RecordTime = 'local' | 'server' | 'client';
export type ForcedAggregation = 'minute' | 'quarter' | 'day';
export type ErrorBody = 'error' | 'message' | 'problem' | 'text' | 'html' | 'empty';

export interface Conventions {
  readonly minuteKey: MinuteKey;
  readonly dayKey: DayKey;
  readonly quarterKey: QuarterKey;
  /** Keys of branch, client and device: the id as a number or a string, or the name. */
  readonly groupKey: GroupKey;
  /** Whose days the day (and three-month) buckets are. */
  readonly dayZone: KeyZone;
  /** Whether two buckets with one key (the hour that occurs twice) are two rows or one. */
  readonly repeatedKeys: 'separate' | 'merged';
  readonly rowOrder: 'ascending' | 'descending';
  /** Whether buckets without counts are listed, up to the service's now. */
  readonly emptyBuckets: 'omitted' | 'listed';
  readonly quarter: '15 minutes' | '3 months';

  readonly fromEdge: 'exclusive' | 'inclusive';
  readonly toEdge: 'exclusive' | 'inclusive';
  /** The records' times are cut to whole multiples of this. */
  readonly resolutionMs: 1 | 1_000 | 60_000;
  /** Which time of a record `from` and `to` mean. */
  readonly windowTime: RecordTime;
  /** Which time of a record makes its key. */
  readonly keyTime: RecordTime;
  /** The zone designator of `from` and `to`. Without one, a wall clock is the customer's. */
  readonly designator: 'honoured' | 'ignored, read as local' | 'ignored, read as UTC';
  /** Whether the windows of `day` and `quarter` are widened to whole buckets. */
  readonly window: 'as asked' | 'whole buckets';
  /** How records' times are written in raw answers. */
  readonly recordTimes: 'offset' | 'Z' | 'none';
  /** The words of a people count's category. */
  readonly categories: { readonly in: string; readonly out: string; readonly login: string };

  readonly lateness: {
    /** A record of a device that is online arrives within this. */
    readonly usualMs: number;
    /** The share of hours that a device is offline, and how long after it delivers at the latest. */
    readonly offlineShare: number;
    readonly offlineMaxMs: number;
  };
  /** The share of records that are changed or taken back later, and when at the latest. */
  readonly corrections: { readonly share: number; readonly withinMs: number };
  /** How long after its event a record is kept; Infinity: for ever. */
  readonly retentionMs: number;
  /** `nightly`: only days that were over, and records that were there, at the last 02:30 local. */
  readonly dayFreshness: 'live' | 'nightly';
  readonly quarterFreshness: 'live' | 'nightly';
  /** The service's clock is ahead by this: its Date header, serverTime and now. */
  readonly serviceClockMs: number;
  /** The share of devices and clients whose clock is off, and by how much. */
  readonly deviceClocks: { readonly share: number; readonly aheadMs: number };

  readonly forced: {
    readonly above: 'bytes' | 'rows';
    readonly limit: number;
    readonly to: ForcedAggregation;
    /** Whether the window is widened to whole buckets of the forced aggregation. */
    readonly window: 'as asked' | 'whole buckets';
  };
  /** A raw answer above the forced limit, asked without `limit`: aggregated, or cut with a startToken. */
  readonly oversizedRaw: 'aggregated' | 'paged';
  /** A page above the forced limit, asked with `limit`. */
  readonly oversizedPage: 'aggregated' | 'paged';
  /** Raw answers without `limit` are paged by this; undefined: not paged. */
  readonly defaultLimit: number | undefined;
  readonly maximumLimit: number;
  readonly aboveMaximumLimit: 'clamped' | 'rejected';

  readonly tokenLifetimeSeconds: number;
  /** For each customer; undefined: none. */
  readonly rateLimit:
    | {
        readonly requests: number;
        readonly perMs: number;
        readonly retryAfter: 'seconds' | 'date' | 'none';
      }
    | undefined;
  readonly status: {
    readonly invalidClient: 400 | 401;
    readonly missingToken: 401 | 403;
    readonly expiredToken: 401 | 403;
    readonly forbiddenCombination: 400 | 422 | 'ignored';
    readonly toWithoutFrom: 400 | 422 | 'ignored';
    readonly badValue: 400 | 422;
  };
  readonly errorBody: ErrorBody;
}

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;

/** The likeliest reading of the interface document. */
export const plainConventions: Conventions = {
  minuteKey: { form: 'iso', zone: 'customer', designator: 'offset', precision: 'second' },
  dayKey: 'start',
  quarterKey: 'start',
  groupKey: 'number',
  dayZone: 'customer',
  repeatedKeys: 'separate',
  rowOrder: 'ascending',
  emptyBuckets: 'omitted',
  quarter: '15 minutes',
  fromEdge: 'exclusive',
  toEdge: 'exclusive',
  resolutionMs: 1,
  windowTime: 'local',
  keyTime: 'local',
  designator: 'honoured',
  window: 'as asked',
  recordTimes: 'offset',
  categories: { in: 'in', out: 'out', login: 'login' },
  lateness: { usualMs: 20 * SECOND_MS, offlineShare: 0, offlineMaxMs: 0 },
  corrections: { share: 0, withinMs: 0 },
  retentionMs: 400 * DAY_MS,
  dayFreshness: 'live',
  quarterFreshness: 'live',
  serviceClockMs: 0,
  deviceClocks: { share: 0, aheadMs: 0 },
  forced: { above: 'bytes', limit: 1_000_000, to: 'day', window: 'as asked' },
  oversizedRaw: 'aggregated',
  oversizedPage: 'paged',
  defaultLimit: undefined,
  maximumLimit: 10_000,
  aboveMaximumLimit: 'clamped',
  tokenLifetimeSeconds: 3_600,
  rateLimit: undefined,
  status: {
    invalidClient: 400,
    missingToken: 401,
    expiredToken: 401,
    forbiddenCombination: 400,
    toWithoutFrom: 400,
    badValue: 400,
  },
  errorBody: 'error',
};
