/** Starts with many customers, against the limits on requests. */
import { expect, test } from 'vitest';
import type { PolledCustomer, Scheduler } from '../../src/polling/scheduler.ts';
import { schedulerOn } from '../support/polled.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { servedCustomers } from './served.ts';

const SECOND_MS = 1_000;

function havingValues(polled: readonly PolledCustomer[]): number {
  return polled.filter(({ customer }) => customer.health.people?.lastSuccessMs !== undefined)
    .length;
}

async function stop(scheduler: Scheduler, clock: VirtualClock): Promise<void> {
  const stopped = scheduler.stop();
  await clock.advance(60 * SECOND_MS);
  await stopped;
}

test('first polls of a start use all of the allowed requests', async () => {
  const clock = new VirtualClock(Date.UTC(2026, 10, 18, 10));
  const limits = { maxConcurrency: 32, maxRequestsPerSecond: 50 };
  const startedMs: number[] = [];
  const polled = servedCustomers(clock, 100, limits, 100, startedMs);
  const scheduler = schedulerOn(clock, limits);
  scheduler.start();
  scheduler.setCustomers(polled);
  // A token and five requests a customer take 12 seconds, and some polls are due meanwhile.
  await clock.advance(15 * SECOND_MS);
  expect(havingValues(polled)).toBe(100);
  const bySecond = Map.groupBy(startedMs, (ms) => Math.floor(ms / SECOND_MS));
  const counts = Array.from({ length: 12 }, (_, second) => bySecond.get(second)?.length);
  expect(counts).toEqual(Array(12).fill(50));
  await stop(scheduler, clock);
});

test('first polls complete although ordinary polls need nearly all of the capacity', async () => {
  const clock = new VirtualClock(Date.UTC(2026, 10, 18, 10));
  // 8 at once, each 3 s, are 2.7 requests per second. 150 customers need 2.5, and more for first polls.
  const limits = { maxConcurrency: 8, maxRequestsPerSecond: 1_000 };
  const polled = servedCustomers(clock, 150, limits, 3 * SECOND_MS);
  const scheduler = schedulerOn(clock, limits);
  scheduler.start();
  scheduler.setCustomers(polled);
  await clock.advance(20 * 60 * SECOND_MS);
  expect(havingValues(polled)).toBe(150);
  await stop(scheduler, clock);
});
