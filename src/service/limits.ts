/**
 * How many requests may be under way at once, and how many may start in a second. First come, first
 * served; a place costs a few operations, however many wait. Knows neither HTTP nor customers.
 */
import type { Clock } from '../base/clock.ts';
import { deadlineError } from './deadline.ts';

/** When the next request may start. */
export interface Pace {
  /** Milliseconds until then; 0 is now. Whole ones, so that a timer cannot end before them. */
  waitMs(): number;
  /** A request starts now. */
  start(): void;
}

/**
 * At most `perSecond` starts in any second, wherever it begins, and at most a quarter of them at
 * once. A fraction counts over many seconds only: 2.5 is at most 3 in one second, and 5 in two.
 */
export function createPace(perSecond: number, clock: Clock): Pace {
  const burst = Math.max(1, Math.floor(perSecond / 4));
  const windows = [
    createWindow(burst, (burst / perSecond) * 1_000),
    createWindow(Math.ceil(perSecond), 1_000),
  ];
  return {
    waitMs() {
      const freeAtMs = Math.max(...windows.map((window) => window.freeAtMs()));
      return Math.max(0, Math.ceil(freeAtMs - clock.monotonicMs()));
    },
    start() {
      const nowMs = clock.monotonicMs();
      for (const window of windows) {
        window.start(nowMs);
      }
    },
  };
}

interface Window {
  freeAtMs(): number;
  start(nowMs: number): void;
}

/** At most `count` starts in any `lengthMs`: the newest ones are remembered in a ring. */
function createWindow(count: number, lengthMs: number): Window {
  const starts = new Float64Array(count).fill(-Infinity);
  let oldest = 0;
  return {
    freeAtMs: () => (starts[oldest] ?? 0) + lengthMs,
    start(nowMs) {
      starts[oldest] = nowMs;
      oldest = (oldest + 1) % count;
    },
  };
}

/** With pacing, those who enter are spaced as well. */
interface Pacing {
  readonly pace: Pace;
  readonly clock: Clock;
}

/** So many places, for those who are inside at once. */
export class Gate {
  readonly #places: number;
  readonly #pacing: Pacing | undefined;
  readonly #line = new WaitingLine();
  #underWay = 0;
  #sleeping = false;
  #closedBy: Error | undefined;

  constructor(places: number, pacing?: Pacing) {
    this.#places = places;
    this.#pacing = pacing;
  }

  /**
   * Waits for a place and gives the function that frees it, to be called once. Throws the
   * deadline's error when the signal aborts first, or the error that the gate was closed with.
   */
  async enter(signal?: AbortSignal): Promise<() => void> {
    if (signal?.aborted === true) {
      throw deadlineError(signal);
    }
    if (this.#closedBy !== undefined) {
      throw this.#closedBy;
    }
    const { promise, resolve, reject } = Promise.withResolvers<() => void>();
    const waiter: Waiter = { admit: resolve, refuse: reject };
    const line = this.#line;
    line.push(waiter);
    this.#admit();
    if (waiter.line === undefined) {
      return promise;
    }
    function abort(): void {
      line.remove(waiter);
      if (signal !== undefined) {
        reject(deadlineError(signal));
      }
    }
    signal?.addEventListener('abort', abort, { once: true });
    return promise.finally(() => signal?.removeEventListener('abort', abort));
  }

  /** Turns away everybody, those who wait and those who come. */
  close(error: Error): void {
    this.#closedBy = error;
    const line = this.#line;
    for (let waiter = line.shift(); waiter !== undefined; waiter = line.shift()) {
      waiter.refuse(error);
    }
  }

  #place(): () => void {
    this.#underWay += 1;
    this.#pacing?.pace.start();
    let freed = false;
    return () => {
      if (!freed) {
        freed = true;
        this.#underWay -= 1;
        this.#admit();
      }
    };
  }

  #admit(): void {
    while (this.#underWay < this.#places && this.#line.first !== undefined) {
      const waitMs = this.#pacing?.pace.waitMs() ?? 0;
      if (waitMs > 0) {
        void this.#admitAfter(waitMs);
        return;
      }
      this.#line.shift()?.admit(this.#place());
    }
  }

  /** One timer for all who wait. */
  async #admitAfter(waitMs: number): Promise<void> {
    if (!this.#sleeping) {
      this.#sleeping = true;
      await this.#pacing?.clock.sleep(waitMs);
      this.#sleeping = false;
      this.#admit();
    }
  }
}

interface Waiter {
  readonly admit: (free: () => void) => void;
  readonly refuse: (error: Error) => void;
  line?: WaitingLine | undefined;
  previous?: Waiter | undefined;
  next?: Waiter | undefined;
}

/** A doubly linked list: joining, leaving from the middle and being served cost the same for any length. */
class WaitingLine {
  first: Waiter | undefined;
  #last: Waiter | undefined;

  push(waiter: Waiter): void {
    waiter.line = this;
    waiter.previous = this.#last;
    if (this.#last === undefined) {
      this.first = waiter;
    } else {
      this.#last.next = waiter;
    }
    this.#last = waiter;
  }

  shift(): Waiter | undefined {
    const waiter = this.first;
    if (waiter !== undefined) {
      this.remove(waiter);
    }
    return waiter;
  }

  /** No effect on one who is not in the line any more. */
  remove(waiter: Waiter): void {
    if (waiter.line !== this) {
      return;
    }
    if (waiter.previous === undefined) {
      this.first = waiter.next;
    } else {
      waiter.previous.next = waiter.next;
    }
    if (waiter.next === undefined) {
      this.#last = waiter.previous;
    } else {
      waiter.next.previous = waiter.previous;
    }
    waiter.line = waiter.previous = waiter.next = undefined;
  }
}
