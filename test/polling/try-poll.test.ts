/** One try of a poll: how long it may take, and for what. */
import { expect, test } from 'vitest';
import { MINUTE_MS } from '../../src/base/duration.ts';
import { ServiceError } from '../../src/base/errors.ts';
import type { Query } from '../../src/counting/rows/window-reader.ts';
import { deadlineMs, tryPoll } from '../../src/polling/try-poll.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { GOOD, hang, jobAt } from './fixture.ts';

const QUESTION = { endpoint: 'peoplecount', aggregation: 'minute', from: '2026-11-19' } as const;
const END = { result: 'accepted' };

/** Tries a poll that may take ten seconds, of a service that answers at once. */
function tried(
  clock: VirtualClock,
  poll: (query: Query) => Promise<typeof END>,
): Promise<typeof END | ServiceError> {
  const attempt = { priority: 'normal', deadlineMs: 10_000 } as const;
  const job = { ...jobAt(0), client: { query: () => Promise.resolve(GOOD), page: hang } };
  return tryPoll(job, attempt, clock, new AbortController(), poll);
}

test.each([
  ['first', 'baseline', MINUTE_MS, 30],
  ['first', 'recent', MINUTE_MS, 54],
  ['scheduled', 'baseline', MINUTE_MS, 120],
  ['extra', 'baseline', 5 * MINUTE_MS, 270],
] as const)('a %s poll that reads a %s every %d ms may take %d s', (phase, plan, intervalMs, s) => {
  expect(deadlineMs({ ...jobAt(0), phase, intervalMs }, plan)).toBe(s * 1_000);
});

test('optional requests are sent in the first half of the time, others to its end', async () => {
  const clock = new VirtualClock(0);
  // Not at the start of the clock.
  await clock.advance(1_000);
  const sent: (readonly [necessity: string, afterMs: number])[] = [];
  const end = tried(clock, async (query) => {
    const startMs = clock.monotonicMs();
    for (const [waitMs, necessity] of [
      [4_999, 'optional'],
      [1, 'optional'],
      [4_999, undefined],
    ] as const) {
      await clock.sleep(waitMs);
      const error = await query(QUESTION, necessity).then(
        () => sent.push([necessity ?? 'necessary', clock.monotonicMs() - startMs]),
        (refused: unknown) => refused,
      );
      expect(error instanceof ServiceError).toBe(clock.monotonicMs() - startMs === 5_000);
    }
    return END;
  });
  await clock.advance(10_000);
  expect(await end).toBe(END);
  expect(sent).toEqual([
    ['optional', 4_999],
    ['necessary', 9_999],
  ]);
});

test('an error that is none of the service is thrown, and no timer is left', async () => {
  const clock = new VirtualClock(0);
  const mistake = new TypeError('a mistake of ours');
  await expect(tried(clock, () => Promise.reject(mistake))).rejects.toBe(mistake);
  expect(clock.sleepers).toBe(0);
});
