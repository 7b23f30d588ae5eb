/** A poll of a customer, whatever it reads: planned from what is known, sent through a `query`, and taken. */
import { isMinuteStream } from '../base/model.ts';
import type { Breakdown, MinuteStream, Stream } from '../base/model.ts';
import { pollBreakdown } from './breakdowns/poll-breakdown.ts';
import type { BreakdownContext } from './breakdowns/poll-breakdown.ts';
import type { Customer, CustomerOutcome } from './customer.ts';
import type { Query } from './rows/window-reader.ts';
import { planPoll, pollStream } from './totals/poll.ts';
import type { PollClocks, PollContext, PollPlan } from './totals/state.ts';

/** A breakdown always reads the same. */
export type CustomerPlan = PollPlan | 'breakdown';

export interface PollTimes {
  readonly clocks: PollClocks;
  readonly reconcileIntervalMs: number;
}

/** Returns what a poll reads now. Baselines from before `renewalMs` (monotonic) are due again. */
export function planCustomerPoll(
  customer: Customer,
  stream: Stream,
  { clocks }: PollTimes,
  renewalMs: number,
): CustomerPlan {
  if (!isMinuteStream(stream)) {
    return 'breakdown';
  }
  const { calendar } = customer;
  const period = customer.periodAt(clocks.nowMs());
  return planPoll(customer.streamOf(stream).state, { calendar, clocks, period }, renewalMs);
}

/**
 * Polls once, by a plan. Changes nothing: `customer.polled` takes the outcome. Rejects with a ServiceError if a
 * response is missing or malformed.
 */
export async function pollCustomer(
  customer: Customer,
  stream: Stream,
  plan: CustomerPlan,
  times: PollTimes,
  query: Query,
): Promise<CustomerOutcome> {
  if (!isMinuteStream(stream)) {
    const state = customer.breakdowns.stateOf(stream);
    const context = breakdownContext(customer, stream, times);
    return { kind: 'breakdown', stream, ...(await pollBreakdown(state, context, query)) };
  }
  const { state } = customer.streamOf(stream);
  const reads = plan === 'recent' ? plan : 'baseline';
  const context = streamContext(customer, stream, times);
  return { kind: 'stream', stream, ...(await pollStream(state, reads, context, query)) };
}

/** Returns the context of a poll of people or logins that starts now. */
export function streamContext(
  customer: Customer,
  stream: MinuteStream,
  { clocks, reconcileIntervalMs }: PollTimes,
): PollContext {
  const period = customer.periodAt(clocks.nowMs());
  return {
    stream,
    calendar: customer.calendar,
    keyTimes: customer.keyTimes,
    period,
    clocks,
    monotonicMs: clocks.monotonicMs(),
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
