/**
 * One poll of the people or logins of a customer: the previous state and `query` in, the next state
 * and what to log out. A poll that fails changes nothing (rule 6). README.md has the numbered rules.
 */
import type { MinuteStream } from '../base/model.ts';
import { readBaseline } from './baseline.ts';
import type { Baseline, Expected } from './baseline.ts';
import { MINUTE_MS } from './calendar.ts';
import type { Calendar, CountingPeriod, Span } from './calendar.ts';
import { at, grandTotal, isZero } from './counts.ts';
import type { Counts } from './counts.ts';
import { ANY_KEY_FORMAT, narrowKeyFormat } from './key-format.ts';
import type { KeyFormatState } from './key-format.ts';
import { checkPlausibility, NOTHING_PENDING } from './plausibility.ts';
import type { AcceptedTotals, Candidate, Pending, PlausibilityNote } from './plausibility.ts';
import { WindowReader } from './query.ts';
import type { Query, WindowResponse } from './query.ts';
import { isBaselineReusable, nextRecentWindow } from './recent-window.ts';
import type { RecentWindow } from './recent-window.ts';
import { createSnapshot, findDayBefore, latestNowMs } from './snapshot.ts';
import type { DayDoors, TodayEstimate } from './today-estimate.ts';
import { BY_DAY } from './totals.ts';
import type { TotalSource } from './totals.ts';

/** The accepted values of one poll. */
export interface Snapshot {
  readonly period: CountingPeriod;
  readonly day: Span;
  readonly atMs: number;
  /** The service's totals since the period started, corrections included. */
  readonly totals: Counts;
  /** The service's figures since the day started. */
  readonly today: Counts;
  /** Undefined if keys cannot be parsed. */
  readonly order: MinuteOrder | undefined;
}

/** What depends on the order of the minutes. */
export interface MinuteOrder {
  /** People inside after each quarter of an hour of the day, the last one at the poll; of people only. */
  readonly occupancy: readonly number[];
  /** The newest minute, today or the day before, that counted anybody. */
  readonly lastSeenMs: number | undefined;
  /** Undefined while the doors are not known. */
  readonly estimate: TodayEstimate | undefined;
}

/** What is kept of one stream between two polls. Immutable: replaced as a whole. */
export interface StreamState {
  readonly baseline: Baseline | undefined;
  readonly snapshot: Snapshot | undefined;
  readonly totalSource: TotalSource;
  readonly recentWindow: RecentWindow;
  readonly keyFormat: KeyFormatState;
  /** Sums of `recent` at the last accepted poll. */
  readonly recent: Counts | undefined;
  readonly pending: Pending;
  /** Last seen of the day before the one that starts then, as far as it is known. */
  readonly dayBefore:
    { readonly dayStartMs: number; readonly lastSeenMs: number | undefined } | undefined;
}

export const INITIAL_STATE: StreamState = {
  baseline: undefined,
  snapshot: undefined,
  totalSource: BY_DAY,
  recentWindow: { kind: 'usable' },
  keyFormat: ANY_KEY_FORMAT,
  recent: undefined,
  pending: NOTHING_PENDING,
  dayBefore: undefined,
};

export interface PollContext {
  readonly stream: MinuteStream;
  readonly calendar: Calendar;
  readonly period: CountingPeriod;
  readonly nowMs: () => number;
  /** The service's clock, by which it dates and windows records. */
  readonly serviceNowMs: () => number;
  readonly monotonicMs: number;
  /** Baselines taken before this moment of the monotonic clock are due for renewal. */
  readonly renewalMs: number;
  readonly reconcileIntervalMs: number;
  /** Whether half of the poll's time is left. */
  readonly hasTime: () => boolean;
  /** Whether an optional baseline may be taken now. */
  readonly allowBaseline: boolean;
  /** The high-water marks of the period from before the start. */
  readonly marks: AcceptedTotals | undefined;
  /** Undefined if there is no estimate. */
  readonly doors: DayDoors | undefined;
}

export type PollNote =
  | PlausibilityNote
  | 'aggregations_inconsistent'
  | 'totals_by_quarter'
  | 'totals_by_minute'
  | 'breakdown_keys_dropped'
  | 'key_format_unknown'
  | 'key_format_detected';

export interface PollOutcome {
  readonly state: StreamState;
  readonly notes: readonly PollNote[];
}

/** While the key format is ambiguous, a new baseline may be taken after this time. */
const AMBIGUOUS_KEYS_RETRY_MS = MINUTE_MS;
/** `recent` that doubles from at least this is verified by a baseline: the service may list rows twice. */
const MIN_DOUBLED_COUNTS = 20;

