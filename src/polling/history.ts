/**
 * The histories of a customer's people and logins, from which follow what is usual and the errors of its
 * doors. Each is read once a day: after the first poll, later in the first hours of the day.
 */
import type { Clock } from '../base/clock.ts';
import { ServiceError } from '../base/errors.ts';
import { MINUTE_MS } from '../base/duration.ts';
import type { MinuteStream } from '../base/model.ts';
import { readHistory } from '../counting/occupancy/read-history.ts';
import type { PollJob } from './job.ts';
import type { LogLimiter } from '../base/log-limiter.ts';
import { abortAfter, DROPPED } from './try-poll.ts';

/** After the day's start, so that a nightly roll-up has ended. */
const DELAY_MS = 30 * MINUTE_MS;
const DEADLINE_MS = 5 * MINUTE_MS;
/** Where it always fails, it must not take the requests that polls need: the pause doubles. */
const MIN_PAUSE_MS = 15 * MINUTE_MS;
const MAX_PAUSE_MS = 6 * 60 * MINUTE_MS;

/** Histories begin one by one, those of 10,000 customers within an hour: two each. */
const GAP_MS = 180;

/** What is known of a stream's history. */
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

/** A job whose stream has a history. */
type HistoryJob = PollJob & { readonly stream: MinuteStream };

/** Jobs whose history is to be read, in the order of their polls. */
export class Histories {
  readonly #options: HistoryOptions;
  readonly #queue = new Set<HistoryJob>();
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
      hasHistory(job) &&
      reading === undefined &&
      clock.monotonicMs() >= (retry?.atMs ?? -Infinity) &&
      isDue(job, clock.nowMs())
    ) {
      this.#queue.add(job);
    }
  }

  /** Forgets the job, and aborts a reading of its history. */
  drop(job: PollJob): void {
    if (hasHistory(job)) {
      this.#queue.delete(job);
    }
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

  async #read(job: HistoryJob): Promise<void> {
    const { clock, limiter } = this.#options;
    const state = this.#states.get(job) ?? { reading: undefined, retry: undefined };
    this.#states.set(job, state);
    const stop = new AbortController();
    state.reading = stop;
    this.#running += 1;
    const error = await this.#tryRead(job, stop).finally(() => {
      state.reading = undefined;
      this.#running -= 1;
    });
    if (error === undefined || stop.signal.reason === DROPPED) {
      state.retry = undefined;
      return;
    }
    if (state.retry === undefined) {
      const { stream } = job;
      const { customer } = job.customer;
      limiter.tryLog('warn', 'history unavailable', { customer, stream, error });
    }
    const pauseMs = Math.min(2 * (state.retry?.pauseMs ?? MIN_PAUSE_MS / 2), MAX_PAUSE_MS);
    state.retry = { atMs: clock.monotonicMs() + pauseMs, pauseMs };
  }

  /** Returns why it could not be read. */
  async #tryRead(
    { customer, client, stream }: HistoryJob,
    stop: AbortController,
  ): Promise<string | undefined> {
    const { clock, observer } = this.#options;
    const today = customer.calendar.dayAt(clock.nowMs());
    const endDeadline = abortAfter(clock, DEADLINE_MS, stop, 'reading the history');
    try {
      const history = await readHistory(
        (question) => client.query(question, stop.signal),
        stream,
        customer.calendar,
        today,
        customer.stateOf(stream).keyFormat,
      );
      if (history === undefined) {
        return 'the service returns no minutes';
      }
      if (stop.signal.reason !== DROPPED) {
        customer.historyRead(stream, history);
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

function hasHistory(job: PollJob): job is HistoryJob {
  return job.stream === 'people' || job.stream === 'logins';
}

function isDue({ customer, stream }: HistoryJob, nowMs: number): boolean {
  const { startMs } = customer.calendar.dayAt(nowMs);
  const readDay = customer.historyDay(stream);
  const { keyFormat, snapshot } = customer.stateOf(stream);
  return (
    readDay?.startMs !== startMs &&
    (readDay === undefined || nowMs >= startMs + DELAY_MS) &&
    snapshot !== undefined &&
    // Without counts since yesterday, no key has shown its format: those of the history do.
    (keyFormat.status === 'detected' || snapshot.order !== undefined)
  );
}
