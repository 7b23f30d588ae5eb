/** Limits the log lines about customers: a thousand that fail at once must not flood the log. */
import type { Clock } from '../base/clock.ts';
import type { FailureReason, ServiceError } from '../base/errors.ts';
import type { LogFields, Logger } from '../base/log.ts';
import { MINUTE_MS } from '../base/duration.ts';
import type { PollNote } from '../counting/totals/state.ts';

/** Limit for each message. */
const MAX_LINES_PER_MINUTE = 20;

export class LogLimiter {
  readonly #log: Logger;
  readonly #clock: Clock;
  /** By message: a rare one must not be suppressed by a frequent one. */
  readonly #minutes = new Map<string, { readonly startMs: number; lines: number }>();

  constructor({ log, clock }: { readonly log: Logger; readonly clock: Clock }) {
    this.#log = log;
    this.#clock = clock;
  }

  /** Logs, unless the message has used up its lines. Returns whether it did. */
  tryLog(level: 'info' | 'warn', message: string, fields: LogFields): boolean {
    this.reportSuppressed();
    const minute = this.#minutes.get(message) ?? { startMs: this.#clock.monotonicMs(), lines: 0 };
    this.#minutes.set(message, minute);
    minute.lines += 1;
    if (minute.lines > MAX_LINES_PER_MINUTE) {
      return false;
    }
    this.#log[level](message, fields);
    return true;
  }

  /** Logs how many lines of each message were suppressed in a minute that is over. To be called regularly. */
  reportSuppressed(): void {
    for (const [message, { startMs, lines }] of this.#minutes) {
      if (this.#clock.monotonicMs() - startMs >= MINUTE_MS) {
        this.#minutes.delete(message);
        const suppressed = lines - MAX_LINES_PER_MINUTE;
        if (suppressed > 0) {
          this.#log.warn('log messages suppressed', { suppressed_msg: message, lines: suppressed });
        }
      }
    }
  }
}

/** One stream of one customer. */
export interface PolledStream {
  readonly customer: { readonly customer: string };
  readonly stream: string;
}

/** After so many successes without a note in a row, or so many failures, a failure is logged again. */
const POLLS_UNTIL_REPEATED = 10;

/** What was logged about a stream, until it is forgotten. */
interface StreamLog {
  readonly logged: Set<FailureReason | PollNote>;
  failuresInARow: number;
  successesInARow: number;
  /** A failure was logged, its end was not. */
  recoveryPending: boolean;
}

/**
 * Logs each kind of failure of a stream once and when it lasts, and its recovery. A stream that fails at
 * every other poll keeps failing.
 */
export class PollLog {
  readonly #log: Logger;
  readonly #limiter: LogLimiter;
  readonly #streams = new WeakMap<PolledStream, StreamLog>();

  constructor(log: Logger, limiter: LogLimiter) {
    this.#log = log;
    this.#limiter = limiter;
  }

  failed(polled: PolledStream, { reason, message }: ServiceError): void {
    const known = this.#streamOf(polled);
    known.successesInARow = 0;
    known.failuresInARow += 1;
    if (!known.logged.has(reason) || known.failuresInARow === POLLS_UNTIL_REPEATED) {
      known.logged.add(reason);
      const fields = {
        ...fieldsOf(polled),
        reason,
        error: message,
        failures_in_a_row: known.failuresInARow,
      };
      known.recoveryPending =
        this.#limiter.tryLog('warn', 'poll failed', fields) || known.recoveryPending;
    }
  }

  succeeded(polled: PolledStream, notes: readonly PollNote[]): void {
    if (notes.length === 0 && !this.#streams.has(polled)) {
      return;
    }
    const known = this.#streamOf(polled);
    if (known.recoveryPending) {
      // Not limited: each of these follows a line that was.
      this.#log.info('polling recovered', {
        ...fieldsOf(polled),
        failures_in_a_row: known.failuresInARow,
      });
    }
    known.recoveryPending = false;
    known.failuresInARow = 0;
    known.successesInARow = notes.length === 0 ? known.successesInARow + 1 : 0;
    for (const note of notes.filter((one) => !known.logged.has(one))) {
      known.logged.add(note);
      this.#logNote(polled, note);
    }
    if (known.successesInARow >= POLLS_UNTIL_REPEATED) {
      this.#streams.delete(polled);
    }
  }

  #logNote(polled: PolledStream, note: PollNote): void {
    if (note === 'key_format_detected') {
      this.#log.debug(NOTE_MESSAGES[note], fieldsOf(polled));
    } else {
      this.#limiter.tryLog('warn', NOTE_MESSAGES[note], fieldsOf(polled));
    }
  }

  #streamOf(polled: PolledStream): StreamLog {
    const known = this.#streams.get(polled) ?? {
      logged: new Set(),
      failuresInARow: 0,
      successesInARow: 0,
      recoveryPending: false,
    };
    this.#streams.set(polled, known);
    return known;
  }
}

const NOTE_MESSAGES = {
  empty_response_pending: 'empty response ignored until confirmed',
  increase_pending: 'implausible increase ignored until confirmed',
  aggregations_inconsistent: 'aggregations inconsistent, keeping previous values',
  totals_by_quarter: 'day totals unusable, using quarter',
  totals_by_minute: 'day and quarter totals inconsistent, using minute',
  breakdown_keys_dropped: 'too many breakdown keys, some dropped',
  key_format_unknown: 'unknown minute key format, occupancy unavailable',
  key_format_detected: 'minute key format detected',
} as const satisfies Record<PollNote, string>;

function fieldsOf({ customer, stream }: PolledStream): { customer: string; stream: string } {
  return { customer: customer.customer, stream };
}
