/** The golden vectors come from an independent reference implementation of the method. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  HISTORY_DAYS,
  learnDoors,
  QUARTERS_PER_DAY,
} from '../../../src/counting/occupancy/door-model.ts';
import type { DoorModel } from '../../../src/counting/occupancy/door-model.ts';
import {
  continueEstimate,
  estimateFrom,
  START_OF_DAY,
  UNKNOWN_HOURS,
} from '../../../src/counting/occupancy/estimate.ts';
import type { EstimateState } from '../../../src/counting/occupancy/estimate.ts';
import { nextOccupancy } from '../../../src/counting/occupancy/occupancy.ts';
import type { DayCounts } from '../../../src/counting/rows/day-counts.ts';
import { dayOf, minutesOf } from '../../support/day-counts.ts';
import type { Day } from '../../support/day-counts.ts';
import golden from './testdata/occupancy-golden.json' with { type: 'json' };

const FAULTS = [undefined, 'exits_missing', 'entries_missing', 'silent'];
const DIGITS = 9;

function stateAt(
  model: DoorModel,
  counts: DayCounts,
  endMinute: number,
  closingMinute = Infinity,
  openingMinute = 0,
): EstimateState {
  return continueEstimate(model, START_OF_DAY, counts, endMinute, { openingMinute, closingMinute });
}

describe.each(golden)('$name', ({ weekday, history, minutes, expected }) => {
  const days = history.map((day) =>
    dayOf({ weekday: day.weekday, entered: day.in, exited: day.out }),
  );

  test('learns the doors as the reference does', () => {
    const model = learnDoors(days, weekday);
    expect(model.logRatio).toBeCloseTo(expected.rho, DIGITS);
    expect(model.logRatioVariance).toBeCloseTo(expected.P, DIGITS);
    expect(model.countVariance).toBeCloseTo(expected.kappa, DIGITS);
    expect(model.departures?.dispersion ?? 0).toBeCloseTo(expected.phi ?? 0, DIGITS);
    expect(model.departures?.modelError ?? 0).toBeCloseTo(expected.modelCv ?? 0, DIGITS);
    expect(model.countVariance === 0).toBe(expected.exact);
    expect(model).toMatchObject({
      emptiesAtNight: expected.empties,
      usableDays: expected.days,
      rejectedDays: expected.deadDays,
    });
  });

  test('estimates as the reference does', () => {
    const model = learnDoors(days, weekday);
    const counts = minutesOf(minutes.in, minutes.out);
    for (const { minute, estimate, stddev, lower, upper, suspect } of expected.at) {
      const state = stateAt(model, counts, minute + 1);
      expect(state.fault).toBe(FAULTS[suspect]);
      expect(state.people).toBeCloseTo(estimate, DIGITS);
      expect(Math.sqrt(state.variance)).toBeCloseTo(stddev, DIGITS);
      const stated = estimateFrom(model, { ...state, fault: undefined });
      expect(stated?.lower).toBeCloseTo(lower, DIGITS);
      expect(stated?.upper).toBeCloseTo(upper, DIGITS);
    }
  });
});

const count = fc.integer({ min: 0, max: 40 });
const quarters = fc.array(count, { minLength: QUARTERS_PER_DAY, maxLength: QUARTERS_PER_DAY });
const anyDay = fc
  .record({ weekday: fc.integer({ min: 0, max: 6 }), entered: quarters, exited: quarters })
  .map((day) => dayOf(day));
const anyHistory = fc.array(anyDay, { maxLength: HISTORY_DAYS, size: 'max' });
const anyMinutes = fc
  .array(fc.tuple(count, count), { minLength: 1, maxLength: 1500, size: 'max' })
  .map((rows) => ({
    length: rows.length,
    entered: rows.map(([entered]) => entered),
    exited: rows.map(([, exited]) => exited),
  }));

test('is never NaN or negative, and lies inside its interval', () => {
  fc.assert(
    fc.property(anyHistory, anyMinutes, (history, { length, entered, exited }) => {
      const model = learnDoors(history, 3);
      const minutes = minutesOf(entered, exited);
      for (let end = 60; end <= length; end += 60) {
        const stated = estimateFrom(model, { ...stateAt(model, minutes, end), fault: undefined });
        expect(stated?.lower).toBeGreaterThanOrEqual(0);
        expect(stated?.people).toBeGreaterThanOrEqual(stated?.lower ?? NaN);
        expect(stated?.upper).toBeGreaterThanOrEqual(stated?.people ?? NaN);
      }
    }),
    { numRuns: 40 },
  );
});

test('is the same whether continued in steps or computed at once, whatever comes later', () => {
  const split = fc.integer({ min: 0, max: 1500 });
  fc.assert(
    fc.property(anyHistory, anyMinutes, split, (history, { length, entered, exited }, n) => {
      const model = learnDoors(history, 3);
      const minutes = minutesOf(entered, exited);
      const end = Math.min(n, length);
      const first = stateAt(model, minutes, end, 1200);
      const soFar = minutesOf(entered.slice(0, end), exited.slice(0, end));
      expect(stateAt(model, soFar, end, 1200)).toEqual(first);
      const hours = { openingMinute: 0, closingMinute: 1200 };
      expect(continueEstimate(model, first, minutes, length, hours)).toEqual(
        stateAt(model, minutes, length, 1200),
      );
    }),
    { numRuns: 40 },
  );
});

/** A library from 09:00 to 17:00, whose people stay for an hour. */
const MONTH = Array.from({ length: HISTORY_DAYS }, (_, day): Day => {
  const entered = Array.from({ length: QUARTERS_PER_DAY }, (__, quarter) =>
    quarter >= 20 && quarter < 52 ? 100 + 10 * (day % 3) : 0,
  );
  return { weekday: day % 7, entered, exited: entered.map((_count, i) => entered[i - 4] ?? 0) };
});

