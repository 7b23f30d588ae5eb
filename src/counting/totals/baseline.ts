/**
 * The baseline (rule 1): the period's total, and around it twice the same request for the last
 * minutes. What later polls get for that request, minus what it returned at the baseline, is what
 * came since, however the service defines its windows.
 */
import { anyBelow, areEqual, isZero, minus, plus } from '../rows/counts.ts';
import { addWindows, DayCounter, lastSeenIn } from '../rows/day-counts.ts';
import type { DayCounts } from '../rows/day-counts.ts';
import { keyParser } from '../rows/key-format.ts';
import type { WindowResponse } from '../rows/window-reader.ts';
import { areConsistent } from './period-total.ts';
import type { TotalSource } from './period-total.ts';
import type { BaselineAnswers } from './requests.ts';
import type { Baseline, PollContext } from './state.ts';

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
export interface Comparison {
  readonly byMinute: WindowResponse;
  readonly coarse: WindowResponse;
}

export type Verification =
  /** The total agrees with minutes that have just counted somebody. */
  | 'verified'
  /** It agrees, but everything may have been rolled up since it was counted. */
  | 'unproven'
  /** It was read by minute: that is what other aggregations are compared with. */
  | 'by minute'
  /** It cannot be compared: the same aggregation was not answered for the comparison. */
  | 'other aggregation'
  /** The comparison has fewer counts than the minutes, or more than came meanwhile. */
  | 'disagrees'
  /** Today lacks some of the last minutes. */
  | 'lacks recent';

/** Returns how the total agrees with the minutes (rule 4). */
export function verifyBaseline({
  recentBefore,
  total,
  todayByMinute,
  comparison,
  recentAtBaseline,
}: BaselineReadings): Verification {
  if (comparison === undefined) {
    return 'by minute';
  }
  const { byMinute, coarse } = comparison;
  if (coarse.aggregation !== total.aggregation) {
    return 'other aggregation';
  }
  const came = minus(recentAtBaseline.sums, recentBefore.sums).map((count) => Math.max(0, count));
  if (!areConsistent(coarse.sums, byMinute.sums, plus(byMinute.sums, came))) {
    return 'disagrees';
  }
  if (recentBefore.aggregation !== 'minute') {
    return 'unproven';
  }
  if (anyBelow(todayByMinute.sums, recentBefore.sums)) {
    return 'lacks recent';
  }
  return isZero(recentBefore.sums) ? 'unproven' : 'verified';
}

/** Returns what later totals are read by; undefined if this one must not be used. */
export function verifiedSource(readings: BaselineReadings): TotalSource | undefined {
  const { source } = readings;
  switch (verifyBaseline(readings)) {
    case 'verified':
      return source.kind === 'minutes' ? source : { ...source, kind: 'verified' };
    case 'unproven':
    case 'by minute':
      return source;
    case 'other aggregation':
    case 'disagrees':
    case 'lacks recent':
      return undefined;
  }
}

/** Returns the baseline, and whether later polls may use it. */
export function createBaseline(
  context: PollContext,
  answers: BaselineAnswers,
): { readonly baseline: Baseline; readonly isReusable: boolean } {
  const { readings, day, minutes, atMs } = answers;
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
    minutes: minutes && minutesWithoutRecent(context, answers, minutes),
  };
  const isStable = recentBefore.aggregation === aggregation && areEqual(recentBefore.sums, sums);
  // Two empty responses for a window in which the day has counts: all of them would be added later.
  const lastSeenMs = baseline.minutes && lastSeenIn(baseline.minutes, atMs + 1);
  const hasMissedCounts = isZero(sums) && lastSeenMs !== undefined && lastSeenMs >= window.startMs;
  return { baseline, isReusable: isStable && !hasMissedCounts };
}

/** Returns the day's minutes without those of `recent`; undefined if keys cannot be parsed. */
function minutesWithoutRecent(
  { stream, calendar: { zone }, calendar }: PollContext,
  { day, keyFormat, readings }: BaselineAnswers,
  minutes: readonly WindowResponse[],
): DayCounts | undefined {
  const { rows, window } = readings.recentAtBaseline;
  const counter = new DayCounter(calendar, [day], stream);
  const isComplete =
    addWindows(counter, minutes, keyFormat, zone) &&
    counter.addRows(rows, keyParser(keyFormat, window, zone), -1);
  return isComplete ? counter.days()[0] : undefined;
}
