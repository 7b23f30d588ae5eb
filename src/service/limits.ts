/** Limits on requests in flight and on requests started per second. */
import type { Clock } from '../base/clock.ts';
import { ServiceError, TimeLimitError } from '../base/errors.ts';

/** Allows at most `perSecond` starts in any second. A fraction counts over longer: 2.5 allows 3 in 1.2 s. */
export class RateLimiter {
  readonly clock: Clock;
  readonly #windowMs: number;
  /** A ring of the newest starts: no more than it holds may start within the window. */
  readonly #starts: Float64Array;
  #oldest = 0;

  constructor(perSecond: number, clock: Clock) {
    const count = Math.ceil(perSecond);
    this.clock = clock;
    this.#windowMs = (count / perSecond) * 1_000;
    this.#starts = new Float64Array(count).fill(-Infinity);
  }

  /** Records a start and gives 0; or gives the whole milliseconds until one is allowed. */
  start(): number {
    const nowMs = this.clock.monotonicMs();
    const freeAtMs = (this.#starts[this.#oldest] ?? 0) + this.#windowMs;
    if (freeAtMs > nowMs) {
      return Math.ceil(freeAtMs - nowMs);
    }
    this.#starts[this.#oldest] = nowMs;
    this.#oldest = (this.#oldest + 1) % this.#starts.length;
    return 0;
  }
}

/**
 * Runs at most `places` actions at once, and starts them no faster than the rate limiter allows. First
 * come, first served, but while urgent ones wait, every other start is of an urgent one.
 */
export class Semaphore {
  readonly #places: number;
  readonly #users: string;
  readonly #limiter: RateLimiter | undefined;
  /** Functions that let a waiter start. In insertion order, so that the first one is the oldest. */
  readonly #urgent = new Set<() => void>();
  readonly #ordinary = new Set<() => void>();
  #lastWasUrgent = false;
  #running = 0;
  #sleeping = false;

  /** `users` says whose requests take the places, such as "this customer". */
  constructor(places: number, users: string, limiter?: RateLimiter) {
    this.#places = places;
    this.#users = users;
    this.#limiter = limiter;
  }

  /** Returns the action's result. If the signal aborts before the start, throws {@link abortError}. */
  async run<T>(action: () => Promise<T>, signal?: AbortSignal, urgent = false): Promise<T> {
    await this.#enter(signal, urgent ? this.#urgent : this.#ordinary);
    try {
      return await action();
    } finally {
      this.#running -= 1;
      this.#admit();
    }
  }

  async #enter(signal: AbortSignal | undefined, waiting: Set<() => void>): Promise<void> {
    if (signal?.aborted === true) {
      throw abortError(signal, this.#waitedFor());
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.add(resolve);
    this.#admit();
    return signal !== undefined && waiting.has(resolve)
      ? untilAborted(promise, signal, () => {
          waiting.delete(resolve);
          return this.#waitedFor();
        })
      : promise;
  }

  #waitedFor(): string {
    return this.#running < this.#places
      ? 'not sent: service.max_requests_per_second allowed no request'
      : `not sent: ${this.#running} other requests of ${this.#users} had no complete response`;
  }

  #admit(): void {
    while (this.#running < this.#places && this.#urgent.size + this.#ordinary.size > 0) {
      const waitMs = this.#limiter?.start() ?? 0;
      if (waitMs > 0) {
        void this.#admitAfter(waitMs);
        return;
      }
      this.#lastWasUrgent =
        this.#ordinary.size === 0 || (this.#urgent.size > 0 && !this.#lastWasUrgent);
      const waiting = this.#lastWasUrgent ? this.#urgent : this.#ordinary;
      const [start] = waiting;
      if (start !== undefined) {
        waiting.delete(start);
        this.#running += 1;
        start();
      }
    }
  }

  /** One timer for all waiters. */
  async #admitAfter(waitMs: number): Promise<void> {
    if (!this.#sleeping) {
      this.#sleeping = true;
      await this.#limiter?.clock.sleep(waitMs);
      this.#sleeping = false;
      this.#admit();
    }
  }
}

/** The message says what did not happen; the client adds within what time. */
export class AbortedError extends Error {
  override readonly name = 'AbortedError';
}

/** Returns the signal's reason if that is a ServiceError, else an AbortedError. */
export function abortError({ reason }: AbortSignal, message: string): Error {
  return reason instanceof ServiceError ? reason : new AbortedError(message);
}

/** Returns the signal's reason if that is a ServiceError, else a timeout that names the time limit. */
export function timeoutOf(message: string, { reason }: AbortSignal): ServiceError {
  const limit = reason instanceof TimeLimitError ? `; ${reason.message}` : '';
  return reason instanceof ServiceError
    ? reason
    : new ServiceError('timeout', `${message}${limit}`);
}

/**
 * Returns the promise's result. If the signal aborts first, throws {@link abortError} with the message that
 * `onAbort` returns.
 */
export async function untilAborted<T>(
  promise: Promise<T>,
  signal: AbortSignal,
  onAbort: () => string,
): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  function abort(): void {
    reject(abortError(signal, onAbort()));
  }
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
