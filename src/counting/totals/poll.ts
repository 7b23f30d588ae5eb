/**
 * One poll of the people or logins of a customer: what it reads is planned, requested and decided. A
 * poll that fails changes nothing (rule 6). README.md has the numbered rules.
 */
import { countOf, isZero, plus } from '../rows/counts.ts';
import type { Counts, CountsByKey } from '../rows/counts.ts';
import { WindowReader } from '../rows/window-reader.ts';
import type { Query, WindowResponse } from '../rows/window-reader.ts';
import { accept, hasLasted, NOTHING_PENDING, POLLS_TO_CONFIRM } from './accept.ts';
import type { TableSnapshot } from './accept.ts';
import { requestBaseline } from './baseline.ts';
import type { BaselineAnswers, InconsistentAnswers } from './baseline.ts';
import { noteKeys } from './key-notes.ts';
import type { TotalSource } from './period-total.ts';
import { createSnapshot } from './snapshot.ts';
import type {
  Baseline,
  PollContext,
  PollNote,
  PollOutcome,
  PollPlan,
  Snapshot,
  StreamState,
} from './state.ts';

/** `recent` that doubles from at least this is verified by a baseline: the service may list rows twice. */
const MIN_DOUBLED_COUNTS = 20;

const TOTAL_SOURCE_NOTES = {
  day: [],
  quarter: ['totals_by_quarter'],
  minute: ['totals_by_minute'],
} as const satisfies Record<TotalSource['aggregation'], readonly PollNote[]>;

/** What was read of the last minutes. */
export interface RecentAnswers {
  readonly kind: 'recent';
  /** When the last response came. */
  readonly atMs: number;
  /** What came since is added to it. */
  readonly baseline: Baseline;
  readonly recent: WindowResponse;
}

export type Answers = RecentAnswers | BaselineAnswers | InconsistentAnswers;

/**
 * Returns what a poll reads: a baseline if there is none, or a renewal if it was taken before `renewalMs`
 * (monotonic), or is of another day or period.
 */
export function planPoll(
  { baseline }: StreamState,
  { calendar, clocks, period }: Pick<PollContext, 'calendar' | 'clocks' | 'period'>,
  renewalMs: number,
): PollPlan {
  if (baseline === undefined) {
    return 'baseline';
  }
  const isDue =
    baseline.takenAtMonotonicMs < renewalMs ||
    baseline.period.startMs !== period.startMs ||
    baseline.day.startMs !== calendar.dayAt(clocks.nowMs()).startMs;
  return isDue ? 'renewal' : 'recent';
}

/**
 * Polls once. `recent` needs a baseline in the state. Rejects with a ServiceError if a response that is
 * needed is missing or malformed.
 */
export async function pollStream(
  state: StreamState,
  plan: PollPlan,
  context: PollContext,
  query: Query,
): Promise<PollOutcome> {
  const reader = createReader(context, query);
  const answers =
    plan === 'recent' && state.baseline !== undefined
      ? await requestRecent(state, state.baseline, context, reader)
      : await requestBaseline(state, context, reader);
  return decide(state, answers, context);
}

/** Returns the reader of one poll. Windows that are open end now. */
export function createReader(
  { stream, calendar, clocks }: PollContext,
  query: Query,
): WindowReader {
  return new WindowReader({
    query,
    stream,
    zone: calendar.zone,
    nowMs: () => clocks.nowMs(),
  });
}

/** Requests `recent` (rule 2). */
async function requestRecent(
  state: StreamState,
  baseline: Baseline,
  { clocks }: PollContext,
  reader: WindowReader,
): Promise<RecentAnswers> {
  const recent = await reader.readAgainIfBelow(state.recent, 'minute', baseline.recentStartMs);
  return { kind: 'recent', baseline, recent, atMs: clocks.nowMs() };
}

