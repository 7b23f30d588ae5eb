/** Reads a past time range by the minute, in the largest windows that the service allows. */
import { ServiceError } from '../base/errors.ts';
import type { MinuteStream } from '../base/model.ts';
import { MINUTE_MS } from '../base/duration.ts';
import type { Calendar, Span } from '../counting/calendar/calendar.ts';
import { grandTotal, isZero } from '../counting/rows/counts.ts';
import type { Counts } from '../counting/rows/counts.ts';
import {
  allAgree,
  ANY_KEY_FORMAT,
  detectKeyFormat,
  KEY_FORMATS,
  keyParser,
  matchingReadings,
  namesTimeOfDay,
  readKeys,
} from '../counting/rows/key-format.ts';
import type { KeyFormatState } from '../counting/rows/key-format.ts';
import { DayCounter } from '../counting/rows/day-counts.ts';
import type { DayCounts } from '../counting/rows/day-counts.ts';
import { isForced, readByMinute, readChunks } from '../counting/rows/window-reader.ts';
import { areConsistent, sumChunks } from '../counting/totals/period-total.ts';
import type { Chunk, WindowReader, WindowResponse } from '../counting/rows/window-reader.ts';

/** The minutes of one stream of one customer over a time range. */
export interface Minutes {
  /** The days of the range by minute. */
  readonly days: readonly DayCounts[];
  /** The sums of all rows, whatever their keys. */
  readonly sums: Counts;
  readonly keyFormat: KeyFormatState;
}

export interface MinuteHistory extends Minutes {
  /** The service's sums of the same range by `day`, for comparison only. */
  readonly byDay: Counts;
}

export interface MinuteRange {
  readonly reader: WindowReader;
  readonly stream: MinuteStream;
  readonly calendar: Calendar;
  /** Whole minutes at both ends. */
  readonly span: Span;
}

/** No poll waits for a history, so a day is read in more windows than for a poll, down to half an hour. */
const MAX_DAY_CHUNKS = 64;
/** How many days are searched for rows that show the key format. */
const MAX_FORMAT_DAYS = 31;
/** A key that names only the time of day needs windows shorter than a day. */
const MAX_TIME_OF_DAY_WINDOW_MS = 12 * 60 * MINUTE_MS;

/**
 * `formatBefore` is that of the keys of the range before. Reads twice if `minute` and `day` differ.
 * Throws a ServiceError if the key format is unknown.
 */
export async function readMinuteHistory(
  range: MinuteRange,
  formatBefore: KeyFormatState,
): Promise<MinuteHistory> {
  const { reader, span } = range;
  let byDay = await reader.read('day', span.startMs, span.endMs);
  let minutes = await readMinutes(range, formatBefore);
  if (!areConsistent(byDay.sums, minutes.sums, minutes.sums)) {
    // A fault of the service may lower either answer for a moment: the larger one counts.
    const again = await readMinutes(range, minutes.keyFormat);
    minutes = grandTotal(again.sums) >= grandTotal(minutes.sums) ? again : minutes;
    byDay = await reader.read('day', span.startMs, span.endMs);
  }
  return { ...minutes, byDay: byDay.sums };
}

/** Reads a range once, without a comparison. Throws a ServiceError if the key format is unknown. */
export async function readMinutes(
  range: MinuteRange,
  formatBefore: KeyFormatState,
): Promise<Minutes> {
  const { span, reader } = range;
  const whole = await reader.read('minute', span.startMs, span.endMs);
  let chunks = await readRangeChunks(range, whole, Infinity);
  const keyFormat = await detectRangeFormat(range, formatBefore, chunks);
  if (namesTimeOfDay(keyFormat)) {
    chunks = await readRangeChunks(range, whole, MAX_TIME_OF_DAY_WINDOW_MS);
  }
  return { days: countDays(range, chunks, keyFormat), sums: sumChunks(chunks), keyFormat };
}

async function readRangeChunks(
  { reader }: MinuteRange,
  whole: WindowResponse,
  maxMs: number,
): Promise<readonly Chunk[]> {
  const chunks = await readChunks(
    whole,
    (fromMs, toMs) => reader.read('minute', fromMs, toMs),
    (chunk) =>
      !isZero(chunk.sums) && (isForced(chunk) || chunk.window.endMs - chunk.window.startMs > maxMs),
  );
  return chunks ?? [];
}

/**
 * A row with an unreadable key, or with the time of a wrong clock, is added to the nearest minute of
 * the range: the totals are the service's in any case.
 */
function countDays(
  { span, calendar, stream }: MinuteRange,
  chunks: readonly Chunk[],
  keyFormat: KeyFormatState,
): readonly DayCounts[] {
  const counter = new DayCounter(calendar, daysOf(calendar, span), stream);
  const lastMs = span.endMs - MINUTE_MS;
  for (const { aggregation, rows, window, sign } of chunks) {
    const parse = keyParser(keyFormat, window, calendar.zone);
    for (const row of rows) {
      const rowMs = aggregation === 'minute' ? parse(row) : undefined;
      const atMs = rowMs ?? window.endMs - MINUTE_MS;
      // If windows include their end, the minute at the end of the range belongs to the next range.
      if (atMs !== span.endMs) {
        counter.add(Math.min(lastMs, Math.max(span.startMs, atMs)), row.counts, sign);
      }
    }
  }
  return counter.days();
}

function daysOf(calendar: Calendar, span: Span): readonly Span[] {
  const days: Span[] = [];
  for (let { startMs } = span; startMs < span.endMs; startMs = days.at(-1)?.endMs ?? Infinity) {
    days.push(calendar.dayAt(startMs));
  }
  return days;
}

/**
 * The format by which all chunks can be placed: `formatBefore`, else what the newest days show, each
 * by itself, because in a long window a time of day could be of any day. Throws a ServiceError if
 * there is none.
 */
async function detectRangeFormat(
  { reader, calendar, span }: MinuteRange,
  formatBefore: KeyFormatState,
  chunks: readonly Chunk[],
): Promise<KeyFormatState> {
  const { zone } = calendar;
  const shown = chunks.filter(({ aggregation, sums }) => aggregation === 'minute' && !isZero(sums));
  function isClear(state: KeyFormatState): boolean {
    return (
      state.status === 'detected' &&
      (namesTimeOfDay(state) ||
        shown.every((chunk) => allAgree(readKeys(state.formats, chunk, zone))))
    );
  }
  if (shown.length === 0 || isClear(formatBefore)) {
    return formatBefore;
  }
  let state = ANY_KEY_FORMAT;
  let day = calendar.dayAt(span.endMs - 1);
  for (let days = 0; day.endMs > span.startMs && days < MAX_FORMAT_DAYS; days += 1) {
    const fromMs = Math.max(day.startMs, span.startMs);
    const response = await reader.read('minute', fromMs, Math.min(day.endMs, span.endMs));
    const windows = (await readByMinute(reader, response, MAX_DAY_CHUNKS)) ?? [];
    state = await detectKeyFormat(reader, state, windows, zone);
    if (isClear(state)) {
      return state;
    }
    day = calendar.dayBefore(day);
  }
  // Devices with wrong clocks hide the format. A key with its own zone needs no proof.
  const written = KEY_FORMATS.find(
    (format) =>
      format.zone === 'written' &&
      shown.every((chunk) => matchingReadings([format], chunk, zone).length > 0),
  );
  if (written === undefined) {
    throw new ServiceError('malformed', 'unknown minute key format, history unavailable');
  }
  return { status: 'detected', formats: [written] };
}