test('exact doors give the raw occupancy with an interval of width 0, whatever is counted', () => {
  const model = learnDoors(
    MONTH.map((day) => dayOf(day)),
    3,
  );
  fc.assert(
    fc.property(anyMinutes, ({ entered, exited }) => {
      const minutes = minutesOf(entered, exited);
      let raw = 0;
      let state = START_OF_DAY;
      for (const [minute, entries] of entered.entries()) {
        raw = nextOccupancy(raw, entries, exited[minute] ?? 0);
        state = continueEstimate(model, state, minutes, minute + 1, UNKNOWN_HOURS);
        expect(estimateFrom(model, state)).toEqual({ people: raw, lower: raw, upper: raw });
      }
    }),
    { numRuns: 20 },
  );
});

/**
 * 7 people enter each minute from minute 300 to 780, and leave an hour later. These shares of them are
 * counted from `fromMinute` until `endMinute`.
 */
function todayWith(enteredShare = 1, exitedShare = 1, fromMinute = 401, endMinute = Infinity) {
  function counted(count: number, share: number, begins: number, ends: number): number[] {
    return Array.from({ length: 900 }, (_, minute) => {
      const isChanged = minute >= fromMinute && minute < endMinute;
      return minute >= begins && minute < ends ? count * (isChanged ? share : 1) : 0;
    });
  }
  return minutesOf(counted(7, enteredShare, 300, 780), counted(6.3, exitedShare, 360, 840));
}

/** Learns from the month, of which these shares of exits were counted. */
function modelOfMonth(exitedShare: (day: number) => number): DoorModel {
  return learnDoors(
    MONTH.map((day, i) =>
      dayOf({ ...day, exited: day.exited.map((exits) => exits * exitedShare(i)) }),
    ),
    3,
  );
}

