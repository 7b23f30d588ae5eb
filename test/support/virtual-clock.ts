/** Virtual time: the clocks of one process, or of several on one timeline, which may be wrong or be killed. */
import type { Clock } from '../../src/base/clock.ts';

interface Sleeper {
  readonly dueMs: number;
  readonly owner: VirtualClock;
  readonly wake: () => void;
}

interface Timeline {
  readonly startMs: number;
  trueMs: number;
  /** Sleepers in the order in which they wake. */
  sleepers: Sleeper[];
}

export class VirtualClock implements Clock {
  readonly #timeline: Timeline;
  /** How far the wall clock of this process is ahead. */
  aheadMs = 0;
  killed = false;

  constructor(startMs: number, timeline?: Timeline) {
    this.#timeline = timeline ?? { startMs, trueMs: startMs, sleepers: [] };
  }

  /** The clock of another process on the same timeline. */
  process(): VirtualClock {
    return new VirtualClock(this.#timeline.startMs, this.#timeline);
  }

  /** Whole milliseconds, like Date.now. */
  nowMs(): number {
    return Math.floor(this.#timeline.trueMs) + this.aheadMs;
  }

  monotonicMs(): number {
    return this.#timeline.trueMs - this.#timeline.startMs;
  }

  /** The number of waits on the timeline. */
  get sleepers(): number {
    return this.#timeline.sleepers.length;
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const cancel = this.after(ms, () => {
        signal?.removeEventListener('abort', abort);
        resolve();
      });
      function abort(): void {
        cancel();
        reject(new Error('aborted'));
      }
      if (!this.killed) {
        signal?.addEventListener('abort', abort, { once: true });
      }
    });
  }

  after(ms: number, action: () => void): () => void {
    const { trueMs, sleepers } = this.#timeline;
    const sleeper = { dueMs: trueMs + Math.max(0, ms), owner: this as VirtualClock, wake: action };
    if (!this.killed) {
      const before = sleepers.findLastIndex(({ dueMs }) => dueMs <= sleeper.dueMs);
      sleepers.splice(before + 1, 0, sleeper);
    }
    return () => this.#remove((other) => other === sleeper);
  }

  /** Lets `ms` pass: wakes every sleeper that is due, in order, and lets promises settle in between. */
  async advance(ms: number): Promise<void> {
    const endMs = this.#timeline.trueMs + ms;
    await this.runWaits(Infinity, ms);
    this.#timeline.trueMs = endMs;
    await settle();
  }

  /** Wakes at most so many of the sleepers that are due within `ms`, and stops in the middle of what they do. */
  async runWaits(waits: number, ms: number): Promise<void> {
    const endMs = this.#timeline.trueMs + ms;
    await settle();
    for (let run = 0; run < waits; run++) {
      const next = this.#timeline.sleepers[0];
      if (next === undefined || next.dueMs > endMs) {
        return;
      }
      this.#timeline.sleepers.shift();
      this.#timeline.trueMs = Math.max(this.#timeline.trueMs, next.dueMs);
      next.wake();
      await settle();
    }
  }

  /** The wall clock steps, as after a correction by NTP; the monotonic clock does not. */
  step(ms: number): void {
    this.aheadMs += ms;
  }

  /** Time passes and nothing runs, as when the machine sleeps. */
  freeze(ms: number): void {
    this.#timeline.trueMs += ms;
  }

  /** The waits of this process never end. */
  kill(): void {
    this.killed = true;
    this.#remove(({ owner }) => owner === this);
  }

  #remove(isOver: (sleeper: Sleeper) => boolean): void {
    this.#timeline.sleepers = this.#timeline.sleepers.filter((sleeper) => !isOver(sleeper));
  }
}

/** Lets every promise that can settle do so. */
export async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}
