/** One try of a poll: its requests within a deadline. */
import type { Clock } from '../base/clock.ts';
import { ServiceError, TimeLimitError } from '../base/errors.ts';
import type { AggregatedResponse, WindowQuery } from '../base/model.ts';
import type { ReadPage } from '../counting/devices.ts';
import type { CustomerPlan } from '../counting/customer-poll.ts';
import type { Query } from '../counting/rows/window-reader.ts';
import type { Priority } from '../service/types.ts';
import type { PollJob } from './job.ts';

/** A poll ends before the next one is due. */
const DEADLINE_SHARE = 0.9;
/**
 * What reads totals has longer: five requests may take longer than a short interval, and more are needed
 * where `day` and `quarter` lag and the minutes are compared with them.
 */
const MIN_TOTALS_DEADLINE_MS = 120_000;
/** The other customers wait for their first poll. */
export const FIRST_POLL_DEADLINE_MS = 30_000;
/** Optional requests are sent in this share of the time. */
const OPTIONAL_SHARE = 0.5;

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

/** How a poll is tried. */
export interface Attempt {
  readonly plan: CustomerPlan;
  readonly priority: Priority;
  readonly deadlineMs: number;
}

/** Returns how long a poll of the job may take. */
export function deadlineMs({ phase, intervalMs }: PollJob, plan: Attempt['plan']): number {
  if (phase === 'first' && plan !== 'recent') {
    return FIRST_POLL_DEADLINE_MS;
  }
  const beforeNextMs = intervalMs * DEADLINE_SHARE;
  return plan === 'recent' ? beforeNextMs : Math.max(MIN_TOTALS_DEADLINE_MS, beforeNextMs);
}

/** Tries a poll, or `what`, until its deadline. Returns the error if the service gave no valid response. */
export async function tryPoll<Outcome>(
  { client }: Pick<PollJob, 'client'>,
  attempt: Omit<Attempt, 'plan'>,
  clock: Clock,
  stop: AbortController,
  poll: (query: Query, readPage: ReadPage) => Promise<Outcome>,
  what = 'a poll',
): Promise<Outcome | ServiceError> {
  const { priority, deadlineMs } = attempt;
  const endDeadline = abortAfter(clock, deadlineMs, stop, what);
  const optionalUntilMs = clock.monotonicMs() + deadlineMs * OPTIONAL_SHARE;
  async function query(question: WindowQuery, necessity?: 'optional'): Promise<AggregatedResponse> {
    // What is optional as a whole has all of the time.
    const isPart = necessity === 'optional' && priority !== 'optional';
    if (isPart && clock.monotonicMs() >= optionalUntilMs) {
      throw new ServiceError('timeout', 'there is no time for an optional request');
    }
    return client.query(question, stop.signal, priority);
  }
  try {
    return await poll(query, (question) => client.page(question, stop.signal, priority));
  } catch (error) {
    if (error instanceof ServiceError) {
      return error;
    }
    throw error;
  } finally {
    endDeadline();
  }
}
