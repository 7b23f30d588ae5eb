import { describe, expect, test } from 'vitest';
import { parseRetryAfter } from '../../src/service/retry-after.ts';

const NOW_MS = Date.parse('1994-11-06T08:49:00Z');

describe('parseRetryAfter', () => {
  test.for([
    ['0', 0],
    ['120', 120_000],
    [' 7 ', 7_000],
    ['3601', 3_600_000],
    ['9'.repeat(400), 3_600_000],
    ['Sun, 06 Nov 1994 08:49:37 GMT', 37_000],
    ['Sunday, 06-Nov-94 08:49:37 GMT', 37_000],
    ['Sun Nov  6 08:49:37 1994', 37_000],
    ['Sun, 06 Nov 1994 08:48:00 GMT', 0],
    ['Sun, 06 Nov 2094 08:49:37 GMT', 3_600_000],
    ['', undefined],
    ['-1', undefined],
    ['1.5', undefined],
    ['soon', undefined],
    ['2026', 2_026_000],
    ['2026-11-01T00:00:00Z', undefined],
    ['Sun, 99 Foo 1994 08:49:37 GMT', undefined],
    [undefined, undefined],
  ] as const)('takes "%s" for %s ms', ([value, expected]) => {
    expect(parseRetryAfter(value, undefined, NOW_MS)).toBe(expected);
  });

  test('measures a date from the date of the answer, whatever our clock says', () => {
    const date = 'Tue, 06 Nov 2001 08:49:00 GMT';
    const until = 'Tue, 06 Nov 2001 08:49:30 GMT';
    expect(parseRetryAfter(until, date, NOW_MS)).toBe(30_000);
    expect(parseRetryAfter(until, 'no date', NOW_MS)).toBe(3_600_000);
  });
});
