/**
 * Slots, by kind of job: for first polls and baselines, which take long, so that more at once would not end in
 * time; and for what is read behind the polls. Each kind has a share of its own, so that neither hanging
 * customers nor the reading of the past keep the others from theirs.
 */
import type { Job, JobKind, ReadJob } from './job.ts';

/** A baseline takes five requests. Ten of them per deadline leave room for ordinary polls. */
const REQUESTS_PER_BASELINE = 10;
/** Dead customers leave the other half of the places for requests to ordinary polls. */
const MIN_SHARE = 1 / 2;
/** Of the slots of polls. */
const SHARES: Readonly<Record<JobKind, number>> = { poll: 1, window: 0.25, past: 0.1 };
/** Polls come first. */
const KINDS = ['poll', 'window', 'past'] as const satisfies readonly JobKind[];

/** Time between the starts of two jobs, by kind. */
type Gaps = Readonly<Record<ReadJob['kind'], { readonly gapMs: number }>>;

export class Slots {
  /** How many polled streams there are, and how many of them have not ended their first poll. */
  jobs = 0;
  firstPolls = 0;
  readonly #waiting = { poll: new Set<Job>(), window: new Set<Job>(), past: new Set<Job>() };
  readonly #holders = { poll: new Set<Job>(), window: new Set<Job>(), past: new Set<Job>() };
  readonly #nextStartMs = { poll: -Infinity, window: -Infinity, past: -Infinity };
  readonly #readings: Gaps;
  readonly #places: number;
  readonly #inTime: number;

  /** `maxRequests` are allowed until a first poll must have ended. `readings` have the gaps. */
  constructor(maxConcurrency: number, maxRequests: number, readings: Gaps) {
    this.#places = maxConcurrency;
    this.#inTime = maxRequests / REQUESTS_PER_BASELINE;
    this.#readings = readings;
  }

  /** Returns the number of slots: more for polls while most of them are first ones. */
  sizeOf(kind: JobKind): number {
    const places = this.#places * Math.max(MIN_SHARE, this.firstPolls / Math.max(1, this.jobs));
    const ofPolls = Math.max(1, Math.floor(Math.min(places, this.#inTime)));
    return Math.ceil(ofPolls * SHARES[kind]);
  }

  /** Lets a job wait for a slot, first come first served. */
  wait(job: Job): void {
    this.#waiting[job.kind].add(job);
  }

  stopWaiting(job: Job): void {
    this.#waiting[job.kind].delete(job);
  }

  /** Yields the waiting jobs that may start at an instant, monotonic: the caller starts each before the next. */
  *startable(nowMs: number): Generator<Job> {
    for (const kind of KINDS) {
      // What is read waits until every customer has ended its first poll.
      for (const job of kind === 'poll' || this.firstPolls === 0 ? this.#waiting[kind] : []) {
        const mustWait = this.#gapMs(kind) > 0 && nowMs < this.#nextStartMs[kind];
        if (mustWait || !this.#hasPlace(kind)) {
          break;
        }
        yield job;
      }
    }
  }

  /** Returns when a gap ends that a waiting job waits for, monotonic; Infinity if none does. */
  gapEndsMs(): number {
    const waiting = KINDS.filter(
      (kind) => this.#gapMs(kind) > 0 && this.#waiting[kind].size > 0 && this.#hasPlace(kind),
    );
    return this.firstPolls > 0
      ? Infinity
      : Math.min(...waiting.map((kind) => this.#nextStartMs[kind]));
  }

  /** Whether the job has a slot now. */
  take(job: Job, nowMs: number): boolean {
    if (this.#hasPlace(job.kind)) {
      this.#holders[job.kind].add(job);
      this.#nextStartMs[job.kind] = nowMs + this.#gapMs(job.kind);
    }
    return this.#holders[job.kind].has(job);
  }

  /** Gives the job's slot back, if it has one. */
  release(job: Job): void {
    this.#holders[job.kind].delete(job);
  }

  #gapMs(kind: JobKind): number {
    return kind === 'poll' ? 0 : this.#readings[kind].gapMs;
  }

  #hasPlace(kind: JobKind): boolean {
    return this.#holders[kind].size < this.sizeOf(kind);
  }
}
