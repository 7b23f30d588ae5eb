/** Limits on requests in flight and on requests started per second. */
import type { Clock } from '../base/clock.ts';
import { ServiceError } from '../base/errors.ts';

interface RateWindow {
  readonly lengthMs: number;
  /** A ring of the newest starts: at most as many as it holds may start within `lengthMs`. */
  readonly starts: Float64Array;
  oldest: number;
}

/**
 * At most `perSecond` starts in any second, and at most a quarter of them at once. A fraction counts over
 * several seconds: 2.5 allows at most 3 starts in one second and 5 in two.
 */
export class RateLimiter {
  readonly #clock: Clock;
  readonly #windows: readonly RateWindow[];

  constructor(perSecond: number, clock: Clock) {
    const burst = Math.max(1, Math.floor(perSecond / 4));
    this.#clock = clock;
    this.#windows = [
      rateWindow(burst, (burst / perSecond) * 1_000),
      rateWindow(Math.ceil(perSecond), 1_000),
    ];
  }

  /** Whole milliseconds until the next start is allowed; 0 is now. */
  waitMs(): number {
    const freeAtMs = this.#windows.map(
      ({ starts, oldest, lengthMs }) => (starts[oldest] ?? 0) + lengthMs,
    );
    return Math.max(0, Math.ceil(Math.max(...freeAtMs) - this.#clock.monotonicMs()));
  }

  recordStart(): void {
    for (const window of this.#windows) {
      window.starts[window.oldest] = this.#clock.monotonicMs();
      window.oldest = (window.oldest + 1) % window.starts.length;
    }
  }

  async sleep(ms: number): Promise<void> {
    await this.#clock.sleep(ms);
  }
}

function rateWindow(count: number, lengthMs: number): RateWindow {
  return { lengthMs, starts: new Float64Array(count).fill(-Infinity), oldest: 0 };
}

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/**
 * Runs at most `places` actions at once, and starts them no faster than the rate limiter allows. First
 * come, first served, but while urgent ones wait, every other start is of an urgent one.
 */
export class Semaphore {
  readonly #places: number;
  readonly #limiter: RateLimiter | undefined;
  /** In insertion order, so that the first one is the oldest. */
  readonly #urgent = new Set<Waiter>();
  readonly #ordinary = new Set<Waiter>();
  #lastWasUrgent = false;
  #running = 0;
  #sleeping = false;
  #closedWith: Error | undefined;

  constructor(places: number, limiter?: RateLimiter) {
    this.#places = places;
    this.#limiter = limiter;
  }

  /**
   * The action's outcome. Throws without starting it: `abortError` if the signal aborts first, or the error
   * that the semaphore was closed with.
   */
  async run<T>(action: () => Promise<T>, signal?: AbortSignal, urgent = false): Promise<T> {
    await this.#enter(signal, urgent ? this.#urgent : this.#ordinary);
    try {
      return await action();
    } finally {
      this.#running -= 1;
      this.#admit();
    }
  }

  /** Rejects everything that waits, and everything from now on. */
  close(error: Error): void {
    this.#closedWith = error;
    for (const waiting of [this.#urgent, this.#ordinary]) {
      waiting.forEach(({ reject }) => reject(error));
      waiting.clear();
    }
  }

  async #enter(signal: AbortSignal | undefined, waiting: Set<Waiter>): Promise<void> {
    if (signal?.aborted === true) {
      throw abortError(signal);
    }
    if (this.#closedWith !== undefined) {
      throw this.#closedWith;
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter: Waiter = { resolve, reject };
    waiting.add(waiter);
    this.#admit();
    if (signal === undefined || !waiting.has(waiter)) {
      return promise;
    }
    function abort(this: AbortSignal): void {
      waiting.delete(waiter);
      reject(abortError(this));
    }
    signal.addEventListener('abort', abort, { once: true });
    return promise.finally(() => signal.removeEventListener('abort', abort));
  }

  #admit(): void {
    while (this.#running < this.#places && this.#urgent.size + this.#ordinary.size > 0) {
      const waitMs = this.#limiter?.waitMs() ?? 0;
      if (waitMs > 0) {
        void this.#admitAfter(waitMs);
        return;
      }
      this.#lastWasUrgent =
        this.#ordinary.size === 0 || (this.#urgent.size > 0 && !this.#lastWasUrgent);
      const waiting = this.#lastWasUrgent ? this.#urgent : this.#ordinary;
      const [waiter] = waiting;
      if (waiter !== undefined) {
        waiting.delete(waiter);
        this.#running += 1;
        this.#limiter?.recordStart();
        waiter.resolve();
      }
    }
  }

  /** One timer for all waiters. */
  async #admitAfter(waitMs: number): Promise<void> {
    if (!this.#sleeping) {
      this.#sleeping = true;
      await this.#limiter?.sleep(waitMs);
      this.#sleeping = false;
      this.#admit();
    }
  }
}

/** The signal's reason if that is a ServiceError, else `timeout`. */
export function abortError(signal: AbortSignal): ServiceError {
  return signal.reason instanceof ServiceError
    ? signal.reason
    : new ServiceError('timeout', 'no complete answer before the deadline of the query');
}

/** The promise's outcome, or `abortError` as soon as the signal aborts. */
export async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) {
    throw abortError(signal);
  }
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  function abort(): void {
    reject(abortError(signal));
  }
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
