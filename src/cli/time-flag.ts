/** Points in time on the command line: ISO 8601, a date, or a duration before now. */
import { InvalidArgumentError } from 'commander';
import { Temporal } from 'temporal-polyfill';
import { parseDuration } from '../base/duration.ts';
import { UsageError } from '../base/errors.ts';
import type { Zone } from '../counting/zone.ts';

/** Milliseconds since 1970, once the customer's zone and the time are known. */
export type TimeFlag = (zone: Zone, nowMs: number) => number;

const TIME =
  /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?<offset>Z|[+-]\d\d(?::?\d\d)?)?)?$/i;

/** From 1970 on offsets are whole minutes, and until then years have four digits in every zone. */
const LATEST_MS = Date.UTC(9999, 0, 1);

/**
 * What a flag says. A time without an offset is the customer's local time, and a date is the start
 * of it. Throws commander's error for everything else.
 */
export function parseTimeFlag(text: string): TimeFlag {
  if (text.startsWith('-')) {
    const agoMs = parseDuration(text.slice(1)) ?? refuse();
    return (_zone, nowMs) => Math.max(0, Math.floor((nowMs - agoMs) / 1_000) * 1_000);
  }
  const { groups } = TIME.exec(text) ?? refuse();
  try {
    if (groups?.['offset'] !== undefined) {
      const instantMs = inRange(Temporal.Instant.from(text).epochMilliseconds);
      return () => instantMs;
    }
    const wall = Temporal.PlainDateTime.from(text).toZonedDateTime('UTC');
    const wallMs = inRange(wall.epochMilliseconds);
    return (zone) => zone.instantOfWall(wallMs);
  } catch {
    // Such as a 30th of February.
    return refuse();
  }
}

/** As counting writes them: local time with its offset; with a fraction only where there is one. */
export function formatTime(zone: Zone, instantMs: number): string {
  const text = zone.format(instantMs);
  const fraction = String(instantMs % 1_000).padStart(3, '0');
  return fraction === '000' ? text : `${text.slice(0, 19)}.${fraction}${text.slice(19)}`;
}

/** Throws a UsageError where a stretch of time ends before it begins. */
export function refuseReversed(zone: Zone, fromMs: number, toMs: number): void {
  if (fromMs >= toMs) {
    const [from, to] = [formatTime(zone, fromMs), formatTime(zone, toMs)];
    throw new UsageError(`--from must be before --to, and ${from} is not before ${to}`);
  }
}

function inRange(ms: number): number {
  return ms >= 0 && ms <= LATEST_MS ? ms : refuse();
}

function refuse(): never {
  throw new InvalidArgumentError(
    'It must be a time like 2026-11-01T04:00:00+01:00, a date like 2026-11-01, or like -24h, a duration before now.',
  );
}
