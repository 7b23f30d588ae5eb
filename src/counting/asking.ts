/**
 * Questions as a conversation: counting yields what it wants to know and is handed the answer, so
 * that it stays pure and whoever drives it decides how to ask.
 */
import type { Aggregation, Endpoint, Question, AggregatedResponse } from '../base/model.ts';
import { isTransient } from '../base/errors.ts';
import type { Calendar, Span } from './calendar.ts';
import { anyBelow, grandTotal, sumRows } from './counts.ts';
import type { Counts } from './counts.ts';

/**
 * A piece of counting that asks questions on its way to a result. A question that was not answered
 * is thrown into it.
 */
export type Asking<Result> = Generator<Question, Result, AggregatedResponse>;

export interface Answer extends AggregatedResponse {
  readonly sums: Counts;
  /** What was asked for; without an end, up to when it was answered. */
  readonly window: Span;
}

export interface InquirerOptions {
  readonly endpoint: Endpoint;
  readonly counterCount: number;
  readonly calendar: Calendar;
  readonly nowMs: () => number;
  readonly hasTime: () => boolean;
}

/**
 * The questions of one poll. A class and not closures: a generator function that is made anew for
 * every poll has an object in V8's old space, which keeps the poll until all of the heap is collected.
 */
export class Inquirer {
  readonly #options: InquirerOptions;
  #gaveUp = false;

  constructor(options: InquirerOptions) {
    this.#options = options;
  }

  /** Asks once. Without `toMs` the window is open at the end. */
  *ask(aggregation: Aggregation, fromMs: number, toMs?: number): Asking<Answer> {
    const { endpoint, counterCount, calendar, nowMs } = this.#options;
    const from = calendar.zone.format(fromMs);
    const reading = yield toMs === undefined
      ? { endpoint, aggregation, from }
      : { endpoint, aggregation, from, to: calendar.zone.format(toMs) };
    return {
      ...reading,
      sums: sumRows(reading.rows, counterCount),
      window: { startMs: fromMs, endMs: toMs ?? nowMs() },
    };
  }

  /**
   * Asks, and asks again at once if any sum is below `expected`: what the service shows for a
   * moment after a fault of its own is lower, or empty. The larger of both answers counts.
   */
  *askTwiceIfBelow(
    expected: Counts | undefined,
    aggregation: Aggregation,
    fromMs: number,
  ): Asking<Answer> {
    const first = yield* this.ask(aggregation, fromMs);
    if (expected === undefined || !anyBelow(first.sums, expected)) {
      return first;
    }
    const second = yield* this.ask(aggregation, fromMs);
    return grandTotal(second.sums) >= grandTotal(first.sums) ? second : first;
  }

  /**
   * Asks what only the order of minutes needs, and no counter: undefined where half of the poll's
   * time is over, or the service did not answer, so that the poll ends well without it.
   */
  *askForOrder(
    aggregation: Aggregation,
    fromMs: number,
    toMs?: number,
  ): Asking<Answer | undefined> {
    if (this.#gaveUp || !this.#options.hasTime()) {
      return undefined;
    }
    try {
      return yield* this.ask(aggregation, fromMs, toMs);
    } catch (error) {
      // No answer is one thing; a bad one is another matter, and ends the poll.
      if (!isTransient(error)) {
        throw error;
      }
      this.#gaveUp = true;
      return undefined;
    }
  }
}
