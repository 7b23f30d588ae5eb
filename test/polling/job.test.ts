import { expect, test } from 'vitest';
import { HOUR_MS, MINUTE_MS } from '../../src/base/duration.ts';
import { DueJobs, nextDueMs, renewalMs } from '../../src/polling/job.ts';
import { jobAt } from './fixture.ts';

test('a job is due at its place in each interval', () => {
  const job = { ...jobAt(0), place: 0.25 };
  expect([0, 14_999, 15_000, 74_999].map((nowMs) => nextDueMs(job, nowMs))).toEqual([
    15_000, 15_000, 75_000, 75_000,
  ]);
});

test('jobs are due once, in the order of their times', () => {
  const [late, early, later, muchLater] = [jobAt(700), jobAt(100), jobAt(701), jobAt(5_000)];
  const jobs = new DueJobs();
  [muchLater, late, early, later].forEach((job) => jobs.add(job));
  expect(jobs.earliestMs()).toBe(100);
  expect(jobs.take(99)).toEqual([]);
  expect(jobs.take(700)).toEqual([early, late]);
  expect(jobs.earliestMs()).toBe(701);
  expect(jobs.take(10_000)).toEqual([later, muchLater]);
  expect([jobs.take(10_000), jobs.earliestMs()]).toEqual([[], Infinity]);
});

test.each([
  ['one poll before the interval is over', MINUTE_MS, 0, 59 * MINUTE_MS],
  ['at nine tenths of it if polls are rare', 30 * MINUTE_MS, 0, 54 * MINUTE_MS],
])('a baseline is due %s', (_, intervalMs, place, dueMs) => {
  const job = { ...jobAt(0), intervalMs, place };
  expect(renewalMs(job, dueMs - 1, HOUR_MS)).toBeLessThan(dueMs - 1);
  expect(renewalMs(job, dueMs, HOUR_MS)).toBe(dueMs);
});
