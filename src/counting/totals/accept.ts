/**
 * Which values are accepted, of streams and breakdowns alike (rule 5): what is implausible is used once
 * three polls in a row have shown it. A counter can never be lowered, so a total that is too high would be
 * wrong until the period ends.
 */
import { DAY_MS, MINUTE_MS } from '../../base/duration.ts';
import type { Span } from '../calendar/calendar.ts';
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

/** The values of a poll by key: the totals of a period, and the counts of a day. A stream has one key. */
export interface TableSnapshot {
  readonly period: Pick<Span, 'startMs'>;
  readonly day: Pick<Span, 'startMs'>;
  readonly atMs: number;
  readonly totals: CountsByKey;
  readonly today: CountsByKey;
}

/** What is known from before a poll. */
export interface KnownValues {
  /** The last accepted values. */
  readonly snapshot: TableSnapshot | undefined;
  /** The high-water marks of the same period: an increase up to them changes no counter. */
  readonly marks: Pick<TableSnapshot, 'totals' | 'atMs'> | undefined;
}

export interface ConfirmationContext {
  readonly monotonicMs: number;
  readonly reconcileIntervalMs: number;
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
 */
export function accept(
  pending: Pending,
  known: KnownValues,
  now: TableSnapshot,
  context: ConfirmationContext,
): Verdict {
  const note = implausibilityOf(known, now);
  if (note === undefined) {
    return { kind: 'accepted' };
  }
  const kind = note === 'increase_pending' ? 'higher' : 'lower';
  const before = pending.kind === kind ? pending : { polls: 0, sinceMs: context.monotonicMs };
  const next = { kind, polls: before.polls + 1, sinceMs: before.sinceMs } as const;
  const isFirst = known.snapshot === undefined && known.marks === undefined;
  const mustLast = isFirst && kind === 'lower';
  return next.polls >= POLLS_TO_CONFIRM && (!mustLast || hasLasted(next, context))
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
  { snapshot, marks }: KnownValues,
  now: TableSnapshot,
): PendingNote | undefined {
  const ofPeriod = snapshot?.period.startMs === now.period.startMs ? snapshot : undefined;
  const totals = ofPeriod?.totals;
  const today = snapshot?.day.startMs === now.day.startMs ? snapshot.today : undefined;
  const sinceMs = ofPeriod?.atMs ?? marks?.atMs ?? now.period.startMs;
  if (isImplausiblyHigh(now, marks?.totals ?? totals ?? new Map(), sinceMs)) {
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
  { totals, atMs, period }: TableSnapshot,
  before: CountsByKey,
  sinceMs: number,
): boolean {
  const minutes = (atMs - sinceMs) / MINUTE_MS;
  const isDayOld = atMs - period.startMs >= DAY_MS;
  function isHigh(counts: Counts, countsBefore: Counts): boolean {
    return counts.some((count, counter) => {
      const countBefore = countOf(countsBefore, counter);
      const increase = count - countBefore;
      return (
        increase > MAX_INCREASE &&
        (increase > MAX_INCREASE_PER_MINUTE * minutes ||
          (isDayOld && countBefore > 0 && count > 2 * countBefore))
      );
    });
  }
  const sums: number[] = [];
  const sumsBefore: number[] = [];
  for (const [key, counts] of totals) {
    const countsBefore = before.get(key) ?? [];
    if (isHigh(counts, countsBefore)) {
      return true;
    }
    counts.forEach((count, counter) => {
      sums[counter] = countOf(sums, counter) + count;
      sumsBefore[counter] = countOf(sumsBefore, counter) + countOf(countsBefore, counter);
    });
  }
  return isHigh(sums, sumsBefore);
}
