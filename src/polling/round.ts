/** One poll of one stream, from the first question to the figures it leaves with the customer. */
import type { Clock } from '../base/clock.ts';
import { COUNTERS } from '../base/model.ts';
import type { Breakdown, MinuteStream, Stream } from '../base/model.ts';
import { pollBreakdown } from '../counting/breakdown.ts';
import type { Customer } from '../counting/customer.ts';
import type { Query } from '../counting/query.ts';
import { anchorNeed, pollStream } from '../counting/stream.ts';
import { surveyStream } from '../counting/survey.ts';
import type { StreamSurvey } from '../counting/survey.ts';
import type { PollContext, PollNote } from '../counting/state.ts';

/** One poll, not yet asked. */
export interface PollPlan {
  readonly need: ReturnType<typeof anchorNeed>;
  /** The poll, to be ended after `deadlineMs`. */
  run(mayAnchor: boolean, deadlineMs: number, query: Query): Promise<PollEnd>;
}

export interface PollEnd {
  readonly notes: readonly PollNote[];
  /** Leaves the figures with the customer. */
  keep(nowMs: number): void;
}

export interface PlanOptions {
  readonly clock: Clock;
  /** When the stream's totals were to be read anew for the last time, by the monotonic clock. */
  readonly renewalMs: number;
  readonly serviceNowMs: () => number;
}

/** Plans one poll of a stream as of now. */
export function planPoll(customer: Customer, stream: Stream, options: PlanOptions): PollPlan {
  return stream === 'people' || stream === 'logins'
    ? planStream(customer, stream, options)
    : planBreakdown(customer, stream, options.clock);
}

/** Plans a look at a stream as of now, for a person; it changes nothing of the customer. */
export function planSurvey(
  customer: Customer,
  stream: MinuteStream,
  options: Pick<PlanOptions, 'clock' | 'serviceNowMs'>,
  query: Query,
): Promise<StreamSurvey> {
  const context = contextOf(customer, stream, { ...options, renewalMs: -Infinity });
  return surveyStream({ ...context, mayAnchor: true, hasTime: () => true }, query);
}

function planStream(customer: Customer, stream: MinuteStream, options: PlanOptions): PollPlan {
  const { clock } = options;
  const state = customer.stateOf(stream);
  const context = contextOf(customer, stream, options);
  return {
    need: anchorNeed(state, context),
    async run(mayAnchor, deadlineMs, query) {
      const outcome = await pollStream(
        state,
        {
          ...context,
          mayAnchor,
          hasTime: () => clock.monotonicMs() - context.monotonicMs < deadlineMs / 2,
        },
        query,
      );
      return {
        notes: outcome.notes,
        keep: (nowMs) => customer.pollSucceeded(stream, outcome.state, nowMs),
      };
    },
  };
}

function contextOf(
  customer: Customer,
  stream: MinuteStream,
  { clock, renewalMs, serviceNowMs }: PlanOptions,
): Omit<PollContext, 'mayAnchor' | 'hasTime'> {
  const epoch = customer.periodAt(clock.nowMs());
  return {
    stream,
    counterCount: COUNTERS[stream].length,
    calendar: customer.calendar,
    epoch,
    nowMs: () => clock.nowMs(),
    serviceNowMs,
    monotonicMs: clock.monotonicMs(),
    renewalMs,
    marks: customer.marksOf(stream, epoch),
  };
}

/** A breakdown has no anchors: every poll of it reads the totals themselves. */
function planBreakdown(customer: Customer, breakdown: Breakdown, clock: Clock): PollPlan {
  const state = customer.breakdownStateOf(breakdown);
  const epoch = customer.periodAt(clock.nowMs());
  return {
    need: 'none',
    async run(_mayAnchor, _deadlineMs, query) {
      const outcome = await pollBreakdown(
        state,
        {
          breakdown,
          calendar: customer.calendar,
          epoch,
          nowMs: () => clock.nowMs(),
          marks: customer.marksOfKeys(breakdown, epoch),
        },
        query,
      );
      return {
        notes: outcome.notes,
        keep: (nowMs) => customer.breakdownSucceeded(breakdown, outcome.state, nowMs),
      };
    },
  };
}
