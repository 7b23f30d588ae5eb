/** The instants of a backfill's samples: the start, every whole minute and one second before the end. */
import { expect, test } from 'vitest';
import { sampleTimes } from '../../src/backfill/targets.ts';

test.each([
  [0, 1, [0]],
  [0, 1_000, [0]],
  [0, 1_500, [0, 1_000]],
  [0, 120_000, [0, 60_000, 119_000]],
  [0, 120_001, [0, 60_000, 120_000]],
  [0, 120_999, [0, 60_000, 120_000]],
  [20_000, 150_000, [20_000, 60_000, 120_000, 149_000]],
])('a range from %i to %i ms has samples at %j', (startMs, endMs, expected) => {
  expect(sampleTimes({ startMs, endMs }, 60_000)).toEqual(expected);
});
