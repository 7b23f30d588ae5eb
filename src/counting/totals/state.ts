/** What is kept of one stream between two polls, what a poll is given, and what it returns. */
import type { Clock } from '../../base/clock.ts';
import type { KeyTimes, MinuteStream } from '../../base/model.ts';
import type { Calendar, CountingPeriod, Span } from '../calendar/calendar.ts';
import type { Counts } from '../rows/counts.ts';
import type { CountsToday, DayCounts } from '../rows/day-counts.ts';
import type { WindowResponse } from '../rows/window-reader.ts';
import { NOTHING_PENDING } from './accept.ts';
import type { ConfirmationContext, Pending, PendingNote } from './accept.ts';
import { BY_DAY } from './period-total.ts';
import type { TotalSource } from './period-total.ts';

/** Immutable: replaced as a whole. */
export interface StreamState {
  readonly baseline: Baseline | undefined;
  readonly snapshot: Snapshot | undefined;
  readonly totalSource: TotalSource;
  /** The newest note on keys: each is given once. */
  readonly keysNoted: KeyNote['kind'] | undefined;
  /** Sums of `recent` at the last accepted poll. */
  readonly recent: Counts | undefined;
  readonly pending: Pending;
}

export const INITIAL_STATE: StreamState = {
  baseline: undefined,
  snapshot: undefined,
  totalSource: BY_DAY,
  keysNoted: undefined,
  recent: undefined,
  pending: NOTHING_PENDING,
};

/** Returns the last accepted values of a period and of a day; of a stream, or by key. */
export function acceptedValues<Values>(
  { snapshot }: { readonly snapshot: (Record<'totals' | 'today', Values> & PolledAt) | undefined },
  period: CountingPeriod,
  day: Span,
): Record<'totals' | 'today', Values | undefined> {
  return {
    totals: snapshot?.period.startMs === period.startMs ? snapshot.totals : undefined,
    today: snapshot?.day.startMs === day.startMs ? snapshot.today : undefined,
  };
}

type PolledAt = Pick<Snapshot, 'period' | 'day'>;

/** The readings of rule 1, from which later polls count on. */
export interface Baseline {
  readonly period: CountingPeriod;
  readonly day: Span;
  readonly takenAtMonotonicMs: number;
  /** Start of the window that every later poll requests. */
  readonly recentStartMs: number;
  readonly recentAtBaseline: Pick<WindowResponse, 'aggregation' | 'sums'>;
  readonly periodTotal: Counts;
  readonly todayByMinute: Counts;
  /** Today's minutes without those of `recentAtBaseline`; undefined if keys cannot be parsed. */
  readonly minutes: DayCounts | undefined;
}

/** The accepted values of one poll. */
export interface Snapshot {
  readonly period: CountingPeriod;
  readonly day: Span;
  readonly atMs: number;
  /** The service's totals since the period started, corrections included. */
  readonly totals: Counts;
  /** The service's counts since the day started. */
  readonly today: Counts;
  /** Today's minutes; undefined if keys cannot be parsed, or the service forces another aggregation. */
  readonly minutes: CountsToday | undefined;
}

/** The clocks of a poll, in milliseconds. */
export type PollClocks = Pick<Clock, 'nowMs' | 'monotonicMs'>;

export interface AcceptedTotals {
  readonly totals: Counts;
  readonly atMs: number;
}

export interface PollContext extends ConfirmationContext {
  readonly stream: MinuteStream;
  readonly calendar: Calendar;
  readonly keyTimes: KeyTimes;
  readonly period: CountingPeriod;
  readonly clocks: PollClocks;
  /** The high-water marks of the period, of this process and before it. */
  readonly marks: AcceptedTotals | undefined;
}

/**
 * What a poll reads: the minutes since the baseline, or a baseline. A `renewal` can wait: until then, polls count
 * on an older one.
 */
export type PollPlan = 'recent' | 'renewal' | 'baseline';

/** What the keys of a poll have shown. `key` is one of them, quoted and cut. */
export type KeyNote =
  | { readonly kind: 'keys_unreadable'; readonly key: string }
  /** The newest minute is so many hours ahead of the clock; behind it if negative. */
  | { readonly kind: 'keys_off_clock'; readonly key: string; readonly hours: number };

export type PollNote =
  | PendingNote
  | 'aggregations_inconsistent'
  | 'totals_by_quarter'
  | 'totals_by_minute'
  | 'breakdown_keys_dropped'
  | KeyNote;

/**
 * `accepted`: the values of the poll are exported. `pending`: the previous ones stay until these are
 * confirmed. The others: this poll cannot decide without that plan.
 */
export type PollResult = 'accepted' | 'pending' | 'needs renewal' | 'needs baseline';

export interface PollOutcome {
  readonly state: StreamState;
  readonly result: PollResult;
  readonly notes: readonly PollNote[];
}
