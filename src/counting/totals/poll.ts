/**
 * One poll of the people or logins of a customer: the previous state and `query` in, the next state
 * and what to log out. A poll that fails changes nothing (rule 6). README.md has the numbered rules.
 */
import { readBaseline } from './baseline.ts';
import { MINUTE_MS } from '../../base/duration.ts';
import type { CountingPeriod, Span } from '../calendar/calendar.ts';
import { countOf, grandTotal, isZero } from '../rows/counts.ts';
import type { Counts } from '../rows/counts.ts';
import { narrowKeyFormat } from '../rows/key-format.ts';
import type { KeyFormatState } from '../rows/key-format.ts';
import { checkPlausibility, emptinessOf, NOTHING_PENDING } from './plausibility.ts';
import type { AcceptedTotals, Emptiness } from './plausibility.ts';
import { WindowReader } from '../rows/window-reader.ts';
import type { Query, WindowResponse } from '../rows/window-reader.ts';
import { createSnapshot, findLastSeenBefore } from './snapshot.ts';
import { latestNowMs } from './state.ts';
import type {
  Baseline,
  BaselineNecessity,
  PollContext,
  PollNote,
  PollOutcome,
  Snapshot,
  StreamState,
} from './state.ts';
import { BY_DAY } from './period-total.ts';
import type { TotalSource } from './period-total.ts';

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

/** While the key format is ambiguous, a new baseline may be taken after this time. */
const AMBIGUOUS_KEYS_RETRY_MS = MINUTE_MS;
/** `recent` that doubles from at least this is verified by a baseline: the service may list rows twice. */
const MIN_DOUBLED_COUNTS = 20;

/** Returns whether this poll must take a baseline because there is none, or may because it is old. */
function baselineDue(state: StreamState, context: PollContext): BaselineNecessity | undefined {
  const { baseline, keyFormat, recent } = state;
  if (baseline === undefined) {
    return 'required';
  }
  const ageMs = context.monotonicMs - baseline.takenAtMonotonicMs;
  const hasRows = baseline.minutes === undefined || (recent !== undefined && !isZero(recent));
  const isDue =
    baseline.takenAtMonotonicMs < context.renewalMs ||
    baseline.period.startMs !== context.period.startMs ||
    baseline.day.startMs !== context.calendar.dayAt(context.nowMs()).startMs ||
    (keyFormat.status === 'ambiguous' && hasRows && ageMs >= AMBIGUOUS_KEYS_RETRY_MS);
  return isDue ? 'optional' : undefined;
}

/** Whether there is a baseline whose total of 0 has not been confirmed. */
function isAwaitingFirstCounts({ baseline, snapshot }: StreamState): boolean {
  return baseline !== undefined && snapshot === undefined;
}

function mayConfirmEmpty(
  { pending }: StreamState,
  { monotonicMs, reconcileIntervalMs }: Pick<PollContext, 'monotonicMs' | 'reconcileIntervalMs'>,
): boolean {
  return pending.kind === 'empty' && monotonicMs - pending.sinceMs >= reconcileIntervalMs;
}

/**
 * Requests `recent` (rule 2), or takes a baseline (rule 1). Rejects with a ServiceError if a response
 * that is needed is missing or malformed.
 */
export async function pollStream(
  state: StreamState,
  context: PollContext,
  query: Query,
): Promise<PollOutcome> {
  const reader = createReader(context, query);
  const { baseline } = state;
  const due = baselineDue(state, context);
  if ((due !== undefined && context.beginBaseline(due)) || baseline === undefined) {
    return pollWithBaseline(state, context, reader);
  }
  const recent = await reader.readAgainIfBelow(state.recent, 'minute', baseline.recentStartMs);
  const verification = verificationDue(state, context, baseline, recent);
  if (verification === undefined) {
    return pollRecent(state, context, reader, baseline, recent);
  }
  return context.beginBaseline(verification)
    ? pollWithBaseline(state, context, reader)
    : { state, accepted: false, notes: ['increase_pending'] };
}

/** Returns the reader of one poll. Windows that are open end now, by the later clock. */
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

