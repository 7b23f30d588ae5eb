/**
 * Tells of polls that fail without flooding the log: the first failure of a kind, then ever rarer
 * repetitions, and the end. A customer that fails at every other poll is one that goes on failing.
 */
import type { FailureReason, ServiceError } from '../base/errors.ts';
import type { PollNote } from '../counting/state.ts';
import type { LogLimiter } from './log-limiter.ts';

/** One stream of one customer. What is remembered of it goes when the object goes. */
export interface Polled {
  readonly customer: { readonly customer: string };
  readonly stream: string;
}

/** After so many good polls in a row, the next failure is the first one again. */
const GOOD_POLLS_UNTIL_FORGOTTEN = 10;

interface Trouble {
  /** How often there was each kind of it. */
  readonly times: Map<FailureReason | PollNote, number>;
  failuresInARow: number;
  goodInARow: number;
  /** A failure was told, its end was not. */
  endOwed: boolean;
}

export class FailureLog {
  readonly #lines: LogLimiter;
  readonly #noteLines: LogLimiter;
  readonly #troubles = new WeakMap<Polled, Trouble>();

  /** Notes have lines of their own: most are told once, and must not drown in failures. */
  constructor(lines: LogLimiter, noteLines: LogLimiter) {
    this.#lines = lines;
    this.#noteLines = noteLines;
  }

  failed(polled: Polled, error: ServiceError): void {
    const trouble = this.#troubleOf(polled);
    trouble.goodInARow = 0;
    trouble.failuresInARow += 1;
    const times = another(trouble, error.reason);
    if (isPowerOfTen(times)) {
      const told = this.#lines.tell('warn', 'poll failed', {
        ...fieldsOf(polled),
        reason: error.reason,
        error: error.message,
        failures_in_a_row: trouble.failuresInARow,
        failures_of_this_kind: times,
      });
      trouble.endOwed ||= told;
    }
  }

  /** A good poll, and what is to be said of it nevertheless. */
  succeeded(polled: Polled, notes: readonly PollNote[]): void {
    const known = this.#troubles.get(polled);
    if (known === undefined && notes.length === 0) {
      return;
    }
    const trouble = this.#troubleOf(polled);
    if (trouble.endOwed) {
      this.#lines.logAlways('info', 'polls are good again', {
        ...fieldsOf(polled),
        failures_in_a_row: trouble.failuresInARow,
      });
    }
    trouble.endOwed = false;
    trouble.failuresInARow = 0;
    trouble.goodInARow = notes.length === 0 ? trouble.goodInARow + 1 : 0;
    notes.forEach((note) => this.#tell(polled, note, another(trouble, note)));
    if (trouble.goodInARow >= GOOD_POLLS_UNTIL_FORGOTTEN) {
      this.#troubles.delete(polled);
    }
  }

  #tell(polled: Polled, note: PollNote, times: number): void {
    const { level, message } = NOTES[note];
    const fields = { ...fieldsOf(polled), times };
    if (level === 'debug') {
      this.#lines.debug(message, fields);
    } else if (isPowerOfTen(times)) {
      this.#noteLines.tell(level, message, fields);
    }
  }

  #troubleOf(polled: Polled): Trouble {
    const known = this.#troubles.get(polled);
    const trouble = known ?? { times: new Map(), failuresInARow: 0, goodInARow: 0, endOwed: false };
    this.#troubles.set(polled, trouble);
    return trouble;
  }
}

const NOTES = {
  empty_not_believed: {
    level: 'warn',
    message: 'an answer without counts is not believed before it has come again',
  },
  rise_not_believed: {
    level: 'warn',
    message: 'a rise out of all proportion is not believed before it has come again',
  },
  totals_by_quarter: {
    level: 'warn',
    message: 'the aggregation day does not agree with minute, totals are read by quarter',
  },
  totals_by_minute: {
    level: 'warn',
    message: 'the aggregations day and quarter do not agree with minute, totals are read by minute',
  },
  keys_left_out: {
    level: 'warn',
    message:
      'there are more keys than are shown of a breakdown, library_breakdown_keys_dropped says how many',
  },
  keys_unknown: {
    level: 'warn',
    message: 'the keys of the minutes have no known form, there is no occupancy and no last seen',
  },
  keys_established: { level: 'debug', message: 'the form of the minute keys is established' },
} as const satisfies Record<PollNote, { level: 'debug' | 'warn'; message: string }>;

function fieldsOf({ customer, stream }: Polled): { customer: string; stream: string } {
  return { customer: customer.customer, stream };
}

/** How often there was this kind now. */
function another(trouble: Trouble, kind: FailureReason | PollNote): number {
  const times = (trouble.times.get(kind) ?? 0) + 1;
  trouble.times.set(kind, times);
  return times;
}

function isPowerOfTen(count: number): boolean {
  return /^10*$/.test(String(count));
}
