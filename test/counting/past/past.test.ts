import { describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../../src/base/duration.ts';
import { QUARTER_MS } from '../../../src/counting/occupancy/door-model.ts';
import {
  appendDay,
  createPast,
  lastSeenAt,
  pastDays,
  sumsWithin,
  sumWithin,
} from '../../../src/counting/past/past.ts';
import type { Past } from '../../../src/counting/past/past.ts';
import type { DayCounts } from '../../../src/counting/rows/day-counts.ts';
import { countedDay } from '../../support/day-counts.ts';
import { CALENDAR } from '../../support/owner.ts';

/** A Wednesday; the four weeks before have days of 24 hours. */
const TODAY = CALENDAR.dayAt(Date.UTC(2026, 11, 2, 12));
const TOMORROW = CALENDAR.dayAt(TODAY.endMs);

/** Returns a day with entries and exits by quarter-hour since its start. */
function dayBefore(
  daysAgo: number,
  counts: Readonly<Record<number, readonly [entries: number, exits: number]>> = {},
): DayCounts {
  const day = CALENDAR.dayAt(TODAY.startMs - daysAgo * DAY_MS);
  const people = Object.entries(counts).map(([quarter, values]) => {
    return [day.startMs + Number(quarter) * QUARTER_MS, values] as const;
  });
  return countedDay(CALENDAR, day, people, QUARTER_MS);
}

/** Three days; the second one counted nobody. */
function threeDays(): Past {
  return createPast(CALENDAR, TODAY, [
    dayBefore(3, { 20: [4, 1], 22: [6, 2] }),
    dayBefore(2),
    dayBefore(1, { 21: [8, 0], 30: [0, 5] }),
  ]);
}

test('has sums, and the quarter-hours in which any day counted anybody', () => {
  const past = threeDays();
  expect(past).toMatchObject({ weekday: 3, days: 3, sums: [18, 8], first: 20, length: 11 });
  const days = pastDays(past).map(({ weekday, stepMs, first, counts }) => {
    return [weekday, stepMs, first, counts.map((steps) => steps.join(' '))];
  });
  expect(days).toEqual([
    [0, QUARTER_MS, 20, ['4 0 6 0 0 0 0 0 0 0 0', '1 0 2 0 0 0 0 0 0 0 0']],
    [1, QUARTER_MS, 20, ['0 0 0 0 0 0 0 0 0 0 0', '0 0 0 0 0 0 0 0 0 0 0']],
    [2, QUARTER_MS, 20, ['0 8 0 0 0 0 0 0 0 0 0', '0 0 0 0 0 0 0 0 0 0 5']],
  ]);
  expect(past.counts).toBeInstanceOf(Uint8Array);
});

test.each([
  ['without days', [], [], []],
  ['of days that counted nobody', [dayBefore(2), dayBefore(1)], [0, 0], [undefined, undefined]],
])('%s is empty', (_, days, sums, lastSeenMs) => {
  const past = createPast(CALENDAR, TODAY, days);
  expect(past).toMatchObject({ days: days.length, first: 0, length: 0, sums, lastSeenMs });
});

test.each([
  ['all of it', 0, 96, 10],
  ['parts of quarter-hours', 20.5, 22.5, 5],
  ['a span that ends before it starts', 20.5, 20.25, 0],
])('the sum of a part of a day: %s', (_, from, to, sum) => {
  expect(sumWithin(threeDays(), 3, 0, from, to)).toBe(sum);
});

test.each([
  ['all days', 3, 0, [18, 8]],
  ['from within a day on', 3 - 22 / 96, 0, [14, 7]],
  ['until within a day', 3, 1 - 22 / 96, [18, 3]],
])('the sums of a span: %s', (_, fromDaysAgo, toDaysAgo, sums) => {
  const [startMs = NaN, endMs = NaN] = [fromDaysAgo, toDaysAgo].map(
    (days) => TODAY.startMs - days * DAY_MS,
  );
  expect(sumsWithin(CALENDAR, threeDays(), { startMs, endMs })).toEqual(sums);
});

describe('on the next day', () => {
  const TEN_MS = TODAY.startMs + 10 * HOUR_MS;

  /** Today as polled: by default 15 minutes before its end. */
  function appended(
    counts = dayBefore(0, { 40: [3, 2] }),
    { agoMs = QUARTER_MS, past = threeDays(), day = TOMORROW } = {},
  ): Past | undefined {
    const atMs = TODAY.endMs - agoMs;
    const polled = { counts, atMs, endMs: atMs, lastSeenMs: undefined };
    return appendDay(CALENDAR, past, polled, day);
  }

  test('it has the day that was polled to its end', () => {
    const lastSeenMs = [TEN_MS, TEN_MS];
    const added = { today: TOMORROW, weekday: 4, days: 4, sums: [21, 10], lastSeenMs };
    expect(appended()).toMatchObject(added);
  });

  test('it has 28 days, too, and forgets who was seen before them', () => {
    const days = Array.from({ length: 28 }, (_, i) => {
      return dayBefore(28 - i, { 20: i === 0 ? [1, 1] : [1, 0] });
    });
    const past = createPast(CALENDAR, TODAY, days);
    const lastSeenMs = [TEN_MS, undefined];
    const added = { days: 28, sums: [27 + 3, 0], lastSeenMs };
    expect(appended(dayBefore(0, { 40: [3, 0] }), { past })).toMatchObject(added);
  });

  test('it knows who was seen before a day that counted nobody', () => {
    const { lastSeenMs } = threeDays();
    expect(appended(dayBefore(0))?.lastSeenMs).toEqual(lastSeenMs);
  });

  test('it lacks a day that was not polled to its end, and days between', () => {
    const past = threeDays();
    const shorter = { ...dayBefore(0), day: { ...TODAY, endMs: TODAY.endMs - 1 } };
    const older = createPast(CALENDAR, CALENDAR.dayBefore(TODAY), [dayBefore(2)]);
    expect(appendDay(CALENDAR, past, undefined, TOMORROW)).toBe(past);
    expect(appended(undefined, { past, agoMs: QUARTER_MS + 1 })).toBe(past);
    expect(appended(dayBefore(1), { past })).toBe(past);
    expect(appended(shorter, { past })).toBe(past);
    expect(appended(undefined, { past, day: CALENDAR.dayAt(TOMORROW.endMs) })).toBe(past);
    expect(appended(undefined, { past: older })).toBe(older);
  });

  test('it is the same on the same day, and is lost on the day before', () => {
    const past = threeDays();
    expect(appendDay(CALENDAR, past, undefined, TODAY)).toBe(past);
    expect(appendDay(CALENDAR, past, undefined, CALENDAR.dayBefore(TODAY))).toBeUndefined();
    expect(appendDay(CALENDAR, undefined, undefined, TODAY)).toBeUndefined();
  });
});

describe('anybody was last seen', () => {
  const nowMs = TODAY.startMs + 8 * HOUR_MS;
  const oldest = TODAY.startMs - 28 * DAY_MS;

  test.each<[string, number | undefined, readonly (number | undefined)[] | undefined, unknown]>([
    ['never', undefined, undefined, undefined],
    ['today', nowMs, [TODAY.startMs - 1, undefined], nowMs],
    ['on a day before, by the newer counter', undefined, [oldest, oldest + 1], oldest + 1],
    ['more than four weeks ago', undefined, [oldest - 1, undefined], undefined],
  ])('%s', (_, todayMs, lastSeenMs, expected) => {
    const past = lastSeenMs && { ...threeDays(), lastSeenMs };
    expect(lastSeenAt(CALENDAR, nowMs, todayMs, past)).toBe(expected);
  });
});
