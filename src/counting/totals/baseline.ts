/**
 * The baseline (rule 1): the period's total, and around it twice the same request for the last
 * minutes. What later polls get for that request, minus what it returned at the baseline, is what
 * came since, however the service defines its windows. Requested until the total agrees with the
 * minutes (rule 4).
 */
import { DAY_MS, MINUTE_MS } from '../../base/duration.ts';
import { floorToMinute } from '../calendar/calendar.ts';
import type { Span } from '../calendar/calendar.ts';
import {
  ANY_COUNT,
  anyBelow,
  areEqual,
  grandTotal,
  higher,
  isZero,
  minus,
  plus,
} from '../rows/counts.ts';
import type { Counts } from '../rows/counts.ts';
import { addWindows, DayCounter, lastSeenIn } from '../rows/day-counts.ts';
import type { DayCounts } from '../rows/day-counts.ts';
import { readByMinute, readLarger } from '../rows/window-reader.ts';
import type { WindowReader, WindowResponse } from '../rows/window-reader.ts';
import {
  answeredSource,
  areConsistent,
  BY_DAY,
  finerSource,
  isFinerTotal,
  totalByMinute,
} from './period-total.ts';
import type { TotalSource } from './period-total.ts';
import { acceptedValues } from './state.ts';
import type { Baseline, PollContext, StreamState } from './state.ts';

/** The readings of a baseline, in the order in which they were requested. */
export interface BaselineReadings {
  readonly recentBefore: WindowResponse;
  readonly total: Pick<WindowResponse, 'aggregation' | 'sums'>;
  /** What the total was read by. */
  readonly source: TotalSource;
  readonly todayByMinute: WindowResponse;
  /** Undefined if the total was read by minute. */
  readonly comparison: Comparison | undefined;
  readonly recentAtBaseline: WindowResponse;
}

/** One window by minute, and by the aggregation of the total. */
interface Comparison {
  readonly byMinute: WindowResponse;
  readonly coarse: WindowResponse;
}

/** A baseline whose readings agree with each other. */
export interface BaselineAnswers {
  readonly kind: 'baseline';
  /** When the last response came. */
  readonly atMs: number;
  readonly baseline: Baseline;
  /** Whether later polls may count on it. */
  readonly isReusable: boolean;
  /** The response in which nobody came since. */
  readonly recent: WindowResponse;
  readonly source: TotalSource;
  /** Today's minutes; undefined if the service forces another aggregation. */
  readonly minutes: readonly WindowResponse[] | undefined;
}

/** No aggregation agrees with the others: no total can be used now. */
export interface InconsistentAnswers {
  readonly kind: 'inconsistent';
}

const RECENT_WINDOW_MS = 15 * MINUTE_MS;
const WEEK_MS = 7 * DAY_MS;
/** Disagreements with the minutes after which a finer aggregation is tried. */
const MAX_DISAGREEMENTS = 2;

