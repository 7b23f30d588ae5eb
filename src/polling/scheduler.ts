/**
 * Polls every stream of every customer once an interval, each at its own place in it, and never a
 * stream twice at once.
 */
import TinyQueue from 'tinyqueue';
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Stream } from '../base/model.ts';
import type { Customer } from '../counting/customer.ts';
import type { BaselineNecessity } from '../counting/totals/state.ts';
import type { CustomerClient } from '../service/types.ts';
import { HistoryQueue } from './history.ts';
import { PollLog } from './log-limiter.ts';
import type { LogLimiter } from './log-limiter.ts';
import { DROPPED, FIRST_POLL_DEADLINE_MS, lastPlaceMs, nextDueMs, runPoll } from './poll-job.ts';
import type { PollEnvironment, PollJob, PollObserver } from './poll-job.ts';

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
  /** The time by the service's clock; by default ours. */
  readonly serviceNowMs?: () => number;
}

export interface PolledCustomer {
  readonly customer: Customer;
  readonly client: CustomerClient;
}

/** A baseline takes five requests. Ten of them per deadline leave room for ordinary polls. */
const REQUESTS_PER_BASELINE = 10;
/** Histories at once, compared with baselines: polls come first. */
const HISTORY_SHARE = 0.1;
/** A baseline is early by one poll, but by no more than this share, so that it is never late. */
const RECONCILE_SHARE = 0.9;
/**
 * Jobs that are due within a tick start together, which halves the processor time. But not more of
 * them than half of the allowed requests: a request that waits takes a quarter more time.
 */
const MAX_TICK_MS = 250;
const MIN_TICK_MS = 20;

