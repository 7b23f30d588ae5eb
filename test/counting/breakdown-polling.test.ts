import { afterEach, beforeEach, expect, test } from 'vitest';
import { ServiceError } from '../../src/base/errors.ts';
import type { Breakdown, Question, AggregatedResponse, Stream } from '../../src/base/model.ts';
import type { Customer } from '../../src/counting/customer.ts';
import type { Scheduler } from '../../src/polling/scheduler.ts';
import type { PolledCustomer } from '../../src/polling/scheduler.ts';
import { customerNamed, schedulerOn } from '../support/polled.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const MINUTE_MS = 60_000;

let clock: VirtualClock;
let scheduler: Scheduler;
let asked: { customer: string; aggregation: string; atMs: number }[];
/** No response comes to requests with these aggregations. */
let stuck: string[];

beforeEach(() => {
  clock = new VirtualClock(Date.UTC(2026, 10, 18, 10));
  asked = [];
  stuck = [];
  scheduler = schedulerOn(clock);
  scheduler.start();
});
afterEach(async () => {
  await scheduler.stop();
});

function polled(name: string, breakdowns: readonly Breakdown[]): PolledCustomer {
  const customer = customerNamed(name);
  breakDown(customer, breakdowns);
  return { customer, client: { query: (question, signal) => answer(name, question, signal) } };
}

function breakDown(customer: Customer, breakdowns: readonly Breakdown[]): void {
  customer.breakdowns.configure({ breakdowns, branchNames: {}, intervalMs: 5 * MINUTE_MS });
}

function answer(
  customer: string,
  { aggregation }: Question,
  signal: AbortSignal,
): Promise<AggregatedResponse> {
  asked.push({ customer, aggregation, atMs: clock.monotonicMs() });
  if (!stuck.includes(aggregation)) {
    return Promise.resolve({ aggregation, rows: [{ key: 1, counts: [3, 1] }] });
  }
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(new ServiceError('timeout', 'no answer came')));
  });
}

function healthOf({ customer }: PolledCustomer, stream: Stream) {
  const figures = customer.metricsAt(clock.nowMs()).streams[stream];
  return figures && { polls: figures.polls, failures: figures.failures, skipped: figures.skipped };
}

test('breakdowns are polled at an interval of their own, after the first polls of the streams', async () => {
  const [a, b] = [polled('a', ['branch', 'device']), polled('b', ['branch', 'device'])];
  scheduler.setCustomers([a, b]);
  await clock.advance(0);
  const first = asked.map(({ aggregation }) => aggregation);
  expect(first[0]).toBe('minute');
  expect(first.slice(0, first.indexOf('branch'))).not.toContain('device');
  asked = [];
  await clock.advance(10 * MINUTE_MS);
  const turns = asked
    .filter(({ aggregation }) => aggregation !== 'minute')
    .map(({ customer, aggregation, atMs }) => `${customer} ${aggregation} ${atMs}`);
  // Both requests of a poll come at one instant here.
  expect([...new Set(turns)]).toEqual([
    'a device 75000',
    'b branch 150000',
    'b device 225000',
    'a branch 300000',
    'a device 375000',
    'b branch 450000',
    'b device 525000',
    'a branch 600000',
  ]);
  expect(healthOf(a, 'branch')).toEqual({ polls: 3, failures: 0, skipped: 0 });
  expect(healthOf(a, 'people')).toEqual({ polls: 11, failures: 0, skipped: 0 });
});

test('polls of a breakdown end, and are missed, by its own interval', async () => {
  const customer = polled('a', ['branch']);
  scheduler.setCustomers([customer]);
  await clock.advance(MINUTE_MS);
  stuck = ['branch'];
  await clock.advance(8 * MINUTE_MS);
  expect(healthOf(customer, 'branch')).toEqual({ polls: 1, failures: 0, skipped: 0 });
  await clock.advance(MINUTE_MS);
  expect(healthOf(customer, 'branch')).toEqual({ polls: 2, failures: 1, skipped: 0 });
  clock.freeze(16 * MINUTE_MS);
  await clock.advance(1000);
  expect(healthOf(customer, 'branch')?.skipped).toBe(3);
  expect(healthOf(customer, 'people')?.failures).toBe(0);
});

test('what stays goes on when a breakdown goes and another comes, in the middle of a poll too', async () => {
  stuck = ['device'];
  const one = polled('a', ['branch', 'device']);
  scheduler.setCustomers([one]);
  await clock.advance(10);
  const before = one.customer.metricsAt(clock.nowMs());
  breakDown(one.customer, ['client', 'branch']);
  scheduler.setCustomers([one]);
  await clock.advance(10);
  const { streams, breakdowns, counters } = one.customer.metricsAt(clock.nowMs());
  expect(Object.keys(streams)).toEqual(['people', 'client', 'branch']);
  expect(breakdowns.branch).toEqual(before.breakdowns.branch);
  expect(breakdowns.branch?.keys).toHaveLength(1);
  expect(breakdowns.client?.keys).toHaveLength(1);
  expect(counters).toEqual(before.counters);
  expect(healthOf(one, 'branch')).toEqual({ polls: 1, failures: 0, skipped: 0 });
  breakDown(one.customer, []);
  expect(healthOf(one, 'branch')).toBeUndefined();
  breakDown(one.customer, ['branch']);
  expect(healthOf(one, 'branch')).toEqual({ polls: 1, failures: 0, skipped: 0 });
  expect(one.customer.metricsAt(clock.nowMs()).breakdowns.branch?.keys).toEqual([]);
});
