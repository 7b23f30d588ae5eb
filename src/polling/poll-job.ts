/** One stream of one customer: when it is polled, and one poll from its first request to its result. */
import type { Clock } from '../base/clock.ts';
import { ServiceError } from '../base/errors.ts';
import type { FailureReason } from '../base/errors.ts';
import type { Breakdown, MinuteStream, Stream } from '../base/model.ts';
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
/** What reads totals has longer: with a short interval, five requests may take longer than it. */
const MIN_BASELINE_DEADLINE_MS = 30_000;

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

export function baselineDeadlineMs(intervalMs: number): number {
  return Math.max(MIN_BASELINE_DEADLINE_MS, intervalMs * DEADLINE_SHARE);
}

export function deadlineOf({ dueMs, intervalMs }: PollJob, readsTotals: boolean): number {
  if (!readsTotals) {
    return intervalMs * DEADLINE_SHARE;
  }
  const isFirstPoll = dueMs === Infinity;
  return isFirstPoll ? MIN_BASELINE_DEADLINE_MS : baselineDeadlineMs(intervalMs);
}

/** A poll before its first request. */
export interface PreparedPoll {
  readonly baseline: ReturnType<typeof baselineDue>;
  /** Whether it reads totals even if it may not take a baseline. */
  readonly mustReadTotals: boolean;
  run(allowBaseline: boolean, deadlineMs: number, query: Query): Promise<PollResult>;
}

interface PollResult {
  readonly notes: readonly PollNote[];
  /** Replaces the customer's state. */
  readonly commit: (nowMs: number) => void;
}

/** `baselineDueMs` is when the totals were to be read again for the last time, monotonic. */
export function preparePoll(
  { customer, stream }: PollJob,
  environment: PollEnvironment,
  baselineDueMs: number,
): PreparedPoll {
  if (stream !== 'people' && stream !== 'logins') {
    return prepareBreakdown(customer, stream, environment);
  }
  const state = customer.stateOf(stream);
  const context = streamContext(customer, stream, environment, baselineDueMs);
  const { clock, serviceNowMs } = environment;
  const baseline = baselineDue(state, context);
  return {
    baseline,
    mustReadTotals: baseline === 'required',
    async run(allowBaseline, deadlineMs, query) {
      function hasTime(): boolean {
        return clock.monotonicMs() - context.monotonicMs < deadlineMs / 2;
      }
      const { state: next, notes } = await pollStream(
        state,
        { ...context, allowBaseline, hasTime },
        query,
      );
      return {
        notes,
        commit(nowMs) {
          customer.pollSucceeded(stream, next, nowMs);
          customer.discardFuturePeriods(Math.max(nowMs, serviceNowMs()));
        },
      };
    },
  };
}

/** Every poll of a breakdown reads the totals: it has no baseline. */
function prepareBreakdown(
  customer: Customer,
  breakdown: Breakdown,
  { clock, reconcileIntervalMs }: PollEnvironment,
): PreparedPoll {
  const period = customer.periodAt(clock.nowMs());
  return {
    baseline: 'no',
    mustReadTotals: true,
    async run(_allowBaseline, _deadlineMs, query) {
      const context = {
        breakdown,
        calendar: customer.calendar,
        period,
        nowMs: () => clock.nowMs(),
        monotonicMs: clock.monotonicMs(),
        reconcileIntervalMs,
        marks: customer.marksOfKeys(breakdown, period),
        keysOfLastPeriod: customer.keysOfLastPeriod(breakdown, period),
      };
      const before = customer.breakdownStateOf(breakdown);
      const { state, notes } = await pollBreakdown(before, context, query);
      return { notes, commit: (nowMs) => customer.breakdownSucceeded(breakdown, state, nowMs) };
    },
  };
}

/** What counting is told of one poll that starts now. */
export function streamContext(
  customer: Customer,
  stream: MinuteStream,
  {
    clock,
    reconcileIntervalMs,
    serviceNowMs,
  }: Pick<PollEnvironment, 'clock' | 'reconcileIntervalMs' | 'serviceNowMs'>,
  baselineDueMs: number,
): Omit<PollContext, 'allowBaseline' | 'hasTime'> {
  const period = customer.periodAt(clock.nowMs());
  return {
    stream,
    calendar: customer.calendar,
    period,
    nowMs: () => clock.nowMs(),
    serviceNowMs,
    monotonicMs: clock.monotonicMs(),
    renewalMs: baselineDueMs,
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

/**
 * Runs a poll to its end and reports it to the customer, the log and the observer. Returns how many
 * responses it got, and how long it took.
 */
export async function runPoll(
  job: PollJob,
  run: (query: Query) => Promise<PollResult>,
  deadlineMs: number,
  urgent: boolean,
  stop: AbortController,
  { clock, observer, log }: PollEnvironment,
): Promise<{ readonly responses: number; readonly tookMs: number }> {
  const { customer, client, stream } = job;
  const startMs = clock.monotonicMs();
  const endDeadline = abortAfter(clock, deadlineMs, stop);
  let responses = 0;
  let reason: FailureReason | undefined;
  try {
    const { notes, commit } = await run(async (question) => {
      const response = await client.query(question, stop.signal, urgent);
      responses += 1;
      return response;
    });
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
