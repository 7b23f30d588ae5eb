import { expect, test } from 'vitest';
import { LogLimiter } from '../../src/base/log-limiter.ts';
import { BackgroundQueue } from '../../src/polling/background.ts';
import type { BackgroundTask } from '../../src/polling/background.ts';
import type { PollJob } from '../../src/polling/job.ts';
import { captureLog } from '../support/captured-log.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { hang, jobAt } from './fixture.ts';

const QUESTION = { endpoint: 'peoplecount', aggregation: 'branch', from: '2026-11-19' } as const;

/** A queue of a task that sends one request, which never comes back, or is done at once. */
function queueOf(changes: Partial<BackgroundTask> = {}) {
  const clock = new VirtualClock(0);
  const { log, lines } = captureLog(clock);
  const started: PollJob[] = [];
  const events: string[] = [];
  const queue = new BackgroundQueue(
    {
      name: 'the history',
      share: 0.5,
      gapMs: 0,
      pauseMs: 1_000,
      deadlineMs: 10_000,
      minRetryMs: 60_000,
      isShownAtOnce: true,
      maxRetryMs: 90_000,
      isDue: () => true,
      async run(job, query) {
        started.push(job);
        await query(QUESTION);
      },
      ...changes,
    },
    {
      clock,
      limiter: new LogLimiter({ log, clock }),
      observer: { changed: () => events.push('changed') },
    },
    () => events.push('ready'),
  );
  return { clock, lines, started, events, queue };
}

function quickJob(): PollJob {
  return {
    ...jobAt(0),
    client: { query: () => Promise.resolve({ aggregation: 'branch', rows: [] }) },
  };
}

test('as many jobs start at once as their share of the slots, in their order', () => {
  const { queue, started } = queueOf();
  const jobs = [jobAt(0), jobAt(0), jobAt(0)];
  jobs.forEach((job) => queue.queue(job));
  expect(queue.start(4)).toHaveLength(2);
  expect(queue.start(4)).toHaveLength(0);
  expect(started).toEqual(jobs.slice(0, 2));
});

test('a gap is kept between two starts', async () => {
  const { clock, queue } = queueOf({ gapMs: 180 });
  queue.queue(jobAt(0));
  queue.queue(jobAt(0));
  expect(queue.start(32)).toHaveLength(1);
  await clock.advance(179);
  expect(queue.start(32)).toHaveLength(0);
  await clock.advance(1);
  expect(queue.start(32)).toHaveLength(1);
});

test('a job that has ended is queued again after a pause for each request', async () => {
  const { clock, queue, started, events } = queueOf();
  const job = quickJob();
  queue.queue(job);
  await Promise.all(queue.start(2));
  queue.queue(job);
  expect(queue.start(2)).toEqual([]);
  await clock.advance(1_000);
  expect(events).toEqual(['ready', 'ready']);
  await Promise.all(queue.start(2));
  expect(started).toEqual([job, job]);
  queue.drop(job);
  expect(clock.sleepers).toBe(0);
});

test('what the next poll shows is no change by itself', async () => {
  let isDue = true;
  const { queue, events } = queueOf({ isDue: () => isDue, isShownAtOnce: false });
  const job = quickJob();
  queue.queue(job);
  isDue = false;
  await Promise.all(queue.start(1));
  expect(events).toEqual(['ready']);
  queue.drop(job);
});

test('metrics have changed when nothing more is due', async () => {
  let due = 2;
  const { clock, queue, events } = queueOf({ isDue: () => due > 0 });
  const job = quickJob();
  queue.queue(job);
  due = 1;
  await Promise.all(queue.start(2));
  expect(events).toEqual(['ready']);
  await clock.advance(1_000);
  due = 0;
  await Promise.all(queue.start(2));
  expect(events).toEqual(['ready', 'ready', 'changed', 'ready']);
  queue.drop(job);
});

test('what waits for a gap can start when it is over, without a poll', async () => {
  const { clock, queue, events } = queueOf({ gapMs: 180, pauseMs: 0 });
  const jobs = [quickJob(), quickJob()];
  jobs.forEach((job) => queue.queue(job));
  await Promise.all(queue.start(2));
  expect(queue.start(2)).toEqual([]);
  events.length = 0;
  await clock.advance(180);
  expect(events).toEqual(['ready']);
  expect(queue.start(2)).toHaveLength(1);
  jobs.forEach((job) => queue.drop(job));
});

test('a job that fails at its deadline rests for longer each time, and is logged once', async () => {
  const { clock, lines, queue, started } = queueOf();
  const job = jobAt(0);
  const startedMs: number[] = [];
  for (let second = 0; second < 300; second += 1) {
    queue.queue(job);
    if (queue.start(2).length > 0) {
      startedMs.push(clock.monotonicMs());
    }
    await clock.advance(1_000);
  }
  expect(startedMs).toEqual([0, 70_000, 170_000, 270_000]);
  expect(started).toHaveLength(4);
  expect(lines).toMatchObject([{ msg: 'history unavailable', customer: 'riverside' }]);
});

test('a job that is dropped ends its requests, without a change or a line of the log', async () => {
  const { clock, lines, queue, events } = queueOf();
  const signals: AbortSignal[] = [];
  const job: PollJob = {
    ...jobAt(0),
    client: {
      query(question, signal, priority) {
        expect(priority).toBe('optional');
        signals.push(signal);
        return hang(question, signal);
      },
    },
  };
  queue.queue(job);
  const running = queue.start(2);
  queue.drop(job);
  await Promise.all(running);
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  expect([events, lines, clock.sleepers]).toEqual([['ready'], [], 0]);
});

test('a job that is dropped while it is queued never starts', () => {
  const { queue } = queueOf();
  const job = jobAt(0);
  queue.queue(job);
  queue.drop(job);
  expect(queue.start(2)).toEqual([]);
});

test('an error of the program is no failure of the service', async () => {
  const fault = new TypeError('x is undefined');
  const { lines, queue } = queueOf({ run: () => Promise.reject(fault) });
  queue.queue(jobAt(0));
  await expect(Promise.all(queue.start(2))).rejects.toBe(fault);
  expect(lines).toEqual([]);
});
