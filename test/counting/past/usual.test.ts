import { describe, expect, test } from 'vitest';
import { HOUR_MS } from '../../../src/base/duration.ts';
import { QUARTER_MS } from '../../../src/counting/occupancy/door-model.ts';
import { createPast } from '../../../src/counting/past/past.ts';
import {
  countedSince,
  enteredLastHour,
  usual,
  usualLogins,
  usualPeople,
} from '../../../src/counting/past/usual.ts';
import type { SitePast } from '../../../src/counting/past/usual.ts';
import { countedDay } from '../../support/day-counts.ts';
import { CALENDAR } from '../../support/owner.ts';
import { at, countsAt, pastOf, TODAY } from './fixture.ts';

function entriesBetween(past: SitePast, from: string, to: string): number {
  return usual(past, past.people, [0], at(`${TODAY}T${from}`), at(`${TODAY}T${to}`));
}

describe('the usual counts of a span', () => {
  test.each<[string, readonly number[], number]>([
    ['the mean of four weeks without the highest', [4, 8, 12, 100], 8],
    ['that of fewer weeks if one of them counted nobody', [4, 0, 8, 12], 6],
    ['the lower one of two weeks', [0, 12, 0, 4], 4],
    ['a single week', [0, 0, 0, 12], 12],
  ])('are %s', (_, ofWeeks, expected) => {
    const past = pastOf({ counts: (daysAgo) => [ofWeeks[daysAgo / 7 - 1] ?? 50, 0] });
    expect(entriesBetween(past, '10:00', '10:15')).toBeCloseTo(expected, 9);
    expect(entriesBetween(past, '10:00', '12:00')).toBeCloseTo(8 * expected, 9);
  });

  test('are those of each day that it touches', () => {
    const past = pastOf({ counts: (daysAgo) => [daysAgo % 7 === 0 ? 4 : 2, 0] });
    const twoDays = usual(past, past.people, [0], at('2026-11-30T16:00'), at(`${TODAY}T10:00`));
    expect(twoDays).toBeCloseTo(4 * 2 + 32 * 2 + 4 * 4, 9);
  });
});

test('counts are expected from the end of the quarter-hour of the last one on, with an hour of grace', () => {
  const past = pastOf();
  const { counts, ...people } = past.people;
  const windows = { windowMs: HOUR_MS, counts: counts.map((count) => 4 * count) };
  const byHour = { ...past, people: { ...people, ...windows } };
  function expectedAt(time: string, last: string, of: SitePast = past): number {
    return usualPeople(of, countsAt(time, { [last]: [1, 0] })).people;
  }
  // Seven each quarter-hour in both directions.
  expect(expectedAt('12:00', '10:14')).toBe(3 * 7);
  expect(expectedAt('12:00', '10:15')).toBe(2 * 7);
  expect(expectedAt('12:00', '10:29')).toBe(2 * 7);
  expect(expectedAt('12:00', '11:00')).toBe(0);
  expect(expectedAt('11:15', '10:00')).toBe(0);
  expect(expectedAt('11:30', '10:00')).toBe(7);
  // Those of a branch from the end of the hour on.
  expect(expectedAt('12:00', '10:14', byHour)).toBe(0);
  expect(expectedAt('12:30', '10:14', byHour)).toBe(2 * 7);
  expect(expectedAt('12:30', '11:00', byHour)).toBe(0);
});