/**
 * Requests a baseline until the total agrees with the minutes: by day, then by quarter, then by minute.
 * Rejects with a ServiceError if a response that is needed is missing or malformed.
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
  let requested = accepted.totals === undefined ? BY_DAY : state.totalSource;
  let rejected: BaselineReadings | undefined;
  for (let attempt = 1; ; attempt++) {
    const readings = await requestReadings(context, reader, day, expected, requested);
    const source = verifiedSource(readings);
    if (source !== undefined) {
      if (rejected !== undefined && !canReplace(rejected, readings)) {
        return { kind: 'inconsistent' };
      }
      const minutes = await readByMinute(reader, readings.todayByMinute);
      const atMs = clocks.nowMs();
      return {
        kind: 'baseline',
        ...createBaseline(context, day, readings, minutes, atMs),
        recent: readings.recentAtBaseline,
        source,
        minutes,
        atMs,
      };
    }
    rejected = readings;
    if (attempt % MAX_DISAGREEMENTS === 0) {
      requested = finerSource(requested);
    }
  }
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
  const todayByMinute = await reader.readAgainIfBelow(
    higher(recentMinutes(recentBefore), minimumToday(expected, source, total.sums)),
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

/** Returns the sums of the last minutes; undefined if another aggregation was forced. */
function recentMinutes({ aggregation, sums }: WindowResponse): Counts | undefined {
  return aggregation === 'minute' ? sums : undefined;
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

/**
 * Returns what later totals are read by; undefined if the total disagrees with the minutes (rule 4). It is
 * verified once the minutes have just counted somebody: else, all of them may have been rolled up since.
 */
export function verifiedSource(readings: BaselineReadings): TotalSource | undefined {
  const { source, total, comparison, recentBefore } = readings;
  if (source.kind === 'minutes' || comparison === undefined) {
    return source;
  }
  const { coarse, byMinute } = comparison;
  // The last minutes, too: the whole window may be forced into an aggregation that lags.
  const atLeast = higher(byMinute.sums, recentMinutes(recentBefore)) ?? byMinute.sums;
  if (
    coarse.aggregation !== total.aggregation ||
    !areConsistent(coarse.sums, atLeast, plus(atLeast, cameSince(recentBefore, readings)))
  ) {
    return undefined;
  }
  const isProven = !isZero(recentMinutes(recentBefore) ?? []);
  return isProven ? { ...source, kind: 'verified' } : source;
}

/** Returns what came until the end of a baseline. */
function cameSince(
  { sums }: WindowResponse,
  { recentAtBaseline }: Pick<BaselineReadings, 'recentAtBaseline'>,
): Counts {
  return minus(recentAtBaseline.sums, sums).map((count) => Math.max(0, count));
}

/** Whether the total can replace that of a coarser aggregation, which was rejected before. */
function canReplace(rejected: BaselineReadings, { total, ...readings }: BaselineReadings): boolean {
  return (
    readings.source.aggregation === rejected.source.aggregation ||
    isFinerTotal(total.sums, rejected.total.sums, cameSince(rejected.recentBefore, readings))
  );
}

/** Returns the baseline, and whether later polls may use it. */
export function createBaseline(
  context: PollContext,
  day: Span,
  readings: BaselineReadings,
  todaysMinutes: readonly WindowResponse[] | undefined,
  atMs: number,
): Pick<BaselineAnswers, 'baseline' | 'isReusable'> {
  const { recentBefore, total, todayByMinute, recentAtBaseline } = readings;
  const { aggregation, sums, window } = recentAtBaseline;
  const baseline: Baseline = {
    period: context.period,
    day,
    takenAtMonotonicMs: context.monotonicMs,
    recentStartMs: window.startMs,
    recentAtBaseline: { aggregation, sums },
    periodTotal: total.sums,
    todayByMinute: todayByMinute.sums,
    minutes: todaysMinutes && minutesWithoutRecent(context, day, recentAtBaseline, todaysMinutes),
  };
  const isStable = recentBefore.aggregation === aggregation && areEqual(recentBefore.sums, sums);
  // The clock was set back during the poll: nobody would be counted until the window starts.
  const isOfFuture = window.startMs > atMs;
  // Two empty responses for a window in which the day has counts: all of them would be added later.
  const lastSeenMs = baseline.minutes && lastSeenIn(baseline.minutes, atMs + 1);
  const hasMissedCounts = isZero(sums) && lastSeenMs !== undefined && lastSeenMs >= window.startMs;
  return { baseline, isReusable: isStable && !isOfFuture && !hasMissedCounts };
}

/** Returns the day's minutes without those of `recent`; undefined if keys cannot be parsed. */
function minutesWithoutRecent(
  { stream, calendar, keyTimes }: PollContext,
  day: Span,
  recentAtBaseline: WindowResponse,
  minutes: readonly WindowResponse[],
): DayCounts | undefined {
  const counter = new DayCounter(calendar, [day], stream);
  const isComplete =
    addWindows(counter, minutes, calendar.zone, keyTimes) &&
    addWindows(counter, [recentAtBaseline], calendar.zone, keyTimes, -1);
  return isComplete ? counter.days()[0] : undefined;
}
