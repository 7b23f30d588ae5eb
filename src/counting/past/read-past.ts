/**
 * Reads the four weeks before a day, from which doors are learned (docs/occupancy.md) and what is usual
 * follows: by `quarter` where that is a quarter-hour, else by `minute`. `quarter` may lag, so the newest
 * days are read by `minute`.
 */
import { ServiceError } from '../../base/errors.ts';
import type { KeyTimes, MinuteStream } from '../../base/model.ts';
import { contains } from '../calendar/calendar.ts';
import type { Calendar, Span } from '../calendar/calendar.ts';
import { ANY_COUNT } from '../rows/counts.ts';
import { addWindows, DayCounter, lastSeenIn } from '../rows/day-counts.ts';
import type { DayCounts } from '../rows/day-counts.ts';
import { parseRows } from '../rows/keys.ts';
import { readByMinute, WindowReader } from '../rows/window-reader.ts';
import type { Query } from '../rows/window-reader.ts';
import { QUARTER_MS } from '../occupancy/door-model.ts';
import { createPast, daysBefore, updateDays } from './past.ts';
import type { Past } from './past.ts';

/** A nightly roll-up may not have these yet. */
const DAYS_BY_MINUTE = 2;
/** Four weeks by quarters of a year have fewer rows. */
const MIN_QUARTER_ROWS = 3;
/** Windows are so much longer at both ends: whether they include their edges is not known, and keys say the day. */
const MARGIN_MS = QUARTER_MS;

/** What the past is read from. */
export interface PastSource {
  readonly query: Query;
  readonly stream: MinuteStream;
  readonly calendar: Calendar;
  readonly keyTimes: KeyTimes;
}

/** Returns the past at the start of `today`. Throws a ServiceError, also if minutes are forced into days. */
export async function readPast(source: PastSource, today: Span): Promise<Past> {
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
  const counted = await readDays(source, days);
  if (counted === undefined) {
    throw new ServiceError('malformed', 'the service returns no minutes');
  }
  const updated = updateDays(source.calendar, past, today, counted);
  return { ...updated, lastSeenMs: await findLastSeen(source, updated, counted) };
}

/** Returns when each counter was last seen: of the newest one the minute, if it is in a day read by quarter. */
async function findLastSeen(
  source: PastSource,
  { lastSeenMs }: Past,
  counted: readonly DayCounts[],
): Promise<Past['lastSeenMs']> {
  const { stream, calendar, keyTimes } = source;
  const startMs = Math.max(...lastSeenMs.map((atMs = -Infinity) => atMs));
  const day = counted.find((one) => contains(one.day, startMs));
  if (day?.stepMs !== QUARTER_MS) {
    return lastSeenMs;
  }
  const reader = readerOf(source, startMs + QUARTER_MS);
  const response = await reader.readOptional('minute', startMs, startMs + QUARTER_MS);
  const counter = new DayCounter(calendar, [day.day], stream);
  const windows = response?.aggregation === 'minute' ? [response] : [];
  const [minutes] = addWindows(counter, windows, calendar.zone, keyTimes) ? counter.days() : [];
  return lastSeenMs.map((atMs, i) =>
    atMs === startMs && minutes ? (lastSeenIn(minutes, Infinity, i) ?? atMs) : atMs,
  );
}

/** Returns those of the days before a day that end by `endMs`; undefined if minutes are forced into days. */
export function readDaysBefore(
  source: PastSource,
  day: Span,
  endMs: number,
): Promise<readonly DayCounts[] | undefined> {
  const days = daysBefore(source.calendar, day).filter((before) => before.endMs <= endMs);
  return readDays(source, days);
}

/** Returns successive days; undefined if the service forces an aggregation that is too coarse. */
async function readDays(
  source: PastSource,
  days: readonly Span[],
): Promise<readonly DayCounts[] | undefined> {
  const older = days.slice(0, -DAYS_BY_MINUTE);
  const counted = (await readQuarters(source, older)) ?? (await readMinutes(source, older));
  const newest = counted && (await readMinutes(source, days.slice(-DAYS_BY_MINUTE)));
  return newest && [...counted, ...newest];
}

function readerOf({ query, stream, calendar: { zone } }: PastSource, endMs: number): WindowReader {
  return new WindowReader({ query, stream, zone, nowMs: () => endMs });
}

/** Returns the days; undefined if `quarter` is no quarter-hour, or has keys that cannot be parsed. */
async function readQuarters(
  source: PastSource,
  days: readonly Span[],
): Promise<readonly DayCounts[] | undefined> {
  if (days.length === 0) {
    return undefined;
  }
  const { stream, calendar, keyTimes } = source;
  const span = spanOf(days);
  const reader = readerOf(source, span.endMs);
  const [fromMs, toMs] = [span.startMs - MARGIN_MS, span.endMs + MARGIN_MS];
  const response = await reader.readAgainIfBelow(ANY_COUNT, 'quarter', fromMs, toMs);
  const { aggregation, rows } = response;
  const startsMs = parseRows(response, calendar.zone, keyTimes) ?? [];
  const counter = new DayCounter(calendar, days, stream, QUARTER_MS);
  let quarters = 0;
  startsMs.forEach((startMs, i) => {
    if (contains(span, startMs) && startMs % QUARTER_MS === 0) {
      counter.add(startMs, rows[i]?.counts ?? []);
      quarters += 1;
    }
  });
  const isByQuarter =
    aggregation === 'quarter' && quarters >= MIN_QUARTER_ROWS && quarters * 2 >= rows.length;
  return isByQuarter ? counter.days() : undefined;
}

/** Returns the days; undefined if the service forces a coarser aggregation even for short windows. */
async function readMinutes(
  source: PastSource,
  days: readonly Span[],
): Promise<readonly DayCounts[] | undefined> {
  if (days.length === 0) {
    return [];
  }
  const { stream, calendar, keyTimes } = source;
  const { startMs, endMs } = spanOf(days);
  const reader = readerOf(source, endMs);
  const [fromMs, toMs] = [startMs - MARGIN_MS, endMs + MARGIN_MS];
  const response = await reader.readAgainIfBelow(ANY_COUNT, 'minute', fromMs, toMs);
  const windows = await readByMinute(reader, response);
  const counter = new DayCounter(calendar, days, stream);
  return windows !== undefined && addWindows(counter, windows, calendar.zone, keyTimes)
    ? counter.days()
    : undefined;
}

function spanOf(days: readonly Span[]): Span {
  return { startMs: days[0]?.startMs ?? 0, endMs: days.at(-1)?.endMs ?? 0 };
}
