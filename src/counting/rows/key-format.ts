/**
 * The format of minute keys. The service does not document it, so each customer and stream starts
 * with all known formats, and rows whose window is known rule out those that do not fit. Occupancy
 * and last seen need the format; no counter does (rule 9).
 */
import type { Key, Row } from '../../base/model.ts';
import { DAY_MS, MINUTE_MS } from '../../base/duration.ts';
import { floorToMinute } from '../calendar/calendar.ts';
import type { Span } from '../calendar/calendar.ts';
import type { WindowReader } from './window-reader.ts';
import type { Zone } from '../calendar/zone.ts';

export interface KeyFormat {
  readonly form:
    'iso' | 'compact' | 'epoch_milliseconds' | 'epoch_seconds' | 'time_of_day' | 'minute_of_day';
  /** `written`: the key carries a zone designator or counts from 1970. */
  readonly zone: 'written' | 'local' | 'utc';
}

/** Rows and the window that they were requested for; an open window ends at the response. */
export interface KeySample {
  readonly rows: readonly Row[];
  readonly window: Span;
}

export interface KeyFormatState {
  readonly status:
    /** All `formats` give the same instants for the rows seen, so the first one is used. */
    | 'detected'
    /** The rows seen so far match several formats that give different instants. */
    | 'ambiguous'
    /** No known format matches. */
    | 'unknown';
  readonly formats: readonly KeyFormat[];
}

/** The most likely first. */
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
/** Four weeks by quarter-hour and two days by minute, in a few time zones. */
const MAX_PARSED_TEXTS = 50_000;

/** ISO 8601 in the forms that services write. */
const ISO =
  /^(\d{4})[-/](\d\d)[-/](\d\d)[T ](\d\d):?(\d\d)(?::?\d\d(?:[.,]\d+)?)?\s?(Z|[+-]\d\d(?::?\d\d)?)?$/i;
/** yyyyMMddHHmm, with seconds or without. */
const COMPACT = /^(\d{4})(\d\d)(\d\d)T?(\d\d)(\d\d)(?:\d\d)?$/;
const TIME_OF_DAY = /^([01]?\d|2[0-3]):([0-5]\d)(?::\d\d)?$/;
const WHOLE_NUMBER = /^\d{1,15}$/;

/**
 * Returns the start of the minute of a key; undefined if the key is not of this format. A time of day is
 * placed in the window, or on the window's first day if it does not fit.
 */
export function parseKey(
  { form, zone: keyZone }: KeyFormat,
  key: Key,
  window: Span,
  zone: Zone,
): number | undefined {
  const text = String(key);
  switch (form) {
    case 'iso':
      return instantOf(parseIso(text), keyZone, window, zone);
    case 'compact':
      return instantOf(parseCompact(text), keyZone, window, zone);
    case 'epoch_milliseconds':
      return WHOLE_NUMBER.test(text) ? floorToMinute(Number(text)) : undefined;
    case 'epoch_seconds':
      return WHOLE_NUMBER.test(text) ? floorToMinute(Number(text) * 1000) : undefined;
    case 'time_of_day': {
      const [, hour, minute] = TIME_OF_DAY.exec(text) ?? [];
      const minutes = Number(hour) * 60 + Number(minute);
      return hour === undefined ? undefined : placeInWindow(minutes, keyZone, window, zone);
    }
    case 'minute_of_day':
      return WHOLE_NUMBER.test(text) && Number(text) < 24 * 60
        ? placeInWindow(Number(text), keyZone, window, zone)
        : undefined;
  }
}

/** Local date and time as if it were UTC, and the offset if one is written. */
interface DateTime {
  readonly ms: number;
  readonly offsetMs: number | undefined;
}

const parseIso = dateTimeParser(ISO);
const parseCompact = dateTimeParser(COMPACT);

/** Remembers what it has parsed: all customers have the same keys, poll after poll. */
function dateTimeParser(pattern: RegExp): (text: string) => DateTime | undefined {
  const parsedTexts = new Map<string, DateTime | undefined>();
  return (text) => {
    const found = parsedTexts.get(text);
    if (found !== undefined || parsedTexts.has(text)) {
      return found;
    }
    if (parsedTexts.size >= MAX_PARSED_TEXTS) {
      parsedTexts.clear();
    }
    const parsed = parseDateTime(pattern.exec(text));
    parsedTexts.set(text, parsed);
    return parsed;
  };
}

function parseDateTime(match: RegExpExecArray | null): DateTime | undefined {
  if (match === null) {
    return undefined;
  }
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0] = match.slice(1, 6).map(Number);
  const ms = Date.UTC(year, month - 1, day, hour, minute);
  const date = new Date(ms);
  // Date.UTC accepts 30 February and 12:60: they change the month and the hour.
  if (
    date.getUTCFullYear() !== year ||
    date.getUTCMonth() !== month - 1 ||
    date.getUTCHours() !== hour
  ) {
    return undefined;
  }
  return { ms, offsetMs: parseOffset(match[6]) };
}

