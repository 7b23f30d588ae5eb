/**
 * How many lines the log gets about all customers together: a thousand that fail at once must not
 * bury what else is said. Whatever is left out is counted, and the number told.
 */
import type { Clock } from '../base/clock.ts';
import type { LogFields, Logger } from '../base/log.ts';

/** So many lines at once, and then so many a minute. */
const MOST_AT_ONCE = 20;
const LINES_PER_MINUTE = 20;
const MINUTE_MS = 60_000;

export interface LogLimiterOptions {
  readonly log: Logger;
  readonly clock: Clock;
}

export class LogLimiter {
  readonly #log: Logger;
  readonly #clock: Clock;
  #lines = MOST_AT_ONCE;
  #filledAtMs = 0;
  #leftOut = 0;
  #leavingOutSinceMs = 0;

  constructor({ log, clock }: LogLimiterOptions) {
    this.#log = log;
    this.#clock = clock;
  }

  /** Logs a line if there is room for it; says whether. */
  tell(level: 'info' | 'warn', message: string, fields: LogFields): boolean {
    this.reportSuppressed();
    if (this.#lines < 1) {
      this.#leavingOutSinceMs = this.#leftOut === 0 ? this.#filledAtMs : this.#leavingOutSinceMs;
      this.#leftOut += 1;
      return false;
    }
    this.logAlways(level, message, fields);
    return true;
  }

  /** Logs a line that must be heard, such as the end of what was told; later ones pay for it. */
  logAlways(level: 'info' | 'warn', message: string, fields: LogFields): void {
    this.#lines -= 1;
    this.#log[level](message, fields);
  }

  /** Details for whoever asked for them, which have no bound here. */
  debug(message: string, fields: LogFields): void {
    this.#log.debug(message, fields);
  }

  /** Says, once a minute at most, how many lines there was no room for. To be called regularly. */
  reportSuppressed(): void {
    const nowMs = this.#clock.monotonicMs();
    const filled = this.#lines + ((nowMs - this.#filledAtMs) * LINES_PER_MINUTE) / MINUTE_MS;
    this.#lines = Math.min(MOST_AT_ONCE, filled);
    this.#filledAtMs = nowMs;
    if (this.#leftOut > 0 && nowMs - this.#leavingOutSinceMs >= MINUTE_MS) {
      this.#log.warn('lines about customers were left out, there were too many', {
        lines: this.#leftOut,
      });
      this.#leftOut = 0;
    }
  }
}
