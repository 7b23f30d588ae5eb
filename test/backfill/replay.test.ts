import { describe, expect, test } from 'vitest';
import type { MinuteStream } from '../../src/base/model.ts';
import type { CustomerMetrics } from '../../src/counting/customer-metrics.ts';
import { readFourWeeks } from '../../src/counting/past/read-four-weeks.ts';
import { readPast } from '../../src/counting/past/read-past.ts';
import type { PastCounts } from '../../src/counting/past/read-past.ts';
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

/** Counts by local minute of October, in which clocks are set back on the 25th. */
function minutes(
  stream: MinuteStream,
  counts: Readonly<Record<string, readonly number[]>>,
): PastCounts {
  const days = [CALENDAR.dayAt(OCTOBER.startMs)];
  for (let day = days[0]; day !== undefined && day.endMs < OCTOBER.endMs;) {
    day = CALENDAR.dayAt(day.endMs);
    days.push(day);
  }
  const counter = new DayCounter(CALENDAR, days, stream);
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

type Shown = Pick<CustomerMetrics, 'estimate' | 'inside' | 'enteredHour' | 'missed' | 'usual'>;

function shownOf({ estimate, inside, enteredHour, missed, usual }: CustomerMetrics): Shown {
  return { estimate, inside, enteredHour, missed, usual };
}

describe('the estimate', () => {
  /** A Monday of November; its 28 days before begin in October, before the clocks are set back. */
  const NOON_MS = Date.parse('2026-11-09T12:00Z');
  const TODAY = CALENDAR.dayAt(NOON_MS);
  const PERIOD = CALENDAR.periodAt(NOON_MS);
  /** 120 visits a day for forty days, or until an instant; every tenth exit is missed. */
  function library(visitsLater = 120, untilMs = Infinity): StreamFixture {
    const people = new StreamFixture({ records: [] });
    const records: [atMs: number, counts: readonly number[]][] = [];
    for (let day = -40; day <= 2; day++) {
      const visits = day > 0 ? visitsLater : 120;
      for (let visit = 0; visit < visits; visit++) {
        const inMs = TODAY.startMs + day * DAY_MS + (300 + 4 * visit) * MINUTE_MS + 20_000;
        const outMs = inMs + (25 + ((visit * 7 + day * 3) % 90)) * MINUTE_MS;
        records.push([inMs, [1, 0]], [outMs, [0, visit % 10 ? 1 : 0]]);
      }
    }
    records.filter(([atMs]) => atMs < untilMs).forEach((one) => people.record(...one));
    return people;
  }

  /** What a running exporter shows at an instant. */
  async function live(people: StreamFixture, atMs: number): Promise<Shown> {
    const today = CALENDAR.dayAt(atMs);
    const query = queryFrom((question) => people.service.respond(question, atMs));
    const source = { query, stream: 'people', calendar: CALENDAR, keyTimes: 'local' } as const;
    const before = await readFourWeeks(source, today);
    people.restart();
    people.nowMs = atMs;
    people.customer.setDescription(RIVERSIDE.description);
    people.customer.pastRead('people', before);
    await people.poll();
    return shownOf(people.metrics());
  }

  async function past(
    { service }: StreamFixture,
    times: readonly number[],
  ): Promise<readonly Shown[]> {
    const query = queryFrom((question) => service.respond(question, NOON_MS + 2 * DAY_MS));
    const span = { startMs: PERIOD.startMs, endMs: TODAY.endMs + DAY_MS };
    const source = { query, stream: 'people', calendar: CALENDAR, keyTimes: 'local' } as const;
    const counted = await readPast(source, span, 'minute');
    const firstDay = CALENDAR.dayAt(times[0] ?? NaN);
    const before = await readDaysBefore(source, firstDay, PERIOD.startMs);
    const samples = replayPeriod(
      {
        ...RIVERSIDE,
        period: PERIOD,
        streams: counted ? { people: counted } : {},
        daysBefore: { people: before ?? [] },
      },
      times,
    );
    return Array.from(samples, ({ metrics }) => shownOf(metrics));
  }

  test('is the one that the running exporter has shown, on a day and on the next', async () => {
    const people = library();
    const hours = [0, 1, 5, 7, 9, 11, 13, 15, 17, 24, 32, 40];
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
  });

  test('and who was missed are those of a silent afternoon, as live', async () => {
    const silent = library(120, NOON_MS);
    const times = [NOON_MS, NOON_MS + 2 * HOUR_MS, NOON_MS + 3 * HOUR_MS];
    const shown = await past(silent, times);
    for (const [i, atMs] of times.entries()) {
      expect(shown[i]).toEqual(await live(silent, atMs));
    }
    expect(shown[2]?.missed).toBeGreaterThan(20);
  });

  test('depends neither on later days nor on where the samples start', async () => {
    const [before] = await past(library(), [NOON_MS]);
    expect((await past(library(20), [NOON_MS]))[0]).toEqual(before);
    expect((await past(library(), [NOON_MS - 5 * DAY_MS, NOON_MS]))[1]).toEqual(before);
  });
});
