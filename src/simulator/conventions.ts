/**
 * The behaviours that the service's documentation leaves open (docs/service.md#what-is-left-open), each
 * as a switch. The exporter must not depend on any setting of them.
 */
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../base/duration.ts';

export type KeyZone = 'customer' | 'utc';
export type KeyType = 'number' | 'string';

/** Format of the key of a time bucket. `Z` always means UTC; `none` is a local time without offset. */
export type MinuteKey =
  | {
      readonly form: 'iso';
      readonly zone: KeyZone;
      readonly designator: 'offset' | 'Z' | 'none';
      readonly precision: 'minute' | 'second' | 'fraction';
      readonly separator: 'T' | ' ';
    }
  | { readonly form: 'epoch'; readonly unit: 's' | 'ms'; readonly type: KeyType }
  /** A text that is no time. */
  | { readonly form: 'opaque' };

export type ErrorBody = 'error' | 'message' | 'problem' | 'text' | 'html' | 'empty';

type Choices<Value> = readonly [Value, ...Value[]];

/** Returns the settings of a switch; the first is the likeliest reading of the interface document. */
function choices<const Value>(...values: Choices<Value>): Choices<Value> {
  return values;
}

/** Tests draw in this order: another order changes the conventions of every seed. */
export const SWITCHES = {
  /** A response above this, of raw records or of a finer aggregation, is replaced by `forcedTo`. */
  forced: choices<{ readonly above: 'bytes' | 'rows'; readonly limit: number }>(
    { above: 'bytes', limit: 1_000_000 },
    { above: 'rows', limit: 20 },
    { above: 'rows', limit: 40 },
    { above: 'rows', limit: 1_000 },
  ),
  forcedTo: choices('day', 'quarter', 'minute'),
  /** The window may be widened to whole buckets of the forced aggregation. */
  forcedWindow: choices('as asked', 'whole buckets'),
  /** `start`: the first minute of the bucket, in the format of a minute key. */
  dayKey: choices('start', 'date', 'compact', 'index'),
  /** `label`: 2026-Q1, or the number of the quarter hour within its day. */
  quarterKey: choices('start', 'label', 'index'),
  /** Keys of branch, client and device: id as number or string, or name. */
  groupKey: choices('number', 'string', 'name'),
  /** Time zone of the day and three-month buckets. */
  dayZone: choices<KeyZone>('customer', 'utc'),
  /** Two buckets with the same key (when clocks are set back) are two rows or one. */
  repeatedKeys: choices('separate', 'merged'),
  rowOrder: choices('ascending', 'descending'),
  /** Buckets without counts, up to the service's now. */
  emptyBuckets: choices('omitted', 'listed'),
  quarter: choices('15 minutes', '3 months'),
  fromEdge: choices('exclusive', 'inclusive'),
  toEdge: choices('exclusive', 'inclusive'),
  /** Times of records are rounded down to a multiple of this. */
  resolutionMs: choices(1, 1_000, 60_000),
  /** The time of a record that `from` and `to` are compared with. */
  windowTime: choices('local', 'server', 'client'),
  /** The time of a record that its key is made from. */
  keyTime: choices('local', 'server', 'client'),
  /** The offset in `from` and `to`. A time without an offset is in the customer's zone. */
  designator: choices('honoured', 'ignored, read as local', 'ignored, read as UTC'),
  /** Windows of `day` and `quarter` may be widened to whole buckets. */
  window: choices('as asked', 'whole buckets'),
  /** Format of times in raw records. */
  recordTimes: choices('offset', 'Z', 'none'),
  /** Values of the field `category`. */
  categories: choices<Readonly<Record<'in' | 'out' | 'login', string>>>(
    { in: 'in', out: 'out', login: 'login' },
    { in: 'ENTRY', out: 'EXIT', login: 'PATRON' },
  ),
  /**
   * A record of an online device arrives within `usualMs`. In a share of hours a device is offline;
   * its records arrive at most `offlineMaxMs` after the hour.
   */
  lateness: choices<Readonly<Record<'usualMs' | 'offlineShare' | 'offlineMaxMs', number>>>(
    { usualMs: 20 * SECOND_MS, offlineShare: 0, offlineMaxMs: 0 },
    { usualMs: 2 * MINUTE_MS, offlineShare: 0.05, offlineMaxMs: 2 * HOUR_MS },
    { usualMs: 20 * SECOND_MS, offlineShare: 0.02, offlineMaxMs: 7 * DAY_MS },
    { usualMs: 10 * MINUTE_MS, offlineShare: 0.3, offlineMaxMs: DAY_MS },
  ),
  /** Share of records that are changed or removed later, and the maximum delay. */
  corrections: choices<Readonly<Record<'share' | 'withinMs', number>>>(
    { share: 0, withinMs: 0 },
    { share: 0.005, withinMs: DAY_MS },
  ),
  /** How long records are kept after their event. */
  retentionMs: choices<number>(400 * DAY_MS, Infinity, 40 * DAY_MS),
  /** `nightly`: complete days only, with the records that had arrived at the last 02:30 local. */
  dayFreshness: choices('live', 'nightly'),
  quarterFreshness: choices('live', 'nightly'),
  /** How far the service's clock (Date header, serverTime, now) is ahead. */
  serviceClockMs: choices<number>(0, 3 * MINUTE_MS, -3 * MINUTE_MS, 20 * MINUTE_MS),
  /** Share of devices and clients whose clock is wrong, and by how much. */
  deviceClocks: choices<Readonly<Record<'share' | 'aheadMs', number>>>(
    { share: 0, aheadMs: 0 },
    { share: 0.3, aheadMs: -4 * MINUTE_MS },
    { share: 0.3, aheadMs: 20 * MINUTE_MS },
    { share: 0.1, aheadMs: 30 * DAY_MS },
  ),
  /** Raw records above the forced limit, requested without `limit`: cut with a startToken, or not. */
  oversizedRaw: choices('aggregated', 'paged'),
  /** Raw records above the forced limit, requested with `limit`. */
  oversizedPage: choices('paged', 'aggregated'),
  /** Page size of raw records requested without `limit`; undefined: not paged. */
  defaultLimit: choices<number | undefined>(undefined, 100, 5_000),
  maximumLimit: choices<number>(10_000, 100, 1_000),
  aboveMaximumLimit: choices('clamped', 'rejected'),
  tokenLifetimeSeconds: choices<number>(3_600, 300, 86_400),
  /** Limit of the requests of each customer. */
  rateLimit: choices<
    | {
        readonly requests: number;
        readonly perMs: number;
        readonly retryAfter: 'seconds' | 'date' | 'none';
      }
    | undefined
  >(
    undefined,
    { requests: 60, perMs: MINUTE_MS, retryAfter: 'seconds' },
    { requests: 20, perMs: 10 * SECOND_MS, retryAfter: 'date' },
    { requests: 30, perMs: MINUTE_MS, retryAfter: 'none' },
  ),
  errorBody: choices<ErrorBody>('error', 'message', 'problem', 'text', 'html', 'empty'),
  invalidClientStatus: choices(400, 401),
  missingTokenStatus: choices(401, 403),
  expiredTokenStatus: choices(401, 403),
  forbiddenCombinationStatus: choices<400 | 422 | 'ignored'>(400, 422, 'ignored'),
  toWithoutFromStatus: choices<400 | 422 | 'ignored'>(400, 422, 'ignored'),
  badValueStatus: choices(400, 422),
};

type Settings = { readonly [Name in keyof typeof SWITCHES]: (typeof SWITCHES)[Name][number] };

export interface Conventions extends Settings {
  readonly minuteKey: MinuteKey;
  /** Number of rows or records in the response, or of what it sums up or pages. Not drawn: no value depends on it. */
  readonly metadataCount: 'rows' | 'counts';
  /** Whether branches, clients and devices are replaced by `forcedTo`. Not drawn: no client could know them. */
  readonly forcedGroups: 'never' | 'always';
}

const LIKELIEST = Object.fromEntries(
  Object.entries(SWITCHES).map(([name, [first]]) => [name, first]),
) as Settings;

export const plainConventions: Conventions = {
  minuteKey: {
    form: 'iso',
    zone: 'customer',
    designator: 'offset',
    precision: 'second',
    separator: 'T',
  },
  metadataCount: 'rows',
  forcedGroups: 'never',
  ...LIKELIEST,
};
