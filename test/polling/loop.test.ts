/** The loop of the scheduler: which polls it starts together, and what it reports. */
import { expect, test } from 'vitest';
import { MINUTE_MS } from '../../src/base/duration.ts';
import { gapsOf, GOOD, SchedulerFixture, UNAVAILABLE } from './fixture.ts';

test.each([
  ['of a quarter of a second', 10_000, {}, 250],
  ['with half of the requests at once', 10_000, { maxConcurrency: 8 }, 100],
  ['of a twentieth of the interval', 2_000, { maxConcurrency: 100 }, 100],
  ['of a twentieth of the interval of breakdowns', 10_000, { breakdownIntervalMs: 1_000 }, 50],
])('polls due within a tick %s start together', async (_, intervalMs, options, tickMs) => {
  await using fixture = new SchedulerFixture({ intervalMs, ...options });
  const { clock, requests } = fixture;
  await fixture.run(fixture.polledMany(400), 500);
  requests.length = 0;
  await clock.advance(1_000);
  const startsMs = [...new Set(requests.map(({ atMs }) => atMs))];
  expect(Math.min(...gapsOf(startsMs))).toBe(tickMs);
});

test('lines of the log that were suppressed are reported after a minute', async () => {
  await using fixture = new SchedulerFixture();
  const failing = fixture.polledMany(30, () => Promise.reject(UNAVAILABLE));
  await fixture.run(failing, 2 * MINUTE_MS);
  expect(fixture.lines.filter(({ msg }) => msg !== 'poll failed')).toMatchObject([
    { msg: 'log messages suppressed', suppressed_msg: 'poll failed', lines: 10 },
  ]);
});

test('a stream is never polled twice at once: a poll is skipped and counted when it would have started', async () => {
  const changedMs: number[] = [];
  const seconds: number[] = [];
  const observer = {
    pollEnded: (_stream: string, tookSeconds: number) => seconds.push(tookSeconds),
    changed: () => changedMs.push(fixture.clock.monotonicMs()),
  };
  await using fixture = new SchedulerFixture({ observer });
  // Its second poll ignores its deadline.
  const slow = fixture.polled('slow', async () => {
    await fixture.clock.sleep(fixture.clock.monotonicMs() < MINUTE_MS ? 0 : 2.5 * MINUTE_MS);
    return GOOD;
  });
  await fixture.run([slow], 59_000);
  changedMs.length = 0;
  await fixture.clock.advance(2.6 * MINUTE_MS);
  expect(changedMs).toEqual([120_000, 180_000, 210_000]);
  expect(seconds).toEqual([0, 150]);
  expect(fixture.mostAtOnce).toBe(1);
  expect(fixture.healthOf(slow).skipped).toBe(2);
});

test('a baseline that waits for a slot starts after the poll that runs, with time for it', async () => {
  // Five minutes before a new day, with one slot.
  const startMs = Date.UTC(2026, 10, 18, 2, 55);
  await using fixture = new SchedulerFixture({ startMs, maxRequestsPerSecond: 0.1 });
  let running = 0;
  let mostAtOnce = 0;
  const slow = fixture.polled('slow', async (question, signal) => {
    running += 1;
    mostAtOnce = Math.max(mostAtOnce, running);
    const isNewDay = fixture.clock.monotonicMs() > 5 * MINUTE_MS;
    return fixture
      .after(isNewDay ? 20_000 : 0)(question, signal)
      .finally(() => (running -= 1));
  });
  await fixture.run([fixture.polled('first', fixture.after(8_000)), slow], 10 * MINUTE_MS);
  expect(mostAtOnce).toBe(1);
  expect(fixture.healthOf(slow)).toMatchObject({ failures: 0 });
  expect(fixture.enteredOf(slow).today).toBe(3);
});
