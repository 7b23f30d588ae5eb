/**
 * Time, as the only thing that reads it. Everything else is given a Clock, so that a test can drive
 * years in minutes.
 */
import { performance } from 'node:perf_hooks';

export interface Clock {
  /** Wall time: milliseconds since 1970-01-01T00:00Z. May step in either direction. */
  nowMs(): number;
  /** Milliseconds since an arbitrary start. Never steps. */
  monotonicMs(): number;
  /** Resolves after `ms`; rejects with the signal's reason as soon as the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** A timer of Node cannot be longer: a longer one fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

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
        Math.min(Math.max(0, ms), LONGEST_TIMER_MS),
      );
      signal?.addEventListener('abort', abort, { once: true });
    });
  },
};

/** Lets everything run that is ready to: timers, connections, other turns. No time passes for a Clock. */
export async function nextTurn(): Promise<void> {
  await new Promise<void>((resolve) => {
    setImmediate(resolve);
  });
}

/** What an aborted wait rejects with: the signal's reason, always an Error. */
export function abortReason(signal: AbortSignal | undefined): Error {
  const reason: unknown = signal?.reason;
  return reason instanceof Error ? reason : new DOMException('This wait was aborted', 'AbortError');
}
