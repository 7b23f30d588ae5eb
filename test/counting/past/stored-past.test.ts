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

/** The same each day. */
function pastOf(entries: number): Past {
  function counted(day: Span) {
    const counter = new DayCounter(CALENDAR, [day], 'people');
    counter.add(day.startMs + 5 * HOUR_MS, [entries, 0]);
    return counter.days();
  }
  const past = createPast(CALENDAR, TODAY, daysBefore(CALENDAR, TODAY).flatMap(counted));
  return { ...past, comparison: { dayMs: 1_000, differing: [[2_000, [3, 4]]] } };
}

function restored(content: string, startMs = TODAY.startMs, calendar = CALENDAR) {
  return restorePast(calendar, 'people', startMs, parseStored(content));
}

test.each([0, 1, 300, 40_000])('%d entries a day are restored as they were', (entries) => {
  const past = pastOf(entries);
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
    ['of numbers of another size', '"bytes_per_count":2', '"bytes_per_count":4'],
    ['without counts', '"counts":"', '"sums":"'],
    ['last seen at no time', '"last_seen_ms":[', '"last_seen_ms":["x",'],
    ['compared at no time', '"compared_ms":1000', '"compared_ms":null'],
    ['with other sums', '[3,4]', '[3]'],
    ['of another zone', 'Europe/Copenhagen', 'Europe/Berlin'],
  ])('if it is %s', (_, from, to) => {
    expect(restored(content)).toBeDefined();
    expect(content).toContain(from);
    expect(restored(content.replace(from, to))).toBeUndefined();
  });

  test('if it has counts below 0', () => {
    const counts = Buffer.from(Int16Array.from({ length: 56 }, () => -1).buffer);
    const other = { ...(JSON.parse(content) as object), counts: counts.toString('base64') };
    expect(restored(JSON.stringify(other))).toBeUndefined();
  });

  test('if days start at another time', () => {
    const later = new Calendar(new Zone('Europe/Copenhagen'), { hour: 5, minute: 0 });
    expect(restored(content, TODAY.startMs, later)).toBeUndefined();
    expect(restored(content, TODAY.startMs + HOUR_MS, later)).toBeUndefined();
  });
});