/** Whether the next poll takes a baseline: it must if there is none, and may if it is old. */
export function baselineDue(
  state: StreamState,
  context: Pick<
    PollContext,
    'calendar' | 'period' | 'nowMs' | 'monotonicMs' | 'renewalMs' | 'reconcileIntervalMs'
  >,
): 'required' | 'optional' | 'no' {
  const { baseline, keyFormat, pending, recent } = state;
  if (baseline === undefined) {
    return 'required';
  }
  const ageMs = context.monotonicMs - baseline.takenAtMonotonicMs;
  const isOfOtherDay =
    baseline.period.startMs !== context.period.startMs ||
    baseline.day.startMs !== context.calendar.dayAt(context.nowMs()).startMs;
  const hasRows = baseline.minutes === undefined || (recent !== undefined && !isZero(recent));
  const retriesKeys =
    keyFormat.status === 'ambiguous' && hasRows && ageMs >= AMBIGUOUS_KEYS_RETRY_MS;
  const confirmsEmpty = isAwaitingFirstCounts(state) && mayConfirmEmpty(pending, context);
  return isOfOtherDay ||
    baseline.takenAtMonotonicMs < context.renewalMs ||
    retriesKeys ||
    confirmsEmpty
    ? 'optional'
    : 'no';
}

/** Whether there is a baseline whose total of 0 has not been confirmed. */
function isAwaitingFirstCounts({ baseline, snapshot }: StreamState): boolean {
  return baseline !== undefined && snapshot === undefined;
}

function mayConfirmEmpty(
  pending: Pending,
  context: Pick<PollContext, 'monotonicMs' | 'reconcileIntervalMs'>,
): boolean {
  const { monotonicMs, reconcileIntervalMs } = context;
  return pending.kind === 'empty' && monotonicMs - pending.sinceMs >= reconcileIntervalMs;
}

/** Requests `recent` (rule 2), or takes a baseline (rule 1). */
export async function pollStream(
  state: StreamState,
  context: PollContext,
  query: Query,
): Promise<PollOutcome> {
  const reader = createReader(context, query);
  const { baseline } = state;
  if (baseline === undefined || (baselineDue(state, context) !== 'no' && context.allowBaseline)) {
    return pollWithBaseline(state, context, reader);
  }
  const recent = await reader.readAgainIfBelow(state.recent, 'minute', baseline.recentStartMs);
  return mustVerify(state, context, baseline, recent)
    ? pollWithBaseline(state, context, reader)
    : pollRecent(state, context, reader, baseline, recent);
}

export function createReader(context: PollContext, query: Query): WindowReader {
  const { stream, calendar, hasTime } = context;
  return new WindowReader({
    query,
    stream,
    zone: calendar.zone,
    nowMs: () => latestNowMs(context),
    hasTime,
  });
}

/** Whether `recent` may not be used with this baseline. */
function mustVerify(
  state: StreamState,
  context: PollContext,
  { recentAtBaseline }: Baseline,
  recent: WindowResponse,
): boolean {
  const before = state.recent ?? recentAtBaseline.sums;
  const hasDoubled = recent.sums.some(
    (count, counter) =>
      at(before, counter) >= MIN_DOUBLED_COUNTS && count >= 2 * at(before, counter),
  );
  return (
    recent.aggregation !== recentAtBaseline.aggregation ||
    (isAwaitingFirstCounts(state) &&
      (!isZero(recent.sums) || mayConfirmEmpty(state.pending, context))) ||
    (hasDoubled && context.allowBaseline)
  );
}

function pollRecent(
  state: StreamState,
  context: PollContext,
  reader: WindowReader,
  baseline: Baseline,
  recent: WindowResponse,
): Promise<PollOutcome> {
  const keyFormat =
    recent.aggregation === 'minute'
      ? narrowKeyFormat(state.keyFormat, recent, context.calendar.zone)
      : state.keyFormat;
  const next = { ...state, keyFormat, recent: recent.sums };
  const lostCounts = isZero(recent.sums) && state.recent !== undefined && !isZero(state.recent);
  return conclude(state, context, reader, {
    emptiness: isAwaitingFirstCounts(state) ? 'initial' : lostCounts ? 'unexpected' : 'none',
    snapshot: createSnapshot(context, baseline, recent, next),
    next,
    ifPending: { ...state, keyFormat },
  });
}

