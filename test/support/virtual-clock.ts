/**
 * A clock that a test drives. `advance` runs every sleeper that falls due, in order, and lets
 * pending promises settle in between.
 */
import { abortReason } from '../../src/base/clock.ts';
import type { Clock } from '../../src/base/clock.ts';

interface Sleeper {
  readonly dueMs: number;
  readonly wake: () => void;
}

export class VirtualClock implements Clock {
  #wallMs: number;
  #monotonicMs = 0;
  #sleepers: Sleeper[] = [];

  constructor(startMs: number) {
    this.#wallMs = startMs;
  }

  nowMs(): number {
    return this.#wallMs;
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  get sleepers(): number {
    return this.#sleepers.length;
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const sleeper = { dueMs: this.#monotonicMs + Math.max(0, ms), wake };
      const sleepers = this.#sleepers;
      function wake(): void {
        signal?.removeEventListener('abort', abort);
        resolve();
      }
      function abort(): void {
        const at = sleepers.indexOf(sleeper);
        if (at >= 0) {
          sleepers.splice(at, 1);
        }
        reject(abortReason(signal));
      }
      sleepers.push(sleeper);
      signal?.addEventListener('abort', abort, { once: true });
    });
  }

  /** Moves both clocks on by `ms`. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#monotonicMs + ms;
    await settle();
    for (;;) {
      const next = this.#sleepers.toSorted((a, b) => a.dueMs - b.dueMs)[0];
      if (next === undefined || next.dueMs > endMs) {
        break;
      }
      this.#sleepers.splice(this.#sleepers.indexOf(next), 1);
      this.#move(Math.max(this.#monotonicMs, next.dueMs));
      next.wake();
      await settle();
    }
    this.#move(endMs);
    await settle();
  }

  /** The wall clock steps, as after a correction by NTP; the monotonic one does not. */
  step(ms: number): void {
    this.#wallMs += ms;
  }

  /** The whole process stands still: time passes and nobody wakes. */
  freeze(ms: number): void {
    this.#move(this.#monotonicMs + ms);
  }

  #move(toMonotonicMs: number): void {
    this.#wallMs += toMonotonicMs - this.#monotonicMs;
    this.#monotonicMs = toMonotonicMs;
  }
}

/** Lets every promise that can settle do so. */
export async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}
