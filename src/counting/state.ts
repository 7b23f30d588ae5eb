/** What is remembered of one stream of one customer between two polls. Immutable: replaced whole. */
import type { MinuteStream } from '../base/model.ts';
import type { Anchor } from './anchor.ts';
import type { Believed } from './belief.ts';
import type { Calendar, CountingPeriod, Span } from './calendar.ts';
import type { Counts } from './counts.ts';
import { UNDECIDED } from './dating.ts';
import type { Dating } from './dating.ts';
import type { TotalsBy } from './total.ts';

/** What is shown of one stream: everything from one poll, replaced whole. */
export interface Snapshot {
  readonly epoch: CountingPeriod;
  readonly day: Span;
  readonly atMs: number;
  /** The service's totals since the epoch, corrections included. */
  readonly totals: Counts;
  /** The service's figures since the day started. */
  readonly today: Counts;
  /** Undefined where the keys of the minutes cannot be read. */
  readonly minutes: MinuteFigures | undefined;
}

export interface MinuteFigures {
  /** People inside, where the stream is `people`: in minus out, floored minute by minute. */
  readonly occupancy: number;
  /** How it came to that: people inside after each quarter of an hour of the day, up to the poll. */
  readonly path: readonly number[];
  /** The newest minute, today or the day before, that counted anybody. */
  readonly lastSeenMs: number | undefined;
}

export interface StreamState {
  readonly anchor: Anchor | undefined;
  readonly snapshot: Snapshot | undefined;
  readonly totalsBy: TotalsBy;
  /** Start of the epoch in which `totalsBy` has agreed with minutes that had counts. */
  readonly provenPeriodMs: number | undefined;
  /** Anchors in a row whose window was empty though the day had counts in its minutes. */
  readonly doubtedWindows: number;
  /** Whether windows were empty though the day had counts in them: they begin too late. */
  readonly isBlind: boolean;
  readonly dating: Dating;
  /** Sums of the newest window since the anchor. */
  readonly window: Counts | undefined;
  /** Polls in a row that found nothing where something was expected. */
  readonly emptyPolls: number;
  /** Totals that were out of proportion at the last poll. */
  readonly suspicion: Believed | undefined;
  /** Newest minute of the day before `dayStartMs`, as far as it is known. */
  readonly dayBefore:
    { readonly dayStartMs: number; readonly lastSeenMs: number | undefined } | undefined;
}

export const INITIAL_STATE: StreamState = {
  anchor: undefined,
  snapshot: undefined,
  totalsBy: 'day',
  provenPeriodMs: undefined,
  doubtedWindows: 0,
  isBlind: false,
  dating: UNDECIDED,
  window: undefined,
  emptyPolls: 0,
  suspicion: undefined,
  dayBefore: undefined,
};

export interface PollContext {
  readonly stream: MinuteStream;
  readonly counterCount: number;
  readonly calendar: Calendar;
  readonly epoch: CountingPeriod;
  readonly nowMs: () => number;
  /** What time it is for the service, whose records are dated and windowed by its clock. */
  readonly serviceNowMs: () => number;
  readonly monotonicMs: number;
  /** Anchors of before this moment of the monotonic clock are old. */
  readonly renewalMs: number;
  /** Whether half of the poll's time is still left. */
  readonly hasTime: () => boolean;
  /** Whether an anchor that is only wished for may be taken now. */
  readonly mayAnchor: boolean;
  /** What is known of this epoch from before the start: the high-water marks. */
  readonly marks: Believed | undefined;
}

/** A minute has come once it has by either clock: which of them the devices follow is not known. */
export function latestNowMs({ nowMs, serviceNowMs }: PollContext): number {
  return Math.max(nowMs(), serviceNowMs());
}

/** What an operator should hear of a poll beside its figures. */
export type PollNote =
  | 'empty_not_believed'
  | 'rise_not_believed'
  | 'totals_by_quarter'
  | 'totals_by_minute'
  | 'keys_left_out'
  | 'keys_unknown'
  | 'keys_established';

export interface PollOutcome {
  readonly state: StreamState;
  readonly notes: readonly PollNote[];
}
