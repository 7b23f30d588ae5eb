/**
 * Offset of the service's clock, from the Date header of its responses. One clock serves all customers.
 */
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';

/** Counts have a resolution of a minute: smaller offsets change nothing. */
const MAX_IGNORED_OFFSET_MS = 60_000;
/** Beyond a day the service's days are not ours, and its clock is of no use. */
const MAX_FOLLOWED_OFFSET_MS = 86_400_000;
/** Date has whole seconds (RFC 9110, 6.6.1). */
const HALF_RESOLUTION_MS = 500;
const WARNING_INTERVAL_MS = 3_600_000;

/** How the service's clock compares with ours. */
export interface ClockReading {
  readonly aheadMs: number;
  /** Up to a minute it agrees, up to a day it is used in place of ours, beyond that it is ignored. */
  readonly verdict: 'agrees' | 'followed' | 'ignored';
}

/** The service's time. Warns, once an hour, while its clock and ours differ by more than a minute. */
export class ServerClock {
  readonly #clock: Clock;
  readonly #log: Logger;
  /** The service's time when our monotonic clock was 0; undefined before the first response. */
  #serverMsAtZero: number | undefined;
  #warnAgainAtMs = -Infinity;

  constructor(clock: Clock, log: Logger) {
    this.#clock = clock;
    this.#log = log;
  }

  /** Returns the comparison; undefined before the first response with a Date. */
  reading(): ClockReading | undefined {
    if (this.#serverMsAtZero === undefined) {
      return undefined;
    }
    const aheadMs = this.#serverMsAtZero + this.#clock.monotonicMs() - this.#clock.nowMs();
    const offsetMs = Math.abs(aheadMs);
    const verdict =
      offsetMs <= MAX_IGNORED_OFFSET_MS
        ? 'agrees'
        : offsetMs <= MAX_FOLLOWED_OFFSET_MS
          ? 'followed'
          : 'ignored';
    return { aheadMs, verdict };
  }

  /**
   * Returns the service's time if it is more than a minute and less than a day off, else ours. Does not
   * step.
   */
  nowMs(): number {
    const reading = this.reading();
    return this.#clock.nowMs() + (reading?.verdict === 'followed' ? reading.aheadMs : 0);
  }

  /** Takes the Date header of a response that arrived now, `durationMs` after its request was sent. */
  update(date: string | undefined, durationMs: number): void {
    const dateMs = parseHttpDate(date);
    if (dateMs === undefined) {
      return;
    }
    // The header was written at some moment of the request: the middle is wrong by at most half of it.
    const serverMs = dateMs + HALF_RESOLUTION_MS + durationMs / 2;
    const nowMs = this.#clock.monotonicMs();
    this.#serverMsAtZero = serverMs - nowMs;
    const aheadMs = serverMs - this.#clock.nowMs();
    if (Math.abs(aheadMs) > MAX_IGNORED_OFFSET_MS && nowMs >= this.#warnAgainAtMs) {
      this.#warnAgainAtMs = nowMs + WARNING_INTERVAL_MS;
      const fields = { service_ahead_seconds: Math.round(aheadMs / 1_000) };
      this.#log.warn('service clock differs by more than a minute', fields);
    }
  }
}

/**
 * Returns an HTTP date in milliseconds, as servers write it today (RFC 9110, 5.6.7); undefined for other
 * texts.
 */
export function parseHttpDate(text = ''): number | undefined {
  const ms = text.endsWith('GMT') ? Date.parse(text) : NaN;
  return Number.isNaN(ms) ? undefined : ms;
}
