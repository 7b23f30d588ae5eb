/** The values of one poll: totals, today's figures, and today's minutes. */
import { MINUTE_MS } from '../../base/duration.ts';
import { isZero, minus, plus } from '../rows/counts.ts';
import { addWindows, DayCounter, lastSeenIn } from '../rows/day-counts.ts';
import type { DayCounts } from '../rows/day-counts.ts';
import { detectKeyFormat, keyParser } from '../rows/key-format.ts';
import type { KeyFormatState } from '../rows/key-format.ts';
import type { WindowReader, WindowResponse } from '../rows/window-reader.ts';
import { latestNowMs } from './state.ts';
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
  { keyFormat, lastSeenBeforeMs }: StreamState,
): Snapshot {
  const { period, day, periodTotal, todayByMinute } = baseline;
  const came = minus(recent.sums, baseline.recentAtBaseline.sums);
  const minutes = todaysMinutes(context, baseline, recent, keyFormat);
  const endMs = latestNowMs(context) + 1;
  return {
    period,
    day,
    atMs: context.nowMs(),
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

/** Undefined if keys cannot be parsed, or the service forced another aggregation. */
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

/**
 * Returns when anybody was last seen on the day before: from the last snapshot; after a restart by a
 * request, while today is still empty. The rows of that request may decide the key format.
 */
export async function findLastSeenBefore(
  { snapshot, lastSeenBeforeMs }: StreamState,
  { stream, calendar }: PollContext,
  reader: WindowReader,
  { day, todayByMinute }: Baseline,
  keyFormat: KeyFormatState,
): Promise<Pick<StreamState, 'lastSeenBeforeMs' | 'keyFormat'>> {
  const isOfToday = snapshot?.day.startMs === day.startMs;
  if (isOfToday && lastSeenBeforeMs !== undefined) {
    return { lastSeenBeforeMs, keyFormat };
  }
  const before = calendar.dayBefore(day);
  if (
    snapshot?.order !== undefined &&
    !isOfToday &&
    day.startMs - snapshot.atMs <= MAX_SNAPSHOT_AGE_MS
  ) {
    return { lastSeenBeforeMs: snapshot.order.lastSeenMs, keyFormat };
  }
  const response = isZero(todayByMinute)
    ? await reader.readOptional('minute', before.startMs)
    : undefined;
  if (response?.aggregation !== 'minute') {
    return { lastSeenBeforeMs: undefined, keyFormat };
  }
  const detected = await detectKeyFormat(reader, keyFormat, [response], calendar.zone);
  const counter = new DayCounter(calendar, [before], stream);
  const [counted] = addWindows(counter, [response], detected, calendar.zone) ? counter.days() : [];
  return { lastSeenBeforeMs: counted && lastSeenIn(counted), keyFormat: detected };
}
