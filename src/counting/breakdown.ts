/**
 * One breakdown of one customer: people by branch, client or device. The service cannot combine
 * these with minutes, so a poll reads the totals since the epoch and those since the day started,
 * each in one answer without a seam. A poll that fails half-way changes nothing.
 */
import { ServiceError } from '../base/errors.ts';
import { COUNTERS } from '../base/model.ts';
import type { Breakdown } from '../base/model.ts';
import { createWindowReader } from './query.ts';
import type { Query, WindowReader } from './query.ts';

import { confirms, EMPTY_POLLS_BEFORE_BELIEF, isOutOfProportion } from './belief.ts';
import type { Believed } from './belief.ts';
import { anyKeyBelow, byKey, compareKeys, hasNothing, inARow, only } from './by-key.ts';
import type { CountsByKey } from './by-key.ts';
import type { Calendar, CountingPeriod, Span } from './calendar.ts';
import { at, grandTotal } from './counts.ts';
import type { PollNote } from './state.ts';

/** What is shown of one breakdown: everything from one poll, replaced whole. */
export interface BreakdownSnapshot {
  readonly epoch: CountingPeriod;
  readonly day: Span;
  readonly atMs: number;
  /** The keys that are shown, in their order: also those that the service lists no more. */
  readonly keys: readonly string[];
  /** The service's totals since the epoch, corrections included. */
  readonly totals: CountsByKey;
  /** The service's figures since the day started. */
  readonly today: CountsByKey;
  /** How many keys the service lists that are not shown. */
  readonly droppedKeys: number;
}

/** Totals by key, and when they were so. */
export interface KnownByKey {
  readonly totals: CountsByKey;
  readonly atMs: number;
}

export interface BreakdownState {
  readonly snapshot: BreakdownSnapshot | undefined;
  /** Polls in a row that found nothing where something was expected. */
  readonly emptyPolls: number;
  /** Totals that were out of proportion at the last poll. */
  readonly suspicion: KnownByKey | undefined;
}

export const INITIAL_BREAKDOWN: BreakdownState = {
  snapshot: undefined,
  emptyPolls: 0,
  suspicion: undefined,
};

export interface BreakdownContext {
  readonly breakdown: Breakdown;
  readonly calendar: Calendar;
  readonly epoch: CountingPeriod;
  readonly nowMs: () => number;
  /** The highest values shown in this epoch, by this process or before it. */
  readonly marks: KnownByKey | undefined;
}

export interface BreakdownOutcome {
  readonly state: BreakdownState;
  readonly notes: readonly PollNote[];
}

/** So many keys are shown of one breakdown of a customer, so that no service can flood Prometheus. */
export const MOST_KEYS = 1000;

const KIND_COUNT = COUNTERS.people.length;

/** One poll: the totals, and today's figures; each asked once more if any key has fallen. */
export async function pollBreakdown(
  state: BreakdownState,
  context: BreakdownContext,
  query: Query,
): Promise<BreakdownOutcome> {
  const { breakdown, calendar, epoch, nowMs } = context;
  const reader = createWindowReader({
    query,
    endpoint: 'peoplecount',
    counterCount: KIND_COUNT,
    calendar,
    nowMs,
    hasTime: () => true,
  });
  const day = calendar.dayAt(nowMs());
  const before = state.snapshot;
  const totalsBefore = before?.epoch.startMs === epoch.startMs ? before.totals : undefined;
  const todayBefore = before?.day.startMs === day.startMs ? before.today : undefined;
  const marks = context.marks?.totals ?? new Map();
  const totals = await readAgainIfBelow(reader, breakdown, epoch.startMs, totalsBefore ?? marks);
  const today = await readAgainIfBelow(reader, breakdown, day.startMs, todayBefore ?? new Map());
  const keys = keysShown(marks, totals);
  const shown = only(totals, keys);
  const emptied =
    (hasNothing(totals) && (totalsBefore === undefined || !hasNothing(totalsBefore))) ||
    (hasNothing(today) && todayBefore !== undefined && !hasNothing(todayBefore));
  return judge(state, context, emptied, {
    epoch,
    day,
    atMs: nowMs(),
    keys,
    totals: shown,
    today: only(today, keys),
    droppedKeys: totals.size - shown.size,
  });
}

