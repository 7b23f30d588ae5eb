/** A single minute, estimated from a given state by doors of round numbers. */
import { describe, expect, test } from 'vitest';
import { QUARTERS_PER_DAY } from '../../../src/counting/occupancy/door-model.ts';
import type { DeparturePattern, DoorModel } from '../../../src/counting/occupancy/door-model.ts';
import {
  continueEstimate,
  START_OF_DAY,
  UNKNOWN_HOURS,
} from '../../../src/counting/occupancy/estimate.ts';
import type { DayHours, EstimateState } from '../../../src/counting/occupancy/estimate.ts';
import { minutesOf } from '../../support/day-counts.ts';

const MINUTE = 600;

function constant(value: number): Float64Array {
  return new Float64Array(QUARTERS_PER_DAY).fill(value);
}

interface Given {
  readonly counts?: readonly [entries: number, exits: number];
  readonly hours?: Partial<DayHours>;
  readonly logRatioVariance?: number;
  readonly departures?: Partial<DeparturePattern>;
}

/** Returns the state after one more minute. One person is usually counted in each minute before 20:00. */
function afterMinute(before: Partial<EstimateState>, given: Given = {}): EstimateState {
  const state = { ...START_OF_DAY, minutes: MINUTE, ...before };
  const model: DoorModel = {
    logRatio: 0,
    learnedLogRatio: 0,
    logRatioVariance: given.logRatioVariance ?? 0,
    countVariance: 0.1,
    emptiesAtNight: true,
    usableDays: 28,
    rejectedDays: 0,
    isUnbalanced: false,
    departures: {
      leaveProbability: constant(0.02),
      quietFromQuarter: 80,
      dispersion: 1,
      modelError: 0.1,
      usualCounts: constant(15),
      usualEntries: constant(0),
      ...given.departures,
    },
  };
  const [entries, exits] = given.counts ?? [0, 0];
  const counted = { ...minutesOf([entries], [exits]), first: state.minutes };
  const hours = { ...UNKNOWN_HOURS, ...given.hours };
  return continueEstimate(model, state, counted, state.minutes + 1, hours);
}

/** Reopened: exits do not change what is expected of them. */
const EXITS_FEW = {
  isReopened: true,
  balance: 51,
  modelPeople: 20,
  expectedExits: 25,
  recentExits: 9,
} as const;
const ENTRIES_FEW = {
  isReopened: true,
  balance: -13,
  balanceVariance: 4,
  modelPeople: 20,
  expectedExits: 25,
  recentExits: 63,
} as const;

describe('a direction', () => {
  test.each<[string, Partial<EstimateState>, string | undefined]>([
    ['misses exits', EXITS_FEW, 'exits_missing'],
    ['that should have had 24 exits is not known', { ...EXITS_FEW, expectedExits: 24 }, undefined],
    ['with four tenths of its exits is alive', { ...EXITS_FEW, recentExits: 10 }, undefined],
    ['within 5 standard deviations and 5 people', { ...EXITS_FEW, balance: 50 }, undefined],
    ['whose entries are few, too', { ...EXITS_FEW, usualRecentEntries: 1 }, undefined],
    [
      'misses exits while seven tenths of its entries come',
      { ...EXITS_FEW, recentEntries: 7, usualRecentEntries: 10 },
      'exits_missing',
    ],
    ['with few exits, but fewer people than usual', { ...ENTRIES_FEW, recentExits: 9 }, undefined],
    ['misses entries', ENTRIES_FEW, 'entries_missing'],
    [
      'with two and a half times its exits is alive',
      { ...ENTRIES_FEW, recentExits: 62.5 },
      undefined,
    ],
    ['with many exits, but more people than usual', { ...EXITS_FEW, recentExits: 63 }, undefined],
    ['that leaves 5 people too few', { balance: -5 }, undefined],
    ['that leaves more than 5 people too few', { balance: -5.1 }, 'entries_missing'],
    ['keeps another fault', { ...EXITS_FEW, fault: 'entries_missing' }, 'entries_missing'],
    [
      'with six tenths of its exits is not repaired',
      { ...EXITS_FEW, fault: 'exits_missing', recentExits: 15 },
      'exits_missing',
    ],
    [
      'with more than six tenths of its exits is repaired',
      { ...EXITS_FEW, fault: 'exits_missing', recentExits: 15.1 },
      undefined,
    ],
  ])('%s', (_, state, fault) => {
    expect(afterMinute(state).fault).toBe(fault);
  });

  test('may differ by the error of the ratio, too', () => {
    // A variance of 25 of the model, and one of 24.
    const state = { ...EXITS_FEW, balance: 50, exits: 100 };
    expect(afterMinute(state, { logRatioVariance: 0.0024 }).fault).toBeUndefined();
  });

  test('that is repaired goes on with the people of the model', () => {
    const state = {
      ...EXITS_FEW,
      isReopened: false,
      fault: 'exits_missing',
      recentExits: 30,
    } as const;
    const after = afterMinute({ ...state, people: 20, variance: 30 });
    expect(after).toMatchObject({ fault: undefined, people: 20 });
  });
});

