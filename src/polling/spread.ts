/**
 * Where in the interval each stream of each customer has its place, and how often to look who is due.
 * Pure but for the turns themselves.
 */
import type { Stream } from '../base/model.ts';
import type { Customer } from '../counting/customer.ts';
import type { CustomerClient } from '../service/types.ts';
import { keyOf, Turn } from './turn.ts';

export interface PolledCustomer {
  readonly customer: Customer;
  readonly client: CustomerClient;
}

export interface Intervals {
  /** Of the streams of minutes. */
  readonly intervalMs: number;
  readonly breakdownIntervalMs: number;
}

/**
 * Turns that fall due within a tick are started together, which costs half the processor time. But no
 * more of them than half of what may be under way at once: those that wait for a place cost a quarter
 * more, and so long nothing else runs.
 */
const LONGEST_TICK_MS = 250;
const SHORTEST_TICK_MS = 20;

/**
 * One turn for each of the customers' streams and breakdowns, each sort evenly over its interval. Those
 * of `before` go on, and are taken out of it. Breakdowns come last, so that their first polls wait for
 * those of the streams.
 */
export function spread(
  customers: readonly PolledCustomer[],
  { intervalMs, breakdownIntervalMs }: Intervals,
  before: Map<string, Turn>,
  nowMs: number,
): Turn[] {
  function evenly(lengthMs: number, streamsOf: (customer: Customer) => readonly Stream[]): Turn[] {
    const polled = customers.flatMap(({ customer, client }) =>
      streamsOf(customer).map((stream) => ({ customer, client, stream })),
    );
    return polled.map((one, i) => {
      const phase = i / polled.length;
      const turn = before.get(keyOf(one));
      if (turn?.customer !== one.customer) {
        return new Turn({ ...one, intervalMs: lengthMs, phase });
      }
      before.delete(keyOf(one));
      turn.move(one.client, phase, nowMs);
      return turn;
    });
  }
  return [
    ...evenly(intervalMs, ({ streams }) => streams),
    ...evenly(breakdownIntervalMs, ({ breakdowns }) => breakdowns),
  ];
}

/** How long to sleep at least: until half as many turns are due as may be under way at once. */
export function tickMsFor(
  customers: readonly PolledCustomer[],
  { intervalMs, breakdownIntervalMs, maxConcurrency }: Intervals & { maxConcurrency: number },
): number {
  const turnsPerMs = customers.reduce(
    (sum, { customer: { streams, breakdowns } }) =>
      sum + streams.length / intervalMs + breakdowns.length / breakdownIntervalMs,
    0,
  );
  const longestMs = Math.min(LONGEST_TICK_MS, intervalMs / 20, breakdownIntervalMs / 20);
  return Math.min(longestMs, Math.max(SHORTEST_TICK_MS, maxConcurrency / 2 / turnsPerMs));
}
