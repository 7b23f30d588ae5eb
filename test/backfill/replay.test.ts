import { describe, expect, test } from 'vitest';
import type { MinuteStream } from '../../src/base/model.ts';
import type { CustomerMetrics } from '../../src/counting/customer-metrics.ts';
import { readFourWeeks } from '../../src/counting/past/read-four-weeks.ts';
import { readPast } from '../../src/counting/past/read-past.ts';
import { readDaysBefore } from '../../src/backfill/reading.ts';
import { replayPeriod } from '../../src/backfill/replay.ts';
import type { PeriodPast } from '../../src/backfill/replay.ts';
import { DayCounter } from '../../src/counting/rows/day-counts.ts';
import { parseOpeningHours } from '../../src/counting/calendar/opening-hours.ts';
import { queryFrom } from '../support/responses.ts';
import { CALENDAR, COPENHAGEN, OCTOBER } from '../support/owner.ts';
import { ESTIMATED } from '../support/polled.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, StreamFixture } from '../counting/fixture.ts';

const RIVERSIDE = {
  config: { name: 'riverside', timezone: COPENHAGEN.name },
  calendar: CALENDAR,
  description: { ...ESTIMATED, openingHours: parseOpeningHours('Mo-Su 08:00-20:00', undefined) },
  branches: undefined,
};

/** Days of October, in which clocks are set back on the 25th. */
const DAYS = [24, 25, 26, 31].map((day) => CALENDAR.dayAt(Date.UTC(2026, 9, day, 12)));

/** Counts by local minute. */
function minutes(stream: MinuteStream, counts: Readonly<Record<string, readonly number[]>>) {
  const counter = new DayCounter(CALENDAR, DAYS, stream);
  Object.entries(counts).forEach(([minute, values]) => counter.add(at(minute), values));
  return { days: counter.days(), sums: [], byDay: [] };
}

/** An instant by its local time; `24 18:30` is in October. */
function at(time: string): number {
  const full = time.replace(/^(\d\d) /, '2026-10-$1T');
  return COPENHAGEN.instantOfWall(Date.parse(`${full}Z`));
}

