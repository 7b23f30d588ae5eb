/**
 * The baseline (rule 1): the period's total, and around it twice the same request for the last
 * minutes. What later polls get for that request, minus what it returned at the baseline, is what
 * came since, however the service defines its windows.
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
import { detectKeyFormat, keyParser } from '../rows/key-format.ts';
import type { KeyFormatState, KeySample } from '../rows/key-format.ts';
import { readByMinute, readLarger } from '../rows/window-reader.ts';
import type { WindowReader, WindowResponse } from '../rows/window-reader.ts';
import { answeredSource, areConsistent, finerSource, totalByMinute } from './period-total.ts';
import type { TotalSource } from './period-total.ts';
import type { Baseline, PollContext } from './state.ts';

export interface BaselineResult {
  readonly baseline: Baseline;
  readonly recent: WindowResponse;
  /** Whether later polls may use the baseline. */
  readonly isReusable: boolean;
  readonly source: TotalSource;
  readonly keyFormat: KeyFormatState;
}

export interface BaselineContext extends PollContext {
  readonly reader: WindowReader;
  readonly day: Span;
  /** The last accepted values. A lower response is requested again. */
  readonly expected: {
    readonly total: Counts | undefined;
    readonly today: Counts | undefined;
    readonly recentHadCounts: boolean;
  };
}

const RECENT_WINDOW_MS = 15 * MINUTE_MS;
const WEEK_MS = 7 * DAY_MS;
/** Disagreements with the minutes after which a finer aggregation is tried. */
const MAX_DISAGREEMENTS = 2;

/**
 * Reads until the total agrees with the minutes: by day, then by quarter, then by minute. Undefined
 * if no aggregation agrees with the others, so that no total can be used now.
 */
export async function readBaseline(
  context: BaselineContext,
  startWith: TotalSource,
  keyFormat: KeyFormatState,
): Promise<BaselineResult | undefined> {
  let source: TotalSource | undefined = startWith;
  for (let attempt = 1; source !== undefined; attempt++) {
    const responses = await readResponses(context, source);
    if (responses !== undefined) {
      return assemble(context, responses, keyFormat);
    }
    if (attempt % MAX_DISAGREEMENTS === 0) {
      source = await finerSource(context.reader, source, context.day.startMs);
    }
  }
  return undefined;
}

interface Responses {
  readonly recentBefore: WindowResponse;
  readonly periodTotal: Counts;
  readonly todayByMinute: WindowResponse;
  readonly recentAtBaseline: WindowResponse;
  readonly source: TotalSource;
}

/**
 * The requests of rule 1, in its order; `todayByDay` is by the aggregation that the total was
 * answered in. Undefined if they do not agree.
 */
async function readResponses(
  context: BaselineContext,
  requested: TotalSource,
): Promise<Responses | undefined> {
  const { reader, day, expected } = context;
  const recentStartMs = recentStart(context);
  const recentBefore = await reader.readAgainIfBelow(
    expected.recentHadCounts ? ANY_COUNT : undefined,
    'minute',
    recentStartMs,
  );
  const total = await readPeriodTotal(context, requested);
  const source = answeredSource(requested, total.aggregation);
  // The recent window is in the day, so that the day must not have less.
  const recentMinutes = recentBefore.aggregation === 'minute' ? recentBefore.sums : undefined;
  const todayByMinute = await reader.readAgainIfBelow(
    higher(recentMinutes, minimumToday(context, source, total.sums)),
    'minute',
    day.startMs,
  );
  const comparison =
    source.kind === 'minutes' ? undefined : await readComparison(context, source, todayByMinute);
  // If the recent window was empty and the day is not, an empty response is requested again: if both
  // were a fault, all of its counts would be added later.
  const mayBeFault = isZero(recentBefore.sums) && !isZero(todayByMinute.sums);
  const recentAtBaseline = await reader.readAgainIfBelow(
    mayBeFault ? ANY_COUNT : recentBefore.sums,
    'minute',
    recentStartMs,
  );
  const responses = { recentBefore, periodTotal: total.sums, todayByMinute, recentAtBaseline };
  if (source.kind === 'minutes' || comparison === undefined) {
    return { ...responses, source };
  }
  const { byMinute, coarse } = comparison;
  const came = minus(recentAtBaseline.sums, recentBefore.sums).map((count) => Math.max(0, count));
  const isConsistent =
    coarse.aggregation === total.aggregation &&
    areConsistent(coarse.sums, byMinute.sums, plus(byMinute.sums, came)) &&
    !(recentMinutes !== undefined && anyBelow(todayByMinute.sums, recentMinutes));
  if (!isConsistent) {
    return undefined;
  }
  // Only counts of the last minutes verify it: everything older may have been rolled up since.
  return recentMinutes === undefined || isZero(recentMinutes)
    ? { ...responses, source }
    : { ...responses, source: { ...source, kind: 'verified' } };
}

