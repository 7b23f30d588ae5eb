/** Durations as Prometheus writes them. */
import { expect, test } from 'vitest';
import { formatDuration, parseDuration } from '../../src/base/duration.ts';

test.each([
  ['0', 0],
  ['7ms', 7],
  ['1h30m', 5_400_000],
  ['1y2w3d4h5m6s7ms', 33_019_506_007],
  ['9007199254740991ms', 9_007_199_254_740_991],
  ['9007199254740992ms', undefined],
  ['', undefined],
  ['1.5h', undefined],
  [' 5m', undefined],
  ['5m5m', undefined],
])('%j has %j milliseconds', (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

test.each([
  [0, '0s'],
  [999.6, '1s'],
  [59_999, '59s999ms'],
  [86_400_000, '1d'],
  [33_019_506_007, '1y2w3d4h5m6s7ms'],
])('%j milliseconds are %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});
