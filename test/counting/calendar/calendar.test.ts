import { describe, expect, test } from 'vitest';
import {
  Calendar,
  contains,
  monthName,
  runningPeriod,
} from '../../../src/counting/calendar/calendar.ts';
import { Zone } from '../../../src/counting/calendar/zone.ts';

const HOUR_MS = 3_600_000;

function calendarOf(zone: string, hour = 4, minute = 0): Calendar {
  return new Calendar(new Zone(zone), { hour, minute });
}

test('months are counted since the year 0', () => {
  expect(monthName(2026 * 12)).toBe('2026-01');
});

describe('Calendar', () => {
  test('starts the day at day_starts_at', () => {
    const calendar = calendarOf('Europe/Copenhagen');
    const atFour = Date.UTC(2026, 10, 21, 3);
    expect(calendar.dayAt(atFour)).toEqual({ startMs: atFour, endMs: atFour + 24 * HOUR_MS });
    expect(calendar.dayAt(atFour - 1)).toEqual({ startMs: atFour - 24 * HOUR_MS, endMs: atFour });
  });

  test('is that of the local date, far from Greenwich, too', () => {
    // 02:30 in Midway, eleven hours behind, and 02:30 in Kiritimati, fourteen ahead.
    for (const [zone, atMs] of [
      ['Pacific/Midway', Date.UTC(2026, 10, 21, 13, 30)],
      ['Pacific/Kiritimati', Date.UTC(2026, 10, 20, 12, 30)],
    ] as const) {
      const endMs = atMs + 1.5 * HOUR_MS;
      expect(calendarOf(zone).dayAt(atMs)).toEqual({ startMs: endMs - 24 * HOUR_MS, endMs });
    }
  });

  test.each([
    ['2026-03-28', 23],
    ['2026-10-24', 25],
  ])('on %s, before clocks change, has a day of %i hours', (date, hours) => {
    const { startMs, endMs } = calendarOf('Europe/Copenhagen').dayAt(Date.parse(`${date}T12:00Z`));
    expect(endMs - startMs).toBe(hours * HOUR_MS);
  });

  test('starts the counting period at the first day start of the month', () => {
    const calendar = calendarOf('America/New_York');
    const startMs = Date.UTC(2026, 10, 1, 9);
    expect(calendar.periodAt(startMs)).toMatchObject({ startMs, endMs: Date.UTC(2026, 11, 1, 9) });
    expect(calendar.periodAt(startMs - 1)).toMatchObject({ endMs: startMs });
    expect(calendar.periodAt(Date.UTC(2027, 0, 1, 3)).startMs).toBe(Date.UTC(2026, 11, 1, 9));
  });

  test.each(['Africa/Cairo', 'Australia/Lord_Howe'])(
    'covers two years in %s without a gap',
    (zone) => {
      const calendar = calendarOf(zone, 0, 30);
      let day = calendar.dayAt(Date.UTC(2025, 0, 1));
      while (day.endMs < Date.UTC(2027, 0, 1)) {
        expect(contains(calendar.periodAt(day.startMs), day.endMs - 1)).toBe(true);
        const next = calendar.dayAt(day.endMs);
        expect(next.startMs).toBe(day.endMs);
        expect(calendar.dayBefore(next)).toEqual(day);
        day = next;
      }
    },
  );
});

describe('runningPeriod', () => {
  const calendar = calendarOf('Europe/Copenhagen');
  const november = calendar.periodAt(Date.UTC(2026, 10, 15));
  const december = calendar.periodAt(november.endMs);

  test('keeps the running period after a change of zone until the next one starts', () => {
    const before = { startMs: november.startMs - 5 * HOUR_MS, month: november.month };
    const kept = runningPeriod(calendar, before, Date.UTC(2026, 10, 20));
    expect(kept).toEqual({ ...before, endMs: november.endMs });
    expect(runningPeriod(calendar, kept, november.endMs)).toEqual(december);
  });

  test('is that of the calendar if none is running', () => {
    expect(runningPeriod(calendar, undefined, november.startMs)).toEqual(november);
  });
});
