/**
 * Domain types that more than one module uses.
 *
 * - customer: a library organisation with its own credentials at the service.
 * - stream: what is polled for a customer: `people` and `logins` by minute; `branch`, `client` and
 *   `device` as breakdowns of people.
 * - counting period: a calendar month in the customer's zone; counters start at 0 with it.
 * - day: from `day_starts_at` to the next one, local time; today's values start at 0 with it.
 */

import type { Secret } from './secret.ts';

export const MINUTE_STREAMS = ['people', 'logins'] as const;
export const BREAKDOWNS = ['branch', 'client', 'device'] as const;

export type MinuteStream = (typeof MINUTE_STREAMS)[number];
export type Breakdown = (typeof BREAKDOWNS)[number];
export type Stream = MinuteStream | Breakdown;

/** Whether a stream has minutes: breakdowns have none. */
export function isMinuteStream(stream: Stream): stream is MinuteStream {
  return stream === 'people' || stream === 'logins';
}

export type CounterName = 'people_entered' | 'people_exited' | 'logins';

/** The counters of each stream, in the order of {@link Row.counts}. */
export const COUNTERS = {
  people: ['people_entered', 'people_exited'],
  logins: ['logins'],
} as const satisfies Record<MinuteStream, readonly CounterName[]>;

export const ALL_COUNTERS: readonly CounterName[] = MINUTE_STREAMS.flatMap(
  (stream) => COUNTERS[stream],
);

/** The service's data endpoints (docs/service.md). */
export type Endpoint = 'peoplecount' | 'login';

/** The aggregations of each endpoint (docs/service.md#aggregations). */
export const AGGREGATIONS = {
  peoplecount: ['branch', 'client', 'device', 'day', 'quarter', 'minute'],
  login: ['day', 'quarter', 'minute'],
} as const satisfies Record<Endpoint, readonly string[]>;

export type Aggregation = (typeof AGGREGATIONS)[Endpoint][number];

/** The format is not documented. Only counting/rows/keys.ts reads the key of a time. */
export type Key = string | number;

/**
 * One aggregated record. `counts` holds non-negative safe integers: `[in, out]` of a people count,
 * `[value]` of logins.
 */
export interface Row {
  readonly key: Key;
  readonly counts: readonly number[];
}

/** How requests write times: local time with its offset, UTC with `Z`, or local time without an offset. */
export const REQUEST_TIMES = ['offset', 'utc', 'local'] as const;

export type RequestTimes = (typeof REQUEST_TIMES)[number];

/** What keys without an offset are: local times of the customer, or UTC. */
export const KEY_TIMES = ['local', 'utc'] as const;

export type KeyTimes = (typeof KEY_TIMES)[number];

/**
 * Local times with their offset, whole seconds. Only the service's client writes them in another way. `to`
 * needs `from` (docs/service.md#requests).
 */
export interface Window {
  readonly from?: string;
  readonly to?: string;
}

export interface AggregatedQuery extends Window {
  readonly endpoint: Endpoint;
  readonly aggregation: Aggregation;
  /** How the request writes its times. Default: as configured. */
  readonly requestTimes?: RequestTimes;
}

/** An aggregated query with a start, as counting needs it. */
export interface WindowQuery extends AggregatedQuery {
  readonly from: string;
}

/** What a response says about itself: its documented fields, as far as they are present. */
export interface ResponseMetadata {
  readonly from?: string;
  readonly to?: string;
  readonly count?: number;
  readonly limit?: number;
}

/**
 * A complete response. `aggregation` is the one that the service used, in lower case. It may differ from the
 * requested one: above 1 MB the service forces another (docs/service.md#aggregations).
 */
export interface AggregatedResponse {
  readonly aggregation: string;
  readonly rows: readonly Row[];
  readonly metadata?: ResponseMetadata;
}

/** A query for one page of raw records. All its pages have the same window. */
export interface PageQuery extends Window {
  readonly endpoint: Endpoint;
  readonly aggregation?: undefined;
  /** The largest number of records on the page. */
  readonly limit: number;
  /** Token in the previous page; absent for the first one. */
  readonly startToken?: Secret;
  /** Whether fields about the patron are decoded. */
  readonly includePatronFields: boolean;
}

/** The fields of a raw record of people, in the order of docs/service.md#people-counts. */
export const PEOPLE_RECORD_FIELDS = [
  'id',
  'amount',
  'name',
  'localTime',
  'serverTime',
  'clientTime',
  'category',
  'libraryControllerState',
  'customerId',
  'branchId',
  'clientId',
  'deviceId',
] as const;

/** The values of a raw record in the order of docs/service.md; null for a missing one. */
export type RawRecord = readonly (string | number | null)[];

/** One page of raw records. */
export interface RawPage {
  readonly aggregation: undefined;
  readonly records: readonly RawRecord[];
  readonly metadata: ResponseMetadata;
  /** Start of the next page. Undefined on the last one. */
  readonly startToken: Secret | undefined;
}

/** The aggregation that the service forced in place of a page (docs/service.md#aggregations). */
export interface ForcedAggregation {
  readonly aggregation: string;
}

export type Page = RawPage | ForcedAggregation;
