/**
 * Today's minutes, and what depends on their order: occupancy and last seen (rule 9). The minutes of
 * a poll are today's minutes at the baseline, without those of `recentAtBaseline`, plus `recent`.
 */
import type { Row } from '../base/model.ts';
import { contains, MINUTE_MS } from './calendar.ts';
import type { Span } from './calendar.ts';
import { at, isZero, minus, plus } from './counts.ts';
import type { Counts } from './counts.ts';
import { keyParser } from './key-format.ts';
import type { KeyFormatState } from './key-format.ts';
import { isForced, readChunks } from './query.ts';
import type { Chunk, WindowReader, WindowResponse } from './query.ts';
import type { Zone } from './zone.ts';

export interface CountedMinute {
  readonly startMs: number;
  readonly counts: Counts;
}

/** Sorted, each minute once, without minutes that counted nobody. */
export type Minutes = readonly CountedMinute[];

/** The start of a row's minute; undefined if its key cannot be parsed. */
export type ParseRow = (row: Row) => number | undefined;

/** Undefined if a key cannot be parsed. Rows of one minute are added up. */
export function minutesOf(rows: readonly Row[], parse: ParseRow): Minutes | undefined {
  const found: CountedMinute[] = [];
  for (const row of rows) {
    const startMs = parse(row);
    if (startMs === undefined) {
      return undefined;
    }
    if (!isZero(row.counts)) {
      found.push({ startMs, counts: row.counts });
    }
  }
  return sumMinutes(found);
}

export function addMinutes(a: Minutes, b: Minutes): Minutes {
  return b.length === 0 ? a : sumMinutes([...a, ...b]);
}

export function subtractMinutes(a: Minutes, b: Minutes): Minutes {
  return addMinutes(
    a,
    b.map(({ startMs, counts }) => ({
      startMs,
      counts: minus(
        counts.map(() => 0),
        counts,
      ),
    })),
  );
}

function sumMinutes(minutes: readonly CountedMinute[]): Minutes {
  const sorted = minutes.toSorted((a, b) => a.startMs - b.startMs);
  const sums: CountedMinute[] = [];
  for (const minute of sorted) {
    const last = sums.at(-1);
    if (last?.startMs === minute.startMs) {
      sums[sums.length - 1] = { ...last, counts: plus(last.counts, minute.counts) };
    } else {
      sums.push(minute);
    }
  }
  return sums.filter(({ counts }) => !isZero(counts));
}

/** The distance of two samples of an occupancy series. */
export const SAMPLE_MS = 15 * MINUTE_MS;
/** 26 hours. Minutes after the longest possible day are in the last sample. */
const MAX_SAMPLES = 104;

/**
 * People inside at the end of each quarter of an hour of `span`; the last sample is at the end of
 * the span. Clamped at 0 in each minute: after a missed entry, an exit is ignored and does not lower
 * the rest of the day.
 */
export function computeOccupancy(minutes: Minutes, { startMs: fromMs, endMs }: Span): number[] {
  const samples: number[] = [];
  let inside = 0;
  for (const { startMs, counts } of minutes) {
    if (startMs < fromMs || startMs >= endMs) {
      continue;
    }
    const ended = Math.min(Math.floor((startMs - fromMs) / SAMPLE_MS), MAX_SAMPLES - 1);
    while (samples.length < ended) {
      samples.push(inside);
    }
    inside = nextOccupancy(inside, at(counts, 0), at(counts, 1));
  }
  while (samples.length < MAX_SAMPLES && samples.length * SAMPLE_MS < endMs - fromMs) {
    samples.push(inside);
  }
  return samples;
}

/** People inside after a minute. */
export function nextOccupancy(inside: number, entered: number, exited: number): number {
  return Math.max(0, inside + Math.max(0, entered) - Math.max(0, exited));
}

/** Start of the newest minute of a span that counted anybody. */
export function lastSeenIn(minutes: Minutes, span: Span): number | undefined {
  return minutes.findLast(
    ({ startMs, counts }) => contains(span, startMs) && counts.some((count) => count > 0),
  )?.startMs;
}

/** Counts of a span. */
export function sumOf(minutes: Minutes, span: Span, counterCount: number): Counts {
  const sums = Array.from({ length: counterCount }, () => 0);
  for (const { startMs, counts } of minutes) {
    if (contains(span, startMs)) {
      counts.forEach((count, counter) => {
        sums[counter] = at(sums, counter) + count;
      });
    }
  }
  return sums;
}

/**
 * A response by minute, in chunks if the service forced another aggregation; undefined if it forces
 * one for short windows, too, or if that takes too long.
 */
export async function readByMinute(
  reader: WindowReader,
  response: WindowResponse,
): Promise<readonly Chunk[] | undefined> {
  function isCoarse({ aggregation, sums }: WindowResponse): boolean {
    return aggregation !== 'minute' && !isZero(sums);
  }
  const chunks = await readChunks(
    response,
    async (fromMs, toMs) => {
      const half = await reader.readOptional('minute', fromMs, toMs);
      // Where one short window is forced, the others are, too.
      return half && isCoarse(half) && !isForced(half) ? undefined : half;
    },
    (chunk) => isCoarse(chunk) && isForced(chunk),
  );
  return chunks?.some(isCoarse) ? undefined : chunks?.filter(({ sums }) => !isZero(sums));
}

/** Undefined if a key cannot be parsed. */
export function minutesOfChunks(
  chunks: readonly Chunk[],
  keyFormat: KeyFormatState,
  zone: Zone,
): Minutes | undefined {
  return chunks.reduce<Minutes | undefined>((sum, { rows, window, sign }) => {
    const minutes = minutesOf(rows, keyParser(keyFormat, window, zone));
    return sum && minutes && (sign > 0 ? addMinutes(sum, minutes) : subtractMinutes(sum, minutes));
  }, []);
}
