/** The golden vectors come from an independent reference implementation of the method. */
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { HISTORY_DAYS, learnDoors, QUARTERS_PER_DAY } from '../../src/counting/door-model.ts';
import type { CountedDay, DoorModel } from '../../src/counting/door-model.ts';
import { continueEstimate, estimateFrom, START_OF_DAY } from '../../src/counting/estimate.ts';
import type { EstimateState, MinuteCounts } from '../../src/counting/estimate.ts';
import { nextOccupancy } from '../../src/counting/occupancy.ts';

interface GoldenCase {
  readonly name: string;
  readonly weekday: number;
  readonly history: readonly {
    readonly weekday: number;
    readonly in: readonly number[];
    readonly out: readonly number[];
  }[];
  readonly minutes: { readonly in: readonly number[]; readonly out: readonly number[] };
  readonly expected: {
    readonly rho: number;
    readonly P: number;
    readonly kappa: number;
    readonly exact: boolean;
    readonly empties: boolean;
    readonly days: number;
    readonly deadDays: number;
    readonly phi: number | null;
    readonly modelCv: number | null;
    readonly at: readonly {
      readonly minute: number;
      readonly estimate: number;
      readonly stddev: number;
      readonly lower: number;
      readonly upper: number;
      readonly suspect: number;
    }[];
  };
}

const GOLDEN: readonly GoldenCase[] = JSON.parse(
  readFileSync(new URL('testdata/occupancy-golden.json', import.meta.url), 'utf8'),
);
const FAULTS = [undefined, 'exits_missing', 'entries_missing', 'silent'];
const DIGITS = 9;

function minutesOf(entered: readonly number[], exited: readonly number[]): MinuteCounts[] {
  return entered
    .map((count, minute) => ({ minute, entered: count, exited: exited[minute] ?? 0 }))
    .filter((row) => row.entered + row.exited > 0);
}

function walk(
  model: DoorModel,
  counts: readonly MinuteCounts[],
  endMinute: number,
  emptyFromMinute = Infinity,
): EstimateState {
  return continueEstimate(model, START_OF_DAY, counts, endMinute, emptyFromMinute);
}

