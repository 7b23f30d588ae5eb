/**
 * The behaviours that service-interface.md leaves open, each as a switch. The exporter must not
 * depend on any setting of them.
 */
import type { Random } from '../base/random.ts';
import { pick } from './chance.ts';

export type KeyZone = 'customer' | 'utc';
export type KeyType = 'number' | 'string';

/** Format of the key of a time bucket. `Z` always means UTC; `none` is a local time without offset. */
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

/** `start`: the first minute of the bucket, in the format of a minute key. */
export type DayKey = 'start' | 'date' | 'compact' | 'index';
/** `label`: 2026-Q1, or the number of the quarter hour within its day. */
export type QuarterKey = 'start' | 'label' | 'index';
export type GroupKey = 'number' | 'string' | 'name';
export type RecordTime = 'local' | 'server' | 'client';
export type ForcedAggregation = 'minute' | 'quarter' | 'day';
export type ErrorBody = 'error' | 'message' | 'problem' | 'text' | 'html' | 'empty';

export interface Conventions {
  readonly minuteKey: MinuteKey;
  readonly dayKey: DayKey;
  readonly quarterKey: QuarterKey;
  /** Keys of branch, client and device: id as number or string, or name. */
  readonly groupKey: GroupKey;
  /** Time zone of the day and three-month buckets. */
  readonly dayZone: KeyZone;
  /** Two buckets with the same key (when clocks are set back) are two rows or one. */
  readonly repeatedKeys: 'separate' | 'merged';
  readonly rowOrder: 'ascending' | 'descending';
  /** Buckets without counts, up to the service's now. */
  readonly emptyBuckets: 'omitted' | 'listed';
  readonly quarter: '15 minutes' | '3 months';

  readonly fromEdge: 'exclusive' | 'inclusive';
  readonly toEdge: 'exclusive' | 'inclusive';
  /** Times of records are rounded down to a multiple of this. */
  readonly resolutionMs: 1 | 1_000 | 60_000;
  /** The time of a record that `from` and `to` are compared with. */
  readonly windowTime: RecordTime;
  /** The time of a record that its key is made from. */
  readonly keyTime: RecordTime;
  /** The offset in `from` and `to`. A time without an offset is in the customer's zone. */
  readonly designator: 'honoured' | 'ignored, read as local' | 'ignored, read as UTC';
  /** Windows of `day` and `quarter` may be widened to whole buckets. */
  readonly window: 'as asked' | 'whole buckets';
  /** Format of times in raw records. */
  readonly recordTimes: 'offset' | 'Z' | 'none';
  /** Values of the field `category`. */
  readonly categories: { readonly in: string; readonly out: string; readonly login: string };

  readonly lateness: {
    /** A record of an online device arrives within this. */
    readonly usualMs: number;
    /** Share of hours in which a device is offline, and the maximum delay of its records after such an hour. */
    readonly offlineShare: number;
    readonly offlineMaxMs: number;
  };
  /** Share of records that are changed or removed later, and the maximum delay. */
  readonly corrections: { readonly share: number; readonly withinMs: number };
  /** How long records are kept after their event. */
  readonly retentionMs: number;
  /** `nightly`: shows complete days only, with the records that had arrived at the last 02:30 local. */
  readonly dayFreshness: 'live' | 'nightly';
  readonly quarterFreshness: 'live' | 'nightly';
  /** How far the service's clock (Date header, serverTime, now) is ahead. */
  readonly serviceClockMs: number;
  /** Share of devices and clients whose clock is wrong, and by how much. */
  readonly deviceClocks: { readonly share: number; readonly aheadMs: number };

  readonly forced: {
    readonly above: 'bytes' | 'rows';
    readonly limit: number;
    readonly to: ForcedAggregation;
    /** The window may be widened to whole buckets of the forced aggregation. */
    readonly window: 'as asked' | 'whole buckets';
  };
  /** A raw answer above the forced limit, requested without `limit`: aggregated, or cut with a startToken. */
  readonly oversizedRaw: 'aggregated' | 'paged';
  /** A raw answer above the forced limit, requested with `limit`. */
  readonly oversizedPage: 'aggregated' | 'paged';
  /** Page size of raw answers requested without `limit`; undefined: not paged. */
  readonly defaultLimit: number | undefined;
  readonly maximumLimit: number;
  readonly aboveMaximumLimit: 'clamped' | 'rejected';

