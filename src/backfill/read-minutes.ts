/** Reads a past time range by the minute, in the largest windows that the service allows. */
import { ServiceError } from '../base/errors.ts';
import type { KeyTimes, MinuteStream } from '../base/model.ts';
import { MINUTE_MS } from '../base/duration.ts';
import type { Calendar, Span } from '../counting/calendar/calendar.ts';
import { grandTotal, isZero } from '../counting/rows/counts.ts';
import type { Counts } from '../counting/rows/counts.ts';
import { parseRows, unreadableKey } from '../counting/rows/keys.ts';
import { DayCounter } from '../counting/rows/day-counts.ts';
import type { DayCounts } from '../counting/rows/day-counts.ts';
import { isForced, readChunks } from '../counting/rows/window-reader.ts';
import { areConsistent, sumChunks } from '../counting/totals/period-total.ts';
import type { Chunk, WindowReader } from '../counting/rows/window-reader.ts';

/** The minutes of one stream of one customer over a time range. */
export interface Minutes {
  /** The days of the range by minute. */
  readonly days: readonly DayCounts[];
  /** The sums of all rows, whatever their keys. */
  readonly sums: Counts;
}

export interface MinuteHistory extends Minutes {
  /** The service's sums of the same range by `day`, for comparison only. */
  readonly byDay: Counts;
}

export interface MinuteRange {
  readonly reader: WindowReader;
  readonly stream: MinuteStream;
  readonly calendar: Calendar;
  readonly keyTimes: KeyTimes;
  /** Whole minutes at both ends. */
  readonly span: Span;
}

/** Reads twice if `minute` and `day` differ. Throws a ServiceError if a key cannot be parsed. */
export async function readMinuteHistory(range: MinuteRange): Promise<MinuteHistory> {
  const { reader, span } = range;
  let byDay = await reader.read('day', span.startMs, span.endMs);
  let minutes = await readMinutes(range);
  if (!areConsistent(byDay.sums, minutes.sums, minutes.sums)) {
    // A fault of the service may lower either answer for a moment: the larger one counts.
    const again = await readMinutes(range);
    minutes = grandTotal(again.sums) >= grandTotal(minutes.sums) ? again : minutes;
    byDay = await reader.read('day', span.startMs, span.endMs);
  }
  return { ...minutes, byDay: byDay.sums };
}

/** Reads a range once, without a comparison. Throws a ServiceError if a key cannot be parsed. */
export async function readMinutes(range: MinuteRange): Promise<Minutes> {
  const { span, reader } = range;
  const whole = await reader.read('minute', span.startMs, span.endMs);
  const chunks = await readChunks(
    whole,
    (fromMs, toMs) => reader.read('minute', fromMs, toMs),
    (chunk) => !isZero(chunk.sums) && isForced(chunk),
  );
  return { days: countDays(range, chunks ?? []), sums: sumChunks(chunks ?? []) };
}

/**
 * A row of a chunk that is not by minute, or with the time of a wrong clock, is added to the nearest minute of
 * the range: the totals are the service's in any case.
 */
function countDays(
  { span, calendar, stream, keyTimes }: MinuteRange,
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
      // If windows include their end, the minute at the end of the range belongs to the next range.
      if (atMs !== span.endMs) {
        counter.add(Math.min(lastMs, Math.max(span.startMs, atMs)), counts, sign);
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
