/**
 * Polls every stream of every customer once an interval, each at its own place in it, and never a
 * stream twice at once.
 */
import type { Clock } from '../base/clock.ts';
import { ServiceError } from '../base/errors.ts';
import type { FailureReason } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Stream } from '../base/model.ts';
import { planCustomerPoll, pollCustomer } from '../counting/customer-poll.ts';
import type { PollTimes } from '../counting/customer-poll.ts';
import type { Customer, CustomerOutcome } from '../counting/customer.ts';
import type { CustomerClient } from '../service/types.ts';
import { BACKGROUND_TASKS, BackgroundQueue } from './background.ts';
import { DueJobs, nextDueMs, renewalMs } from './job.ts';
import type { NamedCustomer, PollJob } from './job.ts';
import { PollLog } from './poll-log.ts';
import type { LogLimiter } from '../base/log-limiter.ts';
import { deadlineMs, DROPPED, FIRST_POLL_DEADLINE_MS, tryPoll } from './try-poll.ts';
import type { Attempt } from './try-poll.ts';
import { Slots } from './slots.ts';
import { Ticker } from './ticker.ts';

export interface PollObserver {
  /** A poll has ended; `reason` if it failed. */
  pollEnded(stream: Stream, durationSeconds: number, reason: FailureReason | undefined): void;
  /** Metrics of this customer have changed. */
  changed(customer: string): void;
}

export interface SchedulerOptions {
  readonly clock: Clock;
  readonly log: Logger;
  /** Shared with others that log about customers. */
  readonly limiter: LogLimiter;
  readonly observer: PollObserver;
  readonly intervalMs: number;
  readonly reconcileIntervalMs: number;
  readonly breakdownIntervalMs: number;
  readonly maxConcurrency: number;
  readonly maxRequestsPerSecond: number;
}

export interface PolledCustomer {
  readonly customer: Customer;
  readonly client: CustomerClient;
}

/**
 * Jobs that are due within a tick start together, which halves the processor time. But not more of
 * them than half of the allowed requests: a request that waits takes a quarter more time.
 */
const MAX_TICK_MS = 250;
const MIN_TICK_MS = 20;

/** What is read at once after a poll that could not decide. */
const PLANS_AFTER = {
  accepted: undefined,
  pending: undefined,
  'needs renewal': 'renewal',
  'needs baseline': 'baseline',
} as const;

