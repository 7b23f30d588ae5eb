/**
 * Keys of minutes and quarter-hours: when the time of a row starts. The service does not document them, so
 * each explains itself, but for its zone: `service.key_times`. Occupancy and last seen need keys; no counter
 * does (rule 9).
 */
import type { Key, KeyTimes } from '../../base/model.ts';
import { MINUTE_MS, SECOND_MS } from '../../base/duration.ts';
import { contains, floorToMinute } from '../calendar/calendar.ts';
import type { Span } from '../calendar/calendar.ts';
import type { Zone } from '../calendar/zone.ts';
import type { WindowResponse } from './window-reader.ts';

/** Rows and the window that they were requested for; an open window ends at the response. */
export type WindowRows = Pick<WindowResponse, 'rows' | 'window'>;

/** What a key says: an instant; or a date and time without a zone, in `ms` as if it were UTC. */
export interface WrittenTime {
  readonly zone: 'written' | 'missing';
  readonly ms: number;
}

/**
 * ISO 8601: a date; `T` or a blank; hours and minutes; seconds and a fraction or not; `Z`, an offset with or
 * without a colon or minutes, or nothing.
 */
const DATE_TIME =
  /^(\d{4}-\d\d-\d\d)[T ]([01]\d|2[0-3]):([0-5]\d)(?::\d\d(?:[.,]\d+)?)?(Z|[+-]\d\d(?::?\d\d)?)?$/i;
/** Unix time from 2001 to 2286. Other lengths are something else. */
const UNIX_SECONDS = /^\d{10}$/;
const UNIX_MILLISECONDS = /^\d{13}$/;
/** A zone keeps each of its changes: none is looked for outside of these years. */
const LOCAL_TIMES: Span = { startMs: 0, endMs: Date.UTC(2100, 0, 1) };

/** Returns what a key says, in whole minutes; undefined if it cannot be parsed. */
export function readKey(key: Key, dateMs = parseDate): WrittenTime | undefined {
  const text = String(key);
  if (UNIX_SECONDS.test(text)) {
    return { zone: 'written', ms: floorToMinute(Number(text) * SECOND_MS) };
  }
  if (UNIX_MILLISECONDS.test(text)) {
    return { zone: 'written', ms: floorToMinute(Number(text)) };
  }
  const match = DATE_TIME.exec(text);
  if (match === null) {
    return undefined;
  }
  const [, date = '', hour, minute, designator] = match;
  const ms = dateMs(date) + (Number(hour) * 60 + Number(minute)) * MINUTE_MS;
  if (Number.isNaN(ms)) {
    return undefined;
  }
  return designator === undefined
    ? { zone: 'missing', ms }
    : { zone: 'written', ms: ms - offsetMs(designator) };
}

/**
 * Returns the start of the minute of a key; undefined if it cannot be parsed. A local time that occurs twice
 * is the first of both.
 */
export function parseKey(
  key: Key,
  zone: Zone,
  keyTimes: KeyTimes,
  dateMs = parseDate,
): number | undefined {
  const time = readKey(key, dateMs);
  if (time === undefined || !isLocal(time, keyTimes)) {
    return time?.ms;
  }
  return zone.instantOfWall(time.ms);
}

/**
 * Returns the start of each row's minute; undefined if a key cannot be parsed. In the night in which clocks
 * are set back, a local time that occurs twice is the earlier or the later one by the order of the rows.
 */
export function parseRows(
  { rows, window }: WindowRows,
  zone: Zone,
  keyTimes: KeyTimes,
): readonly number[] | undefined {
  const startsMs: number[] = [];
  // Most rows have the date of the one before: parsing it takes longer than the rest.
  let last = { date: '', ms: NaN };
  function dateMs(date: string): number {
    last = date === last.date ? last : { date, ms: parseDate(date) };
    return last.ms;
  }
  for (const { key } of rows) {
    const startMs = parseKey(key, zone, keyTimes, dateMs);
    if (startMs === undefined) {
      return undefined;
    }
    startsMs.push(startMs);
  }
  const repeated = repeatedHour(zone, window);
  return repeated !== undefined && rows.some(({ key }) => isLocal(readKey(key), keyTimes))
    ? withLaterHour(startsMs, repeated, window)
    : startsMs;
}

/** Returns the first key that cannot be parsed, quoted and cut, for a message. */
export function unreadableKey(rows: WindowRows['rows']): string | undefined {
  const row = rows.find(({ key }) => readKey(key) === undefined);
  return row && JSON.stringify(row.key).slice(0, MAX_SHOWN_LENGTH);
}

/** Longer than any time. */
const MAX_SHOWN_LENGTH = 40;

/** Returns the midnight of a date as if it were UTC; NaN if there is no such date. */
function parseDate(date: string): number {
  const ms = Date.parse(date);
  // Date.parse accepts 30 February.
  return new Date(ms).getUTCDate() === Number(date.slice(8)) ? ms : NaN;
}

function isLocal(time: WrittenTime | undefined, keyTimes: KeyTimes): boolean {
  return time?.zone === 'missing' && keyTimes === 'local' && contains(LOCAL_TIMES, time.ms);
}

/** `Z` has no digits: 0. */
function offsetMs(designator: string): number {
  const digits = designator.replace(':', '');
  const minutes = Number(digits.slice(1, 3)) * 60 + Number(digits.slice(3));
  return (digits.startsWith('-') ? -minutes : minutes) * MINUTE_MS;
}

/** Clocks are not set back by more. */
const MAX_SET_BACK_MS = 180 * MINUTE_MS;

/** Returns the first of the two hours with the same local times, if clocks are set back around a window. */
function repeatedHour(zone: Zone, window: Span): Span | undefined {
  const beforeMs = window.startMs - MAX_SET_BACK_MS;
  const changeMs = zone.nextTransitionAfter(beforeMs);
  if (changeMs > window.endMs) {
    return undefined;
  }
  const setBackMs = zone.offsetMsAt(beforeMs) - zone.offsetMsAt(changeMs);
  return setBackMs > 0 ? { startMs: changeMs - setBackMs, endMs: changeMs } : undefined;
}

/** Moves what is in the repeated hour to the later one after a time that is not above the one before it. */
function withLaterHour(
  startsMs: readonly number[],
  repeated: Span,
  window: Span,
): readonly number[] {
  const steps = startsMs.slice(1).map((ms, i) => Math.sign(ms - (startsMs[i] ?? ms)));
  const isDescending = steps.reduce<number>((sum, step) => sum + step, 0) < 0;
  const inOrder = isDescending ? startsMs.toReversed() : startsMs;
  const setBackMs = repeated.endMs - repeated.startMs;
  let beforeMs = window.startMs - MINUTE_MS - 1;
  let isLater = false;
  const moved = inOrder.map((startMs) => {
    if (!contains(repeated, startMs)) {
      return startMs;
    }
    isLater ||= startMs <= beforeMs;
    beforeMs = startMs;
    const laterMs = startMs + setBackMs;
    return isLater && laterMs <= window.endMs + MINUTE_MS ? laterMs : startMs;
  });
  return isDescending ? moved.toReversed() : moved;
}
