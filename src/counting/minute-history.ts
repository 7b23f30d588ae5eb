/**
 * Reads a past time range by the minute, in the largest windows that the service allows. Consecutive
 * windows overlap, and the overlap is read once more and subtracted: each record counts once, whether
 * or not a window includes its edges.
 */
import { ServiceError } from '../base/errors.ts';
import { COUNTERS } from '../base/model.ts';
import type { MinuteStream } from '../base/model.ts';
import { DAY_MS, floorToMinute, MINUTE_MS } from './calendar.ts';
import type { Calendar, Span } from './calendar.ts';
import { areEqual, grandTotal, isZero } from './counts.ts';
import type { Counts } from './counts.ts';
import {
  allAgree,
  ANY_KEY_FORMAT,
  detectKeyFormat,
  KEY_FORMATS,
  keyParser,
  matchingFormats,
  namesTimeOfDay,
} from './key-format.ts';
import type { KeyFormatState } from './key-format.ts';
import { lastSeenIn, minutesOfSamples, readByMinute } from './occupancy.ts';
import { WindowReader } from './query.ts';
import type { Query, WindowResponse } from './query.ts';

/** One stream of one customer over a time range. */
export interface MinuteHistory {
  readonly span: Span;
  /** For each counter of the stream, the counts of each minute from the start of `span` on. */
  readonly minutes: readonly Float64Array[];
  /** The sums of all rows, whatever their keys. */
  readonly sums: Counts;
  /** The service's sums of the same range by `day`, for comparison only. */
  readonly byDay: Counts;
  /** The newest minute with counts on the day before the range, if it was read. */
  readonly lastSeenBeforeMs: number | undefined;
}

/** What one range shows about the service, used for the next one. */
export interface MinuteFormat {
  readonly keyFormat: KeyFormatState;
  /** The longest window that the service has answered by the minute. */
  readonly maxWindowMs: number;
}

export const UNKNOWN_FORMAT: MinuteFormat = { keyFormat: ANY_KEY_FORMAT, maxWindowMs: Infinity };

export interface MinuteRange {
  readonly stream: MinuteStream;
  readonly calendar: Calendar;
  /** Whole minutes at both ends. */
  readonly span: Span;
  readonly needsDayBefore: boolean;
}

interface RangeReader extends MinuteRange {
  readonly reader: WindowReader;
}

const OVERLAP_MS = 2 * MINUTE_MS;
/** A window this short is used as it is: its sums are right, only the minutes within it are not. */
const MIN_WINDOW_MS = 8 * MINUTE_MS;
/** How many days are searched for rows that show the key format. */
const MAX_FORMAT_DAYS = 31;
/** A key that names only the time of day needs windows shorter than a day. */
const MAX_TIME_OF_DAY_WINDOW_MS = 12 * 60 * MINUTE_MS;

/** Reads twice if `minute` and `day` differ. Throws a ServiceError if the key format is unknown. */
export async function readMinuteHistory(
  range: MinuteRange,
  known: MinuteFormat,
  query: Query,
): Promise<{ readonly history: MinuteHistory; readonly format: MinuteFormat }> {
  const { stream, calendar, span } = range;
  const reader = new WindowReader({
    query,
    stream,
    zone: calendar.zone,
    nowMs: () => span.endMs,
  });
  let byDay = await reader.read('day', span.startMs, span.endMs);
  let read = await readMinutes({ ...range, reader }, known);
  if (!areEqual(read.table.sums, byDay.sums)) {
    // A fault of the service may lower either answer for a moment: the larger one counts.
    const again = await readMinutes({ ...range, reader }, read.format);
    read = grandTotal(again.table.sums) >= grandTotal(read.table.sums) ? again : read;
    byDay = await reader.read('day', span.startMs, span.endMs);
  }
  const { table, format } = read;
  const lastSeenBeforeMs = range.needsDayBefore
    ? await lastSeenBefore({ ...range, reader }, format.keyFormat)
    : undefined;
  return {
    history: { span, ...table, byDay: byDay.sums, lastSeenBeforeMs },
    format,
  };
}

/** The counts of each minute, and their sums. */
interface MinuteTable {
  readonly minutes: readonly Float64Array[];
  readonly sums: number[];
}

async function readMinutes(
  range: RangeReader,
  known: MinuteFormat,
): Promise<{ readonly table: MinuteTable; readonly format: MinuteFormat }> {
  const { stream, span, reader } = range;
  const minuteCount = Math.ceil((span.endMs - span.startMs) / MINUTE_MS);
  const table: MinuteTable = {
    minutes: COUNTERS[stream].map(() => new Float64Array(minuteCount)),
    sums: COUNTERS[stream].map(() => 0),
  };
  let { keyFormat, maxWindowMs } = known;
  for (let fromMs = span.startMs; ;) {
    const toMs = windowEnd(range, fromMs, maxWindowMs);
    const response = await reader.read('minute', fromMs, toMs);
    const isForced = response.aggregation !== 'minute' && !isZero(response.sums);
    if (isForced && toMs - fromMs > MIN_WINDOW_MS) {
      maxWindowMs = Math.max(MIN_WINDOW_MS, floorToMinute((toMs - fromMs) / 2));
      continue;
    }
    if (!isForced) {
      keyFormat = await detectRangeFormat(range, keyFormat, response);
      if (namesTimeOfDay(keyFormat) && toMs - fromMs > MAX_TIME_OF_DAY_WINDOW_MS) {
        maxWindowMs = MAX_TIME_OF_DAY_WINDOW_MS;
        continue;
      }
    }
    addRows(table, range, response, keyFormat, 1);
    if (toMs >= span.endMs) {
      return { table, format: { keyFormat, maxWindowMs } };
    }
    fromMs = toMs - OVERLAP_MS;
    const overlap = await reader.read('minute', fromMs, toMs);
    addRows(table, range, overlap, keyFormat, -1);
  }
}

