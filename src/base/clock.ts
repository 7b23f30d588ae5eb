/** The only module that reads the time or sets a timer. Everything else is given a Clock. */
import { performance } from 'node:perf_hooks';
import { setImmediate, setTimeout } from 'node:timers/promises';

export interface Clock {
  /** Wall time: milliseconds since 1970-01-01T00:00Z. May step in either direction. */
  nowMs(): number;
  /** Milliseconds since an arbitrary start. Never steps. */
  monotonicMs(): number;
  /** Resolves after `ms`; rejects as soon as the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Node fires a longer timer at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export const systemClock: Clock = {
  nowMs() {
    return Date.now();
  },
  monotonicMs() {
    return performance.now();
  },
  async sleep(ms, signal) {
    await setTimeout(Math.min(Math.max(0, ms), MAX_TIMER_MS), undefined, { signal });
  },
};

/** Yields to the event loop once, so that I/O and timers that are due can run. */
export async function nextTurn(): Promise<void> {
  await setImmediate();
}
