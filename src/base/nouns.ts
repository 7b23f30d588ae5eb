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

export type MinuteStream = 'people' | 'logins';
export type Breakdown = 'branch' | 'client' | 'device';
export type Stream = MinuteStream | Breakdown;

export const MINUTE_STREAMS: readonly MinuteStream[] = ['people', 'logins'];
export const BREAKDOWNS: readonly Breakdown[] = ['branch', 'client', 'device'];

export type Kind = 'people_entered' | 'people_exited' | 'logins';

/** The kinds of each stream of minutes, in the order of {@link Row.counts}. */
export const KINDS = {
  people: ['people_entered', 'people_exited'],
  logins: ['logins'],
} as const satisfies Record<MinuteStream, readonly Kind[]>;

/** The service's data endpoints (service-interface.md, 4.2 and 4.3). */
export type Endpoint = 'peoplecount' | 'login';

/** What a question can ask for (service-interface.md, 4.2). */
export type Aggregation = 'branch' | 'client' | 'device' | 'day' | 'quarter' | 'minute';

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

/** An aggregated question. `from` and `to` are ISO 8601 timestamps with an offset. */
export interface Question {
  readonly endpoint: Endpoint;
  readonly aggregation: Aggregation;
  readonly from: string;
  readonly to?: string;
}

/**
 * A whole answer. `aggregation` is what the service says that it used, which need not be what was
 * asked: above 1 MB it forces another (service-interface.md, 8).
 */
export interface Reading {
  readonly aggregation: string;
  readonly rows: readonly Row[];
}
