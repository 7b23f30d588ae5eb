/** The calendar of the audits. Not the exporter's own, for that is among what they judge. */
import { Temporal } from 'temporal-polyfill';

/** The last 04:00 in a zone. */
export function dayStart(nowMs: number, timezone: string): number {
  const now = wall(nowMs, timezone);
  const start = now.withPlainTime({ hour: 4 });
  return (isAfter(start, now) ? start.subtract({ days: 1 }) : start).epochMilliseconds;
}

/** The last 04:00 of the first day of a month, in a zone. */
export function epochStart(nowMs: number, timezone: string): number {
  const now = wall(nowMs, timezone);
  const start = now.with({ day: 1 }).withPlainTime({ hour: 4 });
  return (isAfter(start, now) ? start.subtract({ months: 1 }) : start).epochMilliseconds;
}

function wall(nowMs: number, timezone: string): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(Math.floor(nowMs)).toZonedDateTimeISO(timezone);
}

function isAfter(start: Temporal.ZonedDateTime, now: Temporal.ZonedDateTime): boolean {
  return Temporal.ZonedDateTime.compare(start, now) > 0;
}
