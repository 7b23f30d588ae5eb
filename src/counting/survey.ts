/**
 * One look at a stream for a person who asks whether it works: polls as the exporter's first ones,
 * until there are figures, and beside them what explains them. Asks more than a poll does, and is
 * for nobody who asks often.
 */
import { createInquirer } from './asking.ts';
import type { Asking, Inquirer } from './asking.ts';
import { EMPTY_POLLS_BEFORE_BELIEF } from './belief.ts';
import type { Counts } from './counts.ts';
import { establish } from './dating.ts';
import type { Dating } from './dating.ts';
import { datingOf, minutePieces } from './day-rows.ts';
import { lastSeenIn, withRows } from './minutes.ts';
import type { MinuteLedger } from './minutes.ts';
import { INITIAL_STATE, latestNowMs } from './state.ts';
import type { PollContext, StreamState } from './state.ts';
import { ENDPOINTS, pollStream } from './stream.ts';
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
}

/** Whether `day` tells what `minute` does. */
export type DayAgreement =
  | { readonly agrees: true }
  /** Nobody was counted in what was compared. */
  | { readonly agrees: undefined }
  | {
      readonly agrees: false;
      /** What the exporter reads the totals by instead. */
      readonly totalsBy: Exclude<TotalsBy, 'day'>;
      /** Today's sums by `day`, and by `minute`. */
      readonly byDay: Counts;
      readonly byMinute: Counts;
      /** Whether even the shortest window by the minute is answered by something coarser. */
      readonly isMinuteForced: boolean;
    };

const LOOK_BACK_MS = 14 * 86_400_000;

/** Surveys a stream of which nothing is known yet. */
export function* surveyStream(context: PollContext): Asking<StreamSurvey> {
  let state = INITIAL_STATE;
  for (let polls = 0; polls < EMPTY_POLLS_BEFORE_BELIEF && state.snapshot === undefined; polls++) {
    ({ state } = yield* pollStream(state, context));
  }
  const inquirer = createInquirer({
    endpoint: ENDPOINTS[context.stream],
    kinds: context.kinds,
    calendar: context.calendar,
    nowMs: () => latestNowMs(context),
    hasTime: context.hasTime,
  });
  const day = yield* agreementOf(state, context, inquirer);
  const { dating, snapshot } = state;
  const lastSeenMs = snapshot?.minutes?.lastSeenMs;
  return lastSeenMs === undefined && dating.status !== 'unknown'
    ? { state, day, ...(yield* lookBack(dating, context, inquirer)) }
    : { state, day, dating, lastSeenMs };
}

function* agreementOf(
  { totalsBy, provenEpochMs, snapshot }: StreamState,
  { epoch, nowMs }: PollContext,
  inquirer: Inquirer,
): Asking<DayAgreement> {
  if (totalsBy === 'day' || snapshot === undefined) {
    return { agrees: provenEpochMs === epoch.startMs ? true : undefined };
  }
  const { sums: byDay } = yield* inquirer.ask('day', snapshot.day.startMs);
  const { aggregation } = yield* inquirer.ask('minute', nowMs() - SHORTEST_PIECE_MS);
  const isMinuteForced = aggregation !== 'minute';
  return { agrees: false, totalsBy, byDay, byMinute: snapshot.today, isMinuteForced };
}

/** Where neither today nor the day before has counted anybody. */
function* lookBack(
  dating: Dating,
  { calendar: { zone }, nowMs }: PollContext,
  inquirer: Inquirer,
): Asking<Pick<StreamSurvey, 'dating' | 'lastSeenMs'>> {
  const answer = yield* inquirer.ask('minute', nowMs() - LOOK_BACK_MS);
  const pieces = (yield* minutePieces(inquirer, answer)) ?? [];
  const found = yield* establish(inquirer, dating, pieces, zone);
  let ledger: MinuteLedger | undefined = [];
  for (const { rows, window } of pieces) {
    ledger = ledger && withRows(ledger, rows, 1, datingOf(found, window, zone));
  }
  const { startMs } = answer.window;
  const lastSeenMs = ledger && lastSeenIn(ledger, { startMs, endMs: answer.window.endMs + 1 });
  return { dating: found, lastSeenMs };
}