describe('doors that miss a tenth of the exits', () => {
  function learn(): DoorModel {
    return modelOfMonth(() => 0.9);
  }

  /** Minutes of a day that closes at one of them, and the faults at these minutes. */
  test.each([
    ['are corrected', todayWith(), Infinity, '700'],
    [
      'have no entries for the rest of the day',
      todayWith(0, 1),
      Infinity,
      '700 900 entries_missing',
    ],
    ['are silent in a busy hour', todayWith(0, 0, 400, 450), Infinity, '440 silent'],
    ['are not silent once they count again', todayWith(0, 0, 400, 450), Infinity, '452'],
    [
      'are silent if they have counted nobody since the night',
      todayWith(0, 0, 0),
      Infinity,
      '306 silent',
    ],
    ['are not silent before anybody usually comes', todayWith(0, 0, 0), Infinity, '300'],
    ['are not silent on a closed day', todayWith(0, 0, 0), 0, '304 700'],
    ['are not silent after closing', todayWith(0, 0, 400), 400, '440'],
    ['are silent after closing if they were before', todayWith(0, 0, 400), 440, '440 484 silent'],
    ['are not silent in an empty building', todayWith(0, 0, 400), 440, '486'],
    ['have no exits', todayWith(1, 0, 401, 500), Infinity, '500 exits_missing'],
    ['have exits again', todayWith(1, 0, 401, 500), Infinity, '700'],
  ])('%s', (_, counts, closingMinute, expected) => {
    const model = learn();
    const minutes = expected.match(/\d+/g) ?? [];
    const states = minutes.map((minute) => stateAt(model, counts, Number(minute), closingMinute));
    const [fault] = /[a-z_]+/.exec(expected) ?? [];
    expect(states.map((state) => state.fault)).toEqual(minutes.map(() => fault));
    const estimates = states.map((state) => estimateFrom(model, state) !== undefined);
    expect(estimates).toEqual(minutes.map(() => fault === undefined || fault === 'exits_missing'));
  });

  test.each([
    ['that they have counted', todayWith(), 700, Infinity, 420],
    ['nobody 45 minutes after closing', todayWith(0, 0, 600), 646, 600, 0],
  ])('have inside the people %s', (_, counts, minute, closingMinute, people) => {
    const model = learn();
    const state = stateAt(model, counts, minute, closingMinute);
    expect(estimateFrom(model, state)?.people).toBeCloseTo(people, -1.5);
  });

  test('are silent from the opening on, whoever usually comes before', () => {
    const model = learn();
    const faults = [359, 364].map(
      (minute) => stateAt(model, todayWith(0, 0, 0), minute, Infinity, 360).fault,
    );
    expect(faults).toEqual([undefined, 'silent']);
  });

  test.each([
    ['a day that is configured as closed', 0],
    ['an evening after closing', 200],
  ])('count those who come on %s', (_, closingMinute) => {
    const model = learn();
    // 40 enter, then 10 leave; then nobody passes for more than an hour.
    const minutes = Array.from({ length: 900 }, (__, minute) => minute);
    const counts = minutesOf(
      minutes.map((minute) => Number(minute >= 420 && minute < 460)),
      minutes.map((minute) => Number(minute >= 500 && minute < 510)),
    );
    const estimate = estimateFrom(model, stateAt(model, counts, 600, closingMinute));
    expect(estimate?.people).toBeCloseTo(40 - 10 / 0.9, 0);
    expect(estimate?.upper).toBeGreaterThan(estimate?.people ?? NaN);
  });

  test('are not corrected by exits while less than half of the usual entries come', () => {
    const model = learn();
    const counts = todayWith(0.4, 0.4);
    const [before, after] = [450, 600].map((minute) => stateAt(model, counts, minute).people);
    expect(after).toBeCloseTo(before ?? NaN, 0);
  });
});

describe('doors whose counts differ from day to day', () => {
  test.each([
    [1, 0.3, 'exits_missing', 800],
    [1, 0.5, undefined, 800],
    [0.6, 0.1, undefined, 800],
    [1, 1.5, undefined, 650],
    [1, 4, 'entries_missing', 435],
  ])(
    'with %d of the usual entries and %d of the usual exits have the fault %s at minute %i',
    (enteredShare, exitedShare, fault, minute) => {
      const model = modelOfMonth((day) => 0.8 + 0.03 * (day ** 2 % 7));
      expect(stateAt(model, todayWith(enteredShare, exitedShare), minute).fault).toBe(fault);
    },
  );
});

describe('doors that lose a part of one direction', () => {
  /** The shares of exits that are counted on the newest busy days, oldest first; before, all are. */
  function modelOf(...shares: readonly number[]): DoorModel {
    const days = MONTH.map((day, i) => {
      const share = shares[i - (HISTORY_DAYS - shares.length)] ?? 1;
      // Not exactly as many every day.
      const exited = day.exited.map((exits) => Math.round(exits * share * (0.97 + 0.01 * (i % 4))));
      return dayOf({ ...day, exited });
    });
    return learnDoors(days, 3);
  }

  test.each<[string, readonly number[], number, number, boolean]>([
    ['on two days are faulty', [0.6, 0.6], 1, 2, false],
    ['on three days are unbalanced', [0.6, 0.6, 0.6], 1, 3, true],
    ['on four days are unbalanced', [0.6, 0.6, 0.6, 0.6], 1, 4, true],
    ['on five days have another ratio', [0.6, 0.6, 0.6, 0.6, 0.6], 0.6, 0, false],
    ['on five days, differently, are unbalanced', [0.5, 0.72, 0.5, 0.72, 0.5], 1, 5, true],
    ['that is more than half of it are unbalanced', Array(28).fill(0.4), 1, 28, true],
    ['that is all of it are unbalanced', Array(28).fill(0), 1, 28, true],
    ['until three days ago have the old ratio', [...Array(9).fill(0.6), 1, 1, 1], 1, 0, false],
    [
      'until five days ago, for three days, are not unbalanced now',
      [0.6, 0.6, 0.6, 1, 1, 1, 1, 1],
      1,
      3,
      false,
    ],
  ])('%s', (_, shares, share, rejectedDays, isUnbalanced) => {
    const model = modelOf(...shares);
    expect(model).toMatchObject({ rejectedDays, isUnbalanced });
    expect(Math.exp(-(model.learnedLogRatio ?? 0))).toBeCloseTo(share * 0.985, 1.5);
  });
});
