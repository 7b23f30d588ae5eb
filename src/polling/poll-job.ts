/** One stream of one customer: when it is polled, and one poll from its first request to its result. */
import type { Clock } from '../base/clock.ts';
import { ServiceError, TimeLimitError } from '../base/errors.ts';
import type { FailureReason } from '../base/errors.ts';
import type {
  AggregatedResponse,
  Breakdown,
  MinuteStream,
  WindowQuery,
  Stream,
} from '../base/model.ts';
import { pollBreakdown } from '../counting/breakdowns/poll-breakdown.ts';
import type { BreakdownContext } from '../counting/breakdowns/poll-breakdown.ts';
import type { Customer } from '../counting/customer.ts';
import { pollStream } from '../counting/totals/poll.ts';
import type { BaselineNecessity, PollContext, PollNote } from '../counting/totals/state.ts';
import type { Query } from '../counting/rows/window-reader.ts';
import type { CustomerClient } from '../service/types.ts';
import type { PollLog } from './log-limiter.ts';

export interface PollObserver {
  /** A poll has ended; `reason` if it failed. */
  pollEnded(stream: Stream, durationSeconds: number, reason: FailureReason | undefined): void;
  /** Metrics of this customer have changed. */
  changed(customer: string): void;
}

/** The clocks of a poll. */
export interface PollTimes {
  readonly clock: Pick<Clock, 'nowMs' | 'monotonicMs'>;
  readonly reconcileIntervalMs: number;
  /** The time by the service's clock. */
  readonly serviceNowMs: () => number;
}

export interface PollEnvironment extends PollTimes {
  readonly clock: Clock;
  readonly observer: PollObserver;
  readonly log: Pick<PollLog, 'succeeded' | 'failed'>;
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
  /** When a history that failed is read again, monotonic, and how long that is after the failure. */
  historyRetry: { readonly atMs: number; readonly pauseMs: number } | undefined;
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

/** How long a poll may take that reads totals, as a baseline and each poll of a breakdown do. */
function totalsDeadlineMs({ dueMs, intervalMs }: PollJob): number {
  const isFirstPoll = dueMs === Infinity;
  return isFirstPoll
    ? FIRST_POLL_DEADLINE_MS
    : Math.max(MIN_BASELINE_DEADLINE_MS, intervalMs * DEADLINE_SHARE);
}

function isByMinute(stream: Stream): stream is MinuteStream {
  return stream === 'people' || stream === 'logins';
}

/** Returns the context of a poll that starts now. Baselines from before `renewalMs` (monotonic) are due again. */
export function streamContext(
  customer: Customer,
  stream: MinuteStream,
  { clock, reconcileIntervalMs, serviceNowMs }: PollTimes,
  renewalMs: number,
): Omit<PollContext, 'beginBaseline' | 'hasTime'> {
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
  };
}

/** Returns the context of a poll of a breakdown that starts now. */
function breakdownContext(
  customer: Customer,
  breakdown: Breakdown,
  { clock, reconcileIntervalMs }: PollTimes,
): BreakdownContext {
  const { breakdowns, calendar } = customer;
  const period = customer.periodAt(clock.nowMs());
  const lastPeriodMs = calendar.periodStart(period.month - 1);
  return {
    breakdown,
    calendar,
    period,
    nowMs: () => clock.nowMs(),
    monotonicMs: clock.monotonicMs(),
    reconcileIntervalMs,
    marks: breakdowns.marksOf(breakdown, period.startMs),
    keysOfLastPeriod: breakdowns.countedKeys(breakdown, lastPeriodMs),
  };
}

/** The reason to abort polls that must leave no trace. */
export const DROPPED = new ServiceError('unreachable', 'the exporter is stopping');
/** Aborts `what` at a deadline, unless the returned function is called before. */
export function abortAfter(
  clock: Clock,
  deadlineMs: number,
  stop: AbortController,
  what = 'a poll',
): () => void {
  return clock.after(deadlineMs, () => stop.abort(new TimeLimitError(what, deadlineMs)));
}

export interface PollLimits {
  readonly renewalMs: number;
  /** Takes a slot for baselines and first polls, if one is free. */
  readonly takeSlot: (necessity: BaselineNecessity) => boolean;
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
  const { renewalMs, takeSlot, stop } = limits;
  const startMs = clock.monotonicMs();
  let deadlineMs = isByMinute(stream) ? job.intervalMs * DEADLINE_SHARE : totalsDeadlineMs(job);
  let endDeadline = abortAfter(clock, deadlineMs, stop);
  /** Whether its requests come before others. */
  let urgent = job.dueMs === Infinity;
  let responses = 0;
  let reason: FailureReason | undefined;
  async function query(question: WindowQuery): Promise<AggregatedResponse> {
    const response = await client.query(question, stop.signal, urgent);
    responses += 1;
    return response;
  }
  function beginBaseline(necessity: BaselineNecessity): boolean {
    urgent = takeSlot(necessity);
    if (!urgent && necessity === 'optional') {
      return false;
    }
    endDeadline();
    deadlineMs = totalsDeadlineMs(job);
    endDeadline = abortAfter(clock, deadlineMs, stop);
    return true;
  }
  try {
    const { notes, commit } = isByMinute(stream)
      ? await pollMinutes(
          customer,
          {
            ...streamContext(customer, stream, environment, renewalMs),
            hasTime: () => clock.monotonicMs() - startMs < deadlineMs / 2,
            beginBaseline,
          },
          environment,
          query,
        )
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
  context: PollContext,
  { serviceNowMs }: PollEnvironment,
  query: Query,
): Promise<PollResult> {
  const { stream } = context;
  const outcome = await pollStream(customer.stateOf(stream), context, query);
  return {
    notes: outcome.notes,
    commit(nowMs) {
      customer.pollSucceeded(stream, outcome, nowMs);
      customer.discardFuturePeriods(Math.max(nowMs, serviceNowMs()));
    },
  };
}

async function pollKeys(
  customer: Customer,
  breakdown: Breakdown,
  environment: PollEnvironment,
  query: Query,
): Promise<PollResult> {
  const before = customer.breakdowns.stateOf(breakdown);
  const context = breakdownContext(customer, breakdown, environment);
  const outcome = await pollBreakdown(before, context, query);
  return {
    notes: outcome.notes,
    commit: (nowMs) => customer.breakdownSucceeded(breakdown, outcome, nowMs),
  };
}
