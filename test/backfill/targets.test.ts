/** The instants of a backfill's samples: the start, every five minutes and one second before the end. */
import { expect, test } from 'vitest';
import { sampleTimes } from '../../src/backfill/targets.ts';

test.each([
  [0, 1, [0]],
  [0, 1_500, [0, 1_000]],
  [0, 600_000, [0, 300_000, 599_000]],
  [0, 600_999, [0, 300_000, 600_000]],
  [20_000, 750_000, [20_000, 300_000, 600_000, 749_000]],
])('a range from %i to %i ms has samples at %j', (startMs, endMs, expected) => {
  expect(sampleTimes({ startMs, endMs })).toEqual(expected);
});
