/**
 * The history of a customer, from which its doors are learned. It is read once a day: after the first
 * poll, later in the first hours of the day.
 */
import type { Clock } from '../base/clock.ts';
import { ServiceError } from '../base/errors.ts';
import { MINUTE_MS } from '../base/duration.ts';
import { readDoorModel } from '../counting/occupancy/read-door-days.ts';
import type { LogLimiter } from './log-limiter.ts';
import { abortAfter, DROPPED } from './poll-job.ts';
import type { PollJob, PollObserver } from './poll-job.ts';

/** After the day's start, so that a nightly roll-up has ended. */
const DELAY_MS = 30 * MINUTE_MS;
const DEADLINE_MS = 5 * MINUTE_MS;
/** Where it always fails, it must not take the requests that polls need: the pause doubles. */
const MIN_PAUSE_MS = 15 * MINUTE_MS;
const MAX_PAUSE_MS = 6 * 60 * MINUTE_MS;

/** Histories begin one by one, those of 10,000 customers within an hour. */
const GAP_MS = 360;

/** Jobs whose customer's history is to be read, in the order of their polls. */
export class HistoryQueue {
  readonly #clock: Clock;
  readonly #observer: PollObserver;
  readonly #limiter: LogLimiter;
  readonly #queue = new Set<PollJob>();
  #running = 0;
  #nextMs = -Infinity;

  constructor(clock: Clock, observer: PollObserver, limiter: LogLimiter) {
    this.#clock = clock;
    this.#observer = observer;
    this.#limiter = limiter;
  }

  /** Queues the job if its history is due. */
  queue(job: PollJob): void {
    if (
      job.stream === 'people' &&
      job.readingHistory === undefined &&
      isHistoryDue(job, this.#clock)
    ) {
      this.#queue.add(job);
    }
  }

  drop(job: PollJob): void {
    this.#queue.delete(job);
  }

  /** Reads the next history unless so many are being read or one has just begun. */
  startNext(maxRunning: number): Promise<void> | undefined {
    const nowMs = this.#clock.monotonicMs();
    const [job] = this.#queue;
    if (job === undefined || this.#running >= maxRunning || nowMs < this.#nextMs) {
      return undefined;
    }
    this.#queue.delete(job);
    this.#nextMs = nowMs + GAP_MS;
    return this.#read(job);
  }

  async #read(job: PollJob): Promise<void> {
    const stop = new AbortController();
    job.readingHistory = stop;
    this.#running += 1;
    try {
      await readHistory(job, stop, this.#clock, this.#observer, this.#limiter);
    } finally {
      job.readingHistory = undefined;
      this.#running -= 1;
    }
  }
}

function isHistoryDue({ customer, historyRetry }: PollJob, clock: Clock): boolean {
  const nowMs = clock.nowMs();
  const { startMs } = customer.calendar.dayAt(nowMs);
  const { doorsDay } = customer;
  const { keyFormat, snapshot } = customer.stateOf('people');
  return (
    customer.isEstimated &&
    doorsDay?.startMs !== startMs &&
    (doorsDay === undefined || nowMs >= startMs + DELAY_MS) &&
    snapshot !== undefined &&
    keyFormat.status === 'detected' &&
    clock.monotonicMs() >= (historyRetry?.atMs ?? -Infinity)
  );
}

/** Learns the doors, or logs the first failure in a row. */
async function readHistory(
  job: PollJob,
  stop: AbortController,
  clock: Clock,
  observer: PollObserver,
  limiter: LogLimiter,
): Promise<void> {
  const { customer, client } = job;
  const today = customer.calendar.dayAt(clock.nowMs());
  const endDeadline = abortAfter(clock, DEADLINE_MS, stop, 'reading the history');
  let error = 'the service returns no minutes';
  try {
    const model = await readDoorModel(
      (question) => client.query(question, stop.signal),
      customer.calendar,
      today,
      customer.stateOf('people').keyFormat,
    );
    if (model !== undefined && stop.signal.reason !== DROPPED) {
      job.historyRetry = undefined;
      customer.doorsLearned(today, model);
      observer.changed(customer.customer);
      return;
    }
  } catch (failure) {
    if (!(failure instanceof ServiceError)) {
      throw failure;
    }
    error = failure.message;
  } finally {
    endDeadline();
  }
  if (stop.signal.reason !== DROPPED) {
    if (job.historyRetry === undefined) {
      limiter.tryLog('warn', 'occupancy history unavailable', {
        customer: customer.customer,
        error,
      });
    }
    const pauseMs = Math.min(2 * (job.historyRetry?.pauseMs ?? MIN_PAUSE_MS / 2), MAX_PAUSE_MS);
    job.historyRetry = { atMs: clock.monotonicMs() + pauseMs, pauseMs };
  }
}
