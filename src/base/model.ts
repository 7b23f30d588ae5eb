/**
 * The glossary, and the shapes that pass from room to room.
 *
 * - customer: a library organisation with its own credentials at the service.
 * - stream: one kind of question that is polled for a customer: `people` and `logins` by the
 *   minute, `branch`, `client` and `device` as breakdowns of people.
 * - kind: one exported counter of a customer.
 * - reading: one whole answer of the service, decoded; never a part of one.
 * - epoch: the start of the running month in the customer's local time; counters count from it.
 * - day: from `day_starts_at` to the next one, local; occupancy and today's figures start with it.
 */

import type { Secret } from './secret.ts';

export const MINUTE_STREAMS = ['people', 'logins'] as const;
export const BREAKDOWNS = ['branch', 'client', 'device'] as const;

export type MinuteStream = (typeof MINUTE_STREAMS)[number];
export type Breakdown = (typeof BREAKDOWNS)[number];
export type Stream = MinuteStream | Breakdown;

export type CounterName = 'people_entered' | 'people_exited' | 'logins';

/** The kinds of each stream of minutes, in the order of {@link Row.counts}. */
export const COUNTERS = {
  people: ['people_entered', 'people_exited'],
  logins: ['logins'],
} as const satisfies Record<MinuteStream, readonly CounterName[]>;

/** Stream after stream. */
export const ALL_COUNTERS: readonly CounterName[] = MINUTE_STREAMS.flatMap(
  (stream) => COUNTERS[stream],
);

/** The service's data endpoints (service-interface.md, 4.2 and 4.3). */
export type Endpoint = 'peoplecount' | 'login';

/** The aggregations that each endpoint has (service-interface.md, 4.2 and 4.3). */
export const AGGREGATIONS = {
  peoplecount: ['branch', 'client', 'device', 'day', 'quarter', 'minute'],
  login: ['day', 'quarter', 'minute'],
} as const satisfies Record<Endpoint, readonly string[]>;

export type Aggregation = (typeof AGGREGATIONS)[Endpoint][number];

/** The service does not say what a key looks like; only `counting/keys.ts` ever reads one. */
export type Key = string | number;

/**
 * One aggregated record. `counts` holds non-negative safe integers: `[in, out]` of a people count,
 * `[value]` of logins.
 */
export interface Row {
  readonly key: Key;
  readonly counts: readonly number[];
}

/** What is asked about: ISO 8601 timestamps with an offset. `to` needs `from` (4.2). */
export interface Window {
  readonly from?: string;
  readonly to?: string;
}

/** An aggregated question. */
export interface AggregatedQuestion extends Window {
  readonly endpoint: Endpoint;
  readonly aggregation: Aggregation;
}

/** An aggregated question as counting asks it: always from some instant on. */
export interface Question extends AggregatedQuestion {
  readonly from: string;
}

/**
 * A whole answer. `aggregation` is what the service says that it used, in lower case, which need not
 * be what was asked: above 1 MB it forces another (service-interface.md, 8).
 */
export interface AggregatedResponse {
  readonly aggregation: string;
  readonly rows: readonly Row[];
}

/** A question for one page of raw records. Asked with the same window, the pages join to a whole. */
export interface PageQuestion extends Window {
  readonly endpoint: Endpoint;
  readonly aggregation?: undefined;
  /** The most records that the page may have. */
  readonly limit: number;
  /** Of the page before; without it, the page is the first one. */
  readonly startToken?: Secret;
  /** Whether the fields that tell of a patron are taken from the answer at all. */
  readonly includePatronFields: boolean;
}

/** One raw record: its values in the order of the service's document; null where it has none. */
export type RawRecord = readonly (string | number | null)[];

/** One page of raw records, whole. */
export interface RawPage {
  readonly aggregation: undefined;
  readonly records: readonly RawRecord[];
  /** Where the next page starts; only the service knows what it means. Undefined: this is the last. */
  readonly startToken: Secret | undefined;
}

/** In place of a page: the service forced an aggregation (service-interface.md, 8), named here. */
export interface ForcedAggregation {
  readonly aggregation: string;
}

export type Page = RawPage | ForcedAggregation;
