/**
 * The keys of minute rows. The service does not say how it writes them, so every known way of
 * reading one is tried on rows whose window is known, and a way is established once it is the only
 * one left. Only occupancy and last seen depend on this; no counter ever looks at a key.
 *
 * A reading is a form (how the key is written) and a zone (whose clock it shows).
 */
import type { Key, Row } from '../base/model.ts';
import { DAY_MS, floorToMinute, MINUTE_MS } from './calendar.ts';
import type { Span } from './calendar.ts';
import { parseKey } from './key-forms.ts';
import type { KeyForm, ParsedKey } from './key-forms.ts';
import type { WallTime } from './wall-time.ts';
import type { Zone } from './zone.ts';

/** `written` is for keys that carry a zone designator or count from 1970. */
export type KeyZone = 'written' | 'local' | 'utc';

export interface KeyReading {
  readonly form: KeyForm;
  readonly zone: KeyZone;
}

/** Rows and the window that was asked for; for a window without an end, `endMs` is when it was asked. */
export interface Evidence {
  readonly rows: readonly Row[];
  readonly window: Span;
}

/** Every reading there is, the likeliest first (research of the field: semantics, section 4). */
export const KEY_READINGS: readonly KeyReading[] = [
  { form: 'iso', zone: 'written' },
  { form: 'iso', zone: 'local' },
  { form: 'iso', zone: 'utc' },
  { form: 'compact', zone: 'local' },
  { form: 'compact', zone: 'utc' },
  { form: 'epoch_milliseconds', zone: 'written' },
  { form: 'epoch_seconds', zone: 'written' },
  { form: 'epoch_minutes', zone: 'written' },
  { form: 'time_of_day', zone: 'local' },
  { form: 'time_of_day', zone: 'utc' },
  { form: 'minute_of_day', zone: 'local' },
  { form: 'minute_of_day', zone: 'utc' },
  { form: 'minute_of_window', zone: 'written' },
];

/** A key this far from its window has no place in it, in whatever zone. */
const FARTHEST_MS = 366 * DAY_MS;

/**
 * The start of the minute that a key names, or undefined where the key is not of this form. Keys
 * that name a time of day are placed into the window; one with no place in it is put on the
 * window's first day.
 */
export function readKey(
  reading: KeyReading,
  key: Key,
  window: Span,
  zone: Zone,
): number | undefined {
  return instantOf(reading.zone, parseKey(reading.form, key, window), window, zone);
}

function instantOf(
  keyZone: KeyZone,
  parsed: ParsedKey | undefined,
  window: Span,
  zone: Zone,
): number | undefined {
  switch (parsed?.kind) {
    case undefined:
      return undefined;
    case 'instant':
      return floorToMinute(parsed.ms);
    case 'wall':
      return fromWall(keyZone, parsed, window, zone);
    case 'time_of_day':
      return placeTimeOfDay(keyZone, parsed.ms, window, zone);
  }
}

function fromWall(
  keyZone: KeyZone,
  parsed: WallTime,
  window: Span,
  zone: Zone,
): number | undefined {
  switch (keyZone) {
    case 'written':
      return parsed.writtenOffsetMs === undefined ? undefined : parsed.ms - parsed.writtenOffsetMs;
    case 'local': {
      // An offset that the zone has at that time says which one of an hour that occurs twice.
      const { ms, writtenOffsetMs } = parsed;
      // Keys of many years would each find a span of their own in the zone; none of these is in the window.
      if (Math.abs(ms - window.startMs) > FARTHEST_MS) {
        return ms;
      }
      return writtenOffsetMs !== undefined &&
        zone.offsetMsAt(ms - writtenOffsetMs) === writtenOffsetMs
        ? ms - writtenOffsetMs
        : instantOfWallIn(window, ms, zone);
    }
    case 'utc':
      return parsed.ms;
  }
}

/**
 * In the hour that occurs twice, a wall time is the first of both, but where only the second one lies
 * in the window: else, in that hour, no row of the last minutes would seem to be of them.
 */
function instantOfWallIn(window: Span, wallMs: number, zone: Zone): number {
  const firstMs = zone.instantOfWall(wallMs);
  if (firstMs >= window.startMs - MINUTE_MS) {
    return firstMs;
  }
  const changeMs = zone.nextTransitionAfter(firstMs);
  if (changeMs > window.endMs) {
    return firstMs;
  }
  const secondMs = wallMs - zone.offsetMsAt(changeMs);
  return secondMs >= Math.max(changeMs, window.startMs - MINUTE_MS) ? secondMs : firstMs;
}

function placeTimeOfDay(keyZone: KeyZone, timeMs: number, window: Span, zone: Zone): number {
  function onDay(days: number): number {
    if (keyZone === 'utc') {
      return Math.floor(window.startMs / DAY_MS) * DAY_MS + days * DAY_MS + timeMs;
    }
    const wallMs = window.startMs + zone.offsetMsAt(window.startMs);
    const startMs = Math.floor(wallMs / DAY_MS) * DAY_MS;
    return instantOfWallIn(window, startMs + days * DAY_MS + timeMs, zone);
  }
  const first = onDay(0);
  return first >= window.startMs - MINUTE_MS ? first : onDay(1);
}

/**
 * The readings that these rows leave: every key is of the form, and at least half of the rows lie
 * in the window or a minute beside it. Half, because a device with a wrong clock and a record that
 * arrived late are in the window by their arrival and not by their key.
 */
export function survivingReadings(
  readings: readonly KeyReading[],
  evidence: Evidence,
  zone: Zone,
): KeyReading[] {
  const { rows, window } = evidence;
  const surviving = readings.filter((reading) => {
    let inside = 0;
    for (const row of rows) {
      const instantMs = readKey(reading, row.key, window, zone);
      if (instantMs === undefined) {
        return false;
      }
      inside += isBeside(window, instantMs) ? 1 : 0;
    }
    return inside * 2 >= rows.length;
  });
  // A copy, as it is kept: an array that has grown has room for more.
  return surviving.slice();
}

/** In the window, or a minute beside it. */
function isBeside({ startMs, endMs }: Span, instantMs: number): boolean {
  return instantMs >= startMs - MINUTE_MS && instantMs <= endMs + MINUTE_MS;
}

/**
 * Whether all readings survive these rows and give the same instants: what {@link survivingReadings}
 * and {@link sameInstants} say together, for the case of nearly every poll at a quarter of their cost.
 */
export function surviveAlike(
  readings: readonly KeyReading[],
  { rows, window }: Evidence,
  zone: Zone,
): boolean {
  let inside = 0;
  for (const { key } of rows) {
    let form: KeyForm | undefined;
    let parsed: ParsedKey | undefined;
    let instantMs: number | undefined;
    for (const reading of readings) {
      parsed = reading.form === form ? parsed : parseKey(reading.form, key, window);
      form = reading.form;
      const read = instantOf(reading.zone, parsed, window, zone);
      if (read === undefined || (instantMs !== undefined && read !== instantMs)) {
        return false;
      }
      instantMs = read;
    }
    inside += instantMs !== undefined && isBeside(window, instantMs) ? 1 : 0;
  }
  return inside * 2 >= rows.length;
}

/** Whether all readings give the same instants for these rows, so that it does not matter which. */
export function sameInstants(
  readings: readonly KeyReading[],
  evidence: Evidence,
  zone: Zone,
): boolean {
  const [first, ...others] = readings;
  return (
    first === undefined ||
    evidence.rows.every((row) => {
      const instantMs = readKey(first, row.key, evidence.window, zone);
      return others.every((other) => readKey(other, row.key, evidence.window, zone) === instantMs);
    })
  );
}
