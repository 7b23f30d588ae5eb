/** The only module that reads the time or sets a timer. Everything else is given a Clock. */
import { performance } from 'node:perf_hooks';

export interface Clock {
  /** Wall time: milliseconds since 1970-01-01T00:00Z. May step in either direction. */
  nowMs(): number;
  /** Milliseconds since an arbitrary start. Never steps. */
  monotonicMs(): number;
  /** Resolves after `ms`; rejects with the signal's reason as soon as the signal aborts. */
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
    signal?.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      function abort(): void {
        clearTimeout(timer);
        reject(abortReason(signal));
      }
      const timer = setTimeout(
        () => {
          signal?.removeEventListener('abort', abort);
          resolve();
        },
        Math.min(Math.max(0, ms), MAX_TIMER_MS),
      );
      signal?.addEventListener('abort', abort, { once: true });
    });
  },
};

/** Yields to the event loop once, so that I/O and timers that are due can run. */
export async function nextTurn(): Promise<void> {
  await new Promise<void>((resolve) => {
    setImmediate(resolve);
  });
}

/** The signal's reason as an Error. */
export function abortReason(signal: AbortSignal | undefined): Error {
  const reason: unknown = signal?.reason;
  return reason instanceof Error ? reason : new DOMException('This wait was aborted', 'AbortError');
}
