/** Limits the log lines about customers: a thousand that fail at once must not flood the log. */
import type { Clock } from '../base/clock.ts';
import type { FailureReason, ServiceError } from '../base/errors.ts';
import type { LogFields, Logger } from '../base/log.ts';
import { MINUTE_MS } from '../counting/calendar/calendar.ts';
import type { PollNote } from '../counting/totals/state.ts';

/** Of each message. */
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

/** After so many successes in a row, the next failure counts as the first one. */
const SUCCESSES_UNTIL_FORGOTTEN = 10;

interface FailureHistory {
  readonly counts: Map<FailureReason | PollNote, number>;
  failuresInARow: number;
  successesInARow: number;
  /** A failure was logged, its end was not. */
  recoveryPending: boolean;
}

/**
 * Logs the first, tenth, hundredth … failure of each kind, and the recovery. A customer that fails at
 * every other poll keeps failing.
 */
export class PollLog {
  readonly #log: Logger;
  readonly #limiter: LogLimiter;
  readonly #histories = new WeakMap<PolledStream, FailureHistory>();

  constructor(log: Logger, limiter: LogLimiter) {
    this.#log = log;
    this.#limiter = limiter;
  }

  failed(polled: PolledStream, error: ServiceError): void {
    const history = this.#historyOf(polled);
    history.successesInARow = 0;
    history.failuresInARow += 1;
    const count = increment(history, error.reason);
    if (isPowerOfTen(count)) {
      const logged = this.#limiter.tryLog('warn', 'poll failed', {
        ...fieldsOf(polled),
        reason: error.reason,
        error: error.message,
        failures_in_a_row: history.failuresInARow,
        failures_with_this_reason: count,
      });
      history.recoveryPending ||= logged;
    }
  }

  succeeded(polled: PolledStream, notes: readonly PollNote[]): void {
    if (notes.length === 0 && !this.#histories.has(polled)) {
      return;
    }
    const history = this.#historyOf(polled);
    if (history.recoveryPending) {
      // Not limited: each of these follows a line that was.
      this.#log.info('polling recovered', {
        ...fieldsOf(polled),
        failures_in_a_row: history.failuresInARow,
      });
    }
    history.recoveryPending = false;
    history.failuresInARow = 0;
    history.successesInARow = notes.length === 0 ? history.successesInARow + 1 : 0;
    notes.forEach((note) => this.#logNote(polled, note, increment(history, note)));
    if (history.successesInARow >= SUCCESSES_UNTIL_FORGOTTEN) {
      this.#histories.delete(polled);
    }
  }

  #logNote(polled: PolledStream, note: PollNote, times: number): void {
    const fields = { ...fieldsOf(polled), times };
    if (note === 'key_format_detected') {
      this.#log.debug(NOTE_MESSAGES[note], fields);
    } else if (isPowerOfTen(times)) {
      this.#limiter.tryLog('warn', NOTE_MESSAGES[note], fields);
    }
  }

  #historyOf(polled: PolledStream): FailureHistory {
    const history = this.#histories.get(polled) ?? {
      counts: new Map(),
      failuresInARow: 0,
      successesInARow: 0,
      recoveryPending: false,
    };
    this.#histories.set(polled, history);
    return history;
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

function increment({ counts }: FailureHistory, kind: FailureReason | PollNote): number {
  const count = (counts.get(kind) ?? 0) + 1;
  counts.set(kind, count);
  return count;
}

function isPowerOfTen(count: number): boolean {
  return /^10*$/.test(String(count));
}
