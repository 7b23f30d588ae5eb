/** What a poll asks the service. These functions only ask; `decide` says what follows from the responses. */
import { DAY_MS, MINUTE_MS } from '../../base/duration.ts';
import { floorToMinute } from '../calendar/calendar.ts';
import type { Span } from '../calendar/calendar.ts';
import { ANY_COUNT, anyBelow, grandTotal, higher, isZero } from '../rows/counts.ts';
import type { Counts } from '../rows/counts.ts';
import { detectKeyFormat, narrowKeyFormat } from '../rows/key-format.ts';
import type { KeyFormatState } from '../rows/key-format.ts';
import { readByMinute, readLarger } from '../rows/window-reader.ts';
import type { WindowReader, WindowResponse } from '../rows/window-reader.ts';
import { verifiedSource } from './baseline.ts';
import type { BaselineReadings, Comparison } from './baseline.ts';
import { answeredSource, BY_DAY, finerSource, totalByMinute } from './period-total.ts';
import type { TotalSource } from './period-total.ts';
import { isLastSeenKnown } from './snapshot.ts';
import { acceptedValues } from './state.ts';
import type { Baseline, PollContext, StreamState } from './state.ts';

export interface RecentAnswers {
  readonly kind: 'recent';
  /** When the last response came. */
  readonly atMs: number;
  /** What came since is added to it. */
  readonly baseline: Baseline;
  readonly recent: WindowResponse;
  readonly keyFormat: KeyFormatState;
}

/** Readings that agree with each other, and what the order of today's minutes needs. */
export interface BaselineAnswers {
  readonly kind: 'baseline';
  /** When the last response came. */
  readonly atMs: number;
  readonly day: Span;
  readonly readings: BaselineReadings;
  readonly source: TotalSource;
  /** Today's minutes; undefined if the service forces another aggregation. */
  readonly minutes: readonly WindowResponse[] | undefined;
  /** Minutes since the day before began; undefined if they are not needed or there is no response. */
  readonly sinceDayBefore: WindowResponse | undefined;
  readonly keyFormat: KeyFormatState;
}

/** No aggregation agrees with the others: no total can be used now. */
export interface InconsistentAnswers {
  readonly kind: 'inconsistent';
}

const RECENT_WINDOW_MS = 15 * MINUTE_MS;
const WEEK_MS = 7 * DAY_MS;
/** Disagreements with the minutes after which a finer aggregation is tried. */
const MAX_DISAGREEMENTS = 2;

/** Requests `recent` (rule 2). Rejects with a ServiceError if there is no valid response. */
export async function requestRecent(
  state: StreamState,
  baseline: Baseline,
  { calendar, clocks }: PollContext,
  reader: WindowReader,
): Promise<RecentAnswers> {
  const recent = await reader.readAgainIfBelow(state.recent, 'minute', baseline.recentStartMs);
  const keyFormat =
    recent.aggregation === 'minute'
      ? narrowKeyFormat(state.keyFormat, recent, calendar.zone)
      : state.keyFormat;
  return { kind: 'recent', baseline, recent, keyFormat, atMs: clocks.nowMs() };
}

/**
 * Requests a baseline (rule 1) until the total agrees with the minutes: by day, then by quarter, then by
 * minute. Rejects with a ServiceError if a response that is needed is missing or malformed.
 */
export async function requestBaseline(
  state: StreamState,
  context: PollContext,
  reader: WindowReader,
): Promise<BaselineAnswers | InconsistentAnswers> {
  const { period, calendar, clocks, marks } = context;
  const day = calendar.dayAt(clocks.nowMs());
  const accepted = acceptedValues(state, period, day);
  const expected: Expected = {
    total: accepted.totals ?? marks?.totals,
    today: accepted.today,
    recentHadCounts: state.recent !== undefined && !isZero(state.recent),
  };
  // Each period starts with the cheapest aggregation again: a lag may have ended.
  let requested: TotalSource | undefined =
    accepted.totals === undefined ? BY_DAY : state.totalSource;
  for (let attempt = 1; requested !== undefined; attempt++) {
    const readings = await requestReadings(context, reader, day, expected, requested);
    const source = verifiedSource(readings);
    if (source !== undefined) {
      const order = await requestOrder(state, context, reader, day, readings);
      return { kind: 'baseline', day, readings, source, ...order, atMs: clocks.nowMs() };
    }
    if (attempt % MAX_DISAGREEMENTS === 0) {
      requested = await finerSource(reader, requested, day.startMs);
    }
  }
  return { kind: 'inconsistent' };
}

/** The last accepted values. A lower response is requested again. */
interface Expected {
  readonly total: Counts | undefined;
  readonly today: Counts | undefined;
  readonly recentHadCounts: boolean;
}

