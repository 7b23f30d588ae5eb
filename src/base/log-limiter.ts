/** Limits the log lines about customers: a thousand that fail at once must not flood the log. */
import type { Clock } from './clock.ts';
import { MINUTE_MS } from './duration.ts';
import type { LogFields, Logger } from './log.ts';

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
