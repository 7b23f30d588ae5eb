/** Limits on requests in flight and on requests started per second. */
import type { Clock } from '../base/clock.ts';
import { ServiceError, TimeLimitError } from '../base/errors.ts';
import type { Priority } from './types.ts';

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

/** Whose turn it is while all of them wait: urgent ones have half of the starts, optional ones a sixth. */
const TURNS: readonly Priority[] = ['urgent', 'normal', 'urgent', 'normal', 'urgent', 'optional'];

export interface SemaphoreOptions {
  /** Actions at once. */
  readonly places: number;
  /** Optional ones among them. */
  readonly optionalPlaces: number;
  /** Whose requests take the places, such as "this customer". */
  readonly users: string;
  readonly limiter?: RateLimiter;
}

/**
 * Runs a limited number of actions at once, and starts them no faster than the rate limiter allows: first
 * come, first served within a priority, and by turns between them.
 */
export class Semaphore {
  readonly #options: SemaphoreOptions;
  /** Functions that let a waiter start. In insertion order, so that the first one is the oldest. */
  readonly #waiting = {
    urgent: new Set<() => void>(),
    normal: new Set<() => void>(),
    optional: new Set<() => void>(),
  };
  #turn = 0;
  #running = 0;
  #optional = 0;
  #sleeping = false;

  constructor(options: SemaphoreOptions) {
    this.#options = options;
  }

  /** Returns the action's result. If the signal aborts before the start, throws {@link abortError}. */
  async run<T>(action: () => Promise<T>, priority: Priority, signal?: AbortSignal): Promise<T> {
    await this.#enter(priority, signal);
    try {
      return await action();
    } finally {
      this.#running -= 1;
      this.#optional -= Number(priority === 'optional');
      this.#admit();
    }
  }

  async #enter(priority: Priority, signal: AbortSignal | undefined): Promise<void> {
    if (signal?.aborted === true) {
      throw abortError(signal, this.#waitedFor(priority));
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiting = this.#waiting[priority];
    waiting.add(resolve);
    this.#admit();
    return signal !== undefined && waiting.has(resolve)
      ? untilAborted(promise, signal, () => {
          waiting.delete(resolve);
          return this.#waitedFor(priority);
        })
      : promise;
  }

  #waitedFor(priority: Priority): string {
    const { places, optionalPlaces, users } = this.#options;
    const isOptional = priority === 'optional' && this.#optional >= optionalPlaces;
    if (!isOptional && this.#running < places) {
      return 'not sent: service.max_requests_per_second allowed no request';
    }
    const [others, kind] = isOptional
      ? [this.#optional, ' for breakdowns and pasts']
      : [this.#running, ''];
    return `not sent: ${others} other requests of ${users}${kind} had no complete response`;
  }

  #admit(): void {
    const { places, limiter } = this.#options;
    while (this.#running < places) {
      const turn = this.#nextTurn();
      if (turn === undefined) {
        return;
      }
      const waitMs = limiter?.start() ?? 0;
      if (waitMs > 0) {
        void this.#admitAfter(waitMs);
        return;
      }
      const priority = TURNS[turn] ?? 'normal';
      const [start] = this.#waiting[priority];
      if (start !== undefined) {
        this.#waiting[priority].delete(start);
        this.#turn = turn + 1;
        this.#running += 1;
        this.#optional += Number(priority === 'optional');
        start();
      }
    }
  }

  /** Returns the place in {@link TURNS} of the next one that has a waiter. */
  #nextTurn(): number | undefined {
    for (let i = 0; i < TURNS.length; i += 1) {
      const turn = (this.#turn + i) % TURNS.length;
      const priority = TURNS[turn] ?? 'normal';
      const isFull = priority === 'optional' && this.#optional >= this.#options.optionalPlaces;
      if (!isFull && this.#waiting[priority].size > 0) {
        return turn;
      }
    }
    return undefined;
  }

  /** One timer for all waiters. */
  async #admitAfter(waitMs: number): Promise<void> {
    if (!this.#sleeping) {
      this.#sleeping = true;
      await this.#options.limiter?.clock.sleep(waitMs);
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
