import { describe, expect, test } from 'vitest';
import { Calendar, contains, runningPeriod } from '../../src/counting/calendar.ts';
import { Zone } from '../../src/counting/zone.ts';

const HOUR_MS = 3_600_000;

function calendarOf(zone: string, hour = 4, minute = 0): Calendar {
  return new Calendar(new Zone(zone), { hour, minute });
}

describe('Calendar', () => {
  test('starts the day at day_starts_at, and the night before belongs to the day before', () => {
    const calendar = calendarOf('Europe/Copenhagen');
    const atFour = Date.UTC(2026, 10, 21, 3);
    expect(calendar.dayAt(atFour)).toEqual({ startMs: atFour, endMs: atFour + 24 * HOUR_MS });
    expect(calendar.dayAt(atFour - 1)).toEqual({ startMs: atFour - 24 * HOUR_MS, endMs: atFour });
  });

  test('has days of 23 and 25 hours where the clock changes', () => {
    const calendar = calendarOf('Europe/Copenhagen');
    const spring = calendar.dayAt(Date.UTC(2026, 2, 28, 12));
    const autumn = calendar.dayAt(Date.UTC(2026, 9, 24, 12));
    expect(spring.endMs - spring.startMs).toBe(23 * HOUR_MS);
    expect(autumn.endMs - autumn.startMs).toBe(25 * HOUR_MS);
  });

  test('starts the epoch at the first day start of the month', () => {
    const calendar = calendarOf('America/New_York');
    const start = Date.UTC(2026, 10, 1, 9);
    expect(calendar.periodAt(start)).toMatchObject({
      startMs: start,
      endMs: Date.UTC(2026, 11, 1, 9),
    });
    expect(calendar.periodAt(start - 1)).toMatchObject({ endMs: start });
    expect(calendar.periodAt(Date.UTC(2027, 0, 1, 3)).startMs).toBe(Date.UTC(2026, 11, 1, 9));
  });

  test('covers two years without a hole, in zones that change their clocks at odd hours', () => {
    for (const zone of [
      'Africa/Cairo',
      'Australia/Lord_Howe',
      'America/Sao_Paulo',
      'Asia/Kolkata',
    ]) {
      const calendar = calendarOf(zone, 0, 30);
      let day = calendar.dayAt(Date.UTC(2025, 0, 1));
      while (day.endMs < Date.UTC(2027, 0, 1)) {
        expect(contains(calendar.periodAt(day.startMs), day.endMs - 1)).toBe(true);
        const next = calendar.dayAt(day.endMs);
        expect(next.startMs).toBe(day.endMs);
        expect(calendar.dayBefore(next)).toEqual(day);
        day = next;
      }
    }
  });
});

describe('runningPeriod', () => {
  const calendar = calendarOf('Europe/Copenhagen');
  const november = calendar.periodAt(Date.UTC(2026, 10, 15));
  const other = { startMs: november.startMs - 5 * HOUR_MS, month: november.month };

  test('keeps the running epoch when the zone has changed, until the next begins', () => {
    const kept = runningPeriod(calendar, other, Date.UTC(2026, 10, 20));
    expect(kept).toEqual({ ...other, endMs: november.endMs });
    expect(runningPeriod(calendar, kept, november.endMs).startMs).toBe(november.endMs);
  });

  test('does not go back to the old epoch when the clock steps back over the border', () => {
    const december = calendar.periodAt(november.endMs);
    expect(runningPeriod(calendar, december, november.endMs - HOUR_MS)).toEqual(december);
  });

  test('lets go of an epoch far in the future, which a wrong clock has made', () => {
    const wrong = calendar.periodAt(Date.UTC(2027, 5, 1, 12));
    expect(runningPeriod(calendar, wrong, Date.UTC(2026, 10, 15))).toEqual(november);
  });
});