describe.each(GOLDEN)('$name', ({ weekday, history, minutes, expected }) => {
  const days = history.map((day) => ({ weekday: day.weekday, entered: day.in, exited: day.out }));
  const model = learnDoors(days, weekday);

  test('learns the doors as the reference does', () => {
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
    const counts = minutesOf(minutes.in, minutes.out);
    for (const { minute, estimate, stddev, lower, upper, suspect } of expected.at) {
      const state = walk(model, counts, minute + 1);
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
const anyDay: fc.Arbitrary<CountedDay> = fc.record({
  weekday: fc.integer({ min: 0, max: 6 }),
  entered: quarters,
  exited: quarters,
});
const anyHistory = fc.array(anyDay, { maxLength: HISTORY_DAYS, size: 'max' });
const anyMinutes = fc
  .array(fc.tuple(count, count), { minLength: 1, maxLength: 1500, size: 'max' })
  .map((rows) => rows.map(([entered, exited], minute) => ({ minute, entered, exited })));

test('is never NaN or negative, and lies inside its interval', () => {
  fc.assert(
    fc.property(anyHistory, anyMinutes, (history, minutes) => {
      const model = learnDoors(history, 3);
      for (let end = 60; end <= minutes.length; end += 60) {
        const stated = estimateFrom(model, { ...walk(model, minutes, end), fault: undefined });
        expect(stated?.lower).toBeGreaterThanOrEqual(0);
        expect(stated?.people).toBeGreaterThanOrEqual(stated?.lower ?? NaN);
        expect(stated?.upper).toBeGreaterThanOrEqual(stated?.people ?? NaN);
      }
    }),
    { numRuns: 40 },
  );
});

test('is the same whether continued in steps or computed from the start of the day', () => {
  fc.assert(
    fc.property(
      anyHistory,
      anyMinutes,
      fc.integer({ min: 0, max: 1500 }),
      (history, minutes, n) => {
        const model = learnDoors(history, 3);
        const split = Math.min(n, minutes.length);
        const first = walk(model, minutes, split, 1200);
        expect(continueEstimate(model, first, minutes, minutes.length, 1200)).toEqual(
          walk(model, minutes, minutes.length, 1200),
        );
      },
    ),
    { numRuns: 40 },
  );
});

test('does not change an earlier minute by a later one', () => {
  fc.assert(
    fc.property(
      anyHistory,
      anyMinutes,
      fc.integer({ min: 0, max: 1500 }),
      (history, minutes, n) => {
        const model = learnDoors(history, 3);
        const end = Math.min(n, minutes.length);
        expect(walk(model, minutes.slice(0, end), end)).toEqual(walk(model, minutes, end));
      },
    ),
    { numRuns: 40 },
  );
});

/** A day with `visits` people from 09:00 to 17:00 who stay for an hour; a door counts only a share. */
function openDay(weekday: number, visits: number, exitShare = 1): CountedDay {
  const entered = Array.from({ length: QUARTERS_PER_DAY }, (_, quarter) =>
    quarter >= 20 && quarter < 52 ? visits / 32 : 0,
  );
  const exited = entered.map((_, quarter) => (entered[quarter - 4] ?? 0) * exitShare);
  return { weekday, entered, exited };
}

function month(exitShare: number): CountedDay[] {
  return Array.from({ length: HISTORY_DAYS }, (_, day) =>
    openDay(day % 7, 3200 + 320 * (day % 3), exitShare),
  );
}

/** Today by the minute: 7 people enter each minute from minute 300 to 780, and leave an hour later. */
function today(exits: (count: number, minute: number) => number): MinuteCounts[] {
  return Array.from({ length: 900 }, (_, minute) => ({
    minute,
    entered: minute >= 300 && minute < 780 ? 7 : 0,
    exited: exits(minute >= 360 && minute < 840 ? 7 : 0, minute),
  }));
}

describe('by what was learned', () => {
  test('exact doors give the raw occupancy with an interval of width 0, whatever is counted', () => {
    const model = learnDoors(month(1), 3);
    fc.assert(
      fc.property(anyMinutes, (minutes) => {
        let raw = 0;
        let state = START_OF_DAY;
        for (const row of minutes) {
          raw = nextOccupancy(raw, row.entered, row.exited);
          state = continueEstimate(model, state, [row], row.minute + 1, Infinity);
          expect(estimateFrom(model, state)).toEqual({ people: raw, lower: raw, upper: raw });
        }
      }),
      { numRuns: 20 },
    );
  });

  test('a new library gives the raw occupancy with a wide interval', () => {
    const model = learnDoors([], 3);
    const stated = estimateFrom(
      model,
      walk(
        model,
        today((exits) => exits),
        500,
      ),
    );
    expect(stated?.people).toBe(420);
    expect(stated?.lower).toBeLessThan(420 * 0.95);
    expect(stated?.upper).toBeGreaterThan(420 * 1.05);
    expect(model.learnedLogRatio).toBeUndefined();
  });

  test('doors that miss a tenth of the exits do not fill the building', () => {
    const model = learnDoors(month(0.9), 3);
    expect(Math.exp(model.learnedLogRatio ?? NaN)).toBeCloseTo(1 / 0.9, 2);
    const state = walk(
      model,
      today((exits) => exits * 0.9),
      780,
    );
    expect(state.balance).toBeCloseTo(420, -1.5);
    expect(estimateFrom(model, state)?.people).toBeCloseTo(420, -1.5);
  });

  test('the ratio does not depend on the size of the library', () => {
    const doubled = month(0.9).map(({ weekday, entered, exited }) => ({
      weekday,
      entered: entered.map((n) => n * 2),
      exited: exited.map((n) => n * 2),
    }));
    expect(learnDoors(doubled, 3).learnedLogRatio).toBeCloseTo(
      learnDoors(month(0.9), 3).learnedLogRatio ?? NaN,
      3,
    );
  });

  test('a day with a dead direction is rejected and teaches nothing', () => {
    const days = month(0.95);
    const model = learnDoors([...days.slice(0, -1), openDay(6, 3200, 0)], 3);
    expect(model).toMatchObject({ rejectedDays: 1, usableDays: HISTORY_DAYS - 1 });
    expect(model.logRatio).toBeCloseTo(learnDoors(days, 3).logRatio, 3);
  });

  test('a building with people around the day’s start is not estimable', () => {
    const always = month(0.95).map((day) => ({ ...day, exited: day.exited.with(94, 9) }));
    expect(learnDoors(always, 3).emptiesAtNight).toBe(false);
    expect(learnDoors(month(0.95), 3).emptiesAtNight).toBe(true);
  });
});

describe('by what is counted today', () => {
  const model = learnDoors(month(0.95), 3);

  test('dead exits are suspected, and the estimate follows the entries', () => {
    const state = walk(
      model,
      today((exits, minute) => (minute < 420 ? exits : 0)),
      780,
    );
    expect(state.fault).toBe('exits_missing');
    const stated = estimateFrom(model, state);
    expect(stated?.people).toBeGreaterThan(300);
    expect(stated?.people).toBeLessThan(600);
  });

  test('dead entries end the estimate for the day', () => {
    const counts = today((exits) => exits).map((row) =>
      row.minute > 400 ? { ...row, entered: 0 } : row,
    );
    const state = walk(model, counts, 700);
    expect(state.fault).toBe('entries_missing');
    expect(estimateFrom(model, state)).toBeUndefined();
    expect(walk(model, counts, 900).fault).toBe('entries_missing');
  });

  test('silence in a busy hour ends the estimate until something is counted', () => {
    const counts = today((exits) => exits).filter(({ minute }) => minute < 400 || minute >= 450);
    expect(estimateFrom(model, walk(model, counts, 440))).toBeUndefined();
    expect(walk(model, counts, 440).fault).toBe('silent');
    expect(walk(model, counts, 452).fault).toBeUndefined();
    expect(estimateFrom(model, walk(model, counts, 452))).toBeDefined();
  });

  test('nobody is inside after closing', () => {
    const counts = today((exits) => exits * 0.9).filter(({ minute }) => minute < 600);
    expect(estimateFrom(model, walk(model, counts, 646, 645))?.people).toBe(0);
  });
});