/** Not in the service's future, and not before the day. */
function recentStart({ period, day, nowMs, serviceNowMs }: BaselineContext): number {
  const startMs = Math.min(nowMs(), serviceNowMs()) - RECENT_WINDOW_MS;
  return Math.max(day.startMs, period.startMs, floorToMinute(startMs));
}

async function readPeriodTotal(
  { reader, period, expected }: BaselineContext,
  source: TotalSource,
): Promise<Pick<WindowResponse, 'aggregation' | 'sums'>> {
  if (source.kind !== 'minutes') {
    return reader.readAgainIfBelow(expected.total, source.aggregation, period.startMs);
  }
  const sums = await readLarger(
    () => totalByMinute(reader, period.startMs),
    (total) => expected.total !== undefined && anyBelow(total, expected.total),
    grandTotal,
  );
  return { aggregation: 'minute', sums };
}

/**
 * What today must have at least. An empty response is requested again if nothing else would show
 * that it is wrong: the first one of a day, and one beside a total of 0 that may lag.
 */
function minimumToday(
  { expected }: BaselineContext,
  source: TotalSource,
  periodTotal: Counts,
): Counts | undefined {
  const mayBeWrong = isZero(periodTotal)
    ? source.kind === 'unverified'
    : expected.today === undefined;
  return mayBeWrong ? higher(expected.today, ANY_COUNT) : expected.today;
}

/**
 * Reads one window by minute and by the aggregation of the totals: today; or the last week, if nobody
 * came today and the aggregation is not verified yet, because two empty responses prove nothing.
 */
async function readComparison(
  { reader, period, day, expected }: BaselineContext,
  source: Exclude<TotalSource, { kind: 'minutes' }>,
  todayByMinute: WindowResponse,
): Promise<{ readonly byMinute: WindowResponse; readonly coarse: WindowResponse }> {
  const { aggregation } = source;
  const weekStartMs = Math.max(period.startMs, day.startMs - WEEK_MS);
  if (!isZero(todayByMinute.sums) || source.kind === 'verified' || weekStartMs >= day.startMs) {
    const coarse = await reader.readAgainIfBelow(expected.today, aggregation, day.startMs);
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

async function assemble(
  context: BaselineContext,
  responses: Responses,
  keyFormatBefore: KeyFormatState,
): Promise<BaselineResult> {
  const { reader, period, day, monotonicMs, calendar, serviceNowMs } = context;
  const { recentBefore, recentAtBaseline, todayByMinute, periodTotal, source } = responses;
  const { aggregation, sums, window } = recentAtBaseline;
  const windows = await readByMinute(reader, todayByMinute);
  const keyFormat = await detectKeyFormat(
    reader,
    keyFormatBefore,
    [...(aggregation === 'minute' ? [recentAtBaseline] : []), ...(windows ?? [])],
    calendar.zone,
  );
  const baseline: Baseline = {
    period,
    day,
    takenAtMonotonicMs: monotonicMs,
    recentStartMs: window.startMs,
    recentAtBaseline: { aggregation, sums },
    periodTotal,
    todayByMinute: todayByMinute.sums,
    minutes: windows && minutesWithout(context, windows, recentAtBaseline, keyFormat),
  };
  const isStable =
    recentBefore.aggregation === aggregation &&
    areEqual(recentBefore.sums, sums) &&
    window.startMs <= serviceNowMs();
  // Two empty responses for a window in which the day has counts: all of them would be added later.
  const lastSeenMs = baseline.minutes && lastSeenIn(baseline.minutes, serviceNowMs() + 1);
  const hasMissedCounts = isZero(sums) && lastSeenMs !== undefined && lastSeenMs >= window.startMs;
  return {
    baseline,
    recent: recentAtBaseline,
    isReusable: isStable && !hasMissedCounts,
    source,
    keyFormat,
  };
}

/** Returns the day's minutes without those of a window; undefined if keys cannot be parsed. */
function minutesWithout(
  { stream, calendar, day }: BaselineContext,
  windows: readonly KeySample[],
  { rows, window }: WindowResponse,
  keyFormat: KeyFormatState,
): DayCounts | undefined {
  const counter = new DayCounter(calendar, [day], stream);
  const isComplete =
    addWindows(counter, windows, keyFormat, calendar.zone) &&
    counter.addRows(rows, keyParser(keyFormat, window, calendar.zone), -1);
  return isComplete ? counter.days()[0] : undefined;
}
