/**
 * Which totals are accepted, of streams and breakdowns alike (rule 5). A counter can never be
 * lowered, so totals that would be wrong at a high cost must be confirmed first: none where there
 * were counts, and an implausible increase.
 */
import { DAY_MS, MINUTE_MS } from '../../base/duration.ts';
import { countOf, isZero } from '../rows/counts.ts';
import type { Counts } from '../rows/counts.ts';

/** Polls in a row that confirm an empty response. */
export const EMPTY_POLLS_TO_CONFIRM = 3;

const MAX_INCREASE = 1000;
const MAX_INCREASE_PER_MINUTE = 1000;

export interface AcceptedTotals {
  readonly totals: Counts;
  readonly atMs: number;
}

/** What is waiting for confirmation. Times are of the monotonic clock. */
export type Pending =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'empty'; readonly polls: number; readonly sinceMs: number }
  /** `sum` is that of the poll in which the increase was first seen. */
  | { readonly kind: 'increase'; readonly sum: number; readonly sinceMs: number };

export const NOTHING_PENDING: Pending = { kind: 'nothing' };

export type Emptiness =
  | 'none'
  /** Nothing where there were counts, or in a new period. */
  | 'unexpected'
  /** Nothing since the process started: whether there are counts is not known. */
  | 'initial';

/** What a poll has read. */
export interface Candidate {
  readonly emptiness: Emptiness;
  /** The last accepted totals, in the same order; else the high-water marks; else none. */
  readonly before: AcceptedTotals;
  readonly totals: Counts;
  /** The sum of all counters, to be compared with a second aggregation. */
  readonly sum: number;
  readonly atMs: number;
  readonly periodStartMs: number;
}

export interface ConfirmationContext {
  readonly monotonicMs: number;
  readonly reconcileIntervalMs: number;
}

export type PlausibilityNote = 'empty_response_pending' | 'increase_pending';

export type Verdict =
  | { readonly kind: 'accepted' }
  /** The accepted values stay. */
  | { readonly kind: 'pending'; readonly pending: Pending; readonly note: PlausibilityNote };

/** `before` are the last accepted values of the same period and day. */
export function emptinessOf(
  { totals, today }: { readonly totals: Counts; readonly today: Counts },
  before: { readonly totals: Counts | undefined; readonly today: Counts | undefined },
  isFirst: boolean,
): Emptiness {
  if (isZero(totals)) {
    if (isFirst) {
      return 'initial';
    }
    if (before.totals === undefined || !isZero(before.totals)) {
      return 'unexpected';
    }
  }
  return before.today !== undefined && !isZero(before.today) && isZero(today)
    ? 'unexpected'
    : 'none';
}

/**
 * Whether an increase that was seen before is to be compared with a second aggregation. An increase that
 * has lasted needs none.
 */
export function needsSecondSum(
  pending: Pending,
  candidate: Candidate,
  context: ConfirmationContext,
): boolean {
  return (
    pending.kind === 'increase' &&
    candidate.emptiness === 'none' &&
    isImplausible(candidate) &&
    candidate.sum >= pending.sum &&
    !hasLasted(pending, context)
  );
}

/**
 * Accepts a candidate, or says what it waits for.
 *
 * @param secondSum the sum of all counters by a second aggregation, if `needsSecondSum`; undefined if
 *   the service did not use it
 */
export function checkPlausibility(
  pending: Pending,
  candidate: Candidate,
  context: ConfirmationContext,
  secondSum: number | undefined,
): Verdict {
  if (candidate.emptiness !== 'none') {
    return confirmEmpty(pending, candidate.emptiness, context);
  }
  return isImplausible(candidate)
    ? confirmIncrease(pending, candidate.sum, context, secondSum)
    : { kind: 'accepted' };
}

function confirmEmpty(
  pending: Pending,
  emptiness: Emptiness,
  context: ConfirmationContext,
): Verdict {
  const { monotonicMs } = context;
  const before = pending.kind === 'empty' ? pending : { polls: 0, sinceMs: monotonicMs };
  const polls = before.polls + 1;
  return polls >= EMPTY_POLLS_TO_CONFIRM && (emptiness !== 'initial' || hasLasted(before, context))
    ? { kind: 'accepted' }
    : {
        kind: 'pending',
        pending: { kind: 'empty', polls, sinceMs: before.sinceMs },
        note: 'empty_response_pending',
      };
}

/** Counts that came since the first sight do not matter, so that a high rate is accepted, too. */
function confirmIncrease(
  pending: Pending,
  sum: number,
  context: ConfirmationContext,
  secondSum = -Infinity,
): Verdict {
  if (pending.kind !== 'increase' || sum < pending.sum) {
    return {
      kind: 'pending',
      pending: { kind: 'increase', sum, sinceMs: context.monotonicMs },
      note: 'increase_pending',
    };
  }
  return hasLasted(pending, context) || secondSum >= pending.sum
    ? { kind: 'accepted' }
    : { kind: 'pending', pending, note: 'increase_pending' };
}

/** Whether values have waited for a reconcile interval. */
export function hasLasted(
  { sinceMs }: { readonly sinceMs: number },
  { monotonicMs, reconcileIntervalMs }: ConfirmationContext,
): boolean {
  return monotonicMs - sinceMs >= reconcileIntervalMs;
}

/**
 * Whether any counter rises by more than 1,000 that is also more than 1,000 a minute, or more than
 * doubles a total a day into the period.
 */
function isImplausible({ before, totals, atMs, periodStartMs }: Candidate): boolean {
  const minutes = (atMs - before.atMs) / MINUTE_MS;
  const isDayOld = atMs - periodStartMs >= DAY_MS;
  return totals.some((total, counter) => {
    const accepted = countOf(before.totals, counter);
    const increase = total - accepted;
    return (
      increase > MAX_INCREASE &&
      (increase > MAX_INCREASE_PER_MINUTE * minutes ||
        (isDayOld && accepted > 0 && total > 2 * accepted))
    );
  });
}
