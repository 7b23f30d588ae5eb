/** Slots for what takes long, baselines and first polls: more at once would not end in time. */
import type { PollJob } from './job.ts';

/** A baseline takes five requests. Ten of them per deadline leave room for ordinary polls. */
const REQUESTS_PER_BASELINE = 10;
/** Dead customers leave the other half of the places for requests to ordinary polls. */
const MIN_SHARE = 1 / 2;

export class Slots {
  /** Jobs that wait for a slot, first come first served. */
  readonly waiting = new Set<PollJob>();
  /** How many jobs there are, and how many of them have not ended their first poll. */
  jobs = 0;
  firstPolls = 0;
  readonly #holders = new Set<PollJob>();
  readonly #places: number;
  readonly #inTime: number;

  /** `maxRequests` are allowed until a first poll must have ended. */
  constructor(maxConcurrency: number, maxRequests: number) {
    this.#places = maxConcurrency;
    this.#inTime = maxRequests / REQUESTS_PER_BASELINE;
  }

  /** Number of slots: more while most jobs wait for their first poll. */
  get size(): number {
    const places = this.#places * Math.max(MIN_SHARE, this.firstPolls / Math.max(1, this.jobs));
    return Math.max(1, Math.floor(Math.min(places, this.#inTime)));
  }

  get isFree(): boolean {
    return this.#holders.size < this.size;
  }

  /** Whether the job has a slot now. */
  take(job: PollJob): boolean {
    if (this.isFree) {
      this.#holders.add(job);
    }
    return this.#holders.has(job);
  }

  /** Gives the job's slot back, if it has one. */
  release(job: PollJob): void {
    this.#holders.delete(job);
  }
}