describe('nobody since a day before', () => {
  test('counts the days between, until an hour before the poll', () => {
    const past = pastOf({ counts: (ago) => (ago < 6 ? [0, 0] : [4, 3]) });
    // Of Wednesday's last hour three weeks are known, of the whole Thursday to Sunday, too.
    const before = 5 * 32 * 7;
    expect(usualPeople(past, countsAt('09:30')).people).toBeCloseTo(before, 9);
    expect(usualPeople(past, countsAt('11:00')).people).toBeCloseTo(before + 4 * 7, 9);
  });

  test('after a closing of three weeks, one week is usual, of which only days count that are open', () => {
    const weeks = { counts: (ago: number) => (ago <= 21 ? [0, 0] : [4, 3]) };
    const unknown = usualPeople(pastOf(weeks), countsAt('11:00'));
    expect(unknown.people).toBeCloseTo(21 * 32 * 7 + 4 * 7, 9);
    const openingHours = 'Mo-Su 09:00-17:00; Nov 11-Dec 01 off';
    const known = usualPeople(pastOf({ ...weeks, openingHours }), countsAt('11:00'));
    expect(known.people).toBeCloseTo(4 * 7, 9);
    // A quarter-hour of the last day, by the quarter-hour.
    expect(known.openSinceLastSeenMs).toBe(2 * HOUR_MS + QUARTER_MS);
  });

  test('within four weeks, nobody is expected', () => {
    const past = pastOf({ counts: () => [0, 0], openingHours: 'Mo-Su 09:00-17:00' });
    const usually = usualPeople(past, countsAt('12:00'));
    expect(usually).toMatchObject({ people: 0, entries: 0, exits: 0, entriesToday: 0, inside: 0 });
    expect(usually.openSinceLastSeenMs).toBeUndefined();
  });
});

describe('a direction', () => {
  test('is expected until an hour before the last count of the other one, at most as often as that', () => {
    const past = pastOf();
    const exitsDead = { '09:59': [1, 1], '10:30': [5, 0], '11:40': [7, 0] };
    const { people, entries, exits } = usualPeople(past, countsAt('12:30', exitsDead));
    expect([people, entries]).toEqual([0, 0]);
    // From 10:00 to 10:40, three each quarter-hour.
    expect(exits).toBeCloseTo(8, 9);
    const fewEntries = { '09:59': [1, 1], '11:40': [2, 0] };
    expect(usualPeople(past, countsAt('12:30', fewEntries)).exits).toBe(2);
    const entriesDead = { '09:59': [1, 1], '11:40': [0, 90] };
    // From 10:00 to 10:40, four each quarter-hour.
    expect(usualPeople(past, countsAt('14:00', entriesDead)).entries).toBeCloseTo(32 / 3, 9);
  });

  test('is not compared with counts of a minute that has not begun', () => {
    const counts = { '09:59': [1, 1], '11:40': [2, 0], '12:30': [50, 0] };
    const today = { ...countsAt('12:30', counts), endMs: at(`${TODAY}T12:30`) };
    expect(usualPeople(pastOf(), today).exits).toBe(2);
  });

  test('that died on a day before is compared with all counts of the other one since', () => {
    const past = pastOf({ counts: (ago) => (ago === 1 ? [0, 3] : [4, 3]) });
    const { entries } = usualPeople(past, countsAt('12:00', { '11:30': [0, 5] }));
    // A day, and from 9:00 to 10:30; of exits 96 and 5.
    expect(entries).toBeCloseTo(96 + 5, 9);
  });
});

describe('logins', () => {
  const past = pastOf();

  test('are expected until an hour before the last person, at most the usual share of entries', () => {
    const logins = countsAt('12:30', { '09:50': [1] });
    function expectedWith(entries: number): number {
      const people = countsAt('12:30', { '10:30': [entries, 0], '11:45': [0, 1] });
      return usualLogins(past, past.logins, people, logins);
    }
    // From 10:00 to 10:45, one each quarter-hour.
    expect(expectedWith(40)).toBeCloseTo(3, 9);
    expect(expectedWith(4)).toBeCloseTo(1, 9);
  });

  test('of a library without people in its history are not expected', () => {
    const closed = pastOf({ counts: () => [0, 0] });
    for (const counts of [{ '10:30': [40, 0], '11:45': [0, 1] }, {}]) {
      expect(usualLogins(closed, past.logins, countsAt('12:30', counts), countsAt('12:30'))).toBe(
        0,
      );
    }
  });
});

