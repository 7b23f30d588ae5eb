import { expect, test } from 'vitest';
import { Calendar } from '../../src/counting/calendar.ts';
import { replayPeriod } from '../../src/counting/history.ts';
import type { PeriodHistory } from '../../src/counting/history.ts';
import type { MinuteHistory } from '../../src/counting/minute-history.ts';
import { parseOpeningHours } from '../../src/counting/opening-hours.ts';
import { Zone } from '../../src/counting/zone.ts';

const MINUTE_MS = 60_000;
const ZONE = new Zone('Europe/Copenhagen');
const CALENDAR = new Calendar(ZONE, { hour: 4, minute: 0 });
/** Clocks are set back on the 25th. */
const OCTOBER = CALENDAR.periodAt(Date.parse('2026-10-15T12:00Z'));

/** Counts by local minute. */
function minutes(
  counterCount: number,
  counts: Readonly<Record<string, readonly number[]>>,
): MinuteHistory {
  const length = (OCTOBER.endMs - OCTOBER.startMs) / MINUTE_MS;
  const tables = Array.from({ length: counterCount }, () => new Float64Array(length));
  for (const [minute, values] of Object.entries(counts)) {
    const place = (at(minute) - OCTOBER.startMs) / MINUTE_MS;
    tables.forEach((table, i) => table.fill(values[i] ?? 0, place, place + 1));
  }
  return { span: OCTOBER, minutes: tables, sums: [], byDay: [], lastSeenBeforeMs: undefined };
}

/** An instant by its local time; `24 18:30` is in October. */
function at(time: string): number {
  const full = time.replace(/^(\d\d) /, '2026-10-$1T');
  return ZONE.instantOfWall(Date.parse(`${full}Z`));
}

function replay(times: readonly string[], changes: Partial<PeriodHistory> = {}): readonly object[] {
  const past = replayPeriod(
    {
      customer: 'riverside',
      timezone: ZONE.name,
      description: {
        labels: { region: 'north' },
        capacity: 120,
        openingHours: parseOpeningHours('Mo-Su 08:00-20:00', undefined),
        estimate: true,
      },
      calendar: CALENDAR,
      period: OCTOBER,
      streams: {
        people: minutes(2, {
          '24 18:29': [3, 5],
          '24 18:30': [4, 1],
          '25 03:59': [1, 0],
          '25 12:00': [2, 0],
        }),
        logins: minutes(1, { '24 09:00': [7] }),
      },
      maxValues: {},
      ...changes,
    },
    times.map(at),
  );
  return Array.from(past, ({ metrics }) => {
    const { people_entered: entered, people_exited: exited, logins } = metrics.counters;
    return {
      totals: [entered?.total, exited?.total, logins?.total],
      today: [entered?.today, exited?.today, logins?.today],
      inside: metrics.occupancy,
      open: metrics.open,
      utcOffset: metrics.utcOffsetSeconds / 3_600,
      seen: [metrics.streams.people?.lastSeenMs, metrics.streams.logins?.lastSeenMs],
    };
  });
}

test('replays the minutes that are over, day by day, across a change of the clocks', () => {
  expect(
    replay(['24 04:00', '24 18:30:30', '24 18:31', '25 04:00', '25 12:01', '26 04:00']),
  ).toEqual([
    {
      totals: [0, 0, 0],
      today: [0, 0, 0],
      inside: 0,
      open: false,
      utcOffset: 2,
      seen: [undefined, undefined],
    },
    {
      totals: [3, 5, 7],
      today: [3, 5, 7],
      inside: 0,
      open: true,
      utcOffset: 2,
      seen: [at('24 18:29'), at('24 09:00')],
    },
    {
      totals: [7, 6, 7],
      today: [7, 6, 7],
      inside: 3,
      open: true,
      utcOffset: 2,
      seen: [at('24 18:30'), at('24 09:00')],
    },
    {
      totals: [8, 6, 7],
      today: [0, 0, 0],
      inside: 0,
      open: false,
      utcOffset: 1,
      seen: [at('25 03:59'), at('24 09:00')],
    },
    {
      totals: [10, 6, 7],
      today: [2, 0, 0],
      inside: 2,
      open: true,
      utcOffset: 1,
      seen: [at('25 12:00'), at('24 09:00')],
    },
    {
      totals: [10, 6, 7],
      today: [0, 0, 0],
      inside: 0,
      open: false,
      utcOffset: 1,
      seen: [at('25 12:00'), undefined],
    },
  ]);
});

test('includes the last minute one second before the period ends', () => {
  const people = minutes(2, { '2026-11-01T03:59': [3, 1] });
  const times = ['2026-11-01T03:59:58', '2026-11-01T03:59:59'];
  expect(replay(times, { streams: { people } })).toMatchObject([
    { totals: [0, 0, undefined] },
    { totals: [3, 1, undefined] },
  ]);
});

test('limits the counters, but not the values of today', () => {
  expect(
    replay(['25 12:01'], { maxValues: { people_entered: 9, people_exited: 9 } }),
  ).toMatchObject([{ totals: [9, 6, 7], today: [2, 0, 0] }]);
});

test('a counter does not decrease for a negative minute', () => {
  const streams = { people: minutes(2, { '24 12:00': [5, 0], '24 12:01': [-2, 0] }) };
  expect(replay(['24 12:02'], { streams })).toMatchObject([{ totals: [5, 0, undefined] }]);
});
