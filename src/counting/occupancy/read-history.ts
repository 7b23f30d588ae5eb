/**
 * Reads the four weeks before a day, from which doors are learned (docs/occupancy.md) and what is usual
 * follows: by `quarter` where that is a quarter-hour, else by `minute`. `quarter` may lag, so the newest
 * days are read by `minute`.
 */
import type { KeyTimes, MinuteStream } from '../../base/model.ts';
import { contains } from '../calendar/calendar.ts';
import type { Calendar, Span } from '../calendar/calendar.ts';
import { ANY_COUNT } from '../rows/counts.ts';
import { addWindows, DayCounter, lastSeenIn } from '../rows/day-counts.ts';
import type { DayCounts } from '../rows/day-counts.ts';
import { parseRows } from '../rows/keys.ts';
import { readByMinute, WindowReader } from '../rows/window-reader.ts';
import type { Query } from '../rows/window-reader.ts';
import { HISTORY_DAYS, QUARTER_MS } from './door-model.ts';
import { createHistory } from './history.ts';
import type { History } from './history.ts';

/** A nightly roll-up may not have these yet. */
const DAYS_BY_MINUTE = 2;
/** Four weeks by quarters of a year have fewer rows. */
const MIN_QUARTER_ROWS = 3;

/**
 * Returns the history at the start of `today`. Undefined if the service forces an aggregation that is too
 * coarse. Throws a ServiceError.
 */
export async function readHistory(
  query: Query,
  stream: MinuteStream,
  calendar: Calendar,
  today: Span,
  keyTimes: KeyTimes,
): Promise<History | undefined> {
  const { zone } = calendar;
  const reader = new WindowReader({ query, stream, zone, nowMs: () => today.startMs });
  const days = await readDaysBefore(query, stream, calendar, today, keyTimes);
  const history = days && createHistory(calendar, today, days);
  return (
    history && {
      ...history,
      ...(await findLastSeen(reader, stream, calendar, history, days, keyTimes)),
    }
  );
}

/** Returns the minutes of the newest counts, if they are in a day that was read by quarter. */
async function findLastSeen(
  reader: WindowReader,
  stream: MinuteStream,
  { zone }: Calendar,
  { lastSeenMs }: History,
  days: readonly DayCounts[],
  keyTimes: KeyTimes,
): Promise<Partial<Pick<History, 'lastSeenMs'>>> {
  const startMs = Math.max(...lastSeenMs.map((atMs = -Infinity) => atMs));
  const day = days.find((one) => contains(one.day, startMs));
  if (day?.stepMs !== QUARTER_MS) {
    return {};
  }
  const response = await reader.readOptional('minute', startMs, startMs + QUARTER_MS);
  const counter = new DayCounter({ zone }, [day.day], stream);
  const windows = response?.aggregation === 'minute' ? [response] : [];
  const [minutes] = addWindows(counter, windows, zone, keyTimes) ? counter.days() : [];
  return {
    lastSeenMs: lastSeenMs.map((atMs, i) =>
      atMs === startMs && minutes ? (lastSeenIn(minutes, Infinity, i) ?? atMs) : atMs,
    ),
  };
}

/**
 * Returns those of the {@link HISTORY_DAYS} days before a day that end by `endMs`, oldest first.
 * Undefined if the service forces an aggregation that is too coarse. Throws a ServiceError.
 */
export async function readDaysBefore(
  query: Query,
  stream: MinuteStream,
  calendar: Calendar,
  day: Span,
  keyTimes: KeyTimes,
  endMs = day.startMs,
): Promise<readonly DayCounts[] | undefined> {
  const { zone } = calendar;
  const days = daysBefore(calendar, day).filter((before) => before.endMs <= endMs);
  const reader = new WindowReader({ query, stream, zone, nowMs: () => endMs });
  const reading = { reader, stream, calendar, keyTimes };
  const older = days.slice(0, -DAYS_BY_MINUTE);
  const counted = (await readQuarters(reading, older)) ?? (await readMinutes(reading, older));
  const newest = counted && (await readMinutes(reading, days.slice(-DAYS_BY_MINUTE)));
  return newest && [...counted, ...newest];
}

interface Reading {
  readonly reader: WindowReader;
  readonly stream: MinuteStream;
  readonly calendar: Calendar;
  readonly keyTimes: KeyTimes;
}

/** Returns the {@link HISTORY_DAYS} days before a day, oldest first. */
function daysBefore(calendar: Calendar, today: Span): readonly Span[] {
  const days: Span[] = [];
  for (let day = today; days.length < HISTORY_DAYS;) {
    day = calendar.dayBefore(day);
    days.unshift(day);
  }
  return days;
}

/** Returns the days; undefined if `quarter` is no quarter-hour, or has keys that cannot be parsed. */
async function readQuarters(
  { reader, stream, calendar, keyTimes }: Reading,
  days: readonly Span[],
): Promise<readonly DayCounts[] | undefined> {
  if (days.length === 0) {
    return undefined;
  }
  const span = spanOf(days);
  const response = await reader.readAgainIfBelow(ANY_COUNT, 'quarter', span.startMs, span.endMs);
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
  { reader, stream, calendar, keyTimes }: Reading,
  days: readonly Span[],
): Promise<readonly DayCounts[] | undefined> {
  if (days.length === 0) {
    return [];
  }
  const { startMs, endMs } = spanOf(days);
  const response = await reader.readAgainIfBelow(ANY_COUNT, 'minute', startMs, endMs);
  const windows = await readByMinute(reader, response);
  const counter = new DayCounter(calendar, days, stream);
  return windows !== undefined && addWindows(counter, windows, calendar.zone, keyTimes)
    ? counter.days()
    : undefined;
}

function spanOf(days: readonly Span[]): Span {
  return { startMs: days[0]?.startMs ?? 0, endMs: days.at(-1)?.endMs ?? 0 };
}
