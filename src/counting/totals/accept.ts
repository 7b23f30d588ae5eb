/**
 * Which values are accepted, of streams and breakdowns alike (rule 5): what is implausible is used once
 * three polls in a row have shown it. A counter can never be lowered, so a total that is too high would be
 * wrong until the period ends.
 */
import { DAY_MS, MINUTE_MS } from '../../base/duration.ts';
import { anyBelow, countOf, isZero } from '../rows/counts.ts';
import type { Counts, CountsByKey } from '../rows/counts.ts';

/** Polls in a row that confirm what is implausible. */
export const POLLS_TO_CONFIRM = 3;

const MAX_INCREASE = 1000;
const MAX_INCREASE_PER_MINUTE = 1000;

/** What waits for confirmation: how many polls in a row have shown it, and since when (monotonic). */
export type Pending =
  | { readonly kind: 'nothing' }
  | {
      /** `lower`: no counts, or fewer than before. */
      readonly kind: 'lower' | 'higher';
      readonly polls: number;
      readonly sinceMs: number;
    };

export const NOTHING_PENDING: Pending = { kind: 'nothing' };

/** The values of a poll. A stream is a table of one key. */
export interface PolledValues {
  /** Since the period started, and since the day started. */
  readonly totals: CountsByKey;
  readonly today: CountsByKey;
}

/** What is known from before a poll. */
export interface KnownValues {
  /** The last accepted values of the same period and day, if there are any. */
  readonly accepted: { readonly [Name in keyof PolledValues]: CountsByKey | undefined };
  /** The high-water marks of the period: an increase up to them changes no counter. */
  readonly marks: CountsByKey;
  /** When the accepted values or the marks were read. */
  readonly atMs: number;
}

export interface ConfirmationContext {
  readonly monotonicMs: number;
  readonly reconcileIntervalMs: number;
}

export interface AcceptContext extends ConfirmationContext {
  readonly atMs: number;
  readonly periodStartMs: number;
}

export type PendingNote = 'empty_response_pending' | 'decrease_pending' | 'increase_pending';

export type Verdict =
  | { readonly kind: 'accepted' }
  /** The accepted values stay. */
  | {
      readonly kind: 'pending';
      readonly pending: Exclude<Pending, { kind: 'nothing' }>;
      readonly note: PendingNote;
    };

/**
 * Accepts the values of a poll, or says what they wait for. A first total of 0 waits for a reconcile
 * interval, too.
 *
 * @param known undefined if nothing was ever accepted, also before the start
 */
export function accept(
  pending: Pending,
  known: KnownValues | undefined,
  now: PolledValues,
  context: AcceptContext,
): Verdict {
  const note = implausibilityOf(known, now, context);
  if (note === undefined) {
    return { kind: 'accepted' };
  }
  const kind = note === 'increase_pending' ? 'higher' : 'lower';
  const before = pending.kind === kind ? pending : { polls: 0, sinceMs: context.monotonicMs };
  const next = { kind, polls: before.polls + 1, sinceMs: before.sinceMs } as const;
  const isFirstZero = known === undefined && kind === 'lower';
  return next.polls >= POLLS_TO_CONFIRM && (!isFirstZero || hasLasted(next, context))
    ? { kind: 'accepted' }
    : { kind: 'pending', pending: next, note };
}

/** Whether values have waited for a reconcile interval. */
export function hasLasted(
  { sinceMs }: { readonly sinceMs: number },
  { monotonicMs, reconcileIntervalMs }: ConfirmationContext,
): boolean {
  return monotonicMs - sinceMs >= reconcileIntervalMs;
}

/** Returns why the values must be confirmed; undefined if they need not. */
function implausibilityOf(
  known: KnownValues | undefined,
  now: PolledValues,
  context: AcceptContext,
): PendingNote | undefined {
  const { totals, today } = known?.accepted ?? {};
  if (isImplausiblyHigh(known, now.totals, context)) {
    return 'increase_pending';
  }
  // In a new period, there may be counts already.
  if (
    (isEmpty(now.totals) && (totals === undefined || !isEmpty(totals))) ||
    (today !== undefined && isEmpty(now.today) && !isEmpty(today))
  ) {
    return 'empty_response_pending';
  }
  return isLower(now.totals, totals) || isLower(now.today, today) ? 'decrease_pending' : undefined;
}

function isEmpty(table: CountsByKey): boolean {
  return [...table.values()].every(isZero);
}

/** Whether any count is lower than before. */
function isLower(now: CountsByKey, before: CountsByKey = new Map()): boolean {
  return [...before].some(([key, counts]) => anyBelow(now.get(key) ?? [], counts));
}

/**
 * Whether any counter of a key, or of all keys together, rises by more than 1,000 that is also more than
 * 1,000 a minute, or more than doubles a total a day into the period.
 */
function isImplausiblyHigh(
  known: KnownValues | undefined,
  totals: CountsByKey,
  { atMs, periodStartMs }: AcceptContext,
): boolean {
  const minutes = (atMs - (known?.atMs ?? periodStartMs)) / MINUTE_MS;
  const isDayOld = atMs - periodStartMs >= DAY_MS;
  function isHigh(now: Counts, before: Counts): boolean {
    return now.some((total, counter) => {
      const marked = countOf(before, counter);
      const increase = total - marked;
      return (
        increase > MAX_INCREASE &&
        (increase > MAX_INCREASE_PER_MINUTE * minutes ||
          (isDayOld && marked > 0 && total > 2 * marked))
      );
    });
  }
  const sums: number[] = [];
  const sumsBefore: number[] = [];
  for (const [key, now] of totals) {
    const before = known?.marks.get(key) ?? [];
    if (isHigh(now, before)) {
      return true;
    }
    now.forEach((total, counter) => {
      sums[counter] = countOf(sums, counter) + total;
      sumsBefore[counter] = countOf(sumsBefore, counter) + countOf(before, counter);
    });
  }
  return isHigh(sums, sumsBefore);
}
