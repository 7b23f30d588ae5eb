/** The periods of a report in local dates. Each begins at `day_starts_at` of its first day. */
import { Temporal } from 'temporal-polyfill';
import { DAY_MS, HOUR_MS } from '../base/duration.ts';
import type { Calendar, Span } from '../counting/calendar/calendar.ts';

export const PERIODS = ['year', 'month', 'week', 'day', 'hour'] as const;

export type PeriodName = (typeof PERIODS)[number];

/** A local date as its midnight in UTC, in milliseconds since 1970. */
export type LocalDate = number;

/** The local days of a report, without `to`. */
export interface DateRange {
  readonly from: LocalDate;
  readonly to: LocalDate;
}

export interface Period extends Span {
  /** `2025-01-01`; of an hour with its time and offset. */
  readonly start: string;
  /** The day, or hour, after its last one. */
  readonly end: string;
  /** What makes it shorter than others. */
  readonly cut: readonly ('cut by --from' | 'cut by --to' | 'not over yet')[];
}

export interface Day extends Span {
  readonly date: string;
}

/** Returns a date as `2025-01-01`. */
export function dateText(date: LocalDate): string {
  return new Date(date).toISOString().slice(0, 10);
}

/** Returns the days of a range that have started at `nowMs`. */
export function daysOf(calendar: Calendar, { from, to }: DateRange, nowMs: number): readonly Day[] {
  const days: Day[] = [];
  for (let date = from; date < to && calendar.startOfDate(date) <= nowMs; date += DAY_MS) {
    days.push({
      date: dateText(date),
      startMs: calendar.startOfDate(date),
      endMs: calendar.startOfDate(date + DAY_MS),
    });
  }
  return days;
}

/**
 * Returns the periods of a range that have started at `nowMs`. A year lasts from the date of `from` to the
 * same date a year later, so that a range can be a fiscal year. Weeks are those of ISO 8601.
 */
export function periodsOf(
  name: PeriodName,
  calendar: Calendar,
  range: DateRange,
  nowMs: number,
): readonly Period[] {
  if (name === 'hour') {
    return daysOf(calendar, range, nowMs).flatMap((day) => hoursOf(calendar, day, nowMs));
  }
  const { from, to } = range;
  const first = firstStart(name, from);
  const periods: Period[] = [];
  for (let i = 0, start = first; start < to; i += 1) {
    // From the first one, so that years from 29 February do not end on the 28th for good.
    const next = shift(first, { [`${name}s`]: i + 1 });
    const shown = { from: Math.max(start, from), to: Math.min(next, to) };
    const startMs = calendar.startOfDate(shown.from);
    if (startMs > nowMs) {
      break;
    }
    const endMs = calendar.startOfDate(shown.to);
    const cut = [
      start < from && ('cut by --from' as const),
      next > to && ('cut by --to' as const),
      endMs > nowMs && ('not over yet' as const),
    ].filter((one) => one !== false);
    periods.push({ startMs, endMs, start: dateText(shown.from), end: dateText(shown.to), cut });
    start = next;
  }
  return periods;
}

/** Returns hours of elapsed time: 23 or 25 on the days on which clocks change. */
function hoursOf({ zone }: Calendar, { startMs, endMs }: Span, nowMs: number): readonly Period[] {
  const hours: Period[] = [];
  for (let atMs = startMs; atMs < endMs && atMs <= nowMs; atMs += HOUR_MS) {
    const nextMs = Math.min(atMs + HOUR_MS, endMs);
    hours.push({
      startMs: atMs,
      endMs: nextMs,
      start: zone.format(atMs),
      end: zone.format(nextMs),
      cut: nextMs > nowMs ? ['not over yet'] : [],
    });
  }
  return hours;
}

/** Returns the start of the month or ISO week of a date; of a year or day, the date itself. */
function firstStart(name: PeriodName, from: LocalDate): LocalDate {
  const { day, dayOfWeek } = Temporal.PlainDate.from(dateText(from));
  return shift(from, { days: name === 'month' ? 1 - day : name === 'week' ? 1 - dayOfWeek : 0 });
}

function shift(date: LocalDate, by: Temporal.DurationLike): LocalDate {
  return Date.parse(Temporal.PlainDate.from(dateText(date)).add(by).toString());
}

/** Returns the start of the same period of the year before; undefined for hours. */
export function yearBefore(name: PeriodName, start: string): string | undefined {
  return name === 'hour'
    ? undefined
    : dateText(shift(Date.parse(start), name === 'week' ? { weeks: -52 } : { years: -1 }));
}
