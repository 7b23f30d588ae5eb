import { describe, expect, test } from 'vitest';
import { learnDoors, QUARTERS_PER_DAY } from '../../../src/counting/occupancy/door-model.ts';
import { createHistory } from '../../../src/counting/occupancy/history.ts';
import type { History } from '../../../src/counting/occupancy/history.ts';
import { parseOpeningHours } from '../../../src/counting/calendar/opening-hours.ts';
import { START_OF_DAY, UNKNOWN_HOURS } from '../../../src/counting/occupancy/estimate.ts';
import { estimateToday, hoursOf } from '../../../src/counting/occupancy/today-estimate.ts';
import type { DayDoors } from '../../../src/counting/occupancy/today-estimate.ts';
import type { DayCounts } from '../../../src/counting/rows/day-counts.ts';
import type { Conventions } from '../../../src/simulator/conventions.ts';
import { dayOf, minutesOf } from '../../support/day-counts.ts';
import { CALENDAR } from '../../support/owner.ts';
import { ESTIMATED } from '../../support/polled.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, StreamFixture } from '../fixture.ts';

const START_MS = Date.UTC(2026, 10, 18, 8);
const TODAY = CALENDAR.dayAt(START_MS);

/** Exits are counted at 90 %, entries fully. Open from 8 to 16 o'clock. */
function historyBefore(emptyAtNight = true): History {
  const entered = Array.from({ length: QUARTERS_PER_DAY }, (_, quarter): number =>
    quarter >= 16 && quarter < 48 ? 20 : 0,
  );
  const exited = entered.map<number>((_, quarter) => (quarter >= 20 && quarter < 52 ? 18 : 0));
  const night = emptyAtNight ? 0 : 9;
  const day = {
    entered: entered.with(95, night),
    exited: exited.with(95, night).with(30, 18 + night),
  };
  return createHistory(
    CALENDAR,
    TODAY,
    Array.from({ length: 28 }, () => dayOf(day)),
  );
}

function peopleWith(history: History, conventions: Partial<Conventions> = {}): StreamFixture {
  const people = new StreamFixture({ startMs: START_MS, records: [], conventions });
  for (let minute = 0; minute < 480; minute++) {
    const eventMs = START_MS - HOUR_MS + minute * MINUTE_MS + 20_000;
    const arrivesMs = eventMs + (minute % 11 === 0 ? 8 * MINUTE_MS : 0);
    people.record(eventMs, [minute % 3, Number(minute % 2 > 0)], { arrivesMs });
  }
  people.customer.setDescription(ESTIMATED);
  people.customer.historyRead('people', history);
  return people;
}

test.each([
  ['of records by event', {}],
  ['of records by arrival', { windowTime: 'server' }],
] as const)('a poll that continues the last one gives the same estimate: %s', async (_, own) => {
  const history = historyBefore();
  const continued = peopleWith(history, own);
  for (let minute = 0; minute < 75; minute++) {
    await continued.poll();
    const restarted = peopleWith(history, own);
    restarted.nowMs = continued.nowMs;
    await restarted.poll();
    const { estimate } = continued.metrics();
    expect(estimate.people?.people).toBeGreaterThan(0);
    expect(restarted.metrics().estimate).toEqual(estimate);
    continued.nowMs += MINUTE_MS;
  }
});

test('follows the age of the poll and the day, the ratio stays until the day after', async () => {
  const people = peopleWith(historyBefore());
  await people.poll();
  expect(people.metrics().estimate).toMatchObject({ fault: 'none', isEstimable: true });
  people.nowMs += 16 * MINUTE_MS;
  expect(people.metrics().estimate).toMatchObject({ people: undefined, fault: undefined });
  for (const atMs of [people.nowMs, TODAY.endMs + MINUTE_MS]) {
    people.nowMs = atMs;
    expect(people.metrics().estimate.ratio?.value).toBeCloseTo(1 / 0.9, 1);
  }
  people.nowMs += DAY_MS;
  expect(people.metrics().estimate.ratio).toBeUndefined();
});

