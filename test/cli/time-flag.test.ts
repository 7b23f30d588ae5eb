/** The formats of `--from` and `--to`. */
import { expect, test } from 'vitest';
import { formatTime, parseTimeFlag } from '../../src/cli/time-flag.ts';
import { Zone } from '../../src/counting/zone.ts';

const COPENHAGEN = new Zone('Europe/Copenhagen');
const NOW_MS = Date.parse('2026-11-21T08:09:10.987Z');

function read(text: string): string {
  return formatTime(COPENHAGEN, parseTimeFlag(text)(COPENHAGEN, NOW_MS));
}

test.each([
  ['2026-11-01T04:00:00+01:00', '2026-11-01T04:00:00+01:00'],
  ['2026-11-01T04:00:00Z', '2026-11-01T05:00:00+01:00'],
  ['2026-11-01t04:00z', '2026-11-01T05:00:00+01:00'],
  ['2026-11-01T04:00:00-0330', '2026-11-01T08:30:00+01:00'],
  ['2026-11-01T04:00:00.250Z', '2026-11-01T05:00:00.250+01:00'],
  // Without an offset it is local time, in summer and in winter.
  ['2026-07-01T04:00:00', '2026-07-01T04:00:00+02:00'],
  ['2026-11-01 04:00', '2026-11-01T04:00:00+01:00'],
  ['2026-11-01', '2026-11-01T00:00:00+01:00'],
  ['2024-02-29', '2024-02-29T00:00:00+01:00'],
  ['-24h', '2026-11-20T09:09:10+01:00'],
  ['-1h30m', '2026-11-21T07:39:10+01:00'],
  ['-0', '2026-11-21T09:09:10+01:00'],
  ['-9999y', '1970-01-01T01:00:00+01:00'],
])('%s is %s', (text, time) => {
  expect(read(text)).toBe(time);
});

const NO_TIMES = [
  ['', 'yesterday', 'now', '24h', '-', '-1', '-1.5h', '--24h', '1793502000'],
  ['2026-11', '2026-11-1', '20261101', '2026-02-29', '2026-13-01', '2026-11-01T24:00'],
  ['2026-11-01T04', '2026-11-01T04:60', '2026-11-01T04:00:00[Europe/Oslo]', '01/11/2026'],
  ['1969-12-31', '9999-12-31', '2026-11-01T04:00:00+01:00\n'],
].flat();

test.each(NO_TIMES)('%j is rejected', (text) => {
  expect(() => parseTimeFlag(text)).toThrow(
    'expected a time such as 2026-11-01T04:00:00+01:00, a date such as 2026-11-01, ',
  );
});
