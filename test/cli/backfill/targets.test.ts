/** The instants of a backfill's samples. */
import { expect, test } from 'vitest';
import { sampleTimes } from '../../../src/cli/backfill/targets.ts';

const MINUTE_MS = 60_000;
const START_MS = Date.UTC(2026, 9, 1, 2);

test('samples are at the start, at every whole step and one second before the end', () => {
  const startMs = Date.UTC(2026, 9, 1, 2, 3, 20);
  const times = sampleTimes({ startMs, endMs: startMs + 12 * MINUTE_MS }, 5 * MINUTE_MS);
  expect(times.map((ms) => new Date(ms).toISOString().slice(11, 19))).toEqual([
    '02:03:20',
    '02:05:00',
    '02:10:00',
    '02:15:00',
    '02:15:19',
  ]);
});

test.each([
  [1, [0]],
  [1_000, [0]],
  [1_500, [0, 1_000]],
  [120_000, [0, 60_000, 119_000]],
  [120_001, [0, 60_000, 120_000]],
  [120_999, [0, 60_000, 120_000]],
])('a range of %i ms has samples at %j', (ms, expected) => {
  const times = sampleTimes({ startMs: START_MS, endMs: START_MS + ms }, MINUTE_MS);
  expect(times.map((atMs) => atMs - START_MS)).toEqual(expected);
});