export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #environment: PollEnvironment;
  /** Baselines and first polls at once: more would not end before their deadline. */
  readonly #maxBaselinesInTime: number;
  #jobs: ReadonlyMap<string, PollJob> = new Map();
  /** Those that have ended their first poll, the next due first. */
  #queue = new TinyQueue<PollJob>();
  /** Jobs that wait for their first poll or for a baseline, first come first served. */
  readonly #pending = new Set<PollJob>();
  /** How many jobs have not ended their first poll. */
  #firstPolls = 0;
  readonly #histories: HistoryQueue;
  /** Polls and readings of histories. */
  readonly #running = new Set<Promise<void>>();
  #baselines = 0;
  #warnedOfSlowService = false;
  #stopping = false;
  #tickMs = 0;
  #wakesAtMs = 0;
  #waking = new AbortController();
  #loop: Promise<void> = Promise.resolve();

  constructor(options: SchedulerOptions) {
    const { clock, log, limiter, observer, reconcileIntervalMs } = options;
    const { serviceNowMs = () => clock.nowMs() } = options;
    const pollLog = new PollLog(log, limiter);
    this.#options = options;
    this.#histories = new HistoryQueue(clock, observer, limiter);
    this.#environment = { clock, observer, log: pollLog, reconcileIntervalMs, serviceNowMs };
    const firstPollsMs = Math.max(FIRST_POLL_DEADLINE_MS, options.intervalMs);
    const requests = (options.maxRequestsPerSecond * firstPollsMs) / 1000;
    this.#maxBaselinesInTime = requests / REQUESTS_PER_BASELINE;
  }

  start(): void {
    this.#wakesAtMs = this.#options.clock.monotonicMs();
    this.#loop = this.#run();
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
    this.#queue = new TinyQueue(
      jobs.filter(({ dueMs }) => dueMs < Infinity),
      (a, b) => a.dueMs - b.dueMs,
    );
    this.#tickMs = this.#tickOf(jobs);
    for (const [key, job] of before) {
      if (this.#jobs.get(key) !== job) {
        this.#pending.delete(job);
        this.#histories.drop(job);
        drop(job);
      }
    }
    const unpolled = jobs.filter(({ dueMs }) => dueMs === Infinity);
    this.#firstPolls = unpolled.length;
    unpolled
      .filter(({ running }) => running === undefined)
      .forEach((job) => this.#pending.add(job));
    this.#startPending();
    this.#waking.abort();
  }

  /** Ends the loop and drops every running poll. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#waking.abort();
    this.#jobs.forEach(drop);
    await Promise.allSettled([this.#loop, ...this.#running]);
  }

  /**
   * How many baselines and first polls may run at once: half of the places for requests, so that dead
   * customers leave the other half to ordinary polls; more while most jobs wait for their first poll.
   */
  #maxBaselines(): number {
    const share = Math.max(1 / 2, this.#firstPolls / this.#jobs.size);
    const places = this.#options.maxConcurrency * share;
    return Math.max(1, Math.floor(Math.min(places, this.#maxBaselinesInTime)));
  }

  /** How late the loop is: 0 while it makes progress. */
  lateMs(): number {
    return Math.max(0, this.#options.clock.monotonicMs() - this.#wakesAtMs);
  }

  /** Time until the next poll of a stream: 0 while it runs or waits; undefined if it is not polled. */
  nextPollInMs(customer: NamedCustomer, stream: string): number | undefined {
    const job = this.#jobs.get(keyOf(customer, stream));
    if (job === undefined || job.running !== undefined || job.dueMs === Infinity) {
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
      const phase = i / polled.length;
      const known = this.#jobs.get(keyOf(customer, stream));
      if (known?.customer !== customer) {
        return {
          customer,
          stream,
          client,
          intervalMs,
          phase,
          dueMs: Infinity,
          running: undefined,
          isExtraPoll: false,
          readingHistory: undefined,
          historyRetry: undefined,
        };
      }
      Object.assign(known, { client, phase });
      known.dueMs = known.dueMs === Infinity ? Infinity : nextDueMs(known, nowMs);
      return known;
    });
  }

  #tickOf(jobs: readonly PollJob[]): number {
    const { intervalMs, breakdownIntervalMs, maxConcurrency } = this.#options;
    const jobsPerMs = jobs.reduce((sum, job) => sum + 1 / job.intervalMs, 0);
    const maxMs = Math.min(MAX_TICK_MS, intervalMs / 20, breakdownIntervalMs / 20);
    return Math.min(maxMs, Math.max(MIN_TICK_MS, maxConcurrency / 2 / jobsPerMs));
  }

  async #run(): Promise<void> {
    const { clock, limiter, intervalMs } = this.#options;
    while (!this.#stopping) {
      limiter.reportSuppressed();
      const nowMs = clock.monotonicMs();
      for (let job = this.#queue.peek(); job && job.dueMs <= nowMs; job = this.#queue.peek()) {
        this.#queue.pop();
        this.#startDue(job, nowMs);
        this.#queue.push(job);
      }
      const nextMs = Math.min(this.#queue.peek()?.dueMs ?? Infinity, nowMs + intervalMs);
      this.#wakesAtMs = Math.max(nextMs, nowMs + this.#tickMs);
      this.#waking = new AbortController();
      await clock.sleep(this.#wakesAtMs - nowMs, this.#waking.signal).catch(() => {});
    }
  }

  /** Whether it has not been dropped. */
  #isPolled(job: PollJob): boolean {
    return this.#jobs.get(keyOf(job.customer, job.stream)) === job;
  }

  #startDue(job: PollJob, nowMs: number): void {
    const { customer, stream, intervalMs } = job;
    // Polls that were due while the process stood still.
    const missed = Math.floor((nowMs - job.dueMs) / intervalMs);
    job.dueMs += (missed + 1) * intervalMs;
    const isBusy = job.running !== undefined && !job.isExtraPoll;
    job.isExtraPoll = false;
    const skipped = missed + (isBusy ? 1 : 0);
    for (let i = 0; i < skipped; i++) {
      customer.pollSkipped(stream);
    }
    if (skipped > 0) {
      this.#options.observer.changed(customer.customer);
    }
    if (job.running === undefined) {
      this.#start(job, false);
    }
  }

  #startPending(): void {
    for (const job of this.#pending) {
      if (this.#stopping || this.#baselines >= this.#maxBaselines()) {
        return;
      }
      if (job.running === undefined) {
        this.#start(job, true);
      }
    }
  }

  #start(job: PollJob, isExtraPoll: boolean): void {
    const stop = new AbortController();
    job.running = stop;
    job.isExtraPoll = isExtraPoll;
    this.#track(this.#poll(job, stop), () => {
      job.running = undefined;
      if (job.dueMs === Infinity) {
        job.dueMs = nextDueMs(job, this.#options.clock.monotonicMs());
        if (this.#isPolled(job)) {
          this.#queue.push(job);
          this.#firstPolls -= 1;
        }
        // Not for less than a tick: a thousand first polls would wake the loop a thousand times.
        if (job.dueMs < this.#wakesAtMs - this.#tickMs) {
          this.#waking.abort();
        }
      }
      this.#startPending();
      if (this.#isPolled(job)) {
        this.#histories.queue(job);
      }
      this.#startHistory();
    });
  }

  async #poll(job: PollJob, stop: AbortController): Promise<void> {
    let hasSlot = false;
    const takeSlot = (necessity: BaselineNecessity): boolean => {
      if (!hasSlot && this.#baselines < this.#maxBaselines()) {
        hasSlot = true;
        this.#baselines += 1;
      }
      if (!hasSlot && necessity === 'optional') {
        this.#pending.add(job);
      }
      return hasSlot;
    };
    this.#pending.delete(job);
    if (job.dueMs === Infinity) {
      takeSlot('required');
    }
    const renewalMs = this.#renewalMs(job);
    try {
      const limits = { renewalMs, takeSlot, stop };
      const { responses, tookMs } = await runPoll(job, limits, this.#environment);
      if (responses > 0 && tookMs > job.intervalMs) {
        this.#warnOfSlowService(job, tookMs);
      }
    } finally {
      this.#baselines -= hasSlot ? 1 : 0;
    }
  }

  /** Starts the next history, unless first polls or baselines have to come before it. */
  #startHistory(): void {
    if (!this.#stopping && this.#firstPolls === 0 && this.#pending.size === 0) {
      const reading = this.#histories.startNext(Math.ceil(this.#maxBaselines() * HISTORY_SHARE));
      if (reading !== undefined) {
        this.#track(reading, () => {});
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

  /**
   * When the job's baseline was due for the last time. Each job has its own place in the reconcile
   * interval, so that baselines that were read together at the start are not read together again.
   */
  #renewalMs(job: PollJob): number {
    const { clock, intervalMs, reconcileIntervalMs } = this.#options;
    const nowMs = clock.monotonicMs();
    const everyMs = Math.max(
      reconcileIntervalMs - intervalMs,
      RECONCILE_SHARE * reconcileIntervalMs,
    );
    // The job may have moved to another place.
    return Math.max(lastPlaceMs(job, nowMs, everyMs), nowMs - reconcileIntervalMs);
  }

  /** Once: it concerns the configuration more than the customer. */
  #warnOfSlowService({ customer, stream, intervalMs }: PollJob, tookMs: number): void {
    if (!this.#warnedOfSlowService) {
      this.#warnedOfSlowService = true;
      this.#options.log.warn('service too slow for the polling interval', {
        customer: customer.customer,
        stream,
        poll_seconds: tookMs / 1000,
        interval_seconds: intervalMs / 1000,
      });
    }
  }
}

type NamedCustomer = Pick<Customer, 'customer'>;

function keyOf({ customer }: NamedCustomer, stream: string): string {
  return `${stream} ${customer}`;
}

function drop({ running, readingHistory }: PollJob): void {
  running?.abort(DROPPED);
  readingHistory?.abort(DROPPED);
}
