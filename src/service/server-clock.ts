/**
 * Offset of the service's clock, from the Date header of its responses. One clock serves all customers.
 * It is compared with ours, and nothing follows it.
 */
import type { Clock } from '../base/clock.ts';
import { HOUR_MS, MINUTE_MS } from '../base/duration.ts';
import { ServiceError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';

/** Counts have a resolution of a minute: smaller offsets change nothing. */
export const MAX_IGNORED_OFFSET_MS = MINUTE_MS;
/** Beyond this, one of the clocks may be in another counting period. */
export const MAX_OFFSET_MS = 6 * HOUR_MS;
/** Date has whole seconds (RFC 9110, 6.6.1). */
const HALF_RESOLUTION_MS = 500;
const WARNING_INTERVAL_MS = HOUR_MS;

/** Warns, once an hour, while the service's clock and ours differ by more than a minute. */
export class ServerClock {
  readonly #clock: Clock;
  readonly #log: Logger;
  #aheadMs: number | undefined;
  #warnAgainAtMs = -Infinity;

  constructor(clock: Clock, log: Logger) {
    this.#clock = clock;
    this.#log = log;
  }

  /** How far the service's clock was ahead of ours at its newest response; undefined if that had no Date. */
  get aheadMs(): number | undefined {
    return this.#aheadMs;
  }

  /** Takes the Date header of a response that arrived now, `durationMs` after its request was sent. */
  update(date: string | undefined, durationMs: number): void {
    // The header was written at some moment of the request: the middle is wrong by at most half of it.
    const writtenMs = this.#clock.nowMs() - durationMs / 2 - HALF_RESOLUTION_MS;
    const dateMs = parseHttpDate(date);
    this.#aheadMs = dateMs === undefined ? undefined : dateMs - writtenMs;
    const nowMs = this.#clock.monotonicMs();
    if (Math.abs(this.#aheadMs ?? 0) > MAX_IGNORED_OFFSET_MS && nowMs >= this.#warnAgainAtMs) {
      this.#warnAgainAtMs = nowMs + WARNING_INTERVAL_MS;
      const fields = { service_ahead_seconds: Math.round((this.#aheadMs ?? 0) / 1_000) };
      this.#log.warn('service clock differs by more than a minute', fields);
    }
  }
}

/**
 * Returns the response to a question. Throws as `checkClocks` does if our clock is wrong when the response is there, or
 * was wrong when it was asked for: a clock that is set right meanwhile has asked for another time.
 */
export async function askedByRightClock<Response>(
  ask: () => Promise<Response>,
  clock: Clock,
  serverClock: Pick<ServerClock, 'aheadMs'>,
  newestMarkMs: () => number,
): Promise<Response> {
  const beforeMs = clock.nowMs() - clock.monotonicMs();
  const response = await ask();
  const nowMs = clock.nowMs();
  const aheadMs = serverClock.aheadMs ?? 0;
  checkClocks(nowMs, aheadMs, newestMarkMs());
  // How far our clock was set forward meanwhile: by fractions of a millisecond it always is.
  const setMs = nowMs - clock.monotonicMs() - beforeMs;
  if (Math.abs(setMs) > MAX_IGNORED_OFFSET_MS) {
    checkClocks(nowMs - setMs, aheadMs + setMs, newestMarkMs());
  }
  return response;
}

/**
 * Throws a ServiceError, `malformed`, if our clock is wrong as far as is known: more than six hours from the
 * service's, or before `newestMarkMs`, when a counter last rose. A response that is asked for by a wrong clock may be
 * of another counting period.
 */
export function checkClocks(nowMs: number, aheadMs: number, newestMarkMs: number): void {
  if (Math.abs(aheadMs) > MAX_OFFSET_MS) {
    const service = timeText(nowMs + aheadMs);
    const problem = `the service's says ${service}: they differ by more than 6 h`;
    throw new ServiceError('malformed', `the clock here says ${timeText(nowMs)}, ${problem}`);
  }
  if (nowMs < newestMarkMs) {
    const problem = `a counter last rose at ${timeText(newestMarkMs)}, which is later`;
    throw new ServiceError('malformed', `the clock here says ${timeText(nowMs)}, ${problem}`);
  }
}

/** Returns an instant such as `2026-11-26T10:00:00Z`. */
function timeText(atMs: number): string {
  return new Date(atMs).toISOString().replace(/\.\d+/, '');
}

/**
 * Returns an HTTP date in milliseconds, as servers write it today (RFC 9110, 5.6.7); undefined for other
 * texts.
 */
export function parseHttpDate(text = ''): number | undefined {
  const ms = text.endsWith('GMT') ? Date.parse(text) : NaN;
  return Number.isNaN(ms) ? undefined : ms;
}
