/**
 * Polls every stream of every customer once an interval, each at its own place in it, and never a
 * stream twice at once. What is read behind the polls are jobs of the same queue.
 */
import type { Clock } from '../base/clock.ts';
import { ServiceError } from '../base/errors.ts';
import type { FailureReason } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Stream } from '../base/model.ts';
import { planCustomerPoll, pollCustomer } from '../counting/customer-poll.ts';
import type { PollTimes } from '../counting/customer-poll.ts';
import type { Customer, CustomerOutcome } from '../counting/customer.ts';
import type { PollingClient } from '../service/types.ts';
import { DueJobs, nextDueMs, renewalMs } from './job.ts';
import type { Job, NamedCustomer, PollJob, ReadJob } from './job.ts';
import { PollLog } from './poll-log.ts';
import type { LogLimiter } from '../base/log-limiter.ts';
import { failureMessage, jobsBehind, pauseAfterFailure, READINGS } from './reading.ts';
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
  readonly client: PollingClient;
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
  readonly #running = new Set<Promise<void>>();
  /** Polls, by stream and customer. */
  #jobs: ReadonlyMap<string, PollJob> = new Map();
  /** Those whose first poll has ended, and what rests behind them. */
  #due = new DueJobs();

  constructor(options: SchedulerOptions) {
    const { clock, intervalMs, maxConcurrency, maxRequestsPerSecond } = options;
    const firstPollsMs = Math.max(FIRST_POLL_DEADLINE_MS, intervalMs);
    this.#options = options;
    this.#times = { clocks: clock, reconcileIntervalMs: options.reconcileIntervalMs };
    this.#log = new PollLog(options.log, options.limiter);
    this.#ticker = new Ticker(clock, (nowMs) => this.#startDue(nowMs));
    this.#slots = new Slots(maxConcurrency, (maxRequestsPerSecond * firstPollsMs) / 1000, READINGS);
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
        this.#drop(job);
        job.behind.forEach((read) => this.#drop(read));
      }
    }
    const unpolled = jobs.filter(({ phase }) => phase === 'first');
    this.#due = new DueJobs();
    const due = jobs.filter(({ phase }) => phase !== 'first');
    const nowMs = this.#options.clock.monotonicMs();
    const resting = due.flatMap(({ behind }) => behind.filter(({ dueMs }) => dueMs > nowMs));
    [...due, ...resting].forEach((job) => this.#due.add(job));
    this.#slots.firstPolls = unpolled.length;
    this.#slots.jobs = jobs.length;
    unpolled.filter(({ running }) => running === undefined).forEach((job) => this.#slots.wait(job));
    this.#startWaiting();
    this.#ticker.wake();
  }

  /** Ends the loop and drops every running poll. */
  async stop(): Promise<void> {
    const stopped = this.#ticker.stop();
    for (const job of this.#jobs.values()) {
      this.#drop(job);
      job.behind.forEach((read) => this.#drop(read));
    }
    await Promise.allSettled([stopped, ...this.#running]);
  }

  /** How late the loop is: 0 while it makes progress. */
  lateMs(): number {
    return this.#ticker.lateMs();
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
              kind: 'poll',
              customer,
              stream,
              client,
              intervalMs,
              place: 0,
              phase: 'first',
              dueMs: Infinity,
              running: undefined,
              behind: [],
            };
      job.client = client;
      job.behind = jobsBehind(job);
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

  #drop(job: Job): void {
    this.#slots.stopWaiting(job);
    job.running?.abort(DROPPED);
  }

  /** Starts the polls that are due, and lets what is read behind them wait for a slot. Returns when the next job is due. */
  #startDue(nowMs: number): number {
    const { limiter, intervalMs } = this.#options;
    limiter.reportSuppressed();
    for (const job of this.#due.take(nowMs)) {
      if (job.kind === 'poll') {
        this.#startScheduled(job, nowMs);
        this.#due.add(job);
      } else {
        this.#queue(job);
      }
    }
    this.#startWaiting();
    return Math.min(this.#due.earliestMs(), this.#slots.gapEndsMs(), nowMs + intervalMs);
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

  /**
   * Lets what is read behind a poll wait for a slot, if it is due. A new day ends its rest after a failure: it may
   * have been asked for another one.
   */
  #queue(job: ReadJob): void {
    const { clock } = this.#options;
    const { kind, poll, dueMs, backOff, running } = job;
    const nowMs = clock.nowMs();
    const isOfToday = backOff?.dayStartMs === poll.customer.calendar.dayAt(nowMs).startMs;
    const rests = clock.monotonicMs() < dueMs && (backOff === undefined || isOfToday);
    if (running === undefined && !rests && READINGS[kind].isDue(poll, nowMs)) {
      this.#slots.wait(job);
    }
  }

  /** Starts the jobs that wait for a slot, while there is one. */
  #startWaiting(): void {
    if (this.#ticker.isStopped) {
      return;
    }
    const nowMs = this.#options.clock.monotonicMs();
    for (const job of this.#slots.startable(nowMs)) {
      if (job.kind === 'poll' && job.running === undefined) {
        job.phase = job.phase === 'first' ? 'first' : 'extra';
        this.#start(job);
      } else if (job.kind !== 'poll' && this.#slots.take(job, nowMs)) {
        this.#start(job);
      }
    }
    this.#ticker.wake(this.#slots.gapEndsMs());
  }

  #start(job: Job): void {
    const stop = new AbortController();
    job.running = stop;
    this.#slots.stopWaiting(job);
    const run = job.kind === 'poll' ? this.#poll(job, stop) : this.#read(job, stop);
    this.#track(run, () => {
      job.running = undefined;
      this.#slots.release(job);
      if (job.kind === 'poll') {
        this.#pollEnded(job);
      }
      this.#startWaiting();
    });
  }

  #pollEnded(job: PollJob): void {
    const wasFirst = job.phase === 'first';
    job.phase = 'scheduled';
    if (!this.#isPolled(job)) {
      return;
    }
    if (wasFirst) {
      job.dueMs = nextDueMs(job, this.#options.clock.monotonicMs());
      this.#due.add(job);
      this.#ticker.wake(job.dueMs);
      this.#slots.firstPolls -= 1;
    }
    job.behind.forEach((read) => this.#queue(read));
  }

  /** Reads what is behind a poll. It rests before it goes on, and for longer after each failure in a row. */
  async #read(job: ReadJob, stop: AbortController): Promise<void> {
    const { clock, limiter, observer } = this.#options;
    const { kind, poll } = job;
    const { customer, stream } = poll;
    const reading = READINGS[kind];
    const attempt = { priority: 'optional', deadlineMs: reading.deadlineMs } as const;
    let requests = 0;
    const error = await tryPoll(
      poll,
      attempt,
      clock,
      stop,
      (query, readPage) =>
        reading.run(
          poll,
          (...question) => {
            requests += 1;
            return query(...question);
          },
          clock.nowMs(),
          readPage,
        ),
      reading.name,
    );
    if (stop.signal.reason === DROPPED) {
      return;
    }
    const nowMs = clock.nowMs();
    let pauseMs = reading.pauseMs * requests;
    if (error instanceof ServiceError) {
      if (job.backOff === undefined) {
        const fields = { customer: customer.customer, stream, error: error.message };
        limiter.tryLog('warn', failureMessage(job), fields);
      }
      pauseMs = pauseAfterFailure(job);
      job.backOff = { pauseMs, dayStartMs: customer.calendar.dayAt(nowMs).startMs };
    } else {
      job.backOff = undefined;
    }
    job.dueMs = clock.monotonicMs() + pauseMs;
    if (reading.isDue(poll, nowMs)) {
      this.#due.add(job);
      this.#ticker.wake(job.dueMs);
    } else if (reading.isShownAtOnce) {
      // Hundreds of windows in a row need not be rendered one by one: each poll shows them, too.
      observer.changed(customer.customer);
    }
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
    const { clock } = this.#options;
    const mayHave = isBaseline || job.phase === 'first';
    const hasSlot = mayHave && this.#slots.take(job, clock.monotonicMs());
    const waits = wanted === 'renewal' && !hasSlot;
    if (waits) {
      this.#slots.wait(job);
    }
    const plan = waits ? 'recent' : wanted;
    const priority = wanted === 'breakdown' ? 'optional' : hasSlot ? 'urgent' : 'normal';
    return { plan, priority, deadlineMs: deadlineMs(job, plan) };
  }

  /** Reports a poll that has ended to the customer, the log and the observer. */
  #report(job: PollJob, end: CustomerOutcome | ServiceError, tookMs: number): void {
    const { customer, stream, intervalMs, phase } = job;
    const { clock, observer } = this.#options;
    const error = end instanceof ServiceError ? end : undefined;
    if (end instanceof ServiceError) {
      customer.pollFailed(stream, end.message, clock.nowMs());
      this.#log.failed(job, end);
    } else {
      customer.polled(end, clock.nowMs());
      this.#log.succeeded(job, end.notes);
      // At the start, all customers wait for each other.
      if (tookMs > intervalMs && phase !== 'first') {
        this.#log.tooSlow(job, tookMs, intervalMs);
      }
    }
    observer.pollEnded(stream, tookMs / 1000, error?.reason);
    observer.changed(customer.customer);
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
