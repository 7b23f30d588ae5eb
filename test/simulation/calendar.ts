/** The calendar of the auditors, independent of the exporter's. */
import { Temporal } from 'temporal-polyfill';

const DAY_MS = 86_400_000;

export interface TimeRange {
  readonly startMs: number;
  readonly endMs: number;
}

/** The start of the day: the last 04:00 in a zone. */
export function dayStart(nowMs: number, timezone: string): number {
  const now = wall(nowMs, timezone);
  const start = now.withPlainTime({ hour: 4 });
  return (isAfter(start, now) ? start.subtract({ days: 1 }) : start).epochMilliseconds;
}

/** The start of the counting period: the last 04:00 of a first of the month, in a zone. */
export function periodStart(nowMs: number, timezone: string): number {
  const now = wall(nowMs, timezone);
  const start = now.with({ day: 1 }).withPlainTime({ hour: 4 });
  return (isAfter(start, now) ? start.subtract({ months: 1 }) : start).epochMilliseconds;
}

/** The local times that occur twice within a day after an instant, if clocks are set back. */
export function repeatedTimes(fromMs: number, timezone: string): TimeRange | undefined {
  const start = wall(fromMs, timezone);
  const change = start.getTimeZoneTransition('next');
  const backMs = change === null ? 0 : (start.offsetNanoseconds - change.offsetNanoseconds) / 1e6;
  const changeMs = change?.epochMilliseconds ?? Infinity;
  return backMs > 0 && changeMs < fromMs + DAY_MS
    ? { startMs: changeMs - backMs, endMs: changeMs + backMs }
    : undefined;
}

function wall(nowMs: number, timezone: string): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(Math.floor(nowMs)).toZonedDateTimeISO(timezone);
}

function isAfter(start: Temporal.ZonedDateTime, now: Temporal.ZonedDateTime): boolean {
  return Temporal.ZonedDateTime.compare(start, now) > 0;
}
