import { expect, test } from 'vitest';
import { dueJobs, earliestDueMs, nextDueMs, renewalMs } from '../../src/polling/job.ts';
import { jobAt, MINUTE_MS } from './fixture.ts';

const HOUR_MS = 60 * MINUTE_MS;

test('a job is due at its place in each interval', () => {
  const job = { ...jobAt(0), place: 0.25 };
  expect([0, 14_999, 15_000, 74_999].map((nowMs) => nextDueMs(job, nowMs))).toEqual([
    15_000, 15_000, 75_000, 75_000,
  ]);
});

test('jobs are due in the order of their times, but not before their first poll has ended', () => {
  const [late, early, later] = [jobAt(200), jobAt(100), jobAt(201)];
  const first = { ...jobAt(50), phase: 'first' } as const;
  const jobs = [late, early, later, first];
  expect(dueJobs(jobs, 200)).toEqual([early, late]);
  expect([earliestDueMs(jobs), earliestDueMs([first])]).toEqual([100, Infinity]);
});

test.each([
  ['one poll before the interval is over', MINUTE_MS, 0, 59 * MINUTE_MS],
  ['at its own place', MINUTE_MS, 0.5, 88.5 * MINUTE_MS],
  ['at nine tenths of it if polls are rare', 30 * MINUTE_MS, 0, 54 * MINUTE_MS],
])('a baseline is due %s', (_, intervalMs, place, dueMs) => {
  const job = { ...jobAt(0), intervalMs, place };
  expect(renewalMs(job, dueMs - 1, HOUR_MS)).toBeLessThan(dueMs - 1);
  expect(renewalMs(job, dueMs, HOUR_MS)).toBe(dueMs);
});

test('a baseline is due after an interval even if the job has moved to another place', () => {
  const moved = { ...jobAt(0), place: 0.99 };
  expect(renewalMs(moved, 1.9 * HOUR_MS, HOUR_MS)).toBe(0.9735 * HOUR_MS);
});
