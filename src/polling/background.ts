/**
 * What is requested behind the polls: histories and the windows of branches. Polls come first. What fails
 * is tried again less and less often, so that it does not take the requests that polls need.
 */
import { nextTurn } from '../base/clock.ts';
import type { Clock } from '../base/clock.ts';
import { MINUTE_MS, SECOND_MS } from '../base/duration.ts';
import { ServiceError } from '../base/errors.ts';
import type { LogLimiter } from '../base/log-limiter.ts';
import type { AggregatedResponse, WindowQuery } from '../base/model.ts';
import { isHistoryDue, updateHistory } from '../counting/customer-history.ts';
import type { Query } from '../counting/rows/window-reader.ts';
import type { PollJob } from './job.ts';
import { abortAfter, DROPPED } from './try-poll.ts';

/** Logged when a task fails for a job, until it succeeds again. */
const FAILURE_MESSAGES = {
  'the history': 'history unavailable',
  'a window of branches': 'branches unavailable',
} as const;

/** One kind of requests behind the polls. */
export interface BackgroundTask {
  readonly name: keyof typeof FAILURE_MESSAGES;
  /** How many jobs run at once, as a share of the slots. */
  readonly share: number;
  /** Between the starts of two jobs. */
  readonly gapMs: number;
  /** Pause of a job after each of its requests, until it goes on; 0 if it goes on after the next poll. */
  readonly pauseMs: number;
  readonly deadlineMs: number;
  /** Pause of a job after a failure. It doubles with each in a row. */
  readonly minRetryMs: number;
  readonly maxRetryMs: number;
  /** Whether its results are shown before the next poll of the job. */
  readonly isShownAtOnce: boolean;
  isDue(job: PollJob, nowMs: number): boolean;
  /** Throws a ServiceError. */
  run(job: PollJob, query: Query, nowMs: number): Promise<void>;
}

/** Reads the history of people or logins, once a day. */
const HISTORY: BackgroundTask = {
  name: 'the history',
  share: 0.1,
  // The histories of 10,000 customers begin within an hour: two each.
  gapMs: 180,
  pauseMs: 0,
  deadlineMs: 5 * MINUTE_MS,
  minRetryMs: 15 * MINUTE_MS,
  maxRetryMs: 6 * 60 * MINUTE_MS,
  isShownAtOnce: false,
  isDue: ({ customer, stream }, nowMs) => isHistoryDue(customer, stream, nowMs),
  run: ({ customer, stream }, query, nowMs) => updateHistory(customer, stream, query, nowMs),
};

/** Reads the next window of a customer's branches, and learns from their days before. */
const BRANCH_WINDOW: BackgroundTask = {
  name: 'a window of branches',
  share: 0.25,
  gapMs: 0,
  pauseMs: SECOND_MS,
  deadlineMs: 30 * SECOND_MS,
  minRetryMs: MINUTE_MS,
  maxRetryMs: 15 * MINUTE_MS,
  isShownAtOnce: true,
  isDue: ({ customer, stream }) => stream === 'people' && customer.branches?.isWaiting === true,
  async run({ customer: { branches } }, query) {
    try {
      await branches?.readNext(query);
    } finally {
      while (branches?.learn() === true) {
        await nextTurn();
      }
    }
  },
};

export const BACKGROUND_TASKS = [HISTORY, BRANCH_WINDOW];

export interface BackgroundOptions {
  readonly clock: Clock;
  readonly limiter: LogLimiter;
  /** Called when metrics of a customer have changed. */
  readonly observer: { changed(customer: string): void };
}

type Ready = (queue: BackgroundQueue) => void;

interface JobState {
  /** Ends the requests that are running, or the pause after them. */
  end?: (() => void) | undefined;
  /** When requests may be sent again after a failure, monotonic, how long that is after it, and the wall clock then. */
  retry?: { readonly atMs: number; readonly pauseMs: number; readonly wallMs: number } | undefined;
}

/** Jobs for which a task is due, first come first served. */
export class BackgroundQueue {
  readonly #task: BackgroundTask;
  readonly #options: BackgroundOptions;
  readonly #ready: Ready;
  readonly #queue = new Set<PollJob>();
  readonly #states = new Map<PollJob, JobState>();
  #running = 0;
  #nextStartMs = -Infinity;

