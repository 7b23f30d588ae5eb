/**
 * The requests for the windows of branches. They run behind the polls: for each customer one after the
 * other, at most one a second.
 */
import { nextTurn } from '../base/clock.ts';
import type { Clock } from '../base/clock.ts';
import { MINUTE_MS, SECOND_MS } from '../base/duration.ts';
import { ServiceError } from '../base/errors.ts';
import type { LogLimiter } from '../base/log-limiter.ts';
import type { BranchSites } from '../counting/branches/branch-sites.ts';
import { requestSums } from '../counting/branches/branch-windows.ts';
import type { BranchTask } from '../counting/branches/branch-windows.ts';
import type { PollJob } from './job.ts';
import { abortAfter, DROPPED } from './try-poll.ts';

const DEADLINE_MS = 30_000;
const PAUSE_MS = SECOND_MS;
/** Where requests always fail, they must not take those that polls need: the pause doubles. */
const MIN_RETRY_MS = MINUTE_MS;
const MAX_RETRY_MS = 15 * MINUTE_MS;

/** What is under way for a customer. */
interface CustomerRequests {
  /** Aborts the running request. */
  running: AbortController | undefined;
  /** Ends the pause after a request. */
  endPause: (() => void) | undefined;
  /** When the next request may be sent after a failure, monotonic, and how long that is after it. */
  retry: { readonly atMs: number; readonly pauseMs: number } | undefined;
}

export interface BranchRequestOptions {
  readonly clock: Clock;
  readonly limiter: LogLimiter;
  /** Called when metrics of a customer have changed. */
  readonly observer: { changed(customer: string): void };
}

/** Jobs of people whose branches have something to request, first come first served. */
export class BranchRequests {
  readonly #options: BranchRequestOptions;
  readonly #ready: () => void;
  readonly #queue = new Set<PollJob>();
  readonly #states = new Map<PollJob, CustomerRequests>();
  #running = 0;

  /** `ready` is called when a request can be started after a pause. */
  constructor(options: BranchRequestOptions, ready: () => void) {
    this.#options = options;
    this.#ready = ready;
  }

  /** Queues the job if its branches have something to do, and no request of theirs has just been sent. */
  queue(job: PollJob): void {
    const { running, endPause, retry } = this.#states.get(job) ?? {};
    const { branches } = job.customer;
    if (
      job.stream === 'people' &&
      branches?.isWaiting === true &&
      running === undefined &&
      endPause === undefined &&
      this.#options.clock.monotonicMs() >= (retry?.atMs ?? -Infinity)
    ) {
      this.#queue.add(job);
    }
  }

  /** Forgets the job, and aborts its request. */
  drop(job: PollJob): void {
    const state = this.#states.get(job);
    this.#queue.delete(job);
    this.#states.delete(job);
    state?.endPause?.();
    state?.running?.abort(DROPPED);
  }

  /** Starts the next request unless so many are running. */
  startNext(maxRunning: number): Promise<void> | undefined {
    const [job] = this.#queue;
    if (job === undefined || this.#running >= maxRunning) {
      return undefined;
    }
    this.#queue.delete(job);
    return this.#run(job);
  }

  async #run(job: PollJob): Promise<void> {
    const { clock, observer } = this.#options;
    const { customer } = job;
    const { branches } = customer;
    const task = branches?.plan();
    const state = this.#states.get(job) ?? {
      running: undefined,
      endPause: undefined,
      retry: undefined,
    };
    const stop = new AbortController();
    this.#states.set(job, state);
    state.running = stop;
    this.#running += 1;
    try {
      const requests = branches && task ? await this.#request(job, branches, task, state, stop) : 0;
      while (branches?.learn() === true) {
        await nextTurn();
      }
      if (this.#states.get(job) === state) {
        observer.changed(customer.customer);
        state.endPause = clock.after(PAUSE_MS * requests, () => {
          state.endPause = undefined;
          this.queue(job);
          this.#ready();
        });
      }
    } finally {
      state.running = undefined;
      this.#running -= 1;
    }
  }

  /** Returns how many requests were sent. */
  async #request(
    { customer, client }: PollJob,
    branches: BranchSites,
    task: BranchTask,
    state: CustomerRequests,
    stop: AbortController,
  ): Promise<number> {
    const { clock, limiter } = this.#options;
    const endDeadline = abortAfter(clock, DEADLINE_MS, stop, 'a request for branches');
    let requests = 0;
    try {
      const table = await requestSums(task, customer.calendar, (question) => {
        requests += 1;
        return client.query(question, stop.signal);
      });
      branches.responded(task, table);
      state.retry = undefined;
    } catch (error) {
      if (!(error instanceof ServiceError)) {
        throw error;
      }
      branches.requestFailed();
      if (stop.signal.reason !== DROPPED) {
        if (state.retry === undefined) {
          const fields = { customer: customer.customer, error: error.message };
          limiter.tryLog('warn', 'branches unavailable', fields);
        }
        const pauseMs = Math.min(2 * (state.retry?.pauseMs ?? MIN_RETRY_MS / 2), MAX_RETRY_MS);
        state.retry = { atMs: clock.monotonicMs() + pauseMs, pauseMs };
      }
    } finally {
      endDeadline();
    }
    return requests;
  }
}
