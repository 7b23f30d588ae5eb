/** Formats instants as ISO 8601. The date and the offset of the last one are cached: most are on the same day. */
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from './conventions.ts';
import type { Zone } from './zone.ts';

/** The end of the text: the zone's offset, `Z` (the time is in UTC), or nothing. */
export type Designator = 'offset' | 'Z' | 'none';
export type Precision = 'minute' | 'second' | 'fraction';

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

/** The date that is `day` days after 1970-01-01. */
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