  /** `ready` is called when a job may start without a poll: another one has ended, or its pause has. */
  constructor(task: BackgroundTask, options: BackgroundOptions, ready: Ready) {
    this.#task = task;
    this.#options = options;
    this.#ready = ready;
  }

  /** Queues the job if the task is due for it. */
  queue(job: PollJob): void {
    const { clock } = this.#options;
    const { end, retry } = this.#states.get(job) ?? {};
    const isPausing = retry !== undefined && this.#isPausing(retry);
    if (end === undefined && !isPausing && this.#task.isDue(job, clock.nowMs())) {
      this.#queue.add(job);
    }
  }

  /** A step of the wall clock ends the pause: what failed may have been asked for another day. */
  #isPausing({ atMs, pauseMs, wallMs }: NonNullable<JobState['retry']>): boolean {
    const { clock } = this.#options;
    const waitedMs = clock.monotonicMs() - (atMs - pauseMs);
    return waitedMs < pauseMs && Math.abs(clock.nowMs() - wallMs - waitedMs) < MINUTE_MS;
  }

  /** Forgets the job, and aborts its requests. */
  drop(job: PollJob): void {
    const state = this.#states.get(job);
    this.#queue.delete(job);
    this.#states.delete(job);
    state?.end?.();
  }

  /** Starts as many of the queued jobs as may run beside each other. */
  start(slots: number): readonly Promise<void>[] {
    const { share, gapMs } = this.#task;
    const nowMs = this.#options.clock.monotonicMs();
    const started: Promise<void>[] = [];
    for (const job of this.#queue) {
      if (this.#running >= Math.ceil(slots * share) || nowMs < this.#nextStartMs) {
        break;
      }
      this.#queue.delete(job);
      this.#nextStartMs = nowMs + gapMs;
      started.push(this.#run(job));
    }
    return started;
  }

  async #run(job: PollJob): Promise<void> {
    const { clock, observer } = this.#options;
    const { pauseMs, isShownAtOnce } = this.#task;
    const state: JobState = this.#states.get(job) ?? {};
    this.#states.set(job, state);
    this.#running += 1;
    const requests = await this.#request(job, state).finally(() => (this.#running -= 1));
    state.end = undefined;
    const isKept = this.#states.get(job) === state;
    // Hundreds of windows in a row need not be rendered one by one: each poll shows them, too.
    if (isKept && isShownAtOnce && !this.#task.isDue(job, clock.nowMs())) {
      observer.changed(job.customer.customer);
    }
    const goOn = () => {
      state.end = undefined;
      this.queue(job);
      this.#ready(this);
    };
    const gapMs = this.#nextStartMs - clock.monotonicMs();
    state.end = isKept ? clock.after(Math.max(pauseMs * requests, gapMs), goOn) : undefined;
    this.#ready(this);
  }

  /** Returns the number of requests. */
  async #request(job: PollJob, state: JobState): Promise<number> {
    const { clock, limiter } = this.#options;
    const { name, deadlineMs, minRetryMs, maxRetryMs } = this.#task;
    const stop = new AbortController();
    state.end = () => stop.abort(DROPPED);
    const endDeadline = abortAfter(clock, deadlineMs, stop, name);
    let requests = 0;
    function query(question: WindowQuery): Promise<AggregatedResponse> {
      requests += 1;
      return job.client.query(question, stop.signal, 'optional');
    }
    try {
      await this.#task.run(job, query, clock.nowMs());
      state.retry = undefined;
    } catch (error) {
      if (!(error instanceof ServiceError)) {
        throw error;
      }
      if (state.retry === undefined && stop.signal.reason !== DROPPED) {
        const { stream, customer } = job;
        const fields = { customer: customer.customer, stream, error: error.message };
        limiter.tryLog('warn', FAILURE_MESSAGES[name], fields);
      }
      const pauseMs = Math.min(2 * (state.retry?.pauseMs ?? minRetryMs / 2), maxRetryMs);
      state.retry = { atMs: clock.monotonicMs() + pauseMs, pauseMs, wallMs: clock.nowMs() };
    } finally {
      endDeadline();
    }
    return requests;
  }
}
