/**
 * Reads the four weeks from which the doors are learned (docs/occupancy.md): by `quarter` where that
 * is a quarter-hour, else by `minute`. `quarter` may lag, so the newest days are read by `minute`.
 */
import { contains, MINUTE_MS } from '../calendar/calendar.ts';
import type { Calendar, Span } from '../calendar/calendar.ts';
import { ANY_COUNT, at } from '../rows/counts.ts';
import {
  byQuarter,
  HISTORY_DAYS,
  learnDoors,
  MINUTES_PER_QUARTER,
  QUARTERS_PER_DAY,
} from './door-model.ts';
import type { CountedDay, DoorModel } from './door-model.ts';
import { keyParser, namesTimeOfDay } from '../rows/key-format.ts';
import type { KeyFormatState } from '../rows/key-format.ts';
import { minutesOf, minutesOfSamples } from './occupancy.ts';
import type { Minutes } from './occupancy.ts';
import { readByMinute, WindowReader } from '../rows/window-reader.ts';
import type { Query } from '../rows/window-reader.ts';

const QUARTER_MS = MINUTES_PER_QUARTER * MINUTE_MS;
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
 * Of the {@link HISTORY_DAYS} days before a day, those up to `endMs`; oldest first. Undefined if the
 * service forces an aggregation that is too coarse. Throws a ServiceError.
 */
export async function readDaysBefore(
  query: Query,
  calendar: Calendar,
  day: Span,
  keyFormat: KeyFormatState,
  endMs = day.startMs,
): Promise<readonly CountedDay[] | undefined> {
  const { zone } = calendar;
  const days = daysBefore(calendar, day).filter((before) => before.endMs <= endMs);
  if (days.length === 0) {
    return [];
  }
  const reader = new WindowReader({ query, stream: 'people', zone, nowMs: () => endMs });
  const older = days.slice(0, -DAYS_BY_MINUTE);
  const counts =
    (await readQuarters(reader, calendar, older, keyFormat)) ??
    (await readMinutes(reader, calendar, older, keyFormat));
  const newest = await readMinutes(reader, calendar, days.slice(-DAYS_BY_MINUTE), keyFormat);
  if (counts === undefined || newest === undefined) {
    return undefined;
  }
  const all = [...counts, ...newest];
  let next = 0;
  return days.map((each) => {
    const first = next;
    while ((all[next]?.startMs ?? Infinity) < each.endMs) {
      next += 1;
    }
    return countDay(calendar, each, all.slice(first, next));
  });
}

/** 0 to 6, of the day's start. */
export function weekdayOf({ zone }: Calendar, { startMs }: Span): number {
  return new Date(startMs + zone.offsetMsAt(startMs)).getUTCDay();
}

/** Sums by elapsed quarter-hour; the 25th hour of a day is added to its last one. */
export function countDay(calendar: Calendar, day: Span, minutes: Minutes): CountedDay {
  const entered = byQuarter(() => 0);
  const exited = byQuarter(() => 0);
  for (const { startMs, counts } of minutes) {
    if (contains(day, startMs)) {
      const elapsed = Math.floor((startMs - day.startMs) / QUARTER_MS);
      const quarter = Math.min(QUARTERS_PER_DAY - 1, elapsed);
      entered[quarter] = at(entered, quarter) + Math.max(0, at(counts, 0));
      exited[quarter] = at(exited, quarter) + Math.max(0, at(counts, 1));
    }
  }
  return { weekday: weekdayOf(calendar, day), entered, exited };
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
  { zone }: Calendar,
  days: readonly Span[],
  keyFormat: KeyFormatState,
): Promise<Minutes | undefined> {
  if (days.length === 0 || namesTimeOfDay(keyFormat)) {
    return undefined;
  }
  const span = spanOf(days);
  const response = await reader.readAgainIfBelow(ANY_COUNT, 'quarter', span.startMs, span.endMs);
  const quarters = minutesOf(response.rows, keyParser(keyFormat, response.window, zone));
  const inSpan = quarters?.filter(
    ({ startMs }) => contains(span, startMs) && startMs % QUARTER_MS === 0,
  );
  return response.aggregation === 'quarter' &&
    inSpan !== undefined &&
    inSpan.length >= MIN_QUARTER_ROWS &&
    inSpan.length * 2 >= response.rows.length
    ? inSpan
    : undefined;
}

/** Undefined if the service forces a coarser aggregation even for short windows. */
async function readMinutes(
  reader: WindowReader,
  { zone }: Calendar,
  days: readonly Span[],
  keyFormat: KeyFormatState,
): Promise<Minutes | undefined> {
  const all: Minutes[] = [];
  // A time of day can be placed only in a window of one day.
  for (const span of namesTimeOfDay(keyFormat) ? days : [spanOf(days)]) {
    const response = await reader.readAgainIfBelow(ANY_COUNT, 'minute', span.startMs, span.endMs);
    const samples = await readByMinute(reader, response);
    const minutes = samples && minutesOfSamples(samples, keyFormat, zone);
    if (minutes === undefined) {
      return undefined;
    }
    all.push(minutes.filter(({ startMs }) => contains(span, startMs)));
  }
  return all.flat();
}

function spanOf(days: readonly Span[]): Span {
  return { startMs: days[0]?.startMs ?? 0, endMs: days.at(-1)?.endMs ?? 0 };
}
