/** How counting reads the service: one window at a time, through the `query` that it is given. */
import { isTransient } from '../../base/errors.ts';
import { COUNTERS } from '../../base/model.ts';
import type {
  Aggregation,
  AggregatedResponse,
  MinuteStream,
  WindowQuery,
} from '../../base/model.ts';
import { DAY_MS, MINUTE_MS } from '../../base/duration.ts';
import type { Span } from '../calendar/calendar.ts';
import { anyBelow, countOf, grandTotal, isZero, sumCounts } from './counts.ts';
import type { Counts } from './counts.ts';
import type { Zone } from '../calendar/zone.ts';

/**
 * Sends one question to the service. Rejects with a ServiceError if there is no valid response, or if
 * the question is optional and there is no time for it.
 */
export type Query = (question: WindowQuery, necessity?: 'optional') => Promise<AggregatedResponse>;

export interface WindowResponse extends AggregatedResponse {
  readonly sums: Counts;
  /** The requested window; without an end, up to when the response came. */
  readonly window: Span;
  /** The requested end. */
  readonly toMs: number | undefined;
}

export interface WindowReaderOptions {
  readonly query: Query;
  readonly stream: MinuteStream;
  readonly zone: Zone;
  readonly nowMs: () => number;
}

/** The requests of one poll. Without `toMs` a window is open at the end. */
export class WindowReader {
  readonly #options: WindowReaderOptions;
  #serviceFailed = false;

  constructor(options: WindowReaderOptions) {
    this.#options = options;
  }

  async read(
    aggregation: Aggregation,
    fromMs: number,
    toMs?: number,
    necessity?: 'optional',
  ): Promise<WindowResponse> {
    const { query, stream, zone, nowMs } = this.#options;
    const question = {
      endpoint: stream === 'people' ? 'peoplecount' : 'login',
      aggregation,
      from: zone.format(fromMs),
      ...(toMs !== undefined && { to: zone.format(toMs) }),
    } as const;
    const response = await query(question, necessity);
    return {
      ...response,
      sums: sumCounts(response.rows, COUNTERS[stream]),
      window: { startMs: fromMs, endMs: toMs ?? nowMs() },
      toMs,
    };
  }

  /** Requests again if any sum is below `expected`, and returns the larger response (rule 3). */
  readAgainIfBelow(
    expected: Counts | undefined,
    aggregation: Aggregation,
    fromMs: number,
    toMs?: number,
  ): Promise<WindowResponse> {
    return readLarger(
      () => this.read(aggregation, fromMs, toMs),
      ({ sums }) => expected !== undefined && anyBelow(sums, expected),
      ({ sums }) => grandTotal(sums),
    );
  }

  /** Reads what no counter needs. Undefined without a response, so that the poll can succeed without it. */
  async readOptional(
    aggregation: Aggregation,
    fromMs: number,
    toMs?: number,
  ): Promise<WindowResponse | undefined> {
    if (this.#serviceFailed) {
      return undefined;
    }
    try {
      return await this.read(aggregation, fromMs, toMs, 'optional');
    } catch (error) {
      // A missing response can be ignored here. A malformed one fails the poll.
      if (!isTransient(error)) {
        throw error;
      }
      this.#serviceFailed = true;
      return undefined;
    }
  }
}

/**
 * Rule 3: a low response is requested again, and the larger one is used. A fault of the service
 * lowers a response for a moment, or empties it.
 */
export async function readLarger<Response>(
  read: () => Promise<Response>,
  isLow: (response: Response) => boolean,
  total: (response: Response) => number,
): Promise<Response> {
  const first = await read();
  if (!isLow(first)) {
    return first;
  }
  const second = await read();
  return total(second) >= total(first) ? second : first;
}

/** A part of a window. */
export interface Chunk extends WindowResponse {
  /** -1 for the overlap of two chunks, which is in both. */
  readonly sign: 1 | -1;
}

/** Chunks this short are used even if the service forced another aggregation. */
export const MIN_CHUNK_MS = 30 * MINUTE_MS;
const OVERLAP_MS = 2 * MINUTE_MS;

