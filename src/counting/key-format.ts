/**
 * The format of minute keys. The service does not document it, so each customer and stream starts
 * with all known formats, and rows whose window is known rule out those that do not fit. Occupancy
 * and last seen need the format; no counter does (rule 9).
 */
import type { Key, Row } from '../base/model.ts';
import { DAY_MS, floorToMinute, MINUTE_MS } from './calendar.ts';
import type { Span } from './calendar.ts';
import type { WindowReader } from './query.ts';
import { readCompact, readIso } from './wall-time.ts';
import type { WallTime } from './wall-time.ts';
import type { Zone } from './zone.ts';

export type KeyForm =
  'iso' | 'compact' | 'epoch_milliseconds' | 'epoch_seconds' | 'time_of_day' | 'minute_of_day';

/** `written`: the key carries a zone designator or counts from 1970. */
export type KeyZone = 'written' | 'local' | 'utc';

export interface KeyFormat {
  readonly form: KeyForm;
  readonly zone: KeyZone;
}

/** Rows and the window that they were requested for; an open window ends at the response. */
export interface KeySample {
  readonly rows: readonly Row[];
  readonly window: Span;
}

export type KeyFormatState =
  /** All `formats` give the same instants for the rows seen, so the first one is used. */
  | { readonly status: 'detected'; readonly formats: readonly KeyFormat[] }
  /** The rows seen so far match several formats that give different instants. */
  | { readonly status: 'ambiguous'; readonly formats: readonly KeyFormat[] }
  /** No known format matches. */
  | { readonly status: 'unknown'; readonly formats: readonly KeyFormat[] };

/** The most likely first (research/semantics.md, section 4). */
export const KEY_FORMATS: readonly KeyFormat[] = [
  { form: 'iso', zone: 'written' },
  { form: 'iso', zone: 'local' },
  { form: 'iso', zone: 'utc' },
  { form: 'compact', zone: 'local' },
  { form: 'compact', zone: 'utc' },
  { form: 'epoch_milliseconds', zone: 'written' },
  { form: 'epoch_seconds', zone: 'written' },
  { form: 'time_of_day', zone: 'local' },
  { form: 'time_of_day', zone: 'utc' },
  { form: 'minute_of_day', zone: 'local' },
  { form: 'minute_of_day', zone: 'utc' },
];

export const ANY_KEY_FORMAT: KeyFormatState = { status: 'ambiguous', formats: KEY_FORMATS };

/** Narrow windows requested for one detection. */
const MAX_PROBES = 4;
/** A key farther from its window than this is outside of it in any zone. */
const MAX_DISTANCE_MS = 366 * DAY_MS;
const TIME_OF_DAY = /^(\d\d?):(\d\d)(?::\d\d)?$/;
const WHOLE_NUMBER = /^\d{1,15}$/;

/** What a key states: an instant, a local date and time, or a time of an unnamed day. */
type ParsedKey =
  | { readonly kind: 'instant'; readonly ms: number }
  | WallTime
  | { readonly kind: 'time_of_day'; readonly ms: number };

/**
 * The start of the minute of a key; undefined if the key is not of this format. A time of day is
 * placed in the window, or on the window's first day if it does not fit.
 */
export function parseKey(
  format: KeyFormat,
  key: Key,
  window: Span,
  zone: Zone,
): number | undefined {
  return instantOf(format.zone, parseForm(format.form, key), window, zone);
}

function parseForm(form: KeyForm, key: Key): ParsedKey | undefined {
  const text = String(key);
  switch (form) {
    case 'iso':
      return readIso(text);
    case 'compact':
      return readCompact(text);
    case 'epoch_milliseconds':
      return WHOLE_NUMBER.test(text) ? { kind: 'instant', ms: Number(text) } : undefined;
    case 'epoch_seconds':
      return WHOLE_NUMBER.test(text) ? { kind: 'instant', ms: Number(text) * 1000 } : undefined;
    case 'time_of_day': {
      const [, hour, minute] = TIME_OF_DAY.exec(text) ?? [];
      return hour === undefined || Number(minute) >= 60
        ? undefined
        : minuteOfDay(Number(hour) * 60 + Number(minute));
    }
    case 'minute_of_day':
      return WHOLE_NUMBER.test(text) ? minuteOfDay(Number(text)) : undefined;
  }
}

function minuteOfDay(minute: number): ParsedKey | undefined {
  return minute < 24 * 60 ? { kind: 'time_of_day', ms: minute * MINUTE_MS } : undefined;
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
      return instantOfWallKey(keyZone, parsed, window, zone);
    case 'time_of_day':
      return placeTimeOfDay(keyZone, parsed.ms, window, zone);
  }
}

function instantOfWallKey(
  keyZone: KeyZone,
  { ms, writtenOffsetMs }: WallTime,
  window: Span,
  zone: Zone,
): number | undefined {
  switch (keyZone) {
    case 'written':
      return writtenOffsetMs === undefined ? undefined : ms - writtenOffsetMs;
    case 'local':
      // Keys of many different years would fill the zone's cache of offsets.
      if (Math.abs(ms - window.startMs) > MAX_DISTANCE_MS) {
        return ms;
      }
      // An offset that the zone has then tells which hour it is when clocks are set back.
      return writtenOffsetMs !== undefined &&
        zone.offsetMsAt(ms - writtenOffsetMs) === writtenOffsetMs
        ? ms - writtenOffsetMs
        : instantOfLocal(window, ms, zone);
    case 'utc':
      return ms;
  }
}