/** Totals and today are those of people entered, people exited and logins; last seen of both streams. */
function replay(times: readonly string[], changes: Partial<PeriodPast> = {}) {
  const past = replayPeriod(
    {
      ...RIVERSIDE,
      period: OCTOBER,
      streams: {
        people: minutes('people', {
          '24 18:29': [3, 5],
          '24 18:30': [4, 1],
          '25 03:59': [1, 0],
          '25 12:00': [2, 0],
          '2026-11-01T03:59': [3, 1],
        }),
        logins: minutes('logins', { '24 09:00': [7] }),
      },
      daysBefore: { people: [], logins: [] },
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
  const people = ['24 18:29', '24 18:30', '25 03:59', '25 12:00', '2026-11-01T03:59'].map(at);
  const logins = at('24 09:00');
  const rows = [
    ['24 04:00', [0, 0, 0], [0, 0, 0], 0, false, 2, [undefined, undefined]],
    ['24 18:30:30', [3, 5, 7], [3, 5, 7], 0, true, 2, [people[0], logins]],
    ['24 18:31', [7, 6, 7], [7, 6, 7], 3, true, 2, [people[1], logins]],
    ['25 04:00', [8, 6, 7], [0, 0, 0], 0, false, 1, [people[2], logins]],
    ['25 12:01', [10, 6, 7], [2, 0, 0], 2, true, 1, [people[3], logins]],
    ['26 04:00', [10, 6, 7], [0, 0, 0], 0, false, 1, [people[3], logins]],
    // The last minute is included one second before the period ends.
    ['2026-11-01T03:59:58', [10, 6, 7], [0, 0, 0], 0, false, 1, [people[3], logins]],
    ['2026-11-01T03:59:59', [13, 7, 7], [3, 1, 0], 2, false, 1, [people[4], logins]],
  ] as const;
  expect(replay(rows.map(([time]) => time))).toEqual(
    rows.map(([, totals, today, inside, open, utcOffset, seen]) => {
      return { totals, today, inside, open, utcOffset, seen };
    }),
  );
});

test('a counter does not decrease for a negative minute', () => {
  const streams = { people: minutes('people', { '24 12:00': [5, 0], '24 12:01': [-2, 0] }) };
  expect(replay(['24 12:02'], { streams })).toMatchObject([{ totals: [5, 0, undefined] }]);
});

describe('the values of a building', () => {
  /** A Monday of November; its 28 days before begin in October, before the clocks are set back. */
  const TODAY = CALENDAR.dayAt(Date.parse('2026-11-09T12:00Z'));
  const SILENT_MS = TODAY.startMs + 33 * HOUR_MS;

  /** 120 visits a day for forty days, until noon of the last one; every tenth exit is missed. */
  function library(): StreamFixture {
    const people = new StreamFixture({ records: [] });
    const records: [atMs: number, counts: readonly number[]][] = [];
    for (let day = -40; day <= 1; day++) {
      for (let visit = 0; visit < 120; visit++) {
        const inMs = TODAY.startMs + day * DAY_MS + (300 + 4 * visit) * MINUTE_MS + 20_000;
        const outMs = inMs + (25 + ((visit * 7 + day * 3) % 90)) * MINUTE_MS;
        records.push([inMs, [1, 0]], [outMs, [0, visit % 10 ? 1 : 0]]);
      }
    }
    records.filter(([atMs]) => atMs < SILENT_MS).forEach((one) => people.record(...one));
    return people;
  }

  function sourceAt({ service }: StreamFixture, nowMs: number) {
    const query = queryFrom((question) => service.respond(question, nowMs));
    return { query, stream: 'people', calendar: CALENDAR, keyTimes: 'local' } as const;
  }

  function shownOf({ estimate, inside, enteredHour, missed, usual }: CustomerMetrics) {
    return { estimate, inside, enteredHour, missed, usual };
  }

  /** What a running exporter shows at an instant. */
  async function live(people: StreamFixture, atMs: number) {
    const before = await readFourWeeks(sourceAt(people, atMs), CALENDAR.dayAt(atMs));
    people.restart();
    people.nowMs = atMs;
    people.customer.setDescription(RIVERSIDE.description);
    people.customer.pastRead('people', before);
    await people.poll();
    return shownOf(people.metrics());
  }

  async function past(people: StreamFixture, times: readonly number[]) {
    const period = CALENDAR.periodAt(TODAY.startMs);
    const source = sourceAt(people, TODAY.endMs + DAY_MS);
    const span = { startMs: period.startMs, endMs: TODAY.endMs + DAY_MS };
    const counted = await readPast(source, span, 'minute');
    const before = await readDaysBefore(source, TODAY, period.startMs);
    const samples = replayPeriod(
      {
        ...RIVERSIDE,
        period,
        streams: counted ? { people: counted } : {},
        daysBefore: { people: before ?? [] },
      },
      times,
    );
    return Array.from(samples, ({ metrics }) => shownOf(metrics));
  }

  test('are those that the running exporter has shown, on a day and on the next, also of a silent afternoon', async () => {
    const people = library();
    const hours = [0, 1, 5, 7, 9, 11, 13, 15, 17, 24, 32, 33, 35, 36];
    const times = hours.map((hour) => TODAY.startMs + hour * HOUR_MS);
    const shown = await past(people, times);
    for (const [i, atMs] of times.entries()) {
      const expected = await live(people, atMs);
      expect(expected.estimate.people).toBeDefined();
      expect(shown[i]).toEqual(expected);
    }
    expect(shown[4]?.estimate.people?.people).toBeGreaterThan(5);
    expect(shown[4]?.estimate.ratio).toBeCloseTo(1 / 0.9, 1);
    expect(shown.map(({ inside }) => inside)).toContain(0);
    expect(Math.max(...shown.map(({ inside = 0 }) => inside))).toBeGreaterThan(5);
    expect(shown[4]?.enteredHour).toBe(15);
    expect(shown.at(-1)?.missed).toBeGreaterThan(20);
  });
});
