/** Times on the command line: ISO 8601, a date, or a duration before now. */
import { InvalidArgumentError } from 'commander';
import { Temporal } from 'temporal-polyfill';
import { parseDuration } from '../base/duration.ts';
import { UsageError } from '../base/errors.ts';
import type { Zone } from '../counting/zone.ts';

/** Milliseconds since 1970, once the customer's zone and the time are known. */
export type TimeFlag = (zone: Zone, nowMs: number) => number;

const TIME =
  /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?<offset>Z|[+-]\d\d(?::?\d\d)?)?)?$/i;

/** Years have four digits in every zone before it. */
const MAX_TIME_MS = Date.UTC(9999, 0, 1);

/**
 * Parses the value of a flag. A time without an offset is the customer's local time, a date means its
 * midnight. Throws commander's error for everything else.
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
    return refuse(); // Such as a 30th of February.
  }
}

/** Local time with its offset. Has a fraction of a second only if that is not 0. */
export function formatTime(zone: Zone, instantMs: number): string {
  const text = zone.format(instantMs);
  const fraction = String(instantMs % 1_000).padStart(3, '0');
  return fraction === '000' ? text : `${text.slice(0, 19)}.${fraction}${text.slice(19)}`;
}

/** Throws a UsageError unless `fromMs` is before `toMs`. */
export function refuseReversed(zone: Zone, fromMs: number, toMs: number): void {
  if (fromMs >= toMs) {
    const [from, to] = [formatTime(zone, fromMs), formatTime(zone, toMs)];
    throw new UsageError(`--to: expected a time after --from (${from}), got ${to}`);
  }
}

function inRange(ms: number): number {
  return ms >= 0 && ms <= MAX_TIME_MS ? ms : refuse();
}

function refuse(): never {
  throw new InvalidArgumentError(
    'expected a time such as 2026-11-01T04:00:00+01:00, a date such as 2026-11-01, ' +
      'or a duration before now such as -24h',
  );
}
