import { describe, expect, test } from 'vitest';
import { Calendar } from '../../src/counting/calendar/calendar.ts';
import { Zone } from '../../src/counting/calendar/zone.ts';
import { daysOf, periodsOf, yearBefore } from '../../src/report/periods.ts';
import type { PeriodName } from '../../src/report/periods.ts';

const CALENDAR = new Calendar(new Zone('Europe/Copenhagen'), { hour: 4, minute: 0 });
const NOW_MS = Date.parse('2026-11-18T12:00:00Z');

function periods(name: PeriodName, from: string, to: string): readonly string[] {
  const range = { from: Date.parse(from), to: Date.parse(to) };
  return periodsOf(name, CALENDAR, range, NOW_MS).map(({ start, end, cut }) =>
    [start, end, ...cut].join(' '),
  );
}

// prettier-ignore
describe('periods', () => {
  test.each<[PeriodName, string, string, readonly string[]]>([
    ['month', '2025-01-15', '2025-03-02', ['2025-01-15 2025-02-01 cut by --from', '2025-02-01 2025-03-01', '2025-03-01 2025-03-02 cut by --to']],
    ['week', '2024-12-30', '2025-01-09', ['2024-12-30 2025-01-06', '2025-01-06 2025-01-09 cut by --to']],
    ['day', '2025-02-28', '2025-03-02', ['2025-02-28 2025-03-01', '2025-03-01 2025-03-02']],
    // A fiscal year, and years from a leap day.
    ['year', '2024-08-01', '2026-08-01', ['2024-08-01 2025-08-01', '2025-08-01 2026-08-01']],
    ['year', '2020-02-29', '2025-03-01', ['2020-02-29 2021-02-28', '2021-02-28 2022-02-28', '2022-02-28 2023-02-28', '2023-02-28 2024-02-29', '2024-02-29 2025-02-28', '2025-02-28 2025-03-01 cut by --to']],
    // What has not begun has no row.
    ['month', '2026-10-01', '2027-01-01', ['2026-10-01 2026-11-01', '2026-11-01 2026-12-01 not over yet']],
    ['hour', '2026-11-18', '2026-11-19', Array.from({ length: 10 }, (_, i) => `2026-11-18T${String(i + 4).padStart(2, '0')}:00:00+01:00 2026-11-18T${String(i + 5).padStart(2, '0')}:00:00+01:00${i === 9 ? ' not over yet' : ''}`)],
  ])('by %s from %s to %s', (name, from, to, expected) => {
    expect(periods(name, from, to)).toEqual(expected);
  });

  test.each([['2025-03-29', 23], ['2025-10-25', 25]])('of the day %s are %i hours, because clocks change', (date, hours) => {
    expect(periods('hour', date, date.replace(/..$/, (day) => String(Number(day) + 1)))).toHaveLength(hours);
  });

  test('begin and end at day_starts_at in local time', () => {
    const range = { from: Date.parse('2025-03-01'), to: Date.parse('2025-04-01') };
    const [month] = periodsOf('month', CALENDAR, range, NOW_MS);
    expect(new Date(month?.startMs ?? 0).toISOString()).toBe('2025-03-01T03:00:00.000Z');
    expect(new Date(month?.endMs ?? 0).toISOString()).toBe('2025-04-01T02:00:00.000Z');
    expect(daysOf(CALENDAR, range, NOW_MS)).toHaveLength(31);
  });
});

test.each<[PeriodName, string, string | undefined]>([
  ['month', '2025-03-01', '2024-03-01'],
  ['day', '2024-02-29', '2023-02-28'],
  ['week', '2025-01-06', '2024-01-08'],
  ['year', '2025-08-01', '2024-08-01'],
  ['hour', '2025-03-01T04:00:00+01:00', undefined],
])('a year before the %s of %s is %s', (name, start, before) => {
  expect(yearBefore(name, start)).toBe(before);
});
