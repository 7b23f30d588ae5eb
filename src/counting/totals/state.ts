/** What is kept of one stream between two polls, what a poll is given, and what it returns. */
import type { MinuteStream } from '../../base/model.ts';
import type { Calendar, CountingPeriod, Span } from '../calendar/calendar.ts';
import type { Counts } from '../rows/counts.ts';
import type { DayCounts } from '../rows/day-counts.ts';
import { ANY_KEY_FORMAT } from '../rows/key-format.ts';
import type { KeyFormatState } from '../rows/key-format.ts';
import type { WindowResponse } from '../rows/window-reader.ts';
import { BY_DAY } from './period-total.ts';
import type { TotalSource } from './period-total.ts';
import { NOTHING_PENDING } from './plausibility.ts';
import type { AcceptedTotals, Pending, PlausibilityNote } from './plausibility.ts';

/** Immutable: replaced as a whole. */
export interface StreamState {
  readonly baseline: Baseline | undefined;
  readonly snapshot: Snapshot | undefined;
  readonly totalSource: TotalSource;
  readonly keyFormat: KeyFormatState;
  /** Sums of `recent` at the last accepted poll. */
  readonly recent: Counts | undefined;
  readonly pending: Pending;
  /** Start of the newest minute before today that counted anybody. */
  readonly lastSeenBeforeMs: number | undefined;
}

export const INITIAL_STATE: StreamState = {
  baseline: undefined,
  snapshot: undefined,
  totalSource: BY_DAY,
  keyFormat: ANY_KEY_FORMAT,
  recent: undefined,
  pending: NOTHING_PENDING,
  lastSeenBeforeMs: undefined,
};

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
  /** The service's figures since the day started. */
  readonly today: Counts;
  /** What depends on the order of the minutes; undefined if keys cannot be parsed. */
  readonly order:
    | {
        readonly minutes: DayCounts;
        /** Minutes that start before this instant had begun at the poll. */
        readonly endMs: number;
        /** Start of the newest minute, today or the day before, that counted anybody. */
        readonly lastSeenMs: number | undefined;
      }
    | undefined;
}

export type BaselineNecessity = 'required' | 'optional';

export interface PollContext {
  readonly stream: MinuteStream;
  readonly calendar: Calendar;
  readonly period: CountingPeriod;
  readonly nowMs: () => number;
  /** The service's clock, by which it dates and windows records. */
  readonly serviceNowMs: () => number;
  readonly monotonicMs: number;
  /** Baselines taken before this moment of the monotonic clock are due for renewal. */
  readonly renewalMs: number;
  readonly reconcileIntervalMs: number;
  /** Whether half of the poll's time is left. */
  readonly hasTime: () => boolean;
  /** Whether a baseline may be read now, which takes more time. A required one always may. */
  readonly beginBaseline: (necessity: BaselineNecessity) => boolean;
  /** The high-water marks of the period from before the start. */
  readonly marks: AcceptedTotals | undefined;
}

export type PollNote =
  | PlausibilityNote
  | 'aggregations_inconsistent'
  | 'totals_by_quarter'
  | 'totals_by_minute'
  | 'breakdown_keys_dropped'
  | 'key_format_unknown'
  | 'key_format_detected';

export interface PollOutcome {
  readonly state: StreamState;
  /** Whether the values of this poll are exported; else the previous ones stay until it is confirmed. */
  readonly accepted: boolean;
  readonly notes: readonly PollNote[];
}

/** Returns the later clock. A minute has begun once it has by either: devices may follow one or the other. */
export function latestNowMs({
  nowMs,
  serviceNowMs,
}: Pick<PollContext, 'nowMs' | 'serviceNowMs'>): number {
  return Math.max(nowMs(), serviceNowMs());
}
