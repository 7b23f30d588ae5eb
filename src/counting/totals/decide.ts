/** Decides by what a poll was answered: the next state, and whether its values are exported. Pure. */
import type { CountingPeriod } from '../calendar/calendar.ts';
import { countOf, grandTotal, isZero } from '../rows/counts.ts';
import type { KeyFormatState } from '../rows/key-format.ts';
import type { WindowResponse } from '../rows/window-reader.ts';
import { createBaseline } from './baseline.ts';
import type { TotalSource } from './period-total.ts';
import {
  checkPlausibility,
  emptinessOf,
  hasLasted,
  needsSecondSum,
  NOTHING_PENDING,
} from './plausibility.ts';
import type { AcceptedTotals, Candidate, Emptiness } from './plausibility.ts';
import type { BaselineAnswers, InconsistentAnswers, RecentAnswers } from './requests.ts';
import { createSnapshot, lastSeenBefore } from './snapshot.ts';
import { acceptedValues } from './state.ts';
import type { PollContext, PollNote, PollOutcome, Snapshot, StreamState } from './state.ts';

const TOTAL_SOURCE_NOTES = {
  day: [],
  quarter: ['totals_by_quarter'],
  minute: ['totals_by_minute'],
} as const satisfies Record<TotalSource['aggregation'], readonly PollNote[]>;

const KEY_FORMAT_NOTES = {
  ambiguous: [],
  unknown: ['key_format_unknown'],
  detected: ['key_format_detected'],
} as const satisfies Record<KeyFormatState['status'], readonly PollNote[]>;

/** `recent` that doubles from at least this is verified by a baseline: the service may list rows twice. */
const MIN_DOUBLED_COUNTS = 20;

export type Answers = RecentAnswers | BaselineAnswers | InconsistentAnswers;

type Total = Pick<WindowResponse, 'aggregation' | 'sums'>;

/** Returns the next state. `confirmation` is the period's total by `secondAggregation`, if there is one. */
export function decide(
  state: StreamState,
  answers: Answers,
  context: PollContext,
  confirmation?: Total,
): PollOutcome {
  if (answers.kind === 'inconsistent') {
    return { state, result: 'pending', notes: ['aggregations_inconsistent'] };
  }
  const need = answers.kind === 'recent' ? baselineNeed(state, answers, context) : undefined;
  if (need === 'to verify') {
    return { state, result: 'needs baseline', notes: ['increase_pending'] };
  }
  if (need === 'to count on') {
    return { state: { ...state, baseline: undefined }, result: 'needs baseline', notes: [] };
  }
  return acceptOrWait(state, context, valuesOf(state, answers, context), confirmation);
}

/** Returns the aggregation that can confirm an increase which was seen before; undefined if none is needed. */
export function secondAggregation(
  state: StreamState,
  answers: Answers,
  context: PollContext,
): 'day' | 'quarter' | undefined {
  if (
    state.pending.kind !== 'increase' ||
    answers.kind === 'inconsistent' ||
    (answers.kind === 'recent' && baselineNeed(state, answers, context) !== undefined)
  ) {
    return undefined;
  }
  const values = valuesOf(state, answers, context);
  const { aggregation } = values.next.totalSource;
  const second = aggregation === 'quarter' ? 'day' : 'quarter';
  return needsSecondSum(state.pending, candidateOf(state, context, values), context)
    ? second
    : undefined;
}

/**
 * Returns whether a baseline must be read before `recent` can be used: to count on, because the kept one
 * does not fit it or its total of 0 was never confirmed; or to verify counts that have doubled.
 */
function baselineNeed(
  state: StreamState,
  { baseline: { recentAtBaseline }, recent }: RecentAnswers,
  context: PollContext,
): 'to count on' | 'to verify' | undefined {
  const { pending } = state;
  const mayConfirmEmpty = pending.kind === 'empty' && hasLasted(pending, context);
  if (
    recent.aggregation !== recentAtBaseline.aggregation ||
    (state.snapshot === undefined && (!isZero(recent.sums) || mayConfirmEmpty))
  ) {
    return 'to count on';
  }
  const before = state.recent ?? recentAtBaseline.sums;
  const hasDoubled = recent.sums.some(
    (count, counter) =>
      countOf(before, counter) >= MIN_DOUBLED_COUNTS && count >= 2 * countOf(before, counter),
  );
  return hasDoubled ? 'to verify' : undefined;
}

