/** Writes instants as ISO 8601, many in a row: what two neighbours have in common is written once. */
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from './conventions.ts';
import type { Zone } from './zone.ts';

/** What follows the wall clock: its offset, `Z` (the wall clock is UTC's then), or nothing. */
export type Designator = 'offset' | 'Z' | 'none';
export type Precision = 'minute' | 'second' | 'fraction';

/** A function that writes an instant in a zone. */
export function createIsoWriter(
  zone: Zone,
  designator: Designator,
  precision: Precision,
): (instantMs: number) => string {
  let lastDay = Number.NaN;
  let lastDate = '';
  let lastOffsetMs = Number.NaN;
  let lastEnding = designator === 'Z' ? 'Z' : '';
  return (instantMs) => {
    const offsetMs = designator === 'Z' ? 0 : zone.offsetMsAt(instantMs);
    const wallMs = instantMs + offsetMs;
    const day = Math.floor(wallMs / DAY_MS);
    if (day !== lastDay) {
      lastDay = day;
      lastDate = dateText(day);
    }
    if (designator === 'offset' && offsetMs !== lastOffsetMs) {
      lastOffsetMs = offsetMs;
      lastEnding = offsetText(offsetMs);
    }
    return `${lastDate}T${timeText(wallMs - day * DAY_MS, precision)}${lastEnding}`;
  };
}

/** The date of a number of days since 1970-01-01. */
export function dateText(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10);
}

function timeText(msOfDay: number, precision: Precision): string {
  const hour = Math.floor(msOfDay / HOUR_MS);
  const minute = Math.floor((msOfDay % HOUR_MS) / MINUTE_MS);
  const short = `${twoDigits(hour)}:${twoDigits(minute)}`;
  if (precision === 'minute') {
    return short;
  }
  const second = Math.floor((msOfDay % MINUTE_MS) / SECOND_MS);
  const long = `${short}:${twoDigits(second)}`;
  return precision === 'second' ? long : `${long}.${String(msOfDay % SECOND_MS).padStart(3, '0')}`;
}

function offsetText(offsetMs: number): string {
  const minutes = Math.round(Math.abs(offsetMs) / MINUTE_MS);
  const sign = offsetMs < 0 ? '-' : '+';
  return `${sign}${twoDigits(Math.floor(minutes / 60))}:${twoDigits(minutes % 60)}`;
}

function twoDigits(value: number): string {
  return value < 10 ? `0${value}` : String(value);
}