function instantOf(
  dateTime: DateTime | undefined,
  keyZone: KeyFormat['zone'],
  window: Span,
  zone: Zone,
): number | undefined {
  if (dateTime === undefined) {
    return undefined;
  }
  const { ms, offsetMs } = dateTime;
  switch (keyZone) {
    case 'utc':
      return ms;
    case 'written':
      return offsetMs === undefined ? undefined : ms - offsetMs;
    case 'local':
      // Keys of many different years would fill the zone's cache of offsets.
      if (Math.abs(ms - window.startMs) > MAX_DISTANCE_MS) {
        return ms - (offsetMs ?? 0);
      }
      // An offset that the zone has then tells which hour it is when clocks are set back.
      return offsetMs !== undefined && zone.offsetMsAt(ms - offsetMs) === offsetMs
        ? ms - offsetMs
        : instantOfLocal(ms, window, zone);
  }
}

function parseOffset(designator: string | undefined): number | undefined {
  if (designator === undefined) {
    return undefined;
  }
  // Z has no digits: 0 minutes.
  const digits = designator.replace(':', '');
  const minutes = Number(digits.slice(1, 3)) * 60 + Number(digits.slice(3));
  return (digits.startsWith('-') ? -minutes : minutes) * MINUTE_MS;
}

/**
 * Returns the instant of a local time. In the hour that occurs twice, a local time is the first of both,
 * unless only the second one is in the window: otherwise the rows of the last minutes would all be an hour
 * old.
 */
function instantOfLocal(wallMs: number, window: Span, zone: Zone): number {
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

function placeInWindow(
  minuteOfDay: number,
  keyZone: KeyFormat['zone'],
  window: Span,
  zone: Zone,
): number {
  const offsetMs = keyZone === 'utc' ? 0 : zone.offsetMsAt(window.startMs);
  const midnightMs = Math.floor((window.startMs + offsetMs) / DAY_MS) * DAY_MS;
  function onDay(days: number): number {
    const ms = midnightMs + days * DAY_MS + minuteOfDay * MINUTE_MS;
    return keyZone === 'utc' ? ms : instantOfLocal(ms, window, zone);
  }
  const first = onDay(0);
  const second = onDay(1);
  // The minute before a window of a whole day has the same time as its last one.
  const isBefore = first < window.startMs && second < window.endMs;
  return isBefore || first < window.startMs - MINUTE_MS ? second : first;
}

/** What a format makes of the keys of a sample: the starts of their minutes. */
interface Reading {
  readonly format: KeyFormat;
  /** Undefined for a key that is not of this format. */
  readonly instants: readonly (number | undefined)[];
}

/** Returns what each format makes of the keys of a sample. */
export function readKeys(
  formats: readonly KeyFormat[],
  { rows, window }: KeySample,
  zone: Zone,
): readonly Reading[] {
  return formats.map((format) => ({
    format,
    instants: rows.map(({ key }) => parseKey(format, key, window, zone)),
  }));
}

/**
 * Returns the formats that fit a sample: they parse every key, and at least half of the rows are in the
 * window or a minute beside it. Half, because a device with a wrong clock and a late record are in
 * the window by their arrival and not by their key.
 */
export function matchingReadings(
  formats: readonly KeyFormat[],
  sample: KeySample,
  zone: Zone,
): readonly Reading[] {
  const { rows, window } = sample;
  return readKeys(formats, sample, zone).filter(({ instants }) => {
    const inside = instants.filter(
      (instantMs = NaN) =>
        instantMs >= window.startMs - MINUTE_MS && instantMs <= window.endMs + MINUTE_MS,
    );
    return !instants.includes(undefined) && inside.length * 2 >= rows.length;
  });
}

/** Whether all formats give the same instants. */
export function allAgree([first, ...others]: readonly Reading[]): boolean {
  return others.every(({ instants }) =>
    instants.every((instantMs, row) => instantMs === first?.instants[row]),
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
  const matching = matchingReadings(state.formats, sample, zone);
  const readings = matching.length > 0 ? matching : matchingReadings(KEY_FORMATS, sample, zone);
  return readings.length === 0
    ? { status: 'unknown', formats: KEY_FORMATS }
    : {
        status: allAgree(readings) ? 'detected' : 'ambiguous',
        formats: readings.map(({ format }) => format),
      };
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
    if (probed.status === 'detected') {
      return narrowKeyFormat(probed, widest, zone);
    }
  }
  return narrowed;
}

/** Returns the instants that the formats give for the newest row with counts on which they differ. */
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
