import { describe, expect, test } from 'vitest';
import { HOUR_MS, MINUTE_MS } from '../../../src/base/duration.ts';
import { Calendar } from '../../../src/counting/calendar/calendar.ts';
import type { Past } from '../../../src/counting/past/past.ts';
import { parseStored, restorePast, serializePast } from '../../../src/counting/past/stored-past.ts';
import { CALENDAR, COPENHAGEN } from '../../support/owner.ts';
import { historyBefore, TODAY } from '../site-fixture.ts';

/** The same each day, so many hours after its start. */
function pastOf(entries: number, hours = 5): Past {
  const past = historyBefore(TODAY, { [60 * hours]: [entries, 0] });
  return { ...past, comparison: { dayMs: 1_000, differing: [[2_000, [3, 4]]] } };
}

function restored(content: string, startMs = TODAY.startMs, calendar = CALENDAR) {
  return restorePast(calendar, 'people', startMs, parseStored(content));
}

test.each([
  [0, 5],
  [1, 5],
  [1, 23.75],
  [300, 5],
  [40_000, 5],
])('%d entries a day after %d hours are restored as they were', (entries, hours) => {
  const past = pastOf(entries, hours);
  expect(restored(JSON.stringify(serializePast(CALENDAR, past)))).toEqual(past);
});

describe('is read from the service', () => {
  const stored = serializePast(CALENDAR, pastOf(300));
  const content = JSON.stringify(stored);

  function counts(value: number, length: number): string {
    const numbers = Int16Array.from({ length }, () => 1).fill(value, -1);
    return Buffer.from(numbers.buffer).toString('base64');
  }

  test.each([
    ['of 29 days', { counts: counts(1, 58), days: 29 }],
    ['of other counts', { length: 2 }],
    ['of a count below 0', { counts: counts(-1, 56) }],
    ['of other windows', { window_ms: MINUTE_MS }],
    ['of longer days', { first: 96 }],
    ['of days that begin before they start', { first: -1 }],
    ['of numbers of another size', { bytes_per_count: 4 }],
    ['without counts', { counts: undefined }],
    ['of a part of a count', { counts: 'AAAA' }],
    ['last seen at three times', { last_seen_ms: [1, 2, 3] }],
    ['last seen at no time', { last_seen_ms: [1, 'x'] }],
    ['compared at no time', { compared_ms: null }],
    ['with other sums', { differing: [[2_000, [3]]] }],
    ['with sums of no day', { differing: [['x', [3, 4]]] }],
    ['of another zone', { zone: 'Europe/Berlin' }],
  ])('if it is %s', (_, changed) => {
    expect(restored(JSON.stringify({ ...stored, ...changed }))).toBeUndefined();
  });

  test('if it is no JSON, or days start at another time', () => {
    expect(restored(content.slice(1))).toBeUndefined();
    expect(restored(content, TODAY.startMs + HOUR_MS)).toBeUndefined();
    const later = new Calendar(COPENHAGEN, { hour: 5, minute: 0 });
    expect(restored(content, TODAY.startMs, later)).toBeUndefined();
    expect(restored(content, TODAY.startMs + HOUR_MS, later)).toBeUndefined();
  });
});
