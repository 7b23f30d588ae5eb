/**
 * Retries, and the wait that the service asks for (Retry-After). p-retry counts the attempts and gets
 * delays of 0: all waiting is on the injected clock, in its awaited hook. Only this file imports p-retry.
 */
import pRetry, { AbortError } from 'p-retry';
import type { Clock } from '../base/clock.ts';
import { isTransient, ServiceError } from '../base/errors.ts';
import type { Random } from '../base/random.ts';
import { parseHttpDate } from './server-clock.ts';

export interface RetryPolicy {
  /** Attempts per query, at least 1. */
  readonly maxAttempts: number;
  /** A longer Retry-After ends the query at once. */
  readonly maxWaitMs: number;
  /** Called before each wait for another attempt. */
  readonly onWait?: (error: ServiceError, waitMs: number) => void;
}

/** For polls: the next poll is a retry, too. */
export const POLL_RETRIES: RetryPolicy = { maxAttempts: 4, maxWaitMs: 30_000 };

/** Full jitter: a wait is drawn from 0 to min(MAX, BASE times 2 to the power of the retries so far). */
const BASE_BACKOFF_MS = 1_000;
const MAX_BACKOFF_MS = 30_000;

const MAX_RETRY_AFTER_MS = 3_600_000;

export interface RetryOptions {
  readonly policy: RetryPolicy;
  readonly clock: Clock;
  readonly random: Random;
  /** An abort ends a wait; the query then fails with the error that was about to be retried. */
  readonly signal: AbortSignal;
}

/** The attempt's result, or the last attempt's error, or the signal's reason if that is a ServiceError. */
export async function withRetries<T>(attempt: () => Promise<T>, options: RetryOptions): Promise<T> {
  return pRetry(attempt, {
    retries: options.policy.maxAttempts - 1,
    minTimeout: 0,
    maxTimeout: 0,
    shouldRetry: async ({ error, attemptNumber }) =>
      isTransient(error) && (await waitBeforeRetry(attemptNumber, error, options)),
  });
}

/** Wraps an error that must not be retried whatever its reason. The caller of withRetries gets the error. */
export function permanent(error: ServiceError): Error {
  return new AbortError(error);
}

/** False if the wait would be too long, or was ended by the signal. */
async function waitBeforeRetry(
  retry: number,
  error: ServiceError,
  { policy, clock, random, signal }: RetryOptions,
): Promise<boolean> {
  const { retryAfterMs } = error;
  if (signal.aborted || (retryAfterMs ?? 0) > policy.maxWaitMs) {
    return false;
  }
  const maxJitterMs =
    retryAfterMs === undefined
      ? Math.min(MAX_BACKOFF_MS, BASE_BACKOFF_MS * 2 ** (retry - 1))
      : BASE_BACKOFF_MS;
  const waitMs = Math.ceil((retryAfterMs ?? 0) + random.next() * maxJitterMs);
  policy.onWait?.(error, waitMs);
  try {
    await clock.sleep(waitMs, signal);
    return true;
  } catch {
    if (signal.reason instanceof ServiceError) {
      throw signal.reason;
    }
    return false;
  }
}

/** Holds back all requests of one customer until the time that the service set with Retry-After. */
export class RetryAfterGate {
  readonly #clock: Clock;
  #untilMs = -Infinity;
  #error: ServiceError | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  isOpen(): boolean {
    return this.#remainingMs() === 0;
  }

  record(error: ServiceError): void {
    const untilMs = this.#clock.monotonicMs() + (error.retryAfterMs ?? 0);
    if (untilMs > this.#untilMs) {
      this.#untilMs = untilMs;
      this.#error = error;
    }
  }

  /**
   * Resolves when a request may start. Throws a ServiceError at once if the wait is longer than
   * `maxWaitMs`, else when the signal aborts.
   */
  async wait(maxWaitMs: number, signal?: AbortSignal): Promise<void> {
    while (this.#error !== undefined && !this.isOpen()) {
      if (this.#remainingMs() > maxWaitMs) {
        throw this.#closedError(this.#error);
      }
      try {
        await this.#clock.sleep(this.#remainingMs(), signal);
      } catch {
        throw signal?.reason instanceof ServiceError
          ? signal.reason
          : this.#closedError(this.#error);
      }
    }
  }

  #remainingMs(): number {
    return Math.max(0, Math.ceil(this.#untilMs - this.#clock.monotonicMs()));
  }

  #closedError({ reason }: ServiceError): ServiceError {
    const retryAfterMs = this.#remainingMs();
    const seconds = Math.ceil(retryAfterMs / 1_000);
    return new ServiceError(
      reason,
      `no request for another ${seconds} s: the service sent Retry-After`,
      { retryAfterMs },
    );
  }
}

/**
 * The header Retry-After (RFC 9110, 10.2.3) in milliseconds, at most an hour; undefined if it is neither
 * seconds nor a date. A date counts from the answer's own `date`: the two clocks may differ.
 */
export function parseRetryAfter(value = '', date = ''): number | undefined {
  const fromMs = parseHttpDate(date);
  const untilMs = parseHttpDate(value);
  if (/^\d+$/.test(value)) {
    return Math.min(Number(value) * 1_000, MAX_RETRY_AFTER_MS);
  }
  return fromMs === undefined || untilMs === undefined
    ? undefined
    : Math.min(Math.max(0, untilMs - fromMs), MAX_RETRY_AFTER_MS);
}