/** The larger of both answers counts: what the service shows for a moment after a fault is lower. */
async function readAgainIfBelow(
  reader: WindowReader,
  breakdown: Breakdown,
  fromMs: number,
  expected: CountsByKey,
): Promise<CountsByKey> {
  const first = await askByKey(reader, breakdown, fromMs);
  if (!anyKeyBelow(first.table, expected)) {
    return first.table;
  }
  const second = await askByKey(reader, breakdown, fromMs);
  return second.total >= first.total ? second.table : first.table;
}

/** One whole answer as a table. Throws a ServiceError where another aggregation was forced. */
export async function askByKey(
  reader: WindowReader,
  breakdown: Breakdown,
  fromMs: number,
  toMs?: number,
): Promise<{ readonly table: CountsByKey; readonly total: number }> {
  const { aggregation, rows, sums } = await reader.read(breakdown, fromMs, toMs);
  if (aggregation !== breakdown) {
    // The other name is not told: it is the service's own word.
    throw new ServiceError(
      'malformed',
      `the answer has another aggregation than "${breakdown}", which was asked for; ` +
        'above 1 MB the service forces one, and then there is no breakdown',
    );
  }
  return { table: byKey(rows), total: grandTotal(sums) };
}

/**
 * Those that were shown in this epoch come first, so that they are the same ones after a restart;
 * then the order decides, and not the one in which the service lists them.
 */
function keysShown(marks: CountsByKey, totals: CountsByKey): readonly string[] {
  const known = [...marks.keys()].toSorted(compareKeys);
  const others = [...totals.keys()].filter((key) => !marks.has(key)).toSorted(compareKeys);
  return [...known, ...others].slice(0, MOST_KEYS).toSorted(compareKeys);
}

/** Takes the figures over, or keeps what there was until they have come again. */
function judge(
  state: BreakdownState,
  context: BreakdownContext,
  emptied: boolean,
  snapshot: BreakdownSnapshot,
): BreakdownOutcome {
  const emptyPolls = emptied ? state.emptyPolls + 1 : 0;
  if (emptied && emptyPolls < EMPTY_POLLS_BEFORE_BELIEF) {
    return { state: { ...state, emptyPolls }, notes: ['empty_not_believed'] };
  }
  const { totals, atMs } = snapshot;
  if (isRiseToDoubt(state, context, snapshot)) {
    const suspicion = { totals, atMs };
    return { state: { ...state, emptyPolls: 0, suspicion }, notes: ['rise_not_believed'] };
  }
  const begins = snapshot.droppedKeys > 0 && (state.snapshot?.droppedKeys ?? 0) === 0;
  return {
    state: { snapshot, emptyPolls: 0, suspicion: undefined },
    notes: begins ? ['keys_left_out'] : [],
  };
}

/**
 * Whether any key, or the sum of them, rises out of all proportion and has not come again: each key
 * has a mark of its own, which would stay until the month ends. Each is judged alone, for among many
 * there is always one of which the service takes something back meanwhile.
 */
function isRiseToDoubt(
  { snapshot: last, suspicion }: BreakdownState,
  { marks }: BreakdownContext,
  { epoch, keys, totals, atMs }: BreakdownSnapshot,
): boolean {
  const lastMs = last?.epoch.startMs === epoch.startMs ? last.atMs : undefined;
  const before = {
    totals: inARow(marks?.totals ?? new Map(), keys, KIND_COUNT),
    atMs: lastMs ?? marks?.atMs ?? epoch.startMs,
  };
  const suspected = suspicion && {
    totals: inARow(suspicion.totals, keys, KIND_COUNT),
    atMs: suspicion.atMs,
  };
  return inARow(totals, keys, KIND_COUNT).some((total, i) => {
    const now = [total];
    return (
      isOutOfProportion(alone(before, i), now, atMs, epoch.startMs) &&
      !confirms(suspected && alone(suspected, i), now, atMs, epoch.startMs)
    );
  });
}

function alone({ totals, atMs }: Believed, i: number): Believed {
  return { totals: [at(totals, i)], atMs };
}
