import { expect, test } from 'vitest';
import { Slots } from '../../src/polling/slots.ts';
import type { Job, ReadJob } from '../../src/polling/job.ts';
import { jobAt } from './fixture.ts';

test.each([
  ['half of the places for requests', 0, 10_000, 16],
  ['more of them while most jobs wait for their first poll', 75, 10_000, 24],
  ['all of them at the start', 100, 10_000, 32],
  ['as many as end in time', 100, 100, 10],
  ['at least one', 0, 1, 1],
])('slots are %s', (_, firstPolls, maxRequests, size) => {
  const slots = slotsOf(32, maxRequests);
  Object.assign(slots, { jobs: 100, firstPolls });
  expect(slots.sizeOf('poll')).toBe(size);
});

test('a slot is taken once and comes back', () => {
  const slots = slotsOf(2);
  const [a, b] = [jobAt(0), jobAt(0)];
  slots.jobs = 2;
  expect([slots.take(a, 0), slots.take(a, 0), slots.take(b, 0)]).toEqual([true, true, false]);
  slots.release(b);
  slots.wait(b);
  expect([...slots.startable(0)]).toEqual([]);
  slots.release(a);
  expect([[...slots.startable(0)], slots.take(b, 0)]).toEqual([[b], true]);
});

test('what is read behind the polls has a share of its own, after the first polls', () => {
  const slots = slotsOf(16);
  slots.jobs = 100;
  slots.firstPolls = 1;
  const windows = [readJob('window'), readJob('window'), readJob('window')];
  Array.from({ length: 20 }, () => jobAt(0)).forEach((job) => slots.take(job, 0));
  windows.forEach((job) => slots.wait(job));
  expect([...slots.startable(0)]).toEqual([]);
  slots.firstPolls = 0;
  expect(startAll(slots, 0)).toEqual(windows.slice(0, 2));
  slots.release(windows[0] ?? readJob('window'));
  slots.stopWaiting(windows[2] ?? readJob('window'));
  expect(startAll(slots, 0)).toEqual([]);
});

test('polls start together, although time passes while they start', () => {
  const slots = slotsOf(16);
  slots.jobs = 3;
  const jobs = [jobAt(0), jobAt(0), jobAt(0)];
  jobs.forEach((job) => slots.wait(job));
  const started = Array.from(slots.startable(0), (job, i) => {
    slots.take(job, i + 0.1);
    return job;
  });
  expect(started).toEqual(jobs);
});

test('the past is read with a gap between two starts', () => {
  const slots = slotsOf(200);
  const jobs = [readJob('past'), readJob('past')];
  jobs.forEach((job) => slots.wait(job));
  expect([slots.gapEndsMs(), startAll(slots, 1_000)]).toEqual([-Infinity, jobs.slice(0, 1)]);
  expect([slots.gapEndsMs(), startAll(slots, 1_179)]).toEqual([1_180, []]);
  expect([startAll(slots, 1_180), slots.gapEndsMs()]).toEqual([jobs.slice(1), Infinity]);
});

function slotsOf(places: number, maxRequests = 10_000): Slots {
  return new Slots(places, maxRequests, { window: { gapMs: 0 }, past: { gapMs: 180 } });
}

function readJob(kind: ReadJob['kind']): ReadJob {
  return { kind, poll: jobAt(0), dueMs: 0, backOff: undefined, running: undefined };
}

function startAll(slots: Slots, nowMs: number): readonly Job[] {
  return Array.from(slots.startable(nowMs), (job) => {
    slots.stopWaiting(job);
    slots.take(job, nowMs);
    return job;
  });
}
