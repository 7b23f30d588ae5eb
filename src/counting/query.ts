/** How counting reads the service: one window at a time, through the `query` that it is given. */
import { isTransient } from '../base/errors.ts';
import type { Aggregation, AggregatedResponse, Endpoint, Question } from '../base/model.ts';
import type { Calendar, Span } from './calendar.ts';
import { anyBelow, grandTotal, sumRows } from './counts.ts';
import type { Counts } from './counts.ts';

/** Sends one question to the service. Rejects with a ServiceError if there is no valid response. */
export type Query = (question: Question) => Promise<AggregatedResponse>;

export interface WindowResponse extends AggregatedResponse {
  readonly sums: Counts;
  /** The requested window; without an end, up to when the response came. */
  readonly window: Span;
}

export interface WindowReaderOptions {
  readonly query: Query;
  readonly endpoint: Endpoint;
  readonly counterCount: number;
  readonly calendar: Calendar;
  readonly nowMs: () => number;
  /** Whether optional requests are still allowed. */
  readonly hasTime: () => boolean;
}

/** The requests of one poll. */
export interface WindowReader {
  /** Without `toMs` the window is open at the end. */
  read(aggregation: Aggregation, fromMs: number, toMs?: number): Promise<WindowResponse>;
  /** Requests again if any sum is below `expected`, and returns the larger response (rule 3). */
  readAgainIfBelow(
    expected: Counts | undefined,
    aggregation: Aggregation,
    fromMs: number,
  ): Promise<WindowResponse>;
  /**
   * For what no counter needs. Undefined if half of the poll's time is over or the service did not
   * respond, so that the poll can succeed without it.
   */
  readOptional(
    aggregation: Aggregation,
    fromMs: number,
    toMs?: number,
  ): Promise<WindowResponse | undefined>;
}

export function createWindowReader(options: WindowReaderOptions): WindowReader {
  const { query, endpoint, counterCount, calendar, nowMs, hasTime } = options;
  let serviceFailed = false;

  async function read(
    aggregation: Aggregation,
    fromMs: number,
    toMs?: number,
  ): Promise<WindowResponse> {
    const from = calendar.zone.format(fromMs);
    const response = await query(
      toMs === undefined
        ? { endpoint, aggregation, from }
        : { endpoint, aggregation, from, to: calendar.zone.format(toMs) },
    );
    return {
      ...response,
      sums: sumRows(response.rows, counterCount),
      window: { startMs: fromMs, endMs: toMs ?? nowMs() },
    };
  }

  function readAgainIfBelow(
    expected: Counts | undefined,
    aggregation: Aggregation,
    fromMs: number,
  ): Promise<WindowResponse> {
    return readLarger(
      () => read(aggregation, fromMs),
      ({ sums }) => expected !== undefined && anyBelow(sums, expected),
      ({ sums }) => grandTotal(sums),
    );
  }

  async function readOptional(
    aggregation: Aggregation,
    fromMs: number,
    toMs?: number,
  ): Promise<WindowResponse | undefined> {
    if (serviceFailed || !hasTime()) {
      return undefined;
    }
    try {
      return await read(aggregation, fromMs, toMs);
    } catch (error) {
      // A missing response can be ignored here. A malformed one fails the poll.
      if (!isTransient(error)) {
        throw error;
      }
      serviceFailed = true;
      return undefined;
    }
  }

  return { read, readAgainIfBelow, readOptional };
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