  readonly tokenLifetimeSeconds: number;
  /** For each customer. */
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

/** The settings of each switch; the first is the likeliest reading of the interface document. */
type Choices<Switches> = {
  readonly [Name in keyof Switches]: readonly [Switches[Name], ...Switches[Name][]];
};

const CHOICES: Choices<Omit<Conventions, 'minuteKey' | 'forced' | 'status'>> = {
  dayKey: ['start', 'date', 'compact', 'index'],
  quarterKey: ['start', 'label', 'index'],
  groupKey: ['number', 'string', 'name'],
  dayZone: ['customer', 'utc'],
  repeatedKeys: ['separate', 'merged'],
  rowOrder: ['ascending', 'descending'],
  emptyBuckets: ['omitted', 'listed'],
  quarter: ['15 minutes', '3 months'],
  fromEdge: ['exclusive', 'inclusive'],
  toEdge: ['exclusive', 'inclusive'],
  resolutionMs: [1, 1_000, 60_000],
  windowTime: ['local', 'server', 'client'],
  keyTime: ['local', 'server', 'client'],
  designator: ['honoured', 'ignored, read as local', 'ignored, read as UTC'],
  window: ['as asked', 'whole buckets'],
  recordTimes: ['offset', 'Z', 'none'],
  categories: [
    { in: 'in', out: 'out', login: 'login' },
    { in: 'ENTRY', out: 'EXIT', login: 'PATRON' },
  ],
  lateness: [
    { usualMs: 20 * SECOND_MS, offlineShare: 0, offlineMaxMs: 0 },
    { usualMs: 2 * MINUTE_MS, offlineShare: 0.05, offlineMaxMs: 2 * HOUR_MS },
    { usualMs: 20 * SECOND_MS, offlineShare: 0.02, offlineMaxMs: 7 * DAY_MS },
    { usualMs: 10 * MINUTE_MS, offlineShare: 0.3, offlineMaxMs: DAY_MS },
  ],
  corrections: [
    { share: 0, withinMs: 0 },
    { share: 0.005, withinMs: DAY_MS },
  ],
  retentionMs: [400 * DAY_MS, Infinity, 40 * DAY_MS],
  dayFreshness: ['live', 'nightly'],
  quarterFreshness: ['live', 'nightly'],
  serviceClockMs: [0, 3 * MINUTE_MS, -3 * MINUTE_MS, 20 * MINUTE_MS],
  deviceClocks: [
    { share: 0, aheadMs: 0 },
    { share: 0.3, aheadMs: -4 * MINUTE_MS },
    { share: 0.3, aheadMs: 20 * MINUTE_MS },
    { share: 0.1, aheadMs: 30 * DAY_MS },
  ],
  oversizedRaw: ['aggregated', 'paged'],
  oversizedPage: ['paged', 'aggregated'],
  defaultLimit: [undefined, 100, 5_000],
  maximumLimit: [10_000, 100, 1_000],
  aboveMaximumLimit: ['clamped', 'rejected'],
  tokenLifetimeSeconds: [3_600, 300, 86_400],
  rateLimit: [
    undefined,
    { requests: 60, perMs: MINUTE_MS, retryAfter: 'seconds' },
    { requests: 20, perMs: 10 * SECOND_MS, retryAfter: 'date' },
    { requests: 30, perMs: MINUTE_MS, retryAfter: 'none' },
  ],
  errorBody: ['error', 'message', 'problem', 'text', 'html', 'empty'],
};

type Forced = Conventions['forced'];
const FORCED: Choices<{
  readonly size: Pick<Forced, 'above' | 'limit'>;
  readonly to: Forced['to'];
  readonly window: Forced['window'];
}> = {
  size: [
    { above: 'bytes', limit: 1_000_000 },
    { above: 'rows', limit: 20 },
    { above: 'rows', limit: 40 },
    { above: 'rows', limit: 1_000 },
  ],
  to: ['day', 'quarter', 'minute'],
  window: ['as asked', 'whole buckets'],
};

const STATUS: Choices<Conventions['status']> = {
  invalidClient: [400, 401],
  missingToken: [401, 403],
  expiredToken: [401, 403],
  forbiddenCombination: [400, 422, 'ignored'],
  toWithoutFrom: [400, 422, 'ignored'],
  badValue: [400, 422],
};

export const plainConventions: Conventions = choose((values) => values[0], {
  form: 'iso',
  zone: 'customer',
  designator: 'offset',
  precision: 'second',
});

/** Every switch at random; half of the draws take the likeliest setting. */
export function drawConventions(random: Random): Conventions {
  return choose(
    (values) => (random.next() < 0.5 ? values[0] : pick(random, values)),
    drawMinuteKey(random),
  );
}

type Choose = <Value>(values: readonly [Value, ...Value[]]) => Value;

function choose(chooseOne: Choose, minuteKey: MinuteKey): Conventions {
  const { size, ...forced } = settingsOf(FORCED, chooseOne);
  return {
    ...settingsOf(CHOICES, chooseOne),
    minuteKey,
    forced: { ...size, ...forced },
    status: settingsOf(STATUS, chooseOne),
  };
}

function settingsOf<Switches>(choices: Choices<Switches>, chooseOne: Choose): Switches {
  const names = Object.keys(choices) as (keyof Switches)[];
  return Object.fromEntries(names.map((name) => [name, chooseOne(choices[name])])) as Switches;
}

/** Each format is equally likely. */
function drawMinuteKey(random: Random): MinuteKey {
  const zone = pick<KeyZone>(random, ['customer', 'utc']);
  const type = pick<KeyType>(random, ['number', 'string']);
  const unit = pick(random, ['s', 'ms', 'min'] as const);
  const precision = pick(random, ['minute', 'second', 'fraction'] as const);
  return pick<MinuteKey>(random, [
    { form: 'iso', zone, designator: 'offset', precision },
    { form: 'iso', zone: 'utc', designator: 'Z', precision },
    { form: 'iso', zone, designator: 'none', precision },
    { form: 'epoch', unit, type },
    { form: 'compact', zone, type },
    { form: 'minute-of-day', zone, type },
    { form: 'index', type },
    { form: 'clock', zone },
  ]);
}