async function pollWithBaseline(
  state: StreamState,
  context: PollContext,
  reader: WindowReader,
): Promise<PollOutcome> {
  const { calendar, period, nowMs, serviceNowMs, monotonicMs } = context;
  const day = calendar.dayAt(nowMs());
  // Each period starts with the cheapest aggregation again: a lag may have ended.
  const isSamePeriod = state.snapshot?.period.startMs === period.startMs;
  const result = await readBaseline(
    {
      reader,
      zone: calendar.zone,
      period,
      day,
      nowMs,
      serviceNowMs,
      monotonicMs,
      expected: expectedValues(state, context, day),
      extraWindowMs:
        state.recentWindow.kind === 'extended' ? Math.max(0, calendar.zone.offsetMsAt(nowMs())) : 0,
    },
    isSamePeriod ? state.totalSource : BY_DAY,
    state.keyFormat,
  );
  if (result.kind === 'inconsistent') {
    return { state, notes: ['aggregations_inconsistent'] };
  }
  const { baseline, recent } = result;
  const { dayBefore, keyFormat } = await findDayBefore(state, context, reader, result);
  const recentWindow = nextRecentWindow(state, baseline, result.use);
  const isReusable = isBaselineReusable(state.recentWindow, recentWindow, result.use);
  const next: StreamState = {
    ...state,
    baseline: isReusable ? baseline : undefined,
    recent: baseline.recentAtBaseline.sums,
    totalSource: result.source,
    recentWindow,
    keyFormat,
    dayBefore,
  };
  const emptiness = baselineEmptiness(state, context, baseline);
  return conclude(state, context, reader, {
    emptiness,
    snapshot: createSnapshot(context, baseline, recent, next),
    next,
    // Until a first total of 0 is confirmed, `recent` shows at a low cost when counts come.
    ifPending:
      emptiness === 'initial' && state.pending.kind === 'empty' && state.pending.polls >= 2
        ? { ...state, keyFormat, baseline: next.baseline, recent: next.recent }
        : { ...state, keyFormat },
  });
}

function expectedValues(state: StreamState, context: PollContext, day: Span): Expected {
  const { snapshot } = state;
  const isSamePeriod = snapshot?.period.startMs === context.period.startMs;
  return {
    total: isSamePeriod ? snapshot?.totals : context.marks?.totals,
    today: snapshot?.day.startMs === day.startMs ? snapshot.today : undefined,
    recentHadCounts: state.recent !== undefined && !isZero(state.recent),
  };
}

function baselineEmptiness(
  { snapshot }: StreamState,
  { period, marks }: PollContext,
  { periodTotal, todayByMinute, day }: Baseline,
): Candidate['emptiness'] {
  if (isZero(periodTotal)) {
    if (snapshot === undefined && marks === undefined) {
      return 'initial';
    }
    if (snapshot?.period.startMs !== period.startMs || !isZero(snapshot.totals)) {
      return 'unexpected';
    }
  }
  const today = snapshot?.day.startMs === day.startMs ? snapshot.today : undefined;
  return isZero(todayByMinute) && today !== undefined && !isZero(today) ? 'unexpected' : 'none';
}

interface Conclusion {
  readonly emptiness: Candidate['emptiness'];
  readonly snapshot: Snapshot;
  /** The state if the values are accepted, and if they must be confirmed first. */
  readonly next: StreamState;
  readonly ifPending: StreamState;
}

async function conclude(
  state: StreamState,
  context: PollContext,
  reader: WindowReader,
  { emptiness, snapshot, next, ifPending }: Conclusion,
): Promise<PollOutcome> {
  const { period, totals, atMs } = snapshot;
  const verdict = await checkPlausibility(
    state.pending,
    {
      emptiness,
      before: acceptedBefore(state, context, period),
      totals,
      sum: grandTotal(totals),
      atMs,
      periodStartMs: period.startMs,
    },
    context,
    () => readSecondSum(reader, next.totalSource, period),
  );
  const notes = keyFormatNotes(state, next);
  switch (verdict.kind) {
    case 'pending':
      return { state: { ...ifPending, pending: verdict.pending }, notes: [...notes, verdict.note] };
    case 'accepted':
      return {
        state: { ...next, snapshot, pending: NOTHING_PENDING },
        notes: [...notes, ...totalSourceNotes(state, next)],
      };
  }
}

async function readSecondSum(
  reader: WindowReader,
  { aggregation }: TotalSource,
  period: CountingPeriod,
): Promise<number | undefined> {
  const second = aggregation === 'quarter' ? 'day' : 'quarter';
  const response = await reader.read(second, period.startMs);
  return response.aggregation === aggregation ? undefined : grandTotal(response.sums);
}

function acceptedBefore(
  { snapshot }: StreamState,
  context: PollContext,
  period: CountingPeriod,
): AcceptedTotals {
  if (snapshot?.period.startMs === period.startMs) {
    return snapshot;
  }
  const marks = context.period.startMs === period.startMs ? context.marks : undefined;
  return marks ?? { totals: [], atMs: period.startMs };
}

function totalSourceNotes(state: StreamState, { totalSource }: StreamState): PollNote[] {
  if (totalSource.aggregation === state.totalSource.aggregation) {
    return [];
  }
  switch (totalSource.aggregation) {
    case 'day':
      return [];
    case 'quarter':
      return ['totals_by_quarter'];
    case 'minute':
      return ['totals_by_minute'];
  }
}

function keyFormatNotes(state: StreamState, { keyFormat }: StreamState): PollNote[] {
  if (keyFormat.status === state.keyFormat.status) {
    return [];
  }
  switch (keyFormat.status) {
    case 'ambiguous':
      return [];
    case 'unknown':
      return ['key_format_unknown'];
    case 'detected':
      return ['key_format_detected'];
  }
}
