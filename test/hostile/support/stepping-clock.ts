/**
 * Virtual time for a daemon that speaks over real sockets: time stands still while a poll waits for
 * an answer, and goes on only where every poll under way waits for the clock itself.
 */
import type { Clock } from '../../../src/base/clock.ts';
import { VirtualClock, settle } from '../../support/virtual-clock.ts';

/** Small against the wait for a poll's deadline, and a part of every interval. */
const STEP_MS = 5000;
/** Most answers come at once; for the others, the processor is left to whoever else wants it. */
const IMPATIENT_ROUNDS = 200;
/** Who sleeps however the polls go: the polling loop, and the one that keeps the exposition ready. */
const DAEMONS_OWN = 2;

export class SteppingClock implements Clock {
  readonly #virtual: VirtualClock;
  /** A sleep of exactly such a length is the deadline of a poll: it lasts as long as its poll. */
  readonly #deadlinesMs: readonly number[];
  #polls = 0;
  /** All other sleepers: those of the daemon, and polls that wait before they ask again. */
  #others = 0;

  constructor(startMs: number, deadlinesMs: readonly number[]) {
    this.#virtual = new VirtualClock(startMs);
    this.#deadlinesMs = deadlinesMs;
  }

  nowMs(): number {
    return this.#virtual.nowMs();
  }

  monotonicMs(): number {
    return this.#virtual.monotonicMs();
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (ms <= 0) {
      await settle();
      signal?.throwIfAborted();
      return;
    }
    const isDeadline = this.#deadlinesMs.includes(ms);
    this.#count(isDeadline, 1);
    try {
      await this.#virtual.sleep(ms, signal);
    } finally {
      this.#count(isDeadline, -1);
    }
  }

  /** Resolves when no poll is under way, however long that takes by this clock. */
  async whenQuiet(): Promise<void> {
    await settle();
    for (let waited = 0; this.#polls > 0; waited += 1) {
      if (this.#others >= this.#polls + DAEMONS_OWN) {
        await this.#virtual.advance(1000);
      } else if (waited < IMPATIENT_ROUNDS) {
        await settle();
      } else {
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
    }
    await settle();
  }

  /** Lets so much time pass, what polls wait for included, and every poll that falls due end. */
  async pass(ms: number): Promise<void> {
    const endMs = this.monotonicMs() + ms;
    while (this.monotonicMs() < endMs) {
      await this.#virtual.advance(Math.min(STEP_MS, endMs - this.monotonicMs()));
      await this.whenQuiet();
    }
  }

  #count(isDeadline: boolean, change: number): void {
    if (isDeadline) {
      this.#polls += change;
    } else {
      this.#others += change;
    }
  }
}
