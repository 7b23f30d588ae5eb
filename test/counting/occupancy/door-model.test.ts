/** The limits of what is learned from days. estimate.test.ts proves what is learned. */
import { describe, expect, test } from 'vitest';
import {
  learnDoors,
  QUARTERS_PER_DAY,
  sumQuarters,
} from '../../../src/counting/occupancy/door-model.ts';
import { dayOf } from '../../support/day-counts.ts';

type Pair = readonly [entries: number, exits: number];

/** Returns counts in one quarter-hour. */
function inQuarter(quarter: number, count: number): number[] {
  return Array.from({ length: QUARTERS_PER_DAY }, (_, i) => (i === quarter ? count : 0));
}

/** Returns days on which people enter in one quarter-hour and leave in another. */
function daysOf(pairs: readonly Pair[], enterAt = 40, leaveAt = 48) {
  return pairs.map(([entries, exits], day) => {
    const [entered, exited] = [inQuarter(enterAt, entries), inQuarter(leaveAt, exits)];
    return dayOf({ weekday: day % 7, entered, exited });
  });
}

function repeat(days: number, pair: Pair = [100, 90]): Pair[] {
  return Array.from({ length: days }, () => pair);
}

const QUIET: Pair = [0, 0];
const GOOD: Pair = [1000, 990];
const DEAD: Pair = [1000, 100];

test('a day is usable from 40 counts on', () => {
  expect(learnDoors(daysOf(repeat(3, [20, 19])), 0).learnedLogRatio).toBeUndefined();
  expect(learnDoors(daysOf(repeat(3, [20, 20])), 0).learnedLogRatio).toBe(0);
});

test('a 25th hour is added to the last quarter-hour', () => {
  const day = dayOf({ entered: Array<number>(100).fill(1), exited: [] });
  const quarters = sumQuarters(day, 0);
  expect([quarters[94], quarters[95]]).toEqual([1, 5]);
});

test('days that differ too much are told by how long ago they were', () => {
  const pairs = repeat(28, GOOD).map((good, day) => ([20, 22, 27].includes(day) ? DEAD : good));
  expect(learnDoors(daysOf(pairs), 0).rejectedDays).toEqual([8, 6, 1]);
});

test('the ratio is told for each day after a usable one, from the third on', () => {
  const { ratios, learnedLogRatio = NaN } = learnDoors(
    daysOf([...repeat(3, [120, 100]), QUIET, ...repeat(2, [120, 100])]),
    0,
  );
  expect(ratios.map(({ daysAgo }) => daysAgo)).toEqual([3, 1, 0]);
  expect(ratios.at(-1)?.value).toBe(Math.exp(learnedLogRatio));
  expect(ratios.at(-1)?.stddev).toBeLessThan(ratios[0]?.stddev ?? 0);
});

describe('a lasting loss', () => {
  /** Whether each of successive days has the loss. */
  test.each([
    ['of five days, the last ones six after the first', 'LGGLLLL', 0],
    ['of five days, the first one seven before the others', 'LGGGGGGLLLL', 5],
    ['of a day, and bias of four', 'SSLSS', 1],
  ])('%s', (_, lossy, rejectedDays) => {
    const pairs = { L: [1000, 771], G: GOOD, S: [1000, 787] } as const;
    const history = Array.from(lossy, (day) => pairs[day as keyof typeof pairs]);
    const days = daysOf([...repeat(8, GOOD), ...history, ...repeat(8, GOOD)]);
    expect(learnDoors(days, 0).rejectedDays).toHaveLength(rejectedDays);
  });
});

describe('a building is empty at night', () => {
  /** 100 people by day, and so many at the end of it. */
  test.each<[string, readonly number[], boolean]>([
    ['on at least four of five nights', [0, 0, 0, 0, 9], true],
    ['not on three of five', [0, 0, 0, 9, 9], false],
    ['with a single count', [1, 1, 1], true],
    ['not with two', [2, 2, 2], false],
    ['while two nights are known', [9, 9], true],
    ['whatever the days without counts', [...Array<number>(20).fill(-1), 9, 9, 9], false],
  ])('%s', (_, nights, expected) => {
    const days = nights.map((night) => {
      const people = inQuarter(40, night < 0 ? 0 : 100);
      return dayOf({ entered: people.with(95, Math.max(0, night)), exited: people });
    });
    expect(learnDoors(days, 0).emptiesAtNight).toBe(expected);
  });
});

describe('the ratio', () => {
  test.each([
    [2, 4, true],
    [2, 5, false],
  ])('is exact if entries equal exits on %i of %i days: %s', (exact, days, isExact) => {
    const pairs = [...repeat(exact, [100, 100]), ...repeat(days - exact)];
    expect(learnDoors(daysOf(pairs), 0).countVariance === 0).toBe(isExact);
  });

  test('is the same whatever the number of quiet days before the first one', () => {
    const [days, later] = [daysOf(repeat(5)), daysOf([...repeat(9, QUIET), ...repeat(5)])];
    expect(learnDoors(later, 0)).toEqual(learnDoors(days, 0));
  });

  test('is uncertain by the difference of a last day that is an outlier', () => {
    const model = learnDoors(daysOf([...repeat(20, [1000, 980]), [1000, 1150]]), 0);
    expect(model.learnedLogRatio).toBeCloseTo(0.02, 3);
    // Not moved towards 0.
    expect(model.logRatio).toBe(model.learnedLogRatio);
    expect(model.logRatioVariance).toBeCloseTo((Math.log(1.15) + 0.02) ** 2, 3);
  });

  test('has a count variance in which a jump is limited', () => {
    const days = daysOf([1000, 990, 970, 930, 1130].map((exits) => [1000, exits]));
    // Successive differences, weighted, have squares of 0.05, 0.21, 0.86 and 19.2.
    expect(learnDoors(days, 0).countVariance).toBeCloseTo(1.5027174905284801, 9);
    expect(learnDoors(days.slice(1), 0).countVariance).toBeCloseTo(2.6393140286336645, 9);
  });
});

describe('departures', () => {
  test.each([
    [11, false],
    [12, true],
  ])('of %i days are learned: %s', (days, isLearned) => {
    expect(learnDoors(daysOf(repeat(days)), 0).departures !== undefined).toBe(isLearned);
  });

  /** Nobody is counted after quarter-hour 48: there people leave soon, where this is known. */
  test.each([
    ['two days', 4, true],
    ['one day', 5, false],
  ])('end if %s of the weekday are known', (_, weekday, isQuiet) => {
    const { departures } = learnDoors(daysOf(repeat(12)), weekday);
    expect((departures?.leaveProbability[49] ?? NaN) > 0.1).toBe(isQuiet);
  });

  test('of a quarter-hour with half a count are not quiet', () => {
    const exited = inQuarter(48, 90).with(80, 1);
    const day = dayOf({ weekday: 0, entered: inQuarter(40, 100), exited });
    const { leaveProbability = [] } =
      learnDoors(daysOf(repeat(14)).with(0, day), 0).departures ?? {};
    expect((leaveProbability[80] ?? NaN) > 0.1).toBe(false);
    expect((leaveProbability[81] ?? NaN) > 0.1).toBe(true);
  });

  test('within the quarter-hour of the entries say nothing about how they vary', () => {
    const { departures } = learnDoors(daysOf(repeat(12), 40, 40), 6);
    expect(departures).toMatchObject({ dispersion: 10 });
  });
});
