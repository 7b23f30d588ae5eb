import { expect, test } from 'vitest';
import { Slots } from '../../src/polling/slots.ts';
import { jobAt } from './fixture.ts';

test.each([
  ['half of the places for requests', { jobs: 100, firstPolls: 0 }, 16],
  ['more of them while most jobs wait for their first poll', { jobs: 100, firstPolls: 75 }, 24],
  ['all of them at the start', { jobs: 100, firstPolls: 100 }, 32],
  ['as many as end in time', { jobs: 100, firstPolls: 100, maxRequests: 100 }, 10],
  ['at least one', { jobs: 100, firstPolls: 0, maxRequests: 1 }, 1],
])('slots are %s', (_, { jobs, firstPolls, maxRequests = 10_000 }: Limits, size) => {
  const slots = new Slots(32, maxRequests);
  Object.assign(slots, { jobs, firstPolls });
  expect(slots.size).toBe(size);
});

interface Limits {
  readonly jobs: number;
  readonly firstPolls: number;
  readonly maxRequests?: number;
}

test('a slot is taken once and comes back', () => {
  const slots = new Slots(2, 10_000);
  const a = jobAt(0);
  const b = jobAt(0);
  slots.jobs = 2;
  expect([slots.take(a), slots.take(a), slots.take(b)]).toEqual([true, true, false]);
  slots.release(b);
  expect(slots.isFree).toBe(false);
  slots.release(a);
  expect([slots.isFree, slots.take(b)]).toEqual([true, true]);
});
