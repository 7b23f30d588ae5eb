/**
 * One poll to its end: asked within its deadline, and told to the customer, the log and whoever
 * observes. When it is due and whether it may take an anchor is not decided here.
 */
import type { Clock } from '../base/clock.ts';
import { ServiceError } from '../base/errors.ts';
import type { FailureReason } from '../base/errors.ts';
import type { Stream } from '../base/model.ts';
import type { Query } from '../counting/query.ts';
import type { FailureLog } from './failure-log.ts';
import type { PollEnd } from './round.ts';
import type { Turn } from './turn.ts';

export interface PollObserver {
  /** A poll has ended; `reason` where it failed. */
  pollEnded(stream: Stream, durationSeconds: number, reason: FailureReason | undefined): void;
  /** Something of this customer is to be shown anew. */
  changed(customer: string): void;
}

export interface PollOptions {
  readonly clock: Clock;
  readonly observer: PollObserver;
  readonly failures: FailureLog;
}

/** Why a poll ends whose figures nobody waits for any more. */
export const DROPPED = new ServiceError('unreachable', 'the exporter is stopping');
/** One for all: an abort without a reason makes a new one, which costs more than the rest of a poll's end. */
const POLL_ENDED = new Error('the poll has ended');

/** Resolves when the poll has ended, well or not. An abort with {@link DROPPED} leaves no trace of it. */
export async function runPoll(
  turn: Turn,
  poll: (query: Query) => Promise<PollEnd>,
  stop: AbortController,
  { clock, observer, failures }: PollOptions,
): Promise<void> {
  const { customer, client, stream } = turn;
  const startMs = clock.monotonicMs();
  let reason: FailureReason | undefined;
  try {
    const end = await withDeadline(turn.deadlineMs, stop, clock, (signal) =>
      poll((question) => client.query(question, signal)),
    );
    if (stop.signal.reason === DROPPED) {
      return;
    }
    end.keep(clock.nowMs());
    failures.succeeded(turn, end.notes);
  } catch (error) {
    if (stop.signal.reason === DROPPED) {
      return;
    }
    if (!(error instanceof ServiceError)) {
      throw error;
    }
    reason = error.reason;
    customer.pollFailed(stream, error.message, clock.nowMs());
    failures.failed(turn, error);
  }
  observer.pollEnded(stream, (clock.monotonicMs() - startMs) / 1000, reason);
  observer.changed(customer.customer);
}

async function withDeadline<Result>(
  deadlineMs: number,
  stop: AbortController,
  clock: Clock,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const ended = new AbortController();
  clock.sleep(deadlineMs, ended.signal).then(
    () => stop.abort(new DOMException('The poll reached its deadline', 'TimeoutError')),
    () => {},
  );
  try {
    return await work(stop.signal);
  } finally {
    ended.abort(POLL_ENDED);
  }
}
