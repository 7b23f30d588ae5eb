/** The values of one poll: totals, today's counts, and today's minutes. */
import { MINUTE_MS } from '../../base/duration.ts';
import type { Span } from '../calendar/calendar.ts';
import { isZero, minus, plus } from '../rows/counts.ts';
import { addWindows, DayCounter, lastSeenIn } from '../rows/day-counts.ts';
import type { DayCounts } from '../rows/day-counts.ts';
import { keyParser } from '../rows/key-format.ts';
import type { KeyFormatState } from '../rows/key-format.ts';
import type { WindowResponse } from '../rows/window-reader.ts';
import type { BaselineAnswers } from './requests.ts';
import type { Baseline, PollContext, Snapshot, StreamState } from './state.ts';

/** How long before the end of a day its last snapshot has all of its minutes. */
const MAX_SNAPSHOT_AGE_MS = 15 * MINUTE_MS;

/**
 * Returns the values of a poll: total = periodTotal + (recent - recentAtBaseline), and today likewise,
 * row by row if keys can be parsed.
 */
export function createSnapshot(
  context: PollContext,
  baseline: Baseline,
  recent: WindowResponse,
  { keyFormat, lastSeenBeforeMs }: Pick<StreamState, 'keyFormat' | 'lastSeenBeforeMs'>,
  atMs: number,
): Snapshot {
  const { period, day, periodTotal, todayByMinute } = baseline;
  const came = minus(recent.sums, baseline.recentAtBaseline.sums);
  const minutes = todaysMinutes(context, baseline, recent, keyFormat);
  const endMs = atMs + 1;
  return {
    period,
    day,
    atMs,
    totals: plus(periodTotal, came),
    // Rows that are dated before the day arrived today, but are not of today.
    today: minus(plus(todayByMinute, came), minutes?.before ?? []),
    order: minutes && {
      minutes,
      endMs,
      lastSeenMs: lastSeenIn(minutes, endMs) ?? lastSeenBeforeMs,
    },
  };
}

/** Returns today's minutes; undefined if keys cannot be parsed, or the service forced another aggregation. */
function todaysMinutes(
  { stream, calendar }: PollContext,
  { day, minutes }: Baseline,
  { aggregation, sums, rows, window }: WindowResponse,
  keyFormat: KeyFormatState,
): DayCounts | undefined {
  if (minutes === undefined || (aggregation !== 'minute' && !isZero(sums))) {
    return undefined;
  }
  const counter = new DayCounter(calendar, [day], stream);
  counter.addDay(minutes);
  return counter.addRows(rows, keyParser(keyFormat, window, calendar.zone))
    ? counter.days()[0]
    : undefined;
}

/** Whether the state says when anybody was last seen before this day. */
export function isLastSeenKnown({ snapshot, lastSeenBeforeMs }: StreamState, day: Span): boolean {
  return snapshot?.day.startMs === day.startMs
    ? lastSeenBeforeMs !== undefined
    : snapshot?.order !== undefined && day.startMs - snapshot.atMs <= MAX_SNAPSHOT_AGE_MS;
}

/**
 * Returns when anybody was last seen before the day of a baseline: from the last snapshot, or from the
 * response about the day before.
 */
export function lastSeenBefore(
  state: StreamState,
  { stream, calendar }: Pick<PollContext, 'stream' | 'calendar'>,
  { day, sinceDayBefore, keyFormat }: Pick<BaselineAnswers, 'day' | 'sinceDayBefore' | 'keyFormat'>,
): number | undefined {
  const { snapshot, lastSeenBeforeMs } = state;
  if (isLastSeenKnown(state, day)) {
    return snapshot?.day.startMs === day.startMs ? lastSeenBeforeMs : snapshot?.order?.lastSeenMs;
  }
  if (sinceDayBefore === undefined) {
    return undefined;
  }
  const counter = new DayCounter(calendar, [calendar.dayBefore(day)], stream);
  const isParsed = addWindows(counter, [sinceDayBefore], keyFormat, calendar.zone);
  const counted = isParsed ? counter.days()[0] : undefined;
  return counted && lastSeenIn(counted);
}
