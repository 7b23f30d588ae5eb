/** One stream of one customer: when it is polled, and one poll from its first request to its result. */
import type { Clock } from '../base/clock.ts';
import { ServiceError } from '../base/errors.ts';
import type { FailureReason } from '../base/errors.ts';
import type {
  AggregatedResponse,
  Breakdown,
  MinuteStream,
  Question,
  Stream,
} from '../base/model.ts';
import { pollBreakdown } from '../counting/breakdown.ts';
import type { Customer } from '../counting/customer.ts';
import { baselineDue, pollStream } from '../counting/poll.ts';
import type { PollContext, PollNote } from '../counting/poll.ts';
import type { Query } from '../counting/query.ts';
import type { CustomerClient } from '../service/types.ts';
import type { PollLog } from './log-limiter.ts';

export interface PollObserver {
  /** A poll has ended; `reason` if it failed. */
  pollEnded(stream: Stream, durationSeconds: number, reason: FailureReason | undefined): void;
  /** Metrics of this customer have changed. */
  changed(customer: string): void;
}

export interface PollEnvironment {
  readonly clock: Clock;
  readonly observer: PollObserver;
  readonly log: PollLog;
  readonly reconcileIntervalMs: number;
  /** The time by the service's clock. */
  readonly serviceNowMs: () => number;
}

/** A poll ends before the next one is due. */
const DEADLINE_SHARE = 0.9;
/**
 * What reads totals has longer: five requests may take longer than a short interval, and more are needed
 * where `day` and `quarter` lag and the minutes are compared with them.
 */
const MIN_BASELINE_DEADLINE_MS = 120_000;
/** The other customers wait for their first poll. */
export const FIRST_POLL_DEADLINE_MS = 30_000;

export interface PollJob {
  readonly customer: Customer;
  readonly stream: Stream;
  readonly intervalMs: number;
  client: CustomerClient;
  /** Place in the interval, in [0, 1). */
  phase: number;
  /** When the next poll is due, monotonic; Infinity until the first one has ended. */
  dueMs: number;
  /** Aborts the running poll. */
  running: AbortController | undefined;
  /** The running poll was not scheduled: a poll that is due meanwhile is not skipped, it is this one. */
  isExtraPoll: boolean;
  /** Aborts the reading of the history. */
  readingHistory: AbortController | undefined;
  /** When a history that failed is read again, monotonic. */
  historyRetryMs: number | undefined;
}

/** The job's newest place, by `nowMs`, in intervals of this length. */
export function lastPlaceMs({ phase }: PollJob, nowMs: number, intervalMs: number): number {
  const offsetMs = phase * intervalMs;
  return offsetMs + Math.floor((nowMs - offsetMs) / intervalMs) * intervalMs;
}

/** When a poll is due after `nowMs`. */
export function nextDueMs(job: PollJob, nowMs: number): number {
  return lastPlaceMs(job, nowMs, job.intervalMs) + job.intervalMs;
}

export function deadlineOf({ stream, dueMs, intervalMs }: PollJob, takesBaseline: boolean): number {
  const pollMs = intervalMs * DEADLINE_SHARE;
  if (!takesBaseline && isByMinute(stream)) {
    return pollMs;
  }
  const isFirstPoll = dueMs === Infinity;
  return isFirstPoll ? FIRST_POLL_DEADLINE_MS : Math.max(MIN_BASELINE_DEADLINE_MS, pollMs);
}

/** Whether the next poll takes a baseline. Breakdowns have none: each poll reads their totals. */
export function baselineDueOf(
  { customer, stream }: PollJob,
  environment: PollEnvironment,
  renewalMs: number,
): ReturnType<typeof baselineDue> {
  return isByMinute(stream)
    ? baselineDue(customer.stateOf(stream), streamContext(customer, stream, environment, renewalMs))
    : 'no';
}

function isByMinute(stream: Stream): stream is MinuteStream {
  return stream === 'people' || stream === 'logins';
}

/** Of a poll that starts now. Baselines from before `renewalMs` (monotonic) are due again. */
export function streamContext(
  customer: Customer,
  stream: MinuteStream,
  {
    clock,
    reconcileIntervalMs,
    serviceNowMs,
  }: Pick<PollEnvironment, 'clock' | 'reconcileIntervalMs' | 'serviceNowMs'>,
  renewalMs: number,
): Omit<PollContext, 'allowBaseline' | 'hasTime'> {
  const period = customer.periodAt(clock.nowMs());
  return {
    stream,
    calendar: customer.calendar,
    period,
    nowMs: () => clock.nowMs(),
    serviceNowMs,
    monotonicMs: clock.monotonicMs(),
    renewalMs,
    reconcileIntervalMs,
    marks: customer.marksOf(stream, period),
    doors: stream === 'people' ? customer.doors : undefined,
  };
}

