/** The only module that reads the time or sets a timer. Everything else is given a Clock. */
import { performance } from 'node:perf_hooks';
import { setImmediate, setTimeout as resolveAfter } from 'node:timers/promises';

export interface Clock {
  /** Wall time: milliseconds since 1970-01-01T00:00Z. May step in either direction. */
  nowMs(): number;
  /** Milliseconds since an arbitrary start. Never steps. */
  monotonicMs(): number;
  /** Resolves after `ms`; rejects as soon as the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls the action after `ms`, unless the returned function is called before. */
  after(ms: number, action: () => void): () => void;
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
    await resolveAfter(timerMs(ms), undefined, { signal });
  },
  after(ms, action) {
    const timer = setTimeout(action, timerMs(ms));
    return () => clearTimeout(timer);
  },
};

/** Rounds up: Node counts whole milliseconds, and fires a timer up to one early. */
function timerMs(ms: number): number {
  return ms <= 0 ? 0 : Math.min(Math.ceil(ms) + 1, MAX_TIMER_MS);
}

/** Yields to the event loop once, so that I/O and timers that are due can run. */
export async function nextTurn(): Promise<void> {
  await setImmediate();
}