/** Returns the next state, and whether the values of the poll are exported. Pure. */
export function decide(state: StreamState, answers: Answers, context: PollContext): PollOutcome {
  if (answers.kind === 'inconsistent') {
    return { state, result: 'pending', notes: ['aggregations_inconsistent'] };
  }
  if (answers.kind === 'recent' && !fitsBaseline(state, answers, context)) {
    return { state: { ...state, baseline: undefined }, result: 'needs baseline', notes: [] };
  }
  const { baseline, recent } = answers;
  const snapshot = createSnapshot(context, baseline, recent, answers.atMs);
  // A poll that counts on an older baseline may be of the period before.
  const isOfPeriod = snapshot.period.startMs === context.period.startMs;
  const marks = isOfPeriod ? context.marks : undefined;
  const known = {
    snapshot: state.snapshot && tablesOf(state.snapshot),
    marks: marks && { ...marks, totals: tableOf(marks.totals) },
  };
  const verdict = accept(state.pending, known, tablesOf(snapshot), context);
  const isHigh = verdict.kind === 'pending' && verdict.pending.kind === 'higher';
  if (answers.kind === 'recent' && (isHigh || hasDoubled(state, answers))) {
    // Verified by a baseline, which compares `day` and `minute`.
    return { state, result: 'needs renewal', notes: [] };
  }
  const keyNote = noteKeys(state, answers, snapshot, context);
  const keysNoted = keyNote?.kind ?? state.keysNoted;
  const notes = keyNote === undefined ? [] : [keyNote];
  if (verdict.kind === 'pending') {
    const { pending, note } = verdict;
    const waiting = { ...state, keysNoted, pending, ...whilePending(answers, pending.polls) };
    return { state: waiting, result: 'pending', notes: [...notes, note] };
  }
  const totalSource = answers.kind === 'baseline' ? answers.source : state.totalSource;
  const { aggregation } = totalSource;
  const sourceNotes =
    aggregation === state.totalSource.aggregation ? [] : TOTAL_SOURCE_NOTES[aggregation];
  return {
    state: {
      baseline: answers.kind === 'recent' || answers.isReusable ? baseline : undefined,
      snapshot,
      totalSource,
      keysNoted,
      recent: recent.sums,
      pending: NOTHING_PENDING,
    },
    result: 'accepted',
    notes: [...notes, ...sourceNotes],
  };
}

/**
 * Returns what the next polls count on. What a baseline has shown is confirmed by baselines, but a first total
 * of 0, which waits longer: `recent` shows at a low cost when counts come.
 */
function whilePending(
  answers: RecentAnswers | BaselineAnswers,
  polls: number,
): Partial<Pick<StreamState, 'baseline' | 'recent'>> {
  if (answers.kind === 'recent') {
    return {};
  }
  const { baseline, isReusable, recent } = answers;
  return polls >= POLLS_TO_CONFIRM && isReusable
    ? { baseline, recent: recent.sums }
    : { baseline: undefined };
}

/**
 * Whether `recent` can be added to the kept baseline: it is of the same aggregation, and the total of the
 * baseline was accepted. A first total of 0 that was not is read again once there are counts, or to confirm it.
 */
function fitsBaseline(
  { snapshot, pending }: StreamState,
  { baseline: { recentAtBaseline }, recent }: RecentAnswers,
  context: PollContext,
): boolean {
  const mayConfirmZero = pending.kind === 'lower' && hasLasted(pending, context);
  return (
    recent.aggregation === recentAtBaseline.aggregation &&
    (snapshot !== undefined || (isZero(recent.sums) && !mayConfirmZero))
  );
}

function hasDoubled(state: StreamState, { baseline, recent }: RecentAnswers): boolean {
  const before = state.recent ?? baseline.recentAtBaseline.sums;
  return recent.sums.some(
    (count, counter) =>
      countOf(before, counter) >= MIN_DOUBLED_COUNTS && count >= 2 * countOf(before, counter),
  );
}

/** A stream is a table of one key. */
function tableOf(counts: Counts): CountsByKey {
  return new Map([['', counts]]);
}

/** Today has the rows that are dated before it, too: how keys are parsed does not decide what is accepted. */
function tablesOf(snapshot: Snapshot): TableSnapshot {
  const { totals, today, minutes } = snapshot;
  const allToday = plus(today, minutes?.counts.before ?? []);
  return { ...snapshot, totals: tableOf(totals), today: tableOf(allToday) };
}
