/**
 * The reader of past counts by the time of day: for the past of a customer, `backfill` and `report`. A span is
 * read in the largest windows that the service does not force into another aggregation. The sums of its rows
 * are compared with those by `day`: if they differ, it is read again, and the larger response counts.
 */
import { ServiceError } from '../../base/errors.ts';
import type { KeyTimes, MinuteStream } from '../../base/model.ts';
import { MINUTE_MS } from '../../base/duration.ts';
import { contains, spanOf } from '../calendar/calendar.ts';
import type { Calendar, Span } from '../calendar/calendar.ts';
import { areEqual, grandTotal, isZero, plus } from '../rows/counts.ts';
import type { Counts } from '../rows/counts.ts';
import { DayCounter } from '../rows/day-counts.ts';
import type { DayCounts } from '../rows/day-counts.ts';
import { parseRows, unreadableKey } from '../rows/keys.ts';
import {
  isForced,
  readChunks,
  readLarger,
  sumChunks,
  WindowReader,
} from '../rows/window-reader.ts';
import type { Chunk, Query, WindowResponse } from '../rows/window-reader.ts';
import { QUARTER_MS } from '../occupancy/door-model.ts';

/** What the past is read from. */
export interface PastSource {
  readonly query: Query;
  readonly stream: MinuteStream;
  readonly calendar: Calendar;
  readonly keyTimes: KeyTimes;
}

/**
 * - `minute`: each row counts, whatever its key says. Windows of half an hour are used even if another
 *   aggregation is forced.
 * - `quarter`: each day has what is dated in it: by `quarter` where that is a quarter-hour, else by `minute`.
 */
export type Resolution = 'minute' | 'quarter';

interface Counted {
  /** The days that the span reaches into. */
  readonly days: readonly DayCounts[];
  /** The sums of all rows, whatever their keys. */
  readonly sums: Counts;
}

export interface PastCounts extends Counted {
  /** The service's sums of the same span by `day`, for comparison only. */
  readonly byDay: Counts;
}

/**
 * Reads a span, which has whole minutes at both ends; for `quarter`, whole days. Throws a ServiceError, also
 * if the key of a minute cannot be parsed. Undefined for `quarter` if the service returns no minutes.
 */
export async function readPast(
  source: PastSource,
  span: Span,
  resolution: Resolution,
): Promise<PastCounts | undefined> {
  const { query, stream, calendar } = source;
  const { startMs, endMs } = span;
  const reader = new WindowReader({ query, stream, zone: calendar.zone, nowMs: () => endMs });
  const byDay = await reader.read('day', startMs, endMs);
  const counted = await readLarger(
    () => (resolution === 'quarter' ? readDays : readMinutes)(source, reader, span, resolution),
    (read) => read !== undefined && !areEqual(read.sums, byDay.sums),
    (read) => grandTotal(read?.sums ?? []),
  );
  if (counted === undefined || areEqual(counted.sums, byDay.sums)) {
    return counted && { ...counted, byDay: byDay.sums };
  }
  // A fault may have lowered this response.
  const again = await reader.read('day', startMs, endMs);
  return { ...counted, byDay: again.sums };
}

/** A nightly roll-up may not have these yet: they are read by `minute`. */
const DAYS_BY_MINUTE = 2;
/** Four weeks by quarters of a year have fewer rows. */
const MIN_QUARTER_ROWS = 3;

async function readDays(
  source: PastSource,
  reader: WindowReader,
  span: Span,
  resolution: Resolution,
): Promise<Counted | undefined> {
  const days = daysOf(source.calendar, span);
  const older = days.slice(0, -DAYS_BY_MINUTE);
  const newest = spanOf(days.slice(-DAYS_BY_MINUTE));
  if (older.length === 0) {
    return readMinutes(source, reader, newest, resolution);
  }
  const first =
    (await readQuarters(source, reader, older)) ??
    (await readMinutes(source, reader, spanOf(older), resolution));
  const last = first && (await readMinutes(source, reader, newest, resolution));
  return last && { days: [...first.days, ...last.days], sums: plus(first.sums, last.sums) };
}

/** Undefined if `quarter` is no quarter-hour, or has keys that cannot be parsed. */
async function readQuarters(
  { stream, calendar, keyTimes }: PastSource,
  reader: WindowReader,
  days: readonly Span[],
): Promise<Counted | undefined> {
  const span = spanOf(days);
  const response = await reader.read('quarter', span.startMs, span.endMs);
  const { aggregation, rows, sums } = response;
  const startsMs = parseRows(response, calendar.zone, keyTimes) ?? [];
  const counter = new DayCounter(calendar, days, stream, QUARTER_MS);
  let quarters = 0;
  startsMs.forEach((startMs, i) => {
    if (contains(span, startMs) && startMs % QUARTER_MS === 0) {
      counter.add(startMs, rows[i]?.counts ?? []);
      quarters += 1;
    }
  });
  const isByQuarter =
    aggregation === 'quarter' && quarters >= MIN_QUARTER_ROWS && quarters * 2 >= rows.length;
  return isByQuarter ? { days: counter.days(), sums } : undefined;
}

/** `quarter` is given up if another aggregation is forced for this part of a span. */
const MAX_CHUNKS = 32;

async function readMinutes(
  source: PastSource,
  reader: WindowReader,
  span: Span,
  resolution: Resolution,
): Promise<Counted | undefined> {
  const minMs = resolution === 'minute' ? 0 : (span.endMs - span.startMs) / MAX_CHUNKS;
  function isTooLong(chunk: WindowResponse): boolean {
    return !isZero(chunk.sums) && isForced(chunk);
  }
  const chunks = await readChunks(
    await reader.read('minute', span.startMs, span.endMs),
    async (fromMs, toMs) => {
      const chunk = await reader.read('minute', fromMs, toMs);
      const { startMs, endMs } = chunk.window;
      return isTooLong(chunk) && endMs - startMs <= minMs ? undefined : chunk;
    },
    isTooLong,
  );
  return chunks && { days: countDays(source, span, resolution, chunks), sums: sumChunks(chunks) };
}

/**
 * Counts the rows of chunks by day. By `minute`, a row with the time of a wrong clock is added to the nearest
 * minute of the span: the totals are the service's in any case. One of a chunk that is not by minute is added to
 * the chunk's last minute.
 */
function countDays(
  { stream, calendar, keyTimes }: PastSource,
  span: Span,
  resolution: Resolution,
  chunks: readonly Chunk[],
): readonly DayCounts[] {
  const counter = new DayCounter(calendar, daysOf(calendar, span), stream);
  const lastMs = span.endMs - MINUTE_MS;
  for (const chunk of chunks) {
    const { aggregation, rows, window, sign } = chunk;
    const startsMs = aggregation === 'minute' ? parseRows(chunk, calendar.zone, keyTimes) : [];
    if (startsMs === undefined) {
      throw new ServiceError('malformed', `minute keys unreadable: ${unreadableKey(rows)}`);
    }
    rows.forEach(({ counts }, i) => {
      const atMs = startsMs[i] ?? window.endMs - MINUTE_MS;
      const nearestMs = Math.min(lastMs, Math.max(span.startMs, atMs));
      // If windows include their end, the minute at the end of the span belongs to the next span.
      if (atMs !== span.endMs) {
        counter.add(resolution === 'minute' ? nearestMs : atMs, counts, sign);
      }
    });
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
