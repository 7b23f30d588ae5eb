/**
 * What is read behind the polls: the past, once a day where devices are, and the windows of branches. Polls come
 * first. What fails is tried again less and less often, so that it does not take the requests that polls need.
 */
import { nextTurn } from '../base/clock.ts';
import { MINUTE_MS, SECOND_MS } from '../base/duration.ts';
import { isMinuteStream } from '../base/model.ts';
import { isPastDue, updatePast } from '../counting/customer-past.ts';
import type { ReadPage } from '../counting/devices.ts';
import type { Customer } from '../counting/customer.ts';
import type { Query } from '../counting/rows/window-reader.ts';
import type { PollJob, ReadJob } from './job.ts';

const FAILURE_MESSAGES = {
  past: 'past unavailable',
  window: 'branches unavailable',
  devices: 'device records unavailable',
} as const satisfies Record<ReadJob['kind'] | 'devices', string>;

/** Returns what is logged at the first failure in a row. */
export function failureMessage({ kind, poll }: ReadJob): string {
  return FAILURE_MESSAGES[poll.stream === 'device' ? 'devices' : kind];
}

/** One kind of requests behind the polls. */
interface Reading {
  readonly name: string;
  /** Between the starts of two jobs. */
  readonly gapMs: number;
  /** Rest of a job after each of its requests. */
  readonly pauseMs: number;
  readonly deadlineMs: number;
  /** Rest of a job after a failure. It doubles with each in a row. */
  readonly minRetryMs: number;
  readonly maxRetryMs: number;
  /** Whether its results are shown before the next poll of the job. */
  readonly isShownAtOnce: boolean;
  /** Whether a stream has it. */
  isOf(poll: PollJob): boolean;
  /** Whether there is something to read. */
  isDue(poll: PollJob, nowMs: number): boolean;
  /** Throws a ServiceError. */
  run(poll: PollJob, query: Query, nowMs: number, readPage: ReadPage): Promise<void>;
}

export const READINGS: Readonly<Record<ReadJob['kind'], Reading>> = {
  /** The next window of a customer's branches; then it learns from their days before. */
  window: {
    name: 'a window of branches',
    gapMs: 0,
    pauseMs: SECOND_MS,
    deadlineMs: 30 * SECOND_MS,
    minRetryMs: MINUTE_MS,
    maxRetryMs: 15 * MINUTE_MS,
    isShownAtOnce: true,
    isOf: ({ customer, stream }) => stream === 'people' && customer.branches !== undefined,
    isDue: ({ customer }) => customer.branches?.isWaiting === true,
    async run({ customer: { branches } }, query) {
      try {
        await branches?.readNext(query);
      } finally {
        while (branches?.learn() === true) {
          await nextTurn();
        }
      }
    },
  },
  /** The past of people or logins; of devices the records that show where they are. */
  past: {
    name: 'the past',
    // Those of 10,000 customers begin within an hour: two each. Three with devices.
    gapMs: 180,
    pauseMs: 0,
    deadlineMs: 5 * MINUTE_MS,
    minRetryMs: 15 * MINUTE_MS,
    maxRetryMs: 6 * 60 * MINUTE_MS,
    isShownAtOnce: false,
    isOf: ({ stream }) => isMinuteStream(stream) || stream === 'device',
    isDue: ({ customer, stream }, nowMs) =>
      stream === 'device' ? arePlacesDue(customer, nowMs) : isPastDue(customer, stream, nowMs),
    run: ({ customer, stream }, query, nowMs, readPage) =>
      stream === 'device'
        ? customer.devices.readPlaces(readPage, customer.periodAt(nowMs), nowMs)
        : updatePast(customer, stream, query, nowMs),
  },
};

/** After the first people and their past, which show how many records a window has. */
function arePlacesDue(customer: Customer, nowMs: number): boolean {
  return (
    customer.streamOf('people').days.newest !== undefined &&
    !isPastDue(customer, 'people', nowMs) &&
    customer.devices.isDue(customer.periodAt(nowMs), nowMs)
  );
}

/** Returns the jobs behind the polls of a stream. Those that it has stay. */
export function jobsBehind(poll: PollJob): readonly ReadJob[] {
  return (['window', 'past'] as const)
    .filter((kind) => READINGS[kind].isOf(poll))
    .map(
      (kind) =>
        poll.behind.find((job) => job.kind === kind) ?? {
          kind,
          poll,
          dueMs: -Infinity,
          backOff: undefined,
          running: undefined,
        },
    );
}

/** Returns how long a job rests after one more failure in a row. */
export function pauseAfterFailure({ kind, backOff }: ReadJob): number {
  const { minRetryMs, maxRetryMs } = READINGS[kind];
  return Math.min(2 * (backOff?.pauseMs ?? minRetryMs / 2), maxRetryMs);
}
