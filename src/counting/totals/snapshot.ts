/** The values of one poll: totals, today's counts, and today's minutes. */
import { isZero, minus, plus } from '../rows/counts.ts';
import { addWindows, DayCounter, lastSeenIn } from '../rows/day-counts.ts';
import type { DayCounts } from '../rows/day-counts.ts';
import type { WindowResponse } from '../rows/window-reader.ts';
import type { Baseline, PollContext, Snapshot } from './state.ts';

/**
 * Returns the values of a poll: total = periodTotal + (recent - recentAtBaseline), and today likewise,
 * row by row if keys can be parsed.
 */
export function createSnapshot(
  context: PollContext,
  baseline: Baseline,
  recent: WindowResponse,
  atMs: number,
): Snapshot {
  const { period, day, periodTotal, todayByMinute } = baseline;
  const came = minus(recent.sums, baseline.recentAtBaseline.sums);
  const counts = todaysMinutes(context, baseline, recent);
  const endMs = atMs + 1;
  return {
    period,
    day,
    atMs,
    totals: plus(periodTotal, came),
    // Rows that are dated before the day arrived today, but are not of today.
    today: minus(plus(todayByMinute, came), counts?.before ?? []),
    minutes: counts && { counts, atMs, endMs, lastSeenMs: lastSeenIn(counts, endMs) },
  };
}

/** Returns today's minutes; undefined if keys cannot be parsed, or the service forced another aggregation. */
function todaysMinutes(
  { stream, calendar, keyTimes }: PollContext,
  { day, minutes }: Baseline,
  recent: WindowResponse,
): DayCounts | undefined {
  if (minutes === undefined || (recent.aggregation !== 'minute' && !isZero(recent.sums))) {
    return undefined;
  }
  const counter = new DayCounter(calendar, [day], stream);
  counter.addDay(minutes);
  return addWindows(counter, [recent], calendar.zone, keyTimes) ? counter.days()[0] : undefined;
}