/** Long windows end where a day starts, because few people are counted at night. */
function windowEnd({ span, calendar }: MinuteRange, fromMs: number, maxWindowMs: number): number {
  const toMs = Math.min(span.endMs, fromMs + maxWindowMs);
  const dayStartMs = calendar.dayAt(toMs).startMs;
  return toMs < span.endMs && maxWindowMs >= 2 * DAY_MS && dayStartMs > fromMs + DAY_MS
    ? dayStartMs
    : toMs;
}

/**
 * A row with an unreadable key, or with the time of a wrong clock, is added to the nearest minute of
 * the range: the totals are the service's in any case.
 */
function addRows(
  { minutes, sums }: MinuteTable,
  { span, calendar }: MinuteRange,
  { aggregation, rows, window }: WindowResponse,
  keyFormat: KeyFormatState,
  sign: 1 | -1,
): void {
  const last = Math.ceil((span.endMs - span.startMs) / MINUTE_MS) - 1;
  const parse = keyParser(keyFormat, window, calendar.zone);
  for (const row of rows) {
    const rowMs = aggregation === 'minute' ? parse(row) : undefined;
    const atMs = rowMs ?? window.endMs - MINUTE_MS;
    const place = Math.min(last, Math.max(0, Math.floor((atMs - span.startMs) / MINUTE_MS)));
    // If windows include their end, the minute at the end of the range belongs to the next range.
    const isAfterEnd = atMs === span.endMs;
    row.counts.forEach((count, i) => {
      const counts = minutes[i];
      if (counts !== undefined) {
        sums[i] = (sums[i] ?? 0) + sign * count;
        counts[place] = (counts[place] ?? 0) + (isAfterEnd ? 0 : sign * count);
      }
    });
  }
}

/** Throws a ServiceError if the format is unknown. */
async function detectRangeFormat(
  range: RangeReader,
  known: KeyFormatState,
  response: WindowResponse,
): Promise<KeyFormatState> {
  const { reader, calendar, span } = range;
  const isKnown = known.status === 'detected';
  if (isZero(response.sums)) {
    return known;
  }
  // A known format stays: in a short window most rows may be late ones, from before the window.
  if (isKnown && (namesTimeOfDay(known) || allAgree(known.formats, response, calendar.zone))) {
    return known;
  }
  // In a long window, a time of day could be of any day.
  const { startMs, endMs } = response.window;
  if (isKnown || endMs - startMs <= MAX_TIME_OF_DAY_WINDOW_MS) {
    const found = await detectKeyFormat(reader, known, [response], calendar.zone);
    if (found.status === 'detected') {
      return found;
    }
  }
  const byDays = (await detectByDays(range, response.window)) ?? (await detectByDays(range, span));
  if (byDays !== undefined) {
    return byDays;
  }
  // Devices with wrong clocks hide the format. A key with its own zone needs no proof.
  const [written] = matchingFormats(KEY_FORMATS, response, calendar.zone).filter(
    ({ zone }) => zone === 'written',
  );
  if (written === undefined) {
    throw new ServiceError('malformed', 'unknown minute key format, history unavailable');
  }
  return { status: 'detected', formats: [written] };
}

/** The format that the newest day with enough rows shows. */
async function detectByDays(
  { reader, calendar }: RangeReader,
  { startMs, endMs }: Span,
): Promise<KeyFormatState | undefined> {
  let day = calendar.dayAt(endMs - 1);
  for (let days = 0; day.endMs > startMs && days < MAX_FORMAT_DAYS; days += 1) {
    const fromMs = Math.max(day.startMs, startMs);
    const response = await reader.read('minute', fromMs, Math.min(day.endMs, endMs));
    const samples = (await readByMinute(reader, response)) ?? [];
    const found = await detectKeyFormat(reader, ANY_KEY_FORMAT, samples, calendar.zone);
    if (found.status === 'detected') {
      return found;
    }
    day = calendar.dayBefore(day);
  }
  return undefined;
}

async function lastSeenBefore(
  { reader, calendar, span }: RangeReader,
  keyFormat: KeyFormatState,
): Promise<number | undefined> {
  const dayBefore = calendar.dayBefore(calendar.dayAt(span.startMs));
  const response = await reader.read('minute', dayBefore.startMs, span.startMs);
  const chunks = (await readByMinute(reader, response)) ?? [];
  const minutes = minutesOfSamples(chunks, keyFormat, calendar.zone);
  return minutes && lastSeenIn(minutes, dayBefore);
}