/**
 * In the hour that occurs twice, a local time is the first of both, unless only the second one is
 * in the window: otherwise the rows of the last minutes would all be an hour old.
 */
function instantOfLocal(window: Span, wallMs: number, zone: Zone): number {
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
    const midnightMs = Math.floor(wallMs / DAY_MS) * DAY_MS;
    return instantOfLocal(window, midnightMs + days * DAY_MS + timeMs, zone);
  }
  const first = onDay(0);
  return first >= window.startMs - MINUTE_MS ? first : onDay(1);
}

/**
 * The formats that fit a sample: they parse every key, and at least half of the rows are in the
 * window or a minute beside it. Half, because a device with a wrong clock and a late record are in
 * the window by their arrival and not by their key.
 */
export function matchingFormats(
  formats: readonly KeyFormat[],
  { rows, window }: KeySample,
  zone: Zone,
): KeyFormat[] {
  return formats.filter((format) => {
    let inside = 0;
    for (const row of rows) {
      const instantMs = parseKey(format, row.key, window, zone);
      if (instantMs === undefined) {
        return false;
      }
      inside += isNear(window, instantMs) ? 1 : 0;
    }
    return inside * 2 >= rows.length;
  });
}

function isNear({ startMs, endMs }: Span, instantMs: number): boolean {
  return instantMs >= startMs - MINUTE_MS && instantMs <= endMs + MINUTE_MS;
}

/** Whether all formats give the same instants for these rows. */
export function allAgree(
  [first, ...others]: readonly KeyFormat[],
  { rows, window }: KeySample,
  zone: Zone,
): boolean {
  return (
    first === undefined ||
    rows.every(({ key }) => {
      const instantMs = parseKey(first, key, window, zone);
      return others.every((other) => parseKey(other, key, window, zone) === instantMs);
    })
  );
}

/** Rules out the formats that do not fit. If none of them fits, starts again with all formats. */
export function narrowKeyFormat(
  state: KeyFormatState,
  sample: KeySample,
  zone: Zone,
): KeyFormatState {
  if (sample.rows.length === 0) {
    return state;
  }
  const matching = matchingFormats(state.formats, sample, zone);
  const formats = matching.length > 0 ? matching : matchingFormats(KEY_FORMATS, sample, zone);
  if (formats.length === 0) {
    return { status: 'unknown', formats: KEY_FORMATS };
  }
  if (!allAgree(formats, sample, zone)) {
    return { status: 'ambiguous', formats };
  }
  const isSame = state.status === 'detected' && formats.length === state.formats.length;
  return isSame && matching.length > 0 ? state : { status: 'detected', formats };
}

/**
 * Narrows by several samples, the narrowest window first. If the format is still ambiguous, requests
 * short windows around the instants that the formats give for one row.
 */
export async function detectKeyFormat(
  reader: WindowReader,
  state: KeyFormatState,
  samples: readonly KeySample[],
  zone: Zone,
): Promise<KeyFormatState> {
  const narrowed = samples.reduce((found, sample) => narrowKeyFormat(found, sample, zone), state);
  const widest = samples.findLast(({ rows }) => rows.length > 0);
  if (narrowed.status !== 'ambiguous' || widest === undefined) {
    return narrowed;
  }
  for (const instantMs of possibleInstants(narrowed.formats, widest, zone).slice(0, MAX_PROBES)) {
    const startMs = instantMs - 5 * MINUTE_MS;
    const probe = await reader.readOptional('minute', startMs, instantMs + 10 * MINUTE_MS);
    if (probe === undefined) {
      return narrowed;
    }
    const probed = narrowKeyFormat(narrowed, probe, zone);
    if (probe.rows.length > 0 && probed.status === 'detected') {
      return narrowKeyFormat(probed, widest, zone);
    }
  }
  return narrowed;
}

/** The instants that the formats give for the newest row with counts on which they differ. */
function possibleInstants(
  formats: readonly KeyFormat[],
  { rows, window }: KeySample,
  zone: Zone,
): number[] {
  for (const row of rows.toReversed()) {
    const parsed = formats.map((format) => parseKey(format, row.key, window, zone));
    const instants = new Set(parsed.filter((instantMs) => instantMs !== undefined));
    if (instants.size > 1 && row.counts.some((count) => count > 0)) {
      return [...instants];
    }
  }
  return [];
}

/** Parses the keys of one window's rows; undefined while no format is detected. */
export function keyParser(
  state: KeyFormatState,
  window: Span,
  zone: Zone,
): (row: Row) => number | undefined {
  const format = state.status === 'detected' ? state.formats[0] : undefined;
  return ({ key }) => (format === undefined ? undefined : parseKey(format, key, window, zone));
}

/** Whether keys have no date, so that a window must not be longer than a day. */
export function namesTimeOfDay({ status, formats }: KeyFormatState): boolean {
  const form = formats[0]?.form;
  return status === 'detected' && (form === 'time_of_day' || form === 'minute_of_day');
}