/** Sends the requests of rule 1, in its order. */
async function requestReadings(
  context: PollContext,
  reader: WindowReader,
  day: Span,
  expected: Expected,
  requested: TotalSource,
): Promise<BaselineReadings> {
  const { period } = context;
  const recentStartMs = recentStart(context, day);
  const recentBefore = await reader.readAgainIfBelow(
    expected.recentHadCounts ? ANY_COUNT : undefined,
    'minute',
    recentStartMs,
  );
  const total = await requestPeriodTotal(reader, requested, period.startMs, expected.total);
  const source = answeredSource(requested, total.aggregation);
  // The recent window is in the day, so that the day must not have less.
  const recentMinutes = recentBefore.aggregation === 'minute' ? recentBefore.sums : undefined;
  const todayByMinute = await reader.readAgainIfBelow(
    higher(recentMinutes, minimumToday(expected, source, total.sums)),
    'minute',
    day.startMs,
  );
  const comparison =
    source.kind === 'minutes'
      ? undefined
      : await requestComparison(context, reader, day, expected.today, source, todayByMinute);
  // If the recent window was empty and the day is not, an empty response is requested again: if both
  // were a fault, all of its counts would be added later.
  const mayBeFault = isZero(recentBefore.sums) && !isZero(todayByMinute.sums);
  const recentAtBaseline = await reader.readAgainIfBelow(
    mayBeFault ? ANY_COUNT : recentBefore.sums,
    'minute',
    recentStartMs,
  );
  return { source, total, recentBefore, todayByMinute, comparison, recentAtBaseline };
}

/** Not before the day. */
function recentStart({ period, clocks }: PollContext, day: Span): number {
  const startMs = floorToMinute(clocks.nowMs() - RECENT_WINDOW_MS);
  return Math.max(day.startMs, period.startMs, startMs);
}

async function requestPeriodTotal(
  reader: WindowReader,
  source: TotalSource,
  fromMs: number,
  expected: Counts | undefined,
): Promise<BaselineReadings['total']> {
  if (source.kind !== 'minutes') {
    return reader.readAgainIfBelow(expected, source.aggregation, fromMs);
  }
  const sums = await readLarger(
    () => totalByMinute(reader, fromMs),
    (total) => expected !== undefined && anyBelow(total, expected),
    grandTotal,
  );
  return { aggregation: 'minute', sums };
}

/**
 * What today must have at least. An empty response is requested again if nothing else would show
 * that it is wrong: the first one of a day, and one beside a total of 0 that may lag.
 */
function minimumToday(
  { today }: Expected,
  source: TotalSource,
  periodTotal: Counts,
): Counts | undefined {
  const mayBeWrong = isZero(periodTotal) ? source.kind === 'unverified' : today === undefined;
  return mayBeWrong ? higher(today, ANY_COUNT) : today;
}

/**
 * Reads one window by minute and by the aggregation of the totals: today; or the last week, if nobody
 * came today and the aggregation is not verified yet, because two empty responses prove nothing.
 */
async function requestComparison(
  { period }: PollContext,
  reader: WindowReader,
  day: Span,
  expectedToday: Counts | undefined,
  { kind, aggregation }: Exclude<TotalSource, { kind: 'minutes' }>,
  todayByMinute: WindowResponse,
): Promise<Comparison> {
  const weekStartMs = Math.max(period.startMs, day.startMs - WEEK_MS);
  if (!isZero(todayByMinute.sums) || kind === 'verified' || weekStartMs >= day.startMs) {
    const coarse = await reader.readAgainIfBelow(expectedToday, aggregation, day.startMs);
    return { byMinute: todayByMinute, coarse };
  }
  let fromMs = weekStartMs;
  let byMinute = await reader.read('minute', fromMs);
  if (byMinute.aggregation !== 'minute') {
    // Forced into the aggregation that is to be compared, it would agree with itself.
    fromMs = Math.max(period.startMs, day.startMs - 2 * DAY_MS);
    byMinute = await reader.read('minute', fromMs);
  }
  return { byMinute, coarse: await reader.read(aggregation, fromMs) };
}

/** Requests what the order of the minutes needs: their windows, the format of their keys, the day before. */
async function requestOrder(
  state: StreamState,
  { calendar }: PollContext,
  reader: WindowReader,
  day: Span,
  { todayByMinute, recentAtBaseline }: BaselineReadings,
): Promise<Pick<BaselineAnswers, 'minutes' | 'sinceDayBefore' | 'keyFormat'>> {
  const { zone } = calendar;
  const minutes = await readByMinute(reader, todayByMinute);
  const isByMinute = recentAtBaseline.aggregation === 'minute';
  const samples = [...(isByMinute ? [recentAtBaseline] : []), ...(minutes ?? [])];
  const keyFormat = await detectKeyFormat(reader, state.keyFormat, samples, zone);
  if (!isZero(todayByMinute.sums) || isLastSeenKnown(state, day)) {
    return { minutes, sinceDayBefore: undefined, keyFormat };
  }
  const response = await reader.readOptional('minute', calendar.dayBefore(day).startMs);
  return response?.aggregation === 'minute'
    ? {
        minutes,
        sinceDayBefore: response,
        keyFormat: await detectKeyFormat(reader, keyFormat, [response], zone),
      }
    : { minutes, sinceDayBefore: undefined, keyFormat };
}
