/** What is logged about polls: each kind of failure of a stream once and when it lasts, and its end. */
import type { FailureReason, ServiceError } from '../base/errors.ts';
import type { LogLimiter } from '../base/log-limiter.ts';
import type { Logger } from '../base/log.ts';
import type { PollNote } from '../counting/totals/state.ts';
import type { NamedCustomer, PollJob } from './job.ts';

/** One stream of one customer. */
export type PolledStream = Pick<PollJob, 'stream'> & { readonly customer: NamedCustomer };

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
  #isTooSlow = false;

  constructor(log: Logger, limiter: LogLimiter) {
    this.#log = log;
    this.#limiter = limiter;
  }

  failed(polled: PolledStream, { reason, message }: ServiceError): void {
    const streamLog = this.#streamOf(polled);
    streamLog.successesInARow = 0;
    streamLog.failuresInARow += 1;
    if (!streamLog.logged.has(reason) || streamLog.failuresInARow === POLLS_UNTIL_REPEATED) {
      streamLog.logged.add(reason);
      const fields = {
        ...fieldsOf(polled),
        reason,
        error: message,
        failures_in_a_row: streamLog.failuresInARow,
      };
      streamLog.recoveryPending =
        this.#limiter.tryLog('warn', 'poll failed', fields) || streamLog.recoveryPending;
    }
  }

  succeeded(polled: PolledStream, notes: readonly PollNote[]): void {
    if (notes.length === 0 && !this.#streams.has(polled)) {
      return;
    }
    const streamLog = this.#streamOf(polled);
    if (streamLog.recoveryPending) {
      // Not limited: each of these follows a line that was.
      this.#log.info('polling recovered', {
        ...fieldsOf(polled),
        failures_in_a_row: streamLog.failuresInARow,
      });
    }
    streamLog.recoveryPending = false;
    streamLog.failuresInARow = 0;
    streamLog.successesInARow = notes.length === 0 ? streamLog.successesInARow + 1 : 0;
    for (const note of notes.filter((one) => !streamLog.logged.has(one))) {
      streamLog.logged.add(note);
      this.#logNote(polled, note);
    }
    if (streamLog.successesInARow >= POLLS_UNTIL_REPEATED) {
      this.#streams.delete(polled);
    }
  }

  /** Once: it concerns the configuration more than the customer. */
  tooSlow(polled: PolledStream, tookMs: number, intervalMs: number): void {
    if (!this.#isTooSlow) {
      this.#isTooSlow = true;
      this.#log.warn('service too slow for the polling interval', {
        ...fieldsOf(polled),
        poll_seconds: tookMs / 1000,
        interval_seconds: intervalMs / 1000,
      });
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
    const streamLog = this.#streams.get(polled) ?? {
      logged: new Set(),
      failuresInARow: 0,
      successesInARow: 0,
      recoveryPending: false,
    };
    this.#streams.set(polled, streamLog);
    return streamLog;
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
