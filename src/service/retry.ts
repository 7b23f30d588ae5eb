/**
 * Asking again. p-retry does the counting and is given delays of 0: all waiting is on our clock, in
 * the hook that it awaits. Only this file imports p-retry.
 */
import pRetry, { AbortError } from 'p-retry';
import type { Clock } from '../base/clock.ts';
import { isTransient, ServiceError } from '../base/errors.ts';
import type { Random } from '../base/random.ts';

/** Full jitter: a wait is drawn from 0 to min(longest, base times 2 to the retries so far). */
const BASE_MS = 1_000;
/** Also the longest Retry-After that is waited for inside one ask; a longer one ends it at once. */
export const LONGEST_WAIT_MS = 30_000;

export interface RetryOptions {
  /** At least 1. */
  readonly attempts: number;
  readonly clock: Clock;
  readonly random: Random;
  /** The caller's deadline: it ends a wait, and then the failure that was waited on is thrown. */
  readonly signal: AbortSignal;
}

/** The attempt's result, or the error of the last attempt; the signal's, if that is a ServiceError. */
export async function withRetries<T>(attempt: () => Promise<T>, options: RetryOptions): Promise<T> {
  return pRetry(attempt, {
    retries: options.attempts - 1,
    minTimeout: 0,
    maxTimeout: 0,
    shouldRetry: async ({ error, attemptNumber }) =>
      isTransient(error) && (await waitBefore(attemptNumber, error, options)),
  });
}

/** Wraps an error that is not to be asked again for, whatever its reason; the caller sees the error. */
export function final(error: ServiceError): Error {
  return new AbortError(error);
}

/** False where the wait would be too long, or was cut short by the deadline. */
async function waitBefore(
  retry: number,
  error: ServiceError,
  { clock, random, signal }: RetryOptions,
): Promise<boolean> {
  if (signal.aborted || (error.retryAfterMs ?? 0) > LONGEST_WAIT_MS) {
    return false;
  }
  // What the service asked for comes first; the jitter keeps customers apart who were told the same.
  const jitterMs = random.next() * (error.retryAfterMs === undefined ? backoffMs(retry) : BASE_MS);
  try {
    await clock.sleep(Math.ceil((error.retryAfterMs ?? 0) + jitterMs), signal);
    return true;
  } catch {
    if (signal.reason instanceof ServiceError) {
      throw signal.reason;
    }
    return false;
  }
}

function backoffMs(retry: number): number {
  return Math.min(LONGEST_WAIT_MS, BASE_MS * 2 ** (retry - 1));
}
