import { describe, expect, test } from 'vitest';
import { Calendar } from '../../../src/counting/calendar/calendar.ts';
import type { Span } from '../../../src/counting/calendar/calendar.ts';
import { Zone } from '../../../src/counting/calendar/zone.ts';
import { createPast, daysBefore } from '../../../src/counting/past/past.ts';
import type { Past } from '../../../src/counting/past/past.ts';
import { parseStored, restorePast, serializePast } from '../../../src/counting/past/stored-past.ts';
import { DayCounter } from '../../../src/counting/rows/day-counts.ts';
import { CALENDAR, NOW_MS } from '../../support/owner.ts';
import { HOUR_MS } from '../fixture.ts';

const TODAY = CALENDAR.dayAt(NOW_MS);

/** The same each day, so many hours after its start. */
function pastOf(entries: number, hours = 5): Past {
  function counted(day: Span) {
    const counter = new DayCounter(CALENDAR, [day], 'people');
    counter.add(day.startMs + hours * HOUR_MS, [entries, 0]);
    return counter.days();
  }
  const past = createPast(CALENDAR, TODAY, daysBefore(CALENDAR, TODAY).flatMap(counted));
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
  const content = JSON.stringify(serializePast(CALENDAR, pastOf(300)));

  test.each<[string, string, string]>([
    ['not JSON', '{', '['],
    ['of more days', '"days":28', '"days":29'],
    ['of other counts', '"length":1', '"length":2'],
    ['of other windows', '"window_ms":900000', '"window_ms":60000'],
    ['of longer days', '"first":20', '"first":96'],
    ['of days that begin before they start', '"first":20', '"first":-1'],
    ['of numbers of another size', '"bytes_per_count":2', '"bytes_per_count":4'],
    ['without counts', '"counts":"', '"sums":"'],
    ['last seen at no time', '"last_seen_ms":[', '"last_seen_ms":["x",'],
    ['last seen at no time but once', ',null]', ',"x"]'],
    ['compared at no time', '"compared_ms":1000', '"compared_ms":null'],
    ['with other sums', '[3,4]', '[3]'],
    ['with sums of no day', '[2000,', '["x",'],
    ['of another zone', 'Europe/Copenhagen', 'Europe/Berlin'],
  ])('if it is %s', (_, from, to) => {
    expect(restored(content)).toBeDefined();
    expect(content).toContain(from);
    expect(restored(content.replace(from, to))).toBeUndefined();
  });

  function counts(value: number, length: number): string {
    return Buffer.from(Int16Array.from({ length }, () => 1).fill(value, -1).buffer).toString(
      'base64',
    );
  }

  test.each([
    ['a count below 0', { counts: counts(-1, 56) }],
    ['counts of 29 days', { counts: counts(1, 58), days: 29 }],
  ])('if it has %s', (_, changed) => {
    const other = { ...(JSON.parse(content) as object), ...changed };
    expect(restored(JSON.stringify(other))).toBeUndefined();
  });

  test('if days start at another time', () => {
    expect(restored(content, TODAY.startMs + HOUR_MS)).toBeUndefined();
    const later = new Calendar(new Zone('Europe/Copenhagen'), { hour: 5, minute: 0 });
    expect(restored(content, TODAY.startMs, later)).toBeUndefined();
    expect(restored(content, TODAY.startMs + HOUR_MS, later)).toBeUndefined();
  });
});
