/** The loop of the scheduler: which polls it starts together, and what it reports. */
import { expect, test } from 'vitest';
import { ServiceError } from '../../src/base/errors.ts';
import { MINUTE_MS, SchedulerFixture } from './fixture.ts';

test.each([
  ['of a quarter of a second', 10_000, {}, 250],
  ['with half of the requests at once', 10_000, { maxConcurrency: 8 }, 100],
  ['of a twentieth of the interval', 2_000, { maxConcurrency: 100 }, 100],
  ['of a twentieth of the interval of breakdowns', 10_000, { breakdownIntervalMs: 1_000 }, 50],
  ['of at least 20 ms', 2_000, { maxConcurrency: 4 }, 20],
])('polls due within a tick %s start together', async (_, intervalMs, options, tickMs) => {
  await using fixture = new SchedulerFixture({ intervalMs, ...options });
  const { clock, requests } = fixture;
  await fixture.run(fixture.polledMany(400), 500);
  requests.length = 0;
  await clock.advance(1_000);
  const startsMs = [...new Set(requests.map(({ atMs }) => atMs))];
  const gapsMs = startsMs.slice(1).map((ms, i) => ms - (startsMs[i] ?? 0));
  expect(Math.min(...gapsMs)).toBe(tickMs);
});

test('lines of the log that were suppressed are reported after a minute', async () => {
  await using fixture = new SchedulerFixture();
  const failing = fixture.polledMany(30, () =>
    Promise.reject(new ServiceError('server', 'status 503', { status: 503 })),
  );
  await fixture.run(failing, 2 * MINUTE_MS);
  expect(fixture.lines.filter(({ msg }) => msg !== 'poll failed')).toMatchObject([
    { msg: 'log messages suppressed', suppressed_msg: 'poll failed', lines: 10 },
  ]);
});
