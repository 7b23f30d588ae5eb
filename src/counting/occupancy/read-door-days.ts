/**
 * Reads the four weeks from which the doors are learned (docs/occupancy.md): by `quarter` where that
 * is a quarter-hour, else by `minute`. `quarter` may lag, so the newest days are read by `minute`.
 */
import { contains } from '../calendar/calendar.ts';
import type { Calendar, Span } from '../calendar/calendar.ts';
import { ANY_COUNT } from '../rows/counts.ts';
import { addWindows, DayCounter, weekdayOf } from '../rows/day-counts.ts';
import type { DayCounts } from '../rows/day-counts.ts';
import { keyParser, namesTimeOfDay } from '../rows/key-format.ts';
import type { KeyFormatState } from '../rows/key-format.ts';
import { readByMinute, WindowReader } from '../rows/window-reader.ts';
import type { Query } from '../rows/window-reader.ts';
import { HISTORY_DAYS, learnDoors, QUARTER_MS } from './door-model.ts';
import type { DoorModel } from './door-model.ts';

/** A nightly roll-up may not have these yet. */
const DAYS_BY_MINUTE = 2;
/** Four weeks by quarters of a year have fewer rows. */
const MIN_QUARTER_ROWS = 3;

/**
 * The doors as known at the start of `today`. Undefined if the service forces an aggregation that is
 * too coarse. Throws a ServiceError.
 */
export async function readDoorModel(
  query: Query,
  calendar: Calendar,
  today: Span,
  keyFormat: KeyFormatState,
): Promise<DoorModel | undefined> {
  const days = await readDaysBefore(query, calendar, today, keyFormat);
  return days && learnDoors(days, weekdayOf(calendar, today));
}

/**
 * Returns those of the {@link HISTORY_DAYS} days before a day that end by `endMs`, oldest first.
 * Undefined if the service forces an aggregation that is too coarse. Throws a ServiceError.
 */
export async function readDaysBefore(
  query: Query,
  calendar: Calendar,
  day: Span,
  keyFormat: KeyFormatState,
  endMs = day.startMs,
): Promise<readonly DayCounts[] | undefined> {
  const { zone } = calendar;
  const days = daysBefore(calendar, day).filter((before) => before.endMs <= endMs);
  const reader = new WindowReader({ query, stream: 'people', zone, nowMs: () => endMs });
  const older = days.slice(0, -DAYS_BY_MINUTE);
  const counted =
    (await readQuarters(reader, calendar, older, keyFormat)) ??
    (await readMinutes(reader, calendar, older, keyFormat));
  const newest =
    counted && (await readMinutes(reader, calendar, days.slice(-DAYS_BY_MINUTE), keyFormat));
  return newest && [...counted, ...newest];
}

/** Oldest first. */
function daysBefore(calendar: Calendar, today: Span): readonly Span[] {
  const days: Span[] = [];
  for (let day = today; days.length < HISTORY_DAYS;) {
    day = calendar.dayBefore(day);
    days.unshift(day);
  }
  return days;
}

/** Undefined if `quarter` is something else than quarter-hours with keys like those of minutes. */
async function readQuarters(
  reader: WindowReader,
  calendar: Calendar,
  days: readonly Span[],
  keyFormat: KeyFormatState,
): Promise<readonly DayCounts[] | undefined> {
  if (days.length === 0 || namesTimeOfDay(keyFormat)) {
    return undefined;
  }
  const span = spanOf(days);
  const response = await reader.readAgainIfBelow(ANY_COUNT, 'quarter', span.startMs, span.endMs);
  const { aggregation, rows, window } = response;
  const parse = keyParser(keyFormat, window, calendar.zone);
  const inSpan = rows.filter((row) => {
    const startMs = parse(row);
    return startMs !== undefined && contains(span, startMs) && startMs % QUARTER_MS === 0;
  });
  const isByQuarter =
    aggregation === 'quarter' &&
    rows.every((row) => parse(row) !== undefined) &&
    inSpan.length >= MIN_QUARTER_ROWS &&
    inSpan.length * 2 >= rows.length;
  if (!isByQuarter) {
    return undefined;
  }
  const counter = new DayCounter(calendar, days, 'people', QUARTER_MS);
  counter.addRows(inSpan, parse);
  return counter.days();
}

/** Undefined if the service forces a coarser aggregation even for short windows. */
async function readMinutes(
  reader: WindowReader,
  calendar: Calendar,
  days: readonly Span[],
  keyFormat: KeyFormatState,
): Promise<readonly DayCounts[] | undefined> {
  const counted: DayCounts[] = [];
  // A time of day can be placed only in a window of one day.
  const windows = namesTimeOfDay(keyFormat) ? days.map((day) => [day]) : [days];
  for (const window of windows.filter(({ length }) => length > 0)) {
    const { startMs, endMs } = spanOf(window);
    const response = await reader.readAgainIfBelow(ANY_COUNT, 'minute', startMs, endMs);
    const windows = await readByMinute(reader, response);
    const counter = new DayCounter(calendar, window, 'people');
    if (windows === undefined || !addWindows(counter, windows, keyFormat, calendar.zone)) {
      return undefined;
    }
    counted.push(...counter.days());
  }
  return counted;
}

function spanOf(days: readonly Span[]): Span {
  return { startMs: days[0]?.startMs ?? 0, endMs: days.at(-1)?.endMs ?? 0 };
}
