/**
 * One poll of a customer as polling sees it: what it reads, how it is sent through a `query`, and what it
 * changes when it has ended.
 */
import { isMinuteStream } from '../base/model.ts';
import type { Breakdown, MinuteStream, Stream } from '../base/model.ts';
import { pollBreakdown } from './breakdowns/poll-breakdown.ts';
import type { BreakdownContext } from './breakdowns/poll-breakdown.ts';
import type { Customer } from './customer.ts';
import type { Query } from './rows/window-reader.ts';
import { planPoll, pollStream } from './totals/poll.ts';
import type { PollClocks, PollContext, PollNote, PollPlan, PollResult } from './totals/state.ts';

type Plan = PollPlan | 'breakdown';

export interface PollTimes {
  readonly clocks: PollClocks;
  readonly reconcileIntervalMs: number;
}

/** A poll whose state and times are fixed: it can be tried by one plan and then by another. */
export interface PlannedPoll {
  /** What it reads. */
  readonly plan: Plan;
  /** Whether it can count on an older baseline while it waits for a slot. */
  readonly canWait: boolean;
  readonly poll: (plan: Plan, query: Query) => Promise<PollEnd>;
}

export interface PollEnd {
  readonly result: PollResult;
  readonly notes: readonly PollNote[];
  /** Whether its values can wait for a baseline, if it needs one. */
  readonly canWait: boolean;
  readonly commit: (nowMs: number) => void;
}

/** Returns a poll that starts now. Baselines from before `renewalMs` (monotonic) are due again. */
export function planCustomerPoll(
  customer: Customer,
  stream: Stream,
  times: PollTimes,
  renewalMs: number,
): PlannedPoll {
  if (!isMinuteStream(stream)) {
    const context = breakdownContext(customer, stream, times);
    return {
      plan: 'breakdown',
      canWait: false,
      async poll(_, query) {
        const state = customer.breakdowns.stateOf(stream);
        const outcome = await pollBreakdown(state, context, query);
        return {
          ...outcome,
          canWait: false,
          commit: (nowMs) => customer.breakdownSucceeded(stream, outcome, nowMs),
        };
      },
    };
  }
  const { state } = customer.streamOf(stream);
  const context = streamContext(customer, stream, times, renewalMs);
  return {
    plan: planPoll(state, context),
    canWait: state.baseline !== undefined,
    async poll(plan, query) {
      const reads = plan === 'recent' ? plan : 'baseline';
      const outcome = await pollStream(state, reads, context, query);
      return {
        ...outcome,
        canWait: outcome.state.baseline !== undefined,
        commit: (nowMs) => customer.pollSucceeded(stream, outcome, nowMs),
      };
    },
  };
}

/** Returns the context of a poll of people or logins that starts now. */
export function streamContext(
  customer: Customer,
  stream: MinuteStream,
  { clocks, reconcileIntervalMs }: PollTimes,
  renewalMs: number,
): PollContext {
  const period = customer.periodAt(clocks.nowMs());
  return {
    stream,
    calendar: customer.calendar,
    keyTimes: customer.keyTimes,
    period,
    clocks,
    monotonicMs: clocks.monotonicMs(),
    renewalMs,
    reconcileIntervalMs,
    marks: customer.streamOf(stream).marksOf(period),
  };
}

function breakdownContext(
  customer: Customer,
  breakdown: Breakdown,
  { clocks, reconcileIntervalMs }: PollTimes,
): BreakdownContext {
  const { breakdowns, calendar } = customer;
  const period = customer.periodAt(clocks.nowMs());
  const lastPeriodMs = calendar.periodStart(period.month - 1);
  return {
    breakdown,
    calendar,
    period,
    clocks,
    monotonicMs: clocks.monotonicMs(),
    reconcileIntervalMs,
    marks: breakdowns.marksOf(breakdown, period.startMs),
    keysOfLastPeriod: breakdowns.countedKeys(breakdown, lastPeriodMs),
  };
}
