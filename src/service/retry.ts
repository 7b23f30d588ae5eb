/**
 * Retries, and the wait that the service asks for (Retry-After). p-retry counts the attempts and gets
 * delays of 0: all waiting is on the injected clock, in its awaited hook. Only this file imports p-retry.
 */
import pRetry from 'p-retry';
import type { Clock } from '../base/clock.ts';
import { formatDuration } from '../base/duration.ts';
import { isTransient, ServiceError } from '../base/errors.ts';
import type { FailureReason } from '../base/errors.ts';
import type { Random } from '../base/random.ts';
import { AbortedError } from './limits.ts';
import { parseHttpDate } from './server-clock.ts';

export interface RetryPolicy {
  /** Attempts per query, at least 1. */
  readonly maxAttempts: number;
  /** A longer Retry-After ends the query at once. */
  readonly maxWaitMs: number;
  /** Called before each wait for another attempt. */
  readonly onWait?: (error: ServiceError, waitMs: number) => void;
}

/** Policy of polls: the next poll is a retry, too. */
export const POLL_RETRIES: RetryPolicy = { maxAttempts: 4, maxWaitMs: 30_000 };

/** Full jitter: a wait is drawn from 0 to min(MAX, BASE times 2 to the power of the retries so far). */
const BASE_BACKOFF_MS = 1_000;
const MAX_BACKOFF_MS = 30_000;

const MAX_RETRY_AFTER_MS = 3_600_000;

/**
 * Returns the attempt's result, or throws the last attempt's error. An abort ends a wait or another attempt
 * with that error, which has the cause, or with the signal's reason if that is a ServiceError.
 */
export async function withRetries<T>(
  attempt: () => Promise<T>,
  policy: RetryPolicy,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
  signal: AbortSignal,
): Promise<T> {
  let cause: ServiceError | undefined;
  async function attemptOrCause(): Promise<T> {
    try {
      return await attempt();
    } catch (error) {
      throw error instanceof AbortedError ? (cause ?? error) : error;
    }
  }
  return pRetry(attemptOrCause, {
    retries: policy.maxAttempts - 1,
    minTimeout: 0,
    maxTimeout: 0,
    async shouldRetry({ error, attemptNumber }) {
      if (!isTransient(error) || (error.retryAfterMs ?? 0) > policy.maxWaitMs || signal.aborted) {
        return false;
      }
      cause = error;
      const maxJitterMs =
        error.retryAfterMs === undefined
          ? Math.min(MAX_BACKOFF_MS, BASE_BACKOFF_MS * 2 ** (attemptNumber - 1))
          : BASE_BACKOFF_MS;
      const waitMs = Math.ceil((error.retryAfterMs ?? 0) + random.next() * maxJitterMs);
      policy.onWait?.(error, waitMs);
      try {
        await clock.sleep(waitMs, signal);
      } catch {
        throw signal.reason instanceof ServiceError ? signal.reason : error;
      }
      return true;
    },
  });
}

/** Holds back all requests of one customer until the time that the service set with Retry-After. */
export class RetryAfterGate {
  readonly #clock: Clock;
  #untilMs = -Infinity;
  #reason: FailureReason = 'rate_limited';

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  record({ reason, retryAfterMs = 0 }: ServiceError): void {
    const untilMs = this.#clock.monotonicMs() + retryAfterMs;
    if (untilMs > this.#untilMs) {
      this.#untilMs = untilMs;
      this.#reason = reason;
    }
  }

  /** Throws a ServiceError that names what `title` returns while requests are held back. {@link withRetries} waits. */
  check(title: () => string): void {
    const retryAfterMs = Math.ceil(this.#untilMs - this.#clock.monotonicMs());
    if (retryAfterMs > 0) {
      const wait = formatDuration(Math.ceil(retryAfterMs / 1_000) * 1_000);
      const message = `${title()}: not sent for another ${wait}: the service sent Retry-After`;
      throw new ServiceError(this.#reason, message, { retryAfterMs });
    }
  }
}

/**
 * Returns the header Retry-After (RFC 9110, 10.2.3) in milliseconds, at most an hour; undefined if it is
 * neither seconds nor a date. A date counts from the response's own `date`: the two clocks may differ.
 */
export function parseRetryAfter(value = '', date = ''): number | undefined {
  const ms = /^\d+$/.test(value)
    ? Number(value) * 1_000
    : (parseHttpDate(value) ?? NaN) - (parseHttpDate(date) ?? NaN);
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, ms), MAX_RETRY_AFTER_MS);
}