describe('silence', () => {
  test.each<[string, Partial<EstimateState>, Given, number]>([
    ['is measured by the usual counts', {}, {}, 6],
    ['ends at a count', {}, { counts: [1, 0] }, 0],
    ['is measured until it is usually quiet', { minutes: 1199 }, {}, 6],
    ['is not measured once it is usually quiet', { minutes: 1200 }, {}, 0],
    ['is not measured before the opening', {}, { hours: { openingMinute: MINUTE + 1 } }, 5],
    ['is measured from the opening on', {}, { hours: { openingMinute: MINUTE } }, 6],
    ['is measured until the closing', {}, { hours: { closingMinute: MINUTE + 1 } }, 6],
    ['is not measured from the closing on', {}, { hours: { closingMinute: MINUTE } }, 5],
    [
      'in a 25th hour is measured by the last quarter-hour',
      { minutes: 1461 },
      { departures: { quietFromQuarter: QUARTERS_PER_DAY } },
      6,
    ],
  ])('%s', (_, state, given, missedCounts) => {
    const before = { missedCounts: 5, ...state };
    expect(afterMinute(before, given).missedCounts).toBe(missedCounts);
  });

  test.each([
    [28, undefined, undefined],
    [29, undefined, 'silent'],
    [29, 'exits_missing', 'exits_missing'],
  ] as const)('of %i missed counts and one more, the fault %s: %s', (missed, before, fault) => {
    expect(afterMinute({ missedCounts: missed, fault: before }).fault).toBe(fault);
  });

  test.each([
    [5, 50],
    [6, 80],
  ])(
    'from the seventh missed count on, the people after the last count are inside',
    (missed, people) => {
      const last = { people: 80, variance: 1, modelPeople: 80, recentExits: 0, expectedExits: 0 };
      const state = { people: 50, variance: 0, missedCounts: missed, afterLastCount: last };
      expect(afterMinute(state).people).toBeCloseTo(people, 9);
    },
  );

  test.each([
    ['until the first count of a late day, nobody is inside', undefined, 0],
    ['after silent doors, anybody may be inside', 'silent', 50],
  ] as const)('%s', (_, fault, variance) => {
    const noExits = { leaveProbability: constant(0) };
    const before = { fault, variance: 50, missedCounts: 31 };
    const after = afterMinute(before, { counts: [1, 0], departures: noExits });
    expect(after.variance).toBeCloseTo(variance, 0);
  });
});

describe('exits', () => {
  /** 100 people, of whom two usually leave in a minute; 180 usually enter in a quarter-hour. */
  test.each([
    ['correct the people inside', 0, 179, 98],
    ['do not while fewer than half of twelve usual entries come', 0, 180, 100],
    ['do not while fewer than half of the usual entries come', 5.9, 180, 100],
    ['correct them while half of the usual entries come', 6, 180, 104 - 0.06],
  ])('%s', (_, entries, usually, modelPeople) => {
    const after = afterMinute(
      { people: 100, variance: 10, modelPeople: 100 },
      { counts: [entries, 0], departures: { usualEntries: constant(usually) } },
    );
    expect(after.modelPeople).toBeCloseTo(modelPeople, 9);
  });
});
