/**
 * Reads the past of a stream: the four weeks before a day, from which doors are learned (docs/occupancy.md) and
 * what is usual follows.
 */
import { ServiceError } from '../../base/errors.ts';
import { contains, spanOf } from '../calendar/calendar.ts';
import type { Span } from '../calendar/calendar.ts';
import { addWindows, DayCounter, lastSeenIn } from '../rows/day-counts.ts';
import type { DayCounts } from '../rows/day-counts.ts';
import { WindowReader } from '../rows/window-reader.ts';
import { QUARTER_MS } from '../occupancy/door-model.ts';
import { createPast, daysBefore, updateDays } from './past.ts';
import type { Past } from './past.ts';
import { readPast } from './read-past.ts';
import type { PastSource } from './read-past.ts';

/** Returns the past at the start of `today`. Throws a ServiceError, also if the service returns no minutes. */
export async function readFourWeeks(source: PastSource, today: Span): Promise<Past> {
  const { calendar } = source;
  return readDaysAgain(source, createPast(calendar, today, []), today, daysBefore(calendar, today));
}

/** Returns a past with some successive days, up to those of `today`, read from the service. Throws a ServiceError. */
export async function readDaysAgain(
  source: PastSource,
  past: Past,
  today: Span,
  days: readonly Span[],
): Promise<Past> {
  const read = await readPast(source, spanOf(days), 'quarter');
  if (read === undefined) {
    throw new ServiceError('malformed', 'the service returns no minutes');
  }
  const updated = updateDays(source.calendar, past, today, read.days);
  return { ...updated, lastSeenMs: await findLastSeen(source, updated, read.days) };
}

/** Returns when each counter was last seen: of the newest one the minute, if it is in a day read by quarter. */
async function findLastSeen(
  { query, stream, calendar, keyTimes }: PastSource,
  { lastSeenMs }: Past,
  counted: readonly DayCounts[],
): Promise<Past['lastSeenMs']> {
  const startMs = Math.max(...lastSeenMs.map((atMs = -Infinity) => atMs));
  const day = counted.find((one) => contains(one.day, startMs));
  if (day?.stepMs !== QUARTER_MS) {
    return lastSeenMs;
  }
  const { zone } = calendar;
  const endMs = startMs + QUARTER_MS;
  const reader = new WindowReader({ query, stream, zone, nowMs: () => endMs });
  const response = await reader.readOptional('minute', startMs, endMs);
  const counter = new DayCounter(calendar, [day.day], stream);
  const windows = response?.aggregation === 'minute' ? [response] : [];
  const [minutes] = addWindows(counter, windows, zone, keyTimes) ? counter.days() : [];
  return lastSeenMs.map((atMs, i) =>
    atMs === startMs && minutes ? (lastSeenIn(minutes, Infinity, i) ?? atMs) : atMs,
  );
}