/** The reason to abort polls that must leave no trace. */
export const DROPPED = new ServiceError('unreachable', 'the exporter is stopping');
/** Shared: aborting without a reason creates an error with a stack for each poll. */
const POLL_ENDED = new Error('the poll has ended');

/** Aborts at a deadline, unless the returned function is called before. */
export function abortAfter(clock: Clock, deadlineMs: number, stop: AbortController): () => void {
  const ended = new AbortController();
  clock.sleep(deadlineMs, ended.signal).then(
    () => stop.abort(new DOMException('The poll reached its deadline', 'TimeoutError')),
    () => {},
  );
  return () => ended.abort(POLL_ENDED);
}

export interface PollLimits {
  readonly renewalMs: number;
  readonly allowBaseline: boolean;
  readonly deadlineMs: number;
  /** Whether its requests come before others. */
  readonly urgent: boolean;
  readonly stop: AbortController;
}

/** What a poll logs, and what it changes when it has ended. */
interface PollResult {
  readonly notes: readonly PollNote[];
  readonly commit: (nowMs: number) => void;
}

/**
 * Runs a poll to its end and reports it to the customer, the log and the observer. Returns how many
 * responses it got, and how long it took.
 */
export async function runPoll(
  job: PollJob,
  limits: PollLimits,
  environment: PollEnvironment,
): Promise<{ readonly responses: number; readonly tookMs: number }> {
  const { customer, client, stream } = job;
  const { clock, observer, log } = environment;
  const { deadlineMs, urgent, stop } = limits;
  const startMs = clock.monotonicMs();
  const endDeadline = abortAfter(clock, deadlineMs, stop);
  let responses = 0;
  let reason: FailureReason | undefined;
  async function query(question: Question): Promise<AggregatedResponse> {
    const response = await client.query(question, stop.signal, urgent);
    responses += 1;
    return response;
  }
  try {
    const { notes, commit } = isByMinute(stream)
      ? await pollMinutes(customer, stream, limits, environment, query)
      : await pollKeys(customer, stream, environment, query);
    if (stop.signal.reason !== DROPPED) {
      commit(clock.nowMs());
      log.succeeded(job, notes);
    }
  } catch (error) {
    if (!(error instanceof ServiceError)) {
      throw error;
    }
    if (stop.signal.reason !== DROPPED) {
      reason = error.reason;
      customer.pollFailed(stream, error.message, clock.nowMs());
      log.failed(job, error);
    }
  } finally {
    endDeadline();
  }
  const tookMs = clock.monotonicMs() - startMs;
  if (stop.signal.reason !== DROPPED) {
    observer.pollEnded(stream, tookMs / 1000, reason);
    observer.changed(customer.customer);
  }
  return { responses, tookMs };
}

async function pollMinutes(
  customer: Customer,
  stream: MinuteStream,
  { renewalMs, allowBaseline, deadlineMs }: PollLimits,
  environment: PollEnvironment,
  query: Query,
): Promise<PollResult> {
  const { clock, serviceNowMs } = environment;
  const context = streamContext(customer, stream, environment, renewalMs);
  function hasTime(): boolean {
    return clock.monotonicMs() - context.monotonicMs < deadlineMs / 2;
  }
  const { state, notes } = await pollStream(
    customer.stateOf(stream),
    { ...context, allowBaseline, hasTime },
    query,
  );
  return {
    notes,
    commit(nowMs) {
      customer.pollSucceeded(stream, state, nowMs);
      customer.discardFuturePeriods(Math.max(nowMs, serviceNowMs()));
    },
  };
}

async function pollKeys(
  customer: Customer,
  breakdown: Breakdown,
  { clock, reconcileIntervalMs }: PollEnvironment,
  query: Query,
): Promise<PollResult> {
  const period = customer.periodAt(clock.nowMs());
  const { state, notes } = await pollBreakdown(
    customer.breakdowns.stateOf(breakdown),
    {
      breakdown,
      calendar: customer.calendar,
      period,
      nowMs: () => clock.nowMs(),
      monotonicMs: clock.monotonicMs(),
      reconcileIntervalMs,
      marks: customer.breakdowns.marksOf(breakdown, period.startMs),
      keysOfLastPeriod: customer.breakdowns.countedKeys(
        breakdown,
        customer.calendar.periodStart(period.month - 1),
      ),
    },
    query,
  );
  return { notes, commit: (nowMs) => customer.breakdownSucceeded(breakdown, state, nowMs) };
}