export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #times: PollTimes;
  readonly #log: PollLog;
  readonly #ticker: Ticker;
  readonly #slots: Slots;
  readonly #background: readonly BackgroundQueue[];
  /** Polls, and what is requested behind them. */
  readonly #running = new Set<Promise<void>>();
  #jobs: ReadonlyMap<string, PollJob> = new Map();
  /** Those whose first poll has ended. */
  #due = new DueJobs();

  constructor(options: SchedulerOptions) {
    const { clock, intervalMs, maxConcurrency, maxRequestsPerSecond } = options;
    const firstPollsMs = Math.max(FIRST_POLL_DEADLINE_MS, intervalMs);
    this.#options = options;
    this.#times = { clocks: clock, reconcileIntervalMs: options.reconcileIntervalMs };
    this.#log = new PollLog(options.log, options.limiter);
    this.#ticker = new Ticker(clock, (nowMs) => this.#startDue(nowMs));
    this.#slots = new Slots(maxConcurrency, (maxRequestsPerSecond * firstPollsMs) / 1000);
    this.#background = BACKGROUND_TASKS.map(
      (task) => new BackgroundQueue(task, options, (queue) => this.#startBackground([queue])),
    );
  }

  start(): void {
    this.#ticker.start();
  }

  /**
   * Polls these customers from now on. Known ones keep their schedule and their running poll; new
   * ones are polled as soon as the limits allow, breakdowns after all streams.
   */
  setCustomers(customers: readonly PolledCustomer[]): void {
    const { intervalMs, breakdownIntervalMs } = this.#options;
    const jobs = [
      ...this.#spread(customers, ({ streams }) => streams, intervalMs),
      ...this.#spread(customers, ({ breakdowns }) => breakdowns.configured, breakdownIntervalMs),
    ];
    const before = this.#jobs;
    this.#jobs = new Map(jobs.map((job) => [keyOf(job.customer, job.stream), job]));
    this.#ticker.tickMs = this.#tickMs();
    for (const job of before.values()) {
      if (!this.#isPolled(job)) {
        this.#slots.waiting.delete(job);
        this.#drop(job);
      }
    }
    const unpolled = jobs.filter(({ phase }) => phase === 'first');
    this.#due = new DueJobs();
    jobs.filter(({ phase }) => phase !== 'first').forEach((job) => this.#due.add(job));
    this.#slots.firstPolls = unpolled.length;
    this.#slots.jobs = jobs.length;
    unpolled
      .filter(({ running }) => running === undefined)
      .forEach((job) => this.#slots.waiting.add(job));
    this.#startWaiting();
    this.#ticker.wake();
  }

  /** Ends the loop and drops every running poll. */
  async stop(): Promise<void> {
    const stopped = this.#ticker.stop();
    this.#jobs.forEach((job) => this.#drop(job));
    await Promise.allSettled([stopped, ...this.#running]);
  }

  /** How late the loop is: 0 while it makes progress. */
  lateMs(): number {
    return this.#ticker.lateMs();
  }

  /** Time until the next poll of a stream: 0 while it runs or waits; undefined if it is not polled. */
  nextPollInMs(customer: NamedCustomer, stream: string): number | undefined {
    const job = this.#jobs.get(keyOf(customer, stream));
    if (job === undefined || job.running !== undefined || job.phase === 'first') {
      return job && 0;
    }
    return Math.max(0, job.dueMs - this.#options.clock.monotonicMs());
  }

  /** Jobs evenly over the interval. */
  #spread(
    customers: readonly PolledCustomer[],
    streamsOf: (customer: Customer) => readonly Stream[],
    intervalMs: number,
  ): PollJob[] {
    const nowMs = this.#options.clock.monotonicMs();
    const polled = customers.flatMap(({ customer, client }) =>
      streamsOf(customer).map((stream) => ({ customer, client, stream })),
    );
    return polled.map(({ customer, client, stream }, i) => {
      const before = this.#jobs.get(keyOf(customer, stream));
      const job: PollJob =
        before?.customer === customer
          ? before
          : {
              customer,
              stream,
              client,
              intervalMs,
              place: 0,
              phase: 'first',
              dueMs: Infinity,
              running: undefined,
            };
      job.client = client;
      job.place = i / polled.length;
      job.dueMs = nextDueMs(job, nowMs);
      return job;
    });
  }

  #tickMs(): number {
    const { intervalMs, breakdownIntervalMs, maxConcurrency } = this.#options;
    const jobsPerMs = [...this.#jobs.values()].reduce((sum, job) => sum + 1 / job.intervalMs, 0);
    const maxMs = Math.min(MAX_TICK_MS, intervalMs / 20, breakdownIntervalMs / 20);
    return Math.min(maxMs, Math.max(MIN_TICK_MS, maxConcurrency / 2 / jobsPerMs));
  }

  /** Whether it has not been dropped. */
  #isPolled(job: PollJob): boolean {
    return this.#jobs.get(keyOf(job.customer, job.stream)) === job;
  }

  #drop(job: PollJob): void {
    job.running?.abort(DROPPED);
    this.#background.forEach((queue) => queue.drop(job));
  }

  /** Starts the polls that are due. Returns when the next one is. */
  #startDue(nowMs: number): number {
    const { limiter, intervalMs } = this.#options;
    limiter.reportSuppressed();
    for (const job of this.#due.take(nowMs)) {
      this.#startScheduled(job, nowMs);
      this.#due.add(job);
    }
    return Math.min(this.#due.earliestMs(), nowMs + intervalMs);
  }

  #startScheduled(job: PollJob, nowMs: number): void {
    const { customer, stream, intervalMs } = job;
    // Polls that were due while the process stood still.
    const missed = Math.floor((nowMs - job.dueMs) / intervalMs);
    job.dueMs += (missed + 1) * intervalMs;
    const isBusy = job.running !== undefined && job.phase !== 'extra';
    job.phase = 'scheduled';
    const skipped = missed + Number(isBusy);
    for (let i = 0; i < skipped; i++) {
      customer.pollSkipped(stream);
    }
    if (skipped > 0) {
      this.#options.observer.changed(customer.customer);
    }
    if (job.running === undefined) {
      this.#start(job);
    }
  }

  /** Starts the jobs that wait for a slot, while there is one. */
  #startWaiting(): void {
    for (const job of this.#slots.waiting) {
      if (this.#ticker.isStopped || !this.#slots.isFree) {
        return;
      }
      if (job.running === undefined) {
        job.phase = job.phase === 'first' ? 'first' : 'extra';
        this.#start(job);
      }
    }
  }

  #start(job: PollJob): void {
    const stop = new AbortController();
    job.running = stop;
    this.#slots.waiting.delete(job);
    this.#track(this.#poll(job, stop), () => this.#ended(job));
  }

  #ended(job: PollJob): void {
    const wasFirst = job.phase === 'first';
    job.running = undefined;
    job.phase = 'scheduled';
    this.#slots.release(job);
    if (wasFirst) {
      job.dueMs = nextDueMs(job, this.#options.clock.monotonicMs());
      this.#ticker.wake(job.dueMs);
    }
    if (wasFirst && this.#isPolled(job)) {
      this.#due.add(job);
      this.#slots.firstPolls -= 1;
    }
    this.#startWaiting();
    if (this.#isPolled(job)) {
      this.#background.forEach((queue) => queue.queue(job));
    }
    this.#startBackground();
  }

  async #poll(job: PollJob, stop: AbortController): Promise<void> {
    const { clock, reconcileIntervalMs } = this.#options;
    const startMs = clock.monotonicMs();
    const baselinesMs = renewalMs(job, startMs, reconcileIntervalMs);
    const plan = planCustomerPoll(job.customer, job.stream, this.#times, baselinesMs);
    let outcome = await this.#try(job, this.#admit(job, plan), stop);
    const next = outcome instanceof ServiceError ? undefined : PLANS_AFTER[outcome.result];
    if (next !== undefined) {
      const attempt = this.#admit(job, next);
      outcome = attempt.plan === next ? await this.#try(job, attempt, stop) : outcome;
    }
    if (stop.signal.reason !== DROPPED) {
      this.#report(job, outcome, clock.monotonicMs() - startMs);
    }
  }

  #try(job: PollJob, attempt: Attempt, stop: AbortController) {
    const { customer, stream } = job;
    return tryPoll(job, attempt, this.#options.clock, stop, (query) =>
      pollCustomer(customer, stream, attempt.plan, this.#times, query),
    );
  }

  /** Takes a slot for a first poll or a baseline. Without one, a renewal waits, and the last minutes are read. */
  #admit(job: PollJob, wanted: Attempt['plan']): Attempt {
    const isBaseline = wanted === 'baseline' || wanted === 'renewal';
    const hasSlot = (isBaseline || job.phase === 'first') && this.#slots.take(job);
    const waits = wanted === 'renewal' && !hasSlot;
    if (waits) {
      this.#slots.waiting.add(job);
    }
    const plan = waits ? 'recent' : wanted;
    const priority = wanted === 'breakdown' ? 'optional' : hasSlot ? 'urgent' : 'normal';
    return { plan, priority, deadlineMs: deadlineMs(job, plan) };
  }

  /** Reports a poll that has ended to the customer, the log and the observer. */
  #report(job: PollJob, end: CustomerOutcome | ServiceError, tookMs: number): void {
    const { customer, stream, intervalMs } = job;
    const { clock, observer } = this.#options;
    const error = end instanceof ServiceError ? end : undefined;
    if (end instanceof ServiceError) {
      customer.pollFailed(stream, end.message, clock.nowMs());
      this.#log.failed(job, end);
    } else {
      customer.polled(end, clock.nowMs());
      this.#log.succeeded(job, end.notes);
      if (tookMs > intervalMs) {
        this.#log.tooSlow(job, tookMs, intervalMs);
      }
    }
    observer.pollEnded(stream, tookMs / 1000, error?.reason);
    observer.changed(customer.customer);
  }

  /**
   * Starts what waits behind the polls, once every customer has ended its first poll. Jobs that wait for a
   * slot do not stop it: it has a share of its own, so that hanging customers leave the others their branches.
   */
  #startBackground(queues = this.#background): void {
    if (!this.#ticker.isStopped && this.#slots.firstPolls === 0) {
      for (const run of queues.flatMap((queue) => queue.start(this.#slots.size))) {
        this.#track(run, () => {});
      }
    }
  }

  #track(run: Promise<void>, ended: () => void): void {
    const tracked = run.finally(() => {
      this.#running.delete(tracked);
      ended();
    });
    this.#running.add(tracked);
  }
}

function keyOf({ customer }: NamedCustomer, stream: string): string {
  return `${stream} ${customer}`;
}
