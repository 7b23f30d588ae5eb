/**
 * One poll of a breakdown: people by branch, client or device (rule 10). The service cannot combine
 * these with minutes, so each poll requests the totals since the period started and those since the
 * day started. A poll that fails changes nothing.
 */
import { ServiceError } from '../base/errors.ts';
import { COUNTERS } from '../base/model.ts';
import type { Breakdown } from '../base/model.ts';
import { anyKeyBelow, byKey, compareKeys, flatCounts, hasNoCounts, only } from './by-key.ts';
import type { CountsByKey } from './by-key.ts';
import type { Calendar, CountingPeriod, Span } from './calendar.ts';
import { grandTotal } from './counts.ts';
import { checkPlausibility, NOTHING_PENDING } from './plausibility.ts';
import type { Candidate, ConfirmationContext, Pending } from './plausibility.ts';
import type { PollNote } from './poll.ts';
import { createWindowReader, readLarger } from './query.ts';
import type { Query, WindowReader } from './query.ts';

/** The accepted values of one poll. */
export interface BreakdownSnapshot {
  readonly period: CountingPeriod;
  readonly day: Span;
  readonly atMs: number;
  /** The exported keys in their order, including those that the service no longer lists. */
  readonly keys: readonly string[];
  /** The service's totals since the period started, corrections included. */
  readonly totals: CountsByKey;
  /** The service's figures since the day started. */
  readonly today: CountsByKey;
  /** Number of keys above the limit. */
  readonly droppedKeys: number;
}

export interface AcceptedByKey {
  readonly totals: CountsByKey;
  readonly atMs: number;
}

export interface BreakdownState {
  readonly snapshot: BreakdownSnapshot | undefined;
  readonly pending: Pending;
}

export const INITIAL_BREAKDOWN: BreakdownState = { snapshot: undefined, pending: NOTHING_PENDING };

export interface BreakdownContext extends ConfirmationContext {
  readonly breakdown: Breakdown;
  readonly calendar: Calendar;
  readonly period: CountingPeriod;
  readonly nowMs: () => number;
  /** The high-water marks of the period, of this process and before it. */
  readonly marks: AcceptedByKey | undefined;
  /** Keys that counted in the period before: exported as 0 until they count in this one. */
  readonly keysOfLastPeriod: readonly string[];
}

export interface BreakdownOutcome {
  readonly state: BreakdownState;
  readonly notes: readonly PollNote[];
}

/** Exported keys of one breakdown of a customer. */
export const MAX_KEYS = 1000;

const COUNTER_COUNT = COUNTERS.people.length;
const NO_COUNTS: CountsByKey = new Map();

export async function pollBreakdown(
  state: BreakdownState,
  context: BreakdownContext,
  query: Query,
): Promise<BreakdownOutcome> {
  const { breakdown, calendar, period, nowMs } = context;
  const reader = createWindowReader({
    query,
    endpoint: 'peoplecount',
    counterCount: COUNTER_COUNT,
    calendar,
    nowMs,
    hasTime: () => true,
  });
  const day = calendar.dayAt(nowMs());
  const before = state.snapshot;
  const totalsBefore = before?.period.startMs === period.startMs ? before.totals : undefined;
  const todayBefore = before?.day.startMs === day.startMs ? before.today : undefined;
  const marks = context.marks?.totals ?? NO_COUNTS;
  const totals = await readLargerByKey(reader, breakdown, period.startMs, totalsBefore ?? marks);
  const today = await readLargerByKey(reader, breakdown, day.startMs, todayBefore ?? NO_COUNTS);
  const keys = exportedKeys([...marks.keys()], context.keysOfLastPeriod, [...totals.keys()]);
  const exported = only(totals, keys);
  return conclude(state, context, reader, {
    period,
    day,
    atMs: nowMs(),
    keys,
    totals: exported,
    today: only(today, keys),
    droppedKeys: totals.size - exported.size,
  });
}

/** Rule 3: requested again if any key has fewer counts than expected. */
async function readLargerByKey(
  reader: WindowReader,
  breakdown: Breakdown,
  fromMs: number,
  expected: CountsByKey,
): Promise<CountsByKey> {
  const { table } = await readLarger(
    () => readByKey(reader, breakdown, fromMs),
    (response) => anyKeyBelow(response.table, expected),
    ({ total }) => total,
  );
  return table;
}

/** One response as a table. Throws a ServiceError if another aggregation was forced. */
export async function readByKey(
  reader: WindowReader,
  breakdown: Breakdown,
  fromMs: number,
  toMs?: number,
): Promise<{ readonly table: CountsByKey; readonly total: number }> {
  const { aggregation, rows, sums } = await reader.read(breakdown, fromMs, toMs);
  if (aggregation !== breakdown) {
    // The other name is the service's text and is not repeated.
    throw new ServiceError(
      'malformed',
      `expected aggregation "${breakdown}", got another one; ` +
        'above 1 MB the service forces one, and then there is no breakdown',
    );
  }
  return { table: byKey(rows), total: grandTotal(sums) };
}

/** Keys already exported in this period come first, so that a restart does not change them. */
function exportedKeys(
  marked: readonly string[],
  ofLastPeriod: readonly string[],
  listed: readonly string[],
): readonly string[] {
  const byPriority = [marked, ofLastPeriod, listed].flatMap((keys) => keys.toSorted(compareKeys));
  return [...new Set(byPriority)].slice(0, MAX_KEYS).toSorted(compareKeys);
}

async function conclude(
  state: BreakdownState,
  context: BreakdownContext,
  reader: WindowReader,
  snapshot: BreakdownSnapshot,
): Promise<BreakdownOutcome> {
  const { period, keys, totals, atMs, droppedKeys } = snapshot;
  const { marks } = context;
  const last = state.snapshot?.period.startMs === period.startMs ? state.snapshot : undefined;
  const flat = flatCounts(totals, keys, COUNTER_COUNT);
  const verdict = await checkPlausibility(
    state.pending,
    {
      emptiness: emptinessOf(state, context, snapshot),
      // Each key is compared with its own mark, which it would keep until the period ends.
      before: {
        totals: flatCounts(marks?.totals ?? NO_COUNTS, keys, COUNTER_COUNT),
        atMs: last?.atMs ?? marks?.atMs ?? period.startMs,
      },
      totals: flat,
      sum: grandTotal(flat.slice(-COUNTER_COUNT)),
      atMs,
      periodStartMs: period.startMs,
    },
    context,
    async () => grandTotal((await reader.read('day', period.startMs)).sums),
  );
  switch (verdict.kind) {
    case 'pending':
      return { state: { ...state, pending: verdict.pending }, notes: [verdict.note] };
    case 'accepted': {
      const isFirstDrop = droppedKeys > 0 && (state.snapshot?.droppedKeys ?? 0) === 0;
      return {
        state: { snapshot, pending: NOTHING_PENDING },
        notes: isFirstDrop ? ['breakdown_keys_dropped'] : [],
      };
    }
  }
}

function emptinessOf(
  { snapshot: before }: BreakdownState,
  { marks }: BreakdownContext,
  { period, day, totals, today }: BreakdownSnapshot,
): Candidate['emptiness'] {
  if (hasNoCounts(totals)) {
    if (before === undefined && marks === undefined) {
      return 'initial';
    }
    if (before?.period.startMs !== period.startMs || !hasNoCounts(before.totals)) {
      return 'unexpected';
    }
  }
  const hadCountsToday = before?.day.startMs === day.startMs && !hasNoCounts(before.today);
  return hadCountsToday && hasNoCounts(today) ? 'unexpected' : 'none';
}