test('entries of the last hour are those of today, and of the day before if that is known', () => {
  const day = CALENDAR.dayAt(at(`${TODAY}T12:00`));
  const night = countedDay(CALENDAR, CALENDAR.dayBefore(day), [[at(`${TODAY}T03:20`), [9, 4]]]);
  const past = createPast(CALENDAR, day, [night]);
  const counts = { '04:05': [-2, 0], '04:10': [5, 7], '04:19': [1, 0], '04:20': [50, 0] };
  // Of the quarter-hour of 03:15, ten minutes.
  expect(enteredLastHour(past, countsAt('04:20:59', counts))).toBe(6 + 5 + 1);
  expect(enteredLastHour(past, countsAt('05:15', counts))).toBe(1 + 50);
  for (const known of [undefined, { ...past, today: CALENDAR.dayBefore(day) }]) {
    expect(enteredLastHour(known, countsAt('04:20', counts))).toBeUndefined();
    expect(enteredLastHour(known, countsAt('05:00', counts))).toBe(5 + 1 + 50);
  }
});

test('people are counted after an instant, up to another one, in minutes that have begun', () => {
  const counts = { '09:10': [1, 2], '09:20': [3, 4], '09:40': [5, 6], '10:00': [7, 8] };
  function countedUntil(until: string) {
    const seenMs = at(`${TODAY}T09:10`);
    return countedSince(pastOf(), countsAt('09:50', counts), seenMs, at(`${TODAY}T${until}`));
  }
  expect(countedUntil('09:30')).toEqual([3, 4]);
  expect(countedUntil('12:00')).toEqual([8, 10]);
});

test('the last hour and today end at the poll', () => {
  const past = pastOf();
  const { entriesLastHour, entriesToday } = usualPeople(past, countsAt('10:07:40'));
  expect(entriesLastHour).toBeCloseTo(16, 9);
  expect(entriesToday).toBeCloseTo(4 * (4 + (7 * 60 + 40) / 900), 9);
});

describe('the people usually inside', () => {
  /** As many enter from 9 to 13 o'clock as leave from then to 17, but one direction misses half. */
  function insideAt(time: string, openingHours?: string, [entries = 8, exits = 4] = []): number {
    const past = pastOf({
      counts: (_, quarter) => (quarter < 16 ? [entries, 0] : [0, exits]),
      ...(openingHours !== undefined && { openingHours }),
    });
    return usualPeople(past, countsAt(time)).inside;
  }

  test.each([
    ['08:00', 0],
    ['10:00', 32],
    ['15:00', 64],
    ['23:00', 0],
  ])('at %s are %i: the day ends with nobody', (time, inside) => {
    expect(insideAt(time)).toBeCloseTo(inside, 9);
    expect(insideAt(time, undefined, [4, 8])).toBeCloseTo(inside, 9);
  });

  test.each([
    ['10:00-14:00', '09:59', 0],
    ['10:00-14:00', '10:00', 32],
    ['10:00-14:00', '14:00', 0],
    ['08:00-11:00,12:00-20:00', '10:00', 32],
  ])('are none while it is closed: open %s, at %s %i', (hours, time, inside) => {
    expect(insideAt(time, `Mo-Su ${hours}`)).toBeCloseTo(inside, 9);
  });

  test.each([
    ['entries', [0, 4]],
    ['exits', [4, 0]],
  ])('are unknown to weeks that counted no %s', (_, counts) => {
    const past = pastOf({ counts: (ago) => (ago === 7 ? counts : [4, 4]) });
    expect(usualPeople(past, countsAt('13:00')).inside).toBe(0);
  });
});

/** Clocks are set forward on Sunday, 28 March, and back on Sunday, 25 October. */
test.each([
  // Only days that contain the change have another number of hours; the others are as always.
  ['2026-03-29', 4],
  ['2026-10-26', 4],
  ['2026-03-30', 0],
  ['2026-10-26', 0],
])('clocks changed within four weeks: on %s, days start at %i:00', (today, dayStartsAt) => {
  const past = pastOf({ today, dayStartsAt });
  const poll = countsAt('11:30', { '09:50': [1, 0] }, { today, dayStartsAt });
  // From 10:00 to 10:30.
  expect(usualPeople(past, poll).people).toBeCloseTo(2 * 7, 9);
});
