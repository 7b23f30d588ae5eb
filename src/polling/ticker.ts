/** Calls a function when something is due, but no more often than once a tick. */
import type { Clock } from '../base/clock.ts';

export class Ticker {
  /** Jobs that are due within a tick start together. */
  tickMs = 0;
  /** Set by {@link stop}. */
  isStopped = false;
  readonly #clock: Clock;
  readonly #tick: (nowMs: number) => number;
  #wakesAtMs = 0;
  #waking = new AbortController();
  #loop: Promise<void> | undefined;

  /** `tick` returns when it is to be called again, monotonic. */
  constructor(clock: Clock, tick: (nowMs: number) => number) {
    this.#clock = clock;
    this.#tick = tick;
  }

  start(): void {
    this.#wakesAtMs = this.#clock.monotonicMs();
    this.#loop = this.#run();
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    this.#waking.abort();
    await this.#loop;
  }

  /** Ends the wait, because something may be due at this instant, monotonic; by default now. */
  wake(atMs = -Infinity): void {
    // Not for less than a tick: a thousand first polls would wake the loop a thousand times.
    if (atMs < this.#wakesAtMs - this.tickMs) {
      this.#waking.abort();
    }
  }

  /** How late the loop is: 0 while it makes progress. */
  lateMs(): number {
    return Math.max(0, this.#clock.monotonicMs() - this.#wakesAtMs);
  }

  async #run(): Promise<void> {
    while (!this.isStopped) {
      const nowMs = this.#clock.monotonicMs();
      this.#wakesAtMs = Math.max(this.#tick(nowMs), nowMs + this.tickMs);
      this.#waking = new AbortController();
      await this.#clock.sleep(this.#wakesAtMs - nowMs, this.#waking.signal).catch(() => {});
    }
  }
}