test('a library that is not empty at night has a ratio, but no estimate', async () => {
  const people = peopleWith(historyBefore(false));
  await people.poll();
  const { occupancy, estimate } = people.metrics();
  expect(occupancy).toBeGreaterThan(0);
  expect(estimate).toMatchObject({ people: undefined, fault: undefined, isEstimable: false });
});

test.each([
  ['Mo-Su 08:00-20:00', 4 * 60, 16 * 60],
  ['Mo-Su 08:00-12:00,14:00-18:00', 4 * 60, 14 * 60],
  ['Mo-Su 10:00-02:00', 6 * 60, 22 * 60],
  ['Mo,Tu 08:00-20:00', 0, 0],
  ['Mo-Su 08:00-05:00', 0, Infinity],
  ['24/7', 0, Infinity],
])(
  'with the hours %s it is open from minute %d to %d of a Wednesday',
  (hours, opening, closing) => {
    const openSpans = parseOpeningHours(hours, undefined).openSpans(TODAY, 'Europe/Copenhagen');
    expect(hoursOf(TODAY, openSpans)).toEqual({ openingMinute: opening, closingMinute: closing });
  },
);

describe('an estimate', () => {
  const DOORS: DayDoors = {
    day: { startMs: 0, endMs: DAY_MS },
    model: learnDoors([], 3),
    hours: UNKNOWN_HOURS,
  };
  /** One person enters in each of 90 minutes, three leave in the first. */
  const ENTERED = Array<number>(90).fill(1);
  const MINUTES = minutesOf(ENTERED, [3]);
  /** The same from minute 15 on, by quarter-hour. The last one may run, until minute 59. */
  const QUARTERS = { ...dayOf({ entered: [15, 15, 15], exited: [0, 0, 0] }), first: 1 };
  const RUNNING = { ...QUARTERS, lastStepEndMs: 59 * MINUTE_MS };

  interface Given {
    readonly minute?: number;
    readonly settled?: number;
    readonly today?: DayCounts;
    /** Counts of the poll before. */
    readonly before?: DayCounts;
    readonly doors?: DayDoors;
  }

  /** The poll before had 500 people inside at the minute `settled`. */
  test.each<[string, Given, number]>([
    ['goes on', {}, 520],
    ['goes on without a newer minute', { minute: 40 }, 500],
    ['starts again after fewer minutes', { minute: 39 }, 38],
    ['starts again with other doors', { doors: { ...DOORS } }, 59],
    ['starts again if an entry is new', { before: minutesOf(ENTERED.with(39, 0), [3]) }, 59],
    ['starts again if exits are new', { before: minutesOf(ENTERED, [2]) }, 59],
    ['goes on if later entries are new', { before: minutesOf(ENTERED.with(40, 0), [3]) }, 520],
    ['goes on by quarter-hour', { today: QUARTERS, settled: 46, minute: 50 }, 504],
    ['goes on until a running one', { today: RUNNING, settled: 45, minute: 59 }, 515],
    ['starts again within a running one', { today: RUNNING, settled: 46, minute: 59 }, 45],
    [
      'starts again within one that ran',
      { today: QUARTERS, before: RUNNING, settled: 46, minute: 60 },
      45,
    ],
    [
      'starts again within one that runs now',
      { today: RUNNING, before: QUARTERS, settled: 46, minute: 59 },
      45,
    ],
  ])('%s', (_, given, people) => {
    const { minute = 60, settled = 40, today = MINUTES, before = today, doors = DOORS } = given;
    const state = { ...START_OF_DAY, minutes: settled, people: 500 };
    const { estimate } = estimateToday(DOORS, today, minute * MINUTE_MS, {
      estimate: undefined,
      fault: undefined,
      settled: { doors, today: before, state },
    });
    expect(estimate?.people).toBeCloseTo(people, 9);
  });

  test('has the state of 20 minutes before, from which the next one goes on', () => {
    const { estimate, settled } = estimateToday(DOORS, MINUTES, 60 * MINUTE_MS + 1, undefined);
    expect(estimate?.people).toBe(60);
    expect(settled).toMatchObject({ doors: DOORS, today: MINUTES, state: { minutes: 41 } });
  });
});