/** Returns whether a new baseline must verify `recent`. Until it is read, the accepted values stay. */
function verificationDue(
  state: StreamState,
  context: PollContext,
  { recentAtBaseline }: Baseline,
  recent: WindowResponse,
): BaselineNecessity | undefined {
  if (
    recent.aggregation !== recentAtBaseline.aggregation ||
    (isAwaitingFirstCounts(state) && (!isZero(recent.sums) || mayConfirmEmpty(state, context)))
  ) {
    return 'required';
  }
  const before = state.recent ?? recentAtBaseline.sums;
  const hasDoubled = recent.sums.some(
    (count, counter) =>
      countOf(before, counter) >= MIN_DOUBLED_COUNTS && count >= 2 * countOf(before, counter),
  );
  return hasDoubled ? 'optional' : undefined;
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
  return acceptOrWait(state, context, reader, {
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
  const { calendar, period, nowMs, marks } = context;
  const day = calendar.dayAt(nowMs());
  const accepted = acceptedValues(state, period, day);
  const result = await readBaseline(
    {
      ...context,
      reader,
      day,
      expected: {
        total: accepted.totals ?? marks?.totals,
        today: accepted.today,
        recentHadCounts: state.recent !== undefined && !isZero(state.recent),
      },
    },
    // Each period starts with the cheapest aggregation again: a lag may have ended.
    accepted.totals === undefined ? BY_DAY : state.totalSource,
    state.keyFormat,
  );
  if (result === undefined) {
    return { state, accepted: false, notes: ['aggregations_inconsistent'] };
  }
  const { baseline, recent, source } = result;
  const { lastSeenBeforeMs, keyFormat } = await findLastSeenBefore(
    state,
    context,
    reader,
    baseline,
    result.keyFormat,
  );
  const next: StreamState = {
    ...state,
    baseline: result.isReusable ? baseline : undefined,
    recent: recent.sums,
    totalSource: source,
    keyFormat,
    lastSeenBeforeMs,
  };
  const emptiness = emptinessOf(
    { totals: baseline.periodTotal, today: baseline.todayByMinute },
    accepted,
    state.snapshot === undefined && marks === undefined,
  );
  // Until a first total of 0 is confirmed, `recent` shows at a low cost when counts come.
  const usesBaselineWhilePending =
    emptiness === 'initial' && state.pending.kind === 'empty' && state.pending.polls >= 2;
  return acceptOrWait(state, context, reader, {
    emptiness,
    snapshot: createSnapshot(context, baseline, recent, next),
    next,
    ifPending: {
      ...state,
      keyFormat,
      ...(usesBaselineWhilePending && { baseline: next.baseline, recent: next.recent }),
    },
  });
}

/** The last accepted values of the period and the day. */
function acceptedValues(
  { snapshot }: StreamState,
  period: CountingPeriod,
  day: Span,
): { readonly totals: Counts | undefined; readonly today: Counts | undefined } {
  return {
    totals: snapshot?.period.startMs === period.startMs ? snapshot.totals : undefined,
    today: snapshot?.day.startMs === day.startMs ? snapshot.today : undefined,
  };
}

interface ReadValues {
  readonly emptiness: Emptiness;
  readonly snapshot: Snapshot;
  /** The state if the values are accepted, and if they must be confirmed first. */
  readonly next: StreamState;
  readonly ifPending: StreamState;
}

/** Accepts the values, or keeps the accepted ones until the new ones are confirmed (rule 5). */
async function acceptOrWait(
  state: StreamState,
  context: PollContext,
  reader: WindowReader,
  { emptiness, snapshot, next, ifPending }: ReadValues,
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
  const notes =
    next.keyFormat.status === state.keyFormat.status ? [] : KEY_FORMAT_NOTES[next.keyFormat.status];
  if (verdict.kind === 'pending') {
    return {
      state: { ...ifPending, pending: verdict.pending },
      accepted: false,
      notes: [...notes, verdict.note],
    };
  }
  const { aggregation } = next.totalSource;
  const sourceNotes =
    aggregation === state.totalSource.aggregation ? [] : TOTAL_SOURCE_NOTES[aggregation];
  return {
    state: { ...next, snapshot, pending: NOTHING_PENDING },
    accepted: true,
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

async function readSecondSum(
  reader: WindowReader,
  { aggregation }: TotalSource,
  period: CountingPeriod,
): Promise<number | undefined> {
  const second = aggregation === 'quarter' ? 'day' : 'quarter';
  const response = await reader.read(second, period.startMs);
  return response.aggregation === aggregation ? undefined : grandTotal(response.sums);
}