/** Whether the service forced another aggregation, as it does for long windows. */
export function isForced({ aggregation, window }: WindowResponse): boolean {
  return aggregation !== 'minute' && lengthOf(window) > MIN_CHUNK_MS;
}

function lengthOf({ startMs, endMs }: Span): number {
  return endMs - startMs;
}

/**
 * Returns `whole` if it is not `tooLong`, else both halves of its window, halved in the same way. They
 * overlap, and the overlap is read by itself: so each record counts once, whether or not a window
 * includes its edges. Undefined if `read` returns undefined.
 */
export async function readChunks(
  whole: WindowResponse,
  read: (fromMs: number, toMs: number | undefined) => Promise<WindowResponse | undefined>,
  tooLong: (response: WindowResponse) => boolean,
  overlapMs = OVERLAP_MS,
): Promise<readonly Chunk[] | undefined> {
  if (!tooLong(whole)) {
    return [{ ...whole, sign: 1 }];
  }
  async function readHalf(
    fromMs: number,
    toMs: number | undefined,
  ): Promise<readonly Chunk[] | undefined> {
    const half = await read(fromMs, toMs);
    return half && readChunks(half, read, tooLong, overlapMs);
  }
  const { startMs } = whole.window;
  // Windows start with a day, when few people are counted. So do halves of a long one.
  const stepMs = lengthOf(whole.window) > 2 * DAY_MS ? DAY_MS : MINUTE_MS;
  const middleMs = startMs + Math.floor(lengthOf(whole.window) / 2 / stepMs) * stepMs;
  const overlapEndMs = middleMs + overlapMs;
  const hasOverlap = overlapMs > 0;
  const early = hasOverlap ? await read(middleMs, overlapEndMs) : undefined;
  if (hasOverlap && early === undefined) {
    return undefined;
  }
  const before = await readHalf(startMs, overlapEndMs);
  const after = before && (await readHalf(middleMs, whole.toMs));
  if (before === undefined || after === undefined) {
    return undefined;
  }
  const isOneEmpty = [before, after].some((half) => half.every(({ sums }) => isZero(sums)));
  if (early === undefined || isOneEmpty) {
    return [...before, ...after];
  }
  const late = await read(middleMs, overlapEndMs);
  // A fault may lower a response, and too small an overlap would make the total too high. One that is
  // too large is corrected by the next reading.
  const overlap = late && grandTotal(late.sums) < grandTotal(early.sums) ? early : late;
  return overlap && [...before, ...after, { ...overlap, sign: -1 }];
}

/** Returns the sums of chunks, without their overlaps. */
export function sumChunks(chunks: readonly Chunk[]): Counts {
  return chunks.reduce<Counts>(
    (total, { sums, sign }) => sums.map((sum, counter) => countOf(total, counter) + sign * sum),
    [],
  );
}

/** Windows that such a response is split into. */
const MAX_CHUNKS = 32;

/**
 * Returns responses by `minute` that have counts, for what no counter needs: their edges may be in two
 * of them, or in none. Undefined if the service forces another aggregation even for a small part of the
 * window, or the poll has no time.
 */
export async function readByMinute(
  reader: WindowReader,
  response: WindowResponse,
  maxChunks = MAX_CHUNKS,
): Promise<readonly WindowResponse[] | undefined> {
  const minMs = Math.max(2 * MINUTE_MS, lengthOf(response.window) / maxChunks);
  function isUnknown({ aggregation, sums }: WindowResponse): boolean {
    return aggregation !== 'minute' && !isZero(sums);
  }
  const chunks = await readChunks(
    // What comes later belongs to later responses.
    { ...response, toMs: response.window.endMs },
    async (fromMs, toMs) => {
      const part = await reader.readOptional('minute', fromMs, toMs);
      return part && isUnknown(part) && lengthOf(part.window) <= minMs ? undefined : part;
    },
    isUnknown,
    0,
  );
  return chunks?.filter(({ sums }) => !isZero(sums));
}
