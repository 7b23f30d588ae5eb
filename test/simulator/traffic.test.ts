import { describe, expect, test } from 'vitest';
import {
  ALWAYS_OPEN,
  OFFICE_HOURS,
  drawLibrary,
  openingHoursText,
} from '../../src/simulator/libraries.ts';
import { libraryDay } from '../../src/simulator/traffic.ts';
import { createZones } from '../../src/simulator/zone.ts';

const zones = createZones();
const WEDNESDAY = Date.UTC(2026, 2, 18) / 86_400_000;

describe('a day in a library', () => {
  test('is the same whenever it is made, and another one in another library or on another date', () => {
    const library = drawLibrary(1, 5, {});
    const zone = zones(library.timezone);
    const first = libraryDay(library, zone, WEDNESDAY);
    libraryDay(library, zone, WEDNESDAY - 3);
    expect(libraryDay(library, zone, WEDNESDAY)).toEqual(first);
    expect(libraryDay(library, zone, WEDNESDAY + 1)).not.toEqual(first);
    expect(libraryDay(drawLibrary(2, 5, {}), zone, WEDNESDAY)).not.toEqual(first);
  });

  test('lets everybody out who came in, where no door misses anybody', () => {
    const drawn = drawLibrary(3, 9, { visitsPerDay: 500, opening: OFFICE_HOURS });
    const devices = drawn.devices.map((device) => ({ ...device, missRate: 0 }));
    const { people } = libraryDay({ ...drawn, devices }, zones(drawn.timezone), WEDNESDAY);
    let inside = 0;
    let fewest = 0;
    for (const amount of people.amount) {
      inside += amount;
      fewest = Math.min(fewest, inside);
    }
    expect(people.amount.length).toBeGreaterThan(700);
    expect({ inside, fewest }).toEqual({ inside: 0, fewest: 0 });
    expect(people.timeMs).toEqual(people.timeMs.toSorted());
  });

  test('counts entries within the opening hours only, and exits soon after them', () => {
    const library = drawLibrary(3, 9, {
      timezone: 'Asia/Kolkata',
      visitsPerDay: 800,
      opening: OFFICE_HOURS,
      groupChance: 1,
    });
    const { people } = libraryDay(library, zones('Asia/Kolkata'), WEDNESDAY);
    const opens = Date.parse('2026-03-18T08:00:00+05:30');
    const closes = Date.parse('2026-03-18T20:00:00+05:30');
    people.timeMs.forEach((timeMs, i) => {
      expect(timeMs).toBeGreaterThanOrEqual(opens);
      const leeway = (people.amount[i] ?? 0) > 0 ? 60_000 : 300_000;
      expect(timeMs).toBeLessThan(closes + leeway);
    });
  });

  test('misses a few people at a door that misses some, and all at one that died', () => {
    const drawn = drawLibrary(3, 9, { visitsPerDay: 2_000, opening: ALWAYS_OPEN, groupChance: 0 });
    const zone = zones(drawn.timezone);
    function passes(missRate: number, diedAtMs = Infinity): number {
      const devices = drawn.devices.map((device) => ({ ...device, missRate, diedAtMs }));
      return libraryDay({ ...drawn, devices }, zone, WEDNESDAY).people.amount.length;
    }
    expect(passes(0.03)).toBeLessThan(passes(0));
    expect(passes(0.03)).toBeGreaterThan(0.94 * passes(0));
    const noonMs = zone.instantOf(WEDNESDAY * 86_400_000 + 12 * 3_600_000);
    expect(passes(0, noonMs)).toBeLessThan(0.6 * passes(0));
    expect(passes(0, 0)).toBe(0);
  });

  test('has as many hours as it has: visits fill a day of 25 and one of 23', () => {
    const library = drawLibrary(3, 9, {
      timezone: 'Europe/Copenhagen',
      visitsPerDay: 20_000,
      opening: ALWAYS_OPEN,
      quietHours: 1,
    });
    const zone = zones('Europe/Copenhagen');
    function hoursWithEntries(iso: string): number {
      const day = Date.parse(iso) / 86_400_000;
      const { people } = libraryDay(library, zone, day);
      const entries = people.timeMs.filter((_, i) => (people.amount[i] ?? 0) > 0);
      return new Set(Array.from(entries, (ms) => Math.floor(ms / 3_600_000))).size;
    }
    expect(hoursWithEntries('2026-10-25')).toBe(25);
    expect(hoursWithEntries('2026-03-29')).toBe(23);
    expect(hoursWithEntries('2026-03-28')).toBe(24);
  });

  test('has as many logins as the share of the visitors says', () => {
    const library = drawLibrary(3, 9, {
      visitsPerDay: 3_000,
      opening: ALWAYS_OPEN,
      meanVisitMinutes: 60,
      loginShare: 0.5,
    });
    const { people, logins } = libraryDay(library, zones(library.timezone), WEDNESDAY);
    const entries = people.amount.filter((amount) => amount > 0).length;
    expect(logins.amount.length / entries).toBeGreaterThan(0.3);
    expect(logins.amount.length / entries).toBeLessThan(0.5);
  });
});

test('opening hours are written as OpenStreetMap does', () => {
  expect(openingHoursText(ALWAYS_OPEN)).toBe('24/7');
  expect(openingHoursText(OFFICE_HOURS)).toBe('Mo-Fr 08:00-20:00; Sa 10:00-17:00; Su 11:00-16:00');
  const lunch = [
    { weekdays: [1, 2, 3], fromMinute: 540, toMinute: 720 },
    { weekdays: [1, 2, 3], fromMinute: 840, toMinute: 1_440 },
  ];
  expect(openingHoursText(lunch)).toBe('Tu-Th 09:00-12:00,14:00-24:00');
});
