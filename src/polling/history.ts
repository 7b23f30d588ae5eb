/**
 * The history of a customer, from which its doors are learned. It is read once a day: after the first
 * poll, later in the first hours of the day.
 */
import type { Clock } from '../base/clock.ts';
import { ServiceError } from '../base/errors.ts';
import { MINUTE_MS } from '../base/duration.ts';
import type { Customer } from '../counting/customer.ts';
import { readDoorModel } from '../counting/occupancy/read-door-days.ts';
import type { PollJob } from './job.ts';
import type { LogLimiter } from '../base/log-limiter.ts';
import { abortAfter, DROPPED } from './try-poll.ts';

/** After the day's start, so that a nightly roll-up has ended. */
const DELAY_MS = 30 * MINUTE_MS;
const DEADLINE_MS = 5 * MINUTE_MS;
/** Where it always fails, it must not take the requests that polls need: the pause doubles. */
const MIN_PAUSE_MS = 15 * MINUTE_MS;
const MAX_PAUSE_MS = 6 * 60 * MINUTE_MS;

/** Histories begin one by one, those of 10,000 customers within an hour. */
const GAP_MS = 360;

/** What is known of a customer's history. */
interface HistoryState {
  /** Aborts the reading. */
  reading: AbortController | undefined;
  /** When it is read again after a failure, monotonic, and how long that is after it. */
  retry: { readonly atMs: number; readonly pauseMs: number } | undefined;
}

export interface HistoryOptions {
  readonly clock: Clock;
  readonly limiter: LogLimiter;
  /** Called when metrics of a customer have changed. */
  readonly observer: { changed(customer: string): void };
}

/** Jobs whose customer's history is to be read, in the order of their polls. */
export class Histories {
  readonly #options: HistoryOptions;
  readonly #queue = new Set<PollJob>();
  readonly #states = new Map<PollJob, HistoryState>();
  #running = 0;
  #nextMs = -Infinity;

  constructor(options: HistoryOptions) {
    this.#options = options;
  }

  /** Queues the job if its history is due. */
  queue(job: PollJob): void {
    const { clock } = this.#options;
    const { reading, retry } = this.#states.get(job) ?? {};
    if (
      job.stream === 'people' &&
      reading === undefined &&
      clock.monotonicMs() >= (retry?.atMs ?? -Infinity) &&
      isHistoryDue(job.customer, clock.nowMs())
    ) {
      this.#queue.add(job);
    }
  }

  /** Forgets the job, and aborts a reading of its history. */
  drop(job: PollJob): void {
    this.#queue.delete(job);
    this.#states.get(job)?.reading?.abort(DROPPED);
    this.#states.delete(job);
  }

  /** Reads the next history unless so many are being read or one has just begun. */
  startNext(maxRunning: number): Promise<void> | undefined {
    const nowMs = this.#options.clock.monotonicMs();
    const [job] = this.#queue;
    if (job === undefined || this.#running >= maxRunning || nowMs < this.#nextMs) {
      return undefined;
    }
    this.#queue.delete(job);
    this.#nextMs = nowMs + GAP_MS;
    return this.#read(job);
  }

  async #read(job: PollJob): Promise<void> {
    const { clock, limiter } = this.#options;
    const state = this.#states.get(job) ?? { reading: undefined, retry: undefined };
    this.#states.set(job, state);
    const stop = new AbortController();
    state.reading = stop;
    this.#running += 1;
    const error = await this.#learn(job, stop).finally(() => {
      state.reading = undefined;
      this.#running -= 1;
    });
    if (error === undefined || stop.signal.reason === DROPPED) {
      state.retry = undefined;
      return;
    }
    if (state.retry === undefined) {
      const { customer } = job.customer;
      limiter.tryLog('warn', 'occupancy history unavailable', { customer, error });
    }
    const pauseMs = Math.min(2 * (state.retry?.pauseMs ?? MIN_PAUSE_MS / 2), MAX_PAUSE_MS);
    state.retry = { atMs: clock.monotonicMs() + pauseMs, pauseMs };
  }

  /** Learns the doors. Returns why that was not possible. */
  async #learn({ customer, client }: PollJob, stop: AbortController): Promise<string | undefined> {
    const { clock, observer } = this.#options;
    const today = customer.calendar.dayAt(clock.nowMs());
    const endDeadline = abortAfter(clock, DEADLINE_MS, stop, 'reading the history');
    try {
      const model = await readDoorModel(
        (question) => client.query(question, stop.signal),
        customer.calendar,
        today,
        customer.stateOf('people').keyFormat,
      );
      if (model === undefined) {
        return 'the service returns no minutes';
      }
      if (stop.signal.reason !== DROPPED) {
        customer.doorsLearned(today, model);
        observer.changed(customer.customer);
      }
      return undefined;
    } catch (error) {
      if (error instanceof ServiceError) {
        return error.message;
      }
      throw error;
    } finally {
      endDeadline();
    }
  }
}

function isHistoryDue(customer: Customer, nowMs: number): boolean {
  const { startMs } = customer.calendar.dayAt(nowMs);
  const { doorsDay } = customer;
  const { keyFormat, snapshot } = customer.stateOf('people');
  return (
    customer.isEstimated &&
    doorsDay?.startMs !== startMs &&
    (doorsDay === undefined || nowMs >= startMs + DELAY_MS) &&
    snapshot !== undefined &&
    keyFormat.status === 'detected'
  );
}
