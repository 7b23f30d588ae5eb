/** What is polled or read of a customer, and when. Only the scheduler changes a job. */
import type { Stream } from '../base/model.ts';
import type { Customer } from '../counting/customer.ts';
import type { PollingClient } from '../service/types.ts';

export type NamedCustomer = Pick<Customer, 'customer'>;

/** One stream of one customer, polled once an interval. */
export interface PollJob {
  readonly kind: 'poll';
  readonly customer: Customer;
  readonly stream: Stream;
  readonly intervalMs: number;
  client: PollingClient;
  /** Place in the interval, in [0, 1). */
  place: number;
  /**
   * `first` until the first poll has ended; then `scheduled`, but `extra` while a poll runs that had waited
   * for a slot: a poll that is due meanwhile is this one.
   */
  phase: 'first' | 'scheduled' | 'extra';
  /** When the next poll is due, monotonic. Nothing is due before the first poll has ended. */
  dueMs: number;
  /** Aborts the running poll. */
  running: AbortController | undefined;
  /** What is read behind its polls. */
  behind: readonly ReadJob[];
}

/** What is read behind the polls of a stream: its past, where its devices are, or a window of branches. */
export interface ReadJob {
  readonly kind: 'past' | 'window';
  readonly poll: PollJob;
  /** It rests until then, monotonic. */
  dueMs: number;
  /** After a failure: how long it rests, and the start of the customer's day then. */
  backOff: { readonly pauseMs: number; readonly dayStartMs: number } | undefined;
  /** Aborts its requests. */
  running: AbortController | undefined;
}

export type Job = PollJob | ReadJob;
export type JobKind = Job['kind'];

/** A baseline is early by one poll, but by no more than this share, so that it is never late. */
const RECONCILE_SHARE = 0.9;

/** Returns the start of the job's newest interval, monotonic. */
function newestPlaceMs({ place }: PollJob, nowMs: number, intervalMs: number): number {
  const offsetMs = place * intervalMs;
  return offsetMs + Math.floor((nowMs - offsetMs) / intervalMs) * intervalMs;
}

/** Returns when a poll is due after `nowMs`, monotonic. */
export function nextDueMs(job: PollJob, nowMs: number): number {
  return newestPlaceMs(job, nowMs, job.intervalMs) + job.intervalMs;
}

const BUCKET_MS = 250;

/** Jobs by the time at which they are due, in buckets: 20,000 jobs are not searched 20 times a second. */
export class DueJobs {
  readonly #buckets = new Map<number, Job[]>();

  add(job: Job): void {
    const bucket = Math.floor(job.dueMs / BUCKET_MS);
    const jobs = this.#buckets.get(bucket);
    if (jobs === undefined) {
      this.#buckets.set(bucket, [job]);
    } else {
      jobs.push(job);
    }
  }

  /** Removes and returns the jobs that are due, the one that has been due for longest first. */
  take(nowMs: number): readonly Job[] {
    const buckets = [...this.#buckets].filter(([bucket]) => bucket * BUCKET_MS <= nowMs);
    buckets.forEach(([bucket]) => this.#buckets.delete(bucket));
    const { due = [], later = [] } = Object.groupBy(
      buckets.flatMap(([, jobs]) => jobs),
      ({ dueMs }) => (dueMs <= nowMs ? 'due' : 'later'),
    );
    later.forEach((job) => this.add(job));
    return due.toSorted((a, b) => a.dueMs - b.dueMs);
  }

  /** Returns when the next job is due, monotonic; Infinity if none is. */
  earliestMs(): number {
    const bucket = Math.min(...this.#buckets.keys());
    return Math.min(...(this.#buckets.get(bucket) ?? []).map(({ dueMs }) => dueMs));
  }
}

/**
 * Returns when the job's baseline was due for the last time, monotonic. Each job has its own place in the
 * reconcile interval, so that baselines that were read together at the start are not read together again.
 */
export function renewalMs(job: PollJob, nowMs: number, reconcileIntervalMs: number): number {
  const everyMs = Math.max(
    reconcileIntervalMs - job.intervalMs,
    RECONCILE_SHARE * reconcileIntervalMs,
  );
  // The job may have moved to another place.
  return Math.max(newestPlaceMs(job, nowMs, everyMs), nowMs - reconcileIntervalMs);
}