/** What a poll has read. */
interface PolledValues {
  readonly emptiness: Emptiness;
  readonly snapshot: Snapshot;
  /** The state if the values are accepted, and if they must be confirmed first. */
  readonly next: StreamState;
  readonly ifPending: StreamState;
}

function valuesOf(
  state: StreamState,
  answers: RecentAnswers | BaselineAnswers,
  context: PollContext,
): PolledValues {
  return answers.kind === 'recent'
    ? recentValues(state, answers, context)
    : baselineValues(state, answers, context);
}

function recentValues(
  state: StreamState,
  answers: RecentAnswers,
  context: PollContext,
): PolledValues {
  const { baseline, recent, keyFormat } = answers;
  const next = { ...state, keyFormat, recent: recent.sums };
  const lostCounts = isZero(recent.sums) && state.recent !== undefined && !isZero(state.recent);
  return {
    // Without accepted values, the baseline's total was 0, and has not been confirmed.
    emptiness: state.snapshot === undefined ? 'initial' : lostCounts ? 'unexpected' : 'none',
    snapshot: createSnapshot(context, baseline, recent, next, answers.atMs),
    next,
    ifPending: { ...state, keyFormat },
  };
}

function baselineValues(
  state: StreamState,
  answers: BaselineAnswers,
  context: PollContext,
): PolledValues {
  const { day, readings, source, keyFormat } = answers;
  const { recentAtBaseline } = readings;
  const { baseline, isReusable } = createBaseline(context, answers);
  const next: StreamState = {
    ...state,
    baseline: isReusable ? baseline : undefined,
    recent: recentAtBaseline.sums,
    totalSource: source,
    keyFormat,
    lastSeenBeforeMs: lastSeenBefore(state, context, answers),
  };
  const emptiness = emptinessOf(
    { totals: baseline.periodTotal, today: baseline.todayByMinute },
    acceptedValues(state, context.period, day),
    state.snapshot === undefined && context.marks === undefined,
  );
  // Until a first total of 0 is confirmed, `recent` shows at a low cost when counts come.
  const usesBaselineWhilePending =
    emptiness === 'initial' && state.pending.kind === 'empty' && state.pending.polls >= 2;
  return {
    emptiness,
    snapshot: createSnapshot(context, baseline, recentAtBaseline, next, answers.atMs),
    next,
    ifPending: {
      ...state,
      keyFormat,
      ...(usesBaselineWhilePending && { baseline: next.baseline, recent: next.recent }),
    },
  };
}

function candidateOf(
  state: StreamState,
  context: PollContext,
  { emptiness, snapshot: { period, totals, atMs } }: PolledValues,
): Candidate {
  return {
    emptiness,
    before: acceptedBefore(state, context, period),
    totals,
    sum: grandTotal(totals),
    atMs,
    periodStartMs: period.startMs,
  };
}

/** Accepts the values, or keeps the accepted ones until the new ones are confirmed (rule 5). */
function acceptOrWait(
  state: StreamState,
  context: PollContext,
  values: PolledValues,
  confirmation: Total | undefined,
): PollOutcome {
  const { snapshot, next, ifPending } = values;
  const { aggregation } = next.totalSource;
  // The service may have forced the aggregation that is to be confirmed.
  const isSecond = confirmation !== undefined && confirmation.aggregation !== aggregation;
  const secondSum = isSecond ? grandTotal(confirmation.sums) : undefined;
  const candidate = candidateOf(state, context, values);
  const verdict = checkPlausibility(state.pending, candidate, context, secondSum);
  const { status } = next.keyFormat;
  const notes = status === state.keyFormat.status ? [] : KEY_FORMAT_NOTES[status];
  if (verdict.kind === 'pending') {
    return {
      state: { ...ifPending, pending: verdict.pending },
      result: 'pending',
      notes: [...notes, verdict.note],
    };
  }
  const sourceNotes =
    aggregation === state.totalSource.aggregation ? [] : TOTAL_SOURCE_NOTES[aggregation];
  return {
    state: { ...next, snapshot, pending: NOTHING_PENDING },
    result: 'accepted',
    notes: [...notes, ...sourceNotes],
  };
}

function acceptedBefore(
  { snapshot }: StreamState,
  { marks }: PollContext,
  period: CountingPeriod,
): AcceptedTotals {
  if (snapshot?.period.startMs === period.startMs) {
    return snapshot;
  }
  return marks ?? { totals: [], atMs: period.startMs };
}
