/**
 * One look at a stream for a person who asks whether it works: polls as the exporter's first ones,
 * until there are figures, and beside them what explains them. Asks more than a poll does, and is
 * for nobody who asks often.
 */
import type { Query, WindowReader } from './query.ts';
import { EMPTY_POLLS_BEFORE_BELIEF } from './belief.ts';
import { DAY_MS } from './calendar.ts';
import { anyBelow, isZero } from './counts.ts';
import type { Counts } from './counts.ts';
import { establish } from './dating.ts';
import type { Dating } from './dating.ts';
import { ledgerOfPieces, minutePieces } from './day-rows.ts';
import { lastSeenIn } from './minutes.ts';
import { INITIAL_STATE } from './state.ts';
import type { PollContext, StreamState } from './state.ts';
import { readerFor, pollStream } from './stream.ts';
import { SHORTEST_PIECE_MS } from './total.ts';
import type { TotalsBy } from './total.ts';

export interface StreamSurvey {
  /** After the polls, as the exporter would have it. */
  readonly state: StreamState;
  /** What is known of the keys, by older rows too where the newest days have none. */
  readonly dating: Dating;
  /** The newest minute that counted anybody, in two weeks; undefined also where no key can be read. */
  readonly lastSeenMs: number | undefined;
  readonly day: DayAgreement;
  /** Whether even the shortest window by the minute is answered by something coarser. */
  readonly isMinuteForced: boolean;
}

/** Whether `day` tells what `minute` does. */
export type DayAgreement =
  | { readonly agrees: true }
  /** Nobody was counted in what was compared, or nothing could be. */
  | { readonly agrees: undefined }
  | {
      readonly agrees: false;
      /** What the exporter reads the totals by: `day` where it cannot see that this one lags. */
      readonly totalsBy: TotalsBy;
      /** The sums of one window by `day`, and by `minute`. */
      readonly byDay: Counts;
      readonly byMinute: Counts;
    };

const LOOK_BACK_MS = 14 * DAY_MS;

/** Surveys a stream of which nothing is known yet. */
export async function surveyStream(context: PollContext, query: Query): Promise<StreamSurvey> {
  let state = INITIAL_STATE;
  for (let polls = 0; polls < EMPTY_POLLS_BEFORE_BELIEF && state.snapshot === undefined; polls++) {
    ({ state } = await pollStream(state, context, query));
  }
  const reader = readerFor(context, query);
  const { dating, snapshot } = state;
  const lastSeenMs = snapshot?.minutes?.lastSeenMs;
  const agreement = await agreementOf(state, context, reader);
  return lastSeenMs === undefined && dating.status !== 'unknown'
    ? { state, ...agreement, ...(await lookBack(dating, context, reader)) }
    : { state, ...agreement, dating, lastSeenMs };
}

async function agreementOf(
  { totalsBy, provenPeriodMs, snapshot }: StreamState,
  { epoch, nowMs }: PollContext,
  reader: WindowReader,
): Promise<Pick<StreamSurvey, 'day' | 'isMinuteForced'>> {
  if (snapshot === undefined) {
    return { day: { agrees: undefined }, isMinuteForced: false };
  }
  const { startMs } = snapshot.day;
  const today = await reader.read('minute', startMs);
  if (totalsBy === 'day' && today.aggregation === 'minute') {
    const isHeldAgainstCounts = provenPeriodMs === epoch.startMs || !isZero(snapshot.today);
    const agrees = isHeldAgainstCounts ? true : undefined;
    return { day: { agrees }, isMinuteForced: false };
  }
  // Where today's minutes were answered by something coarser, it may have agreed with itself.
  const fromMs = today.aggregation === 'minute' ? startMs : nowMs() - SHORTEST_PIECE_MS;
  const minutes = await reader.read('minute', fromMs);
  const { sums: byDay } = await reader.read('day', fromMs);
  const byMinute = minutes.sums;
  const isMinuteForced = minutes.aggregation !== 'minute';
  const lags = totalsBy !== 'day' || anyBelow(byDay, byMinute);
  const agrees = isMinuteForced || isZero(byMinute) ? undefined : true;
  return {
    day: lags ? { agrees: false, totalsBy, byDay, byMinute } : { agrees },
    isMinuteForced,
  };
}

/** Where neither today nor the day before has counted anybody. */
async function lookBack(
  dating: Dating,
  { calendar: { zone }, nowMs }: PollContext,
  reader: WindowReader,
): Promise<Pick<StreamSurvey, 'dating' | 'lastSeenMs'>> {
  const answer = await reader.read('minute', nowMs() - LOOK_BACK_MS);
  const pieces = (await minutePieces(reader, answer)) ?? [];
  const found = await establish(reader, dating, pieces, zone);
  const ledger = ledgerOfPieces(pieces, found, zone);
  const { startMs, endMs } = answer.window;
  const lastSeenMs = ledger && lastSeenIn(ledger, { startMs, endMs: endMs + 1 });
  return { dating: found, lastSeenMs };
}
