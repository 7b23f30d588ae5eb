/**
 * How many requests may be under way at once, and how many may start in a second. First come, first
 * served; a place costs a few operations, however many wait. Knows neither HTTP nor customers.
 */
import type { Clock } from '../base/clock.ts';
import { deadlineError } from './deadline.ts';

export interface Gate {
  /**
   * Waits for a place and gives the function that frees it, to be called once. Throws the
   * deadline's error when the signal aborts first, or the error that the gate was closed with.
   */
  enter(signal?: AbortSignal): Promise<() => void>;
  /** Turns away everybody, those who wait and those who come. */
  close(error: Error): void;
}

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

/** A gate with `places`; with `pacing`, those who enter are spaced as well. */
export function createGate(
  places: number,
  pacing?: { readonly pace: Pace; readonly clock: Clock },
): Gate {
  const line = new WaitingLine();
  let underWay = 0;
  let sleeping = false;
  let closedBy: Error | undefined;

  function place(): () => void {
    underWay += 1;
    pacing?.pace.start();
    let freed = false;
    return () => {
      if (!freed) {
        freed = true;
        underWay -= 1;
        admit();
      }
    };
  }

  function admit(): void {
    while (underWay < places && line.first !== undefined) {
      const waitMs = pacing?.pace.waitMs() ?? 0;
      if (waitMs > 0) {
        void admitAfter(waitMs);
        return;
      }
      line.shift()?.admit(place());
    }
  }

  /** One timer for all who wait. */
  async function admitAfter(waitMs: number): Promise<void> {
    if (!sleeping) {
      sleeping = true;
      await pacing?.clock.sleep(waitMs);
      sleeping = false;
      admit();
    }
  }

  return {
    async enter(signal) {
      if (signal?.aborted === true) {
        throw deadlineError(signal);
      }
      if (closedBy !== undefined) {
        throw closedBy;
      }
      const { promise, resolve, reject } = Promise.withResolvers<() => void>();
      const waiter: Waiter = { admit: resolve, refuse: reject };
      line.push(waiter);
      admit();
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
    },
    close(error) {
      closedBy = error;
      for (let waiter = line.shift(); waiter !== undefined; waiter = line.shift()) {
        waiter.refuse(error);
      }
    },
  };
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
