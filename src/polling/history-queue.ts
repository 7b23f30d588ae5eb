/**
 * Reads the history of each customer once a day, from which its doors are learned: after the first
 * polls, later in the first hour or so of the day. A few at a time, and only while no poll waits.
 */
import { createHash } from 'node:crypto';
import { ServiceError } from '../base/errors.ts';
import { readDoorModel } from '../counting/door-history.ts';
import type { DoorModel } from '../counting/door-model.ts';
import type { LogLimiter } from './log-limiter.ts';
import { abortAfter, DROPPED } from './poll-job.ts';
import type { PollEnvironment, PollJob } from './poll-job.ts';

const MINUTE_MS = 60_000;
/** After the day's start, so that a nightly roll-up has ended; then spread over an hour. */
const DELAY_MS = 30 * MINUTE_MS;
const SPREAD_MS = 60 * MINUTE_MS;
const DEADLINE_MS = 5 * MINUTE_MS;
const RETRY_MS = 15 * MINUTE_MS;

interface QueueOptions extends Pick<PollEnvironment, 'clock' | 'observer'> {
  readonly limiter: LogLimiter;
  readonly maxRunning: number;
  /** Whether no poll waits. */
  readonly mayStart: () => boolean;
}

export class HistoryQueue {
  readonly #options: QueueOptions;
  readonly #waiting = new Set<PollJob>();
  readonly #running = new Map<PollJob, AbortController>();
  readonly #reads = new Set<Promise<void>>();
  /** When a failed one is due again, monotonic. */
  readonly #retryAtMs = new WeakMap<PollJob, number>();

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  /** To be called after each poll of people. */
  addIfDue(job: PollJob): void {
    const { clock } = this.#options;
    const { customer } = job;
    const nowMs = clock.nowMs();
    const { startMs } = customer.calendar.dayAt(nowMs);
    const { doorsDay } = customer;
    const { keyFormat, snapshot } = customer.stateOf('people');
    const isDue =
      customer.isEstimated &&
      doorsDay?.startMs !== startMs &&
      (doorsDay === undefined || nowMs >= startMs + DELAY_MS + offsetMs(customer.customer)) &&
      snapshot !== undefined &&
      keyFormat.status === 'detected' &&
      clock.monotonicMs() >= (this.#retryAtMs.get(job) ?? -Infinity);
    if (isDue && !this.#running.has(job)) {
      this.#waiting.add(job);
    }
  }

  startWaiting(): void {
    const { maxRunning, mayStart } = this.#options;
    for (const job of this.#waiting) {
      if (this.#running.size >= maxRunning || !mayStart()) {
        return;
      }
      this.#waiting.delete(job);
      const stop = new AbortController();
      this.#running.set(job, stop);
      const read = this.#read(job, stop).finally(() => {
        this.#running.delete(job);
        this.#reads.delete(read);
        this.startWaiting();
      });
      this.#reads.add(read);
    }
  }

  drop(job: PollJob): void {
    this.#waiting.delete(job);
    this.#running.get(job)?.abort(DROPPED);
  }

  async stop(): Promise<void> {
    this.#waiting.clear();
    this.#running.forEach((stop) => stop.abort(DROPPED));
    await Promise.allSettled(this.#reads);
  }

  async #read(job: PollJob, stop: AbortController): Promise<void> {
    const { clock, observer } = this.#options;
    const { customer } = job;
    const today = customer.calendar.dayAt(clock.nowMs());
    const endDeadline = abortAfter(clock, DEADLINE_MS, stop);
    let model: DoorModel | undefined;
    let error = 'the service returns no minutes';
    try {
      model = await readDoorModel(
        (question) => job.client.query(question, stop.signal),
        customer.calendar,
        today,
        customer.stateOf('people').keyFormat,
      );
    } catch (failure) {
      if (!(failure instanceof ServiceError)) {
        throw failure;
      }
      error = failure.message;
    } finally {
      endDeadline();
    }
    if (stop.signal.reason === DROPPED) {
      return;
    }
    if (model === undefined) {
      this.#failed(job, error);
    } else {
      this.#retryAtMs.delete(job);
      customer.doorsLearned(today, model);
      observer.changed(customer.customer);
    }
  }

  /** Logs the first failure in a row. */
  #failed(job: PollJob, error: string): void {
    const { clock, limiter } = this.#options;
    if (!this.#retryAtMs.has(job)) {
      const { customer } = job.customer;
      limiter.tryLog('warn', 'occupancy history unavailable', { customer, error });
    }
    this.#retryAtMs.set(job, clock.monotonicMs() + RETRY_MS);
  }
}

/** The customer's place in the hour, the same after a restart and in a replica. */
function offsetMs(customer: string): number {
  return (createHash('sha256').update(customer).digest().readUInt32BE() / 2 ** 32) * SPREAD_MS;
}
