/**
 * Time for a whole world: one true time, and for each process a clock of its own whose wall may be
 * off. The sleepers of a process that is killed never wake.
 */
import { abortReason } from '../../src/base/clock.ts';
import type { Clock } from '../../src/base/clock.ts';

interface Sleeper {
  readonly dueMs: number;
  readonly owner: ProcessClock;
  readonly wake: () => void;
}

export class WorldClock {
  readonly #sleepers: Sleeper[] = [];
  #trueMs: number;

  constructor(startMs: number) {
    this.#trueMs = startMs;
  }

  nowMs(): number {
    return this.#trueMs;
  }

  process(): ProcessClock {
    return new ProcessClock(this);
  }

  add(sleeper: Sleeper): void {
    let at = this.#sleepers.length;
    while (at > 0 && (this.#sleepers[at - 1]?.dueMs ?? 0) > sleeper.dueMs) {
      at -= 1;
    }
    this.#sleepers.splice(at, 0, sleeper);
  }

  remove(sleeper: Sleeper): void {
    const at = this.#sleepers.indexOf(sleeper);
    if (at >= 0) {
      this.#sleepers.splice(at, 1);
    }
  }

  kill(owner: ProcessClock): void {
    for (const sleeper of this.#sleepers.filter((one) => one.owner === owner)) {
      this.remove(sleeper);
    }
  }

  /** Runs everything that falls due up to an instant, in order. */
  async runUntil(endMs: number): Promise<void> {
    await this.runSome(Infinity, endMs);
    this.#trueMs = endMs;
  }

  /**
   * Runs so many of the waits that end up to an instant, and stands still between two of them: in
   * the middle of whatever is under way.
   */
  async runSome(waits: number, endMs: number): Promise<void> {
    await settle();
    for (let run = 0; run < waits; run++) {
      const next = this.#sleepers[0];
      if (next === undefined || next.dueMs > endMs) {
        return;
      }
      this.#sleepers.shift();
      this.#trueMs = Math.max(this.#trueMs, next.dueMs);
      next.wake();
      await settle();
    }
  }
}

export class ProcessClock implements Clock {
  readonly #world: WorldClock;
  /** How far this process's wall clock is ahead. */
  aheadMs = 0;
  killed = false;

  constructor(world: WorldClock) {
    this.#world = world;
  }

  /** Whole milliseconds, as Date.now has them. */
  nowMs(): number {
    return Math.floor(this.#world.nowMs()) + this.aheadMs;
  }

  monotonicMs(): number {
    return this.#world.nowMs();
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const world = this.#world;
      const sleeper: Sleeper = { dueMs: world.nowMs() + Math.max(0, ms), owner: this, wake };
      function wake(): void {
        signal?.removeEventListener('abort', abort);
        resolve();
      }
      function abort(): void {
        world.remove(sleeper);
        reject(abortReason(signal));
      }
      if (!this.killed) {
        world.add(sleeper);
        signal?.addEventListener('abort', abort, { once: true });
      }
    });
  }

  kill(): void {
    this.killed = true;
    this.#world.kill(this);
  }
}

/** Lets every promise that can settle do so. */
async function settle(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}
