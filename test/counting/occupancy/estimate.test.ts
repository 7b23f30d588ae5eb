/** The golden vectors come from an independent reference implementation of the method. */
import { describe, expect, test } from 'vitest';
import { DAY_MS, MINUTE_MS } from '../../../src/base/duration.ts';
import type { Span } from '../../../src/counting/calendar/calendar.ts';
import {
  HISTORY_DAYS,
  learnDoors,
  QUARTERS_PER_DAY,
} from '../../../src/counting/occupancy/door-model.ts';
import type { DoorModel } from '../../../src/counting/occupancy/door-model.ts';
import { estimateInside } from '../../../src/counting/occupancy/estimate.ts';
import type { Estimate } from '../../../src/counting/occupancy/estimate.ts';
import type { DayCounts } from '../../../src/counting/rows/day-counts.ts';
import { dayOf, minutesOf } from '../../support/day-counts.ts';
import type { Day } from '../../support/day-counts.ts';
import golden from './testdata/occupancy-golden.json' with { type: 'json' };

const DIGITS = 9;
const UNKNOWN_HOURS: readonly Span[] = [{ startMs: 0, endMs: DAY_MS }];

function estimateAt(
  model: DoorModel,
  counts: DayCounts,
  endMinute: number,
  openSpans = UNKNOWN_HOURS,
): Estimate {
  return estimateInside(model, counts, endMinute * MINUTE_MS, openSpans);
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
    expect(model.countVariance === 0).toBe(expected.exact);
    expect(model.emptiesAtNight).toBe(expected.empties);
    expect(model.rejectedDays).toHaveLength(expected.deadDays);
  });

  test('estimates as the reference does', () => {
    const model = learnDoors(days, weekday);
    const counts = minutesOf(minutes.in, minutes.out);
    for (const { minute, estimate, lower, upper } of expected.at) {
      const stated = estimateAt(model, counts, minute + 1);
      expect(stated.people).toBeCloseTo(estimate, DIGITS);
      expect(stated.lower).toBeCloseTo(lower, DIGITS);
      expect(stated.upper).toBeCloseTo(upper, DIGITS);
    }
  });
});

/** A library from 09:00 to 17:00, whose people stay for an hour. */
const MONTH = Array.from({ length: HISTORY_DAYS }, (_, day): Day => {
  const entered = Array.from({ length: QUARTERS_PER_DAY }, (__, quarter) =>
    quarter >= 20 && quarter < 52 ? 100 + 10 * (day % 3) : 0,
  );
  return { weekday: day % 7, entered, exited: entered.map((_count, i) => entered[i - 4] ?? 0) };
});

/** 7 people enter each minute from minute 300 to 780, and leave an hour later; 9 of 10 exits are counted. */
function todayUntil(endMinute: number): DayCounts {
  function counted(count: number, begins: number, ends: number): number[] {
    const until = Math.min(ends, endMinute);
    return Array.from({ length: 900 }, (_, minute) =>
      begins <= minute && minute < until ? count : 0,
    );
  }
  return minutesOf(counted(7, 300, 780), counted(6.3, 360, 840));
}

describe('doors that miss a tenth of the exits', () => {
  function learned(): DoorModel {
    const days = MONTH.map(({ exited, ...day }) =>
      dayOf({ ...day, exited: exited.map((exits) => 0.9 * exits) }),
    );
    return learnDoors(days, 3);
  }

  test('have nobody inside 45 minutes after closing', () => {
    const open = [{ startMs: 0, endMs: 600 * MINUTE_MS }];
    const [before, after] = [645, 646].map((minute) =>
      estimateAt(learned(), todayUntil(600), minute, open),
    );
    expect(before?.people).toBeCloseTo(420, -2);
    expect(after?.people).toBe(0);
  });

  test('are above a limit since the minute from which on the lower bound is', () => {
    const [model, counts, limit] = [learned(), todayUntil(Infinity), 300];
    let sinceMs: number | undefined;
    for (let minute = 300; minute < 900; minute += 1) {
      const endMs = (minute + 1) * MINUTE_MS;
      const { lower, aboveSinceMs } = estimateInside(model, counts, endMs, UNKNOWN_HOURS, limit);
      sinceMs = lower > limit ? (sinceMs ?? minute * MINUTE_MS) : undefined;
      expect(aboveSinceMs).toBe(sinceMs);
    }
  });

  test('count those who come on a day that is configured as closed', () => {
    const model = learned();
    // 40 enter, then 10 leave; then nobody passes for more than an hour.
    const minutes = Array.from({ length: 900 }, (_, minute) => minute);
    const entered = minutes.map((minute) => Number(minute >= 420 && minute < 460));
    const exited = minutes.map((minute) => Number(minute >= 500 && minute < 510));
    const { people, upper } = estimateAt(model, minutesOf(entered, exited), 600, []);
    expect(people).toBeCloseTo(40 - 10 * Math.exp(model.logRatio), DIGITS);
    expect(upper).toBeGreaterThan(people);
  });
});

/** Shares of exits that are counted on the newest busy days, oldest first; before, all are. */
test.each<[string, readonly number[], number, number]>([
  ['on four days are faulty', [0.6, 0.6, 0.6, 0.6], 1, 4],
  ['on five days have another ratio', [0.6, 0.6, 0.6, 0.6, 0.6], 0.6, 0],
  ['on five days, differently, are faulty', [0.5, 0.72, 0.5, 0.72, 0.5], 1, 5],
  ['that is more than half of it are faulty', Array(28).fill(0.4), 1, 28],
  ['that is all of it are faulty', Array(28).fill(0), 1, 28],
  ['until three days ago have the old ratio', [...Array(9).fill(0.6), 1, 1, 1], 1, 0],
])('doors that lose a part of one direction %s', (_, shares, share, rejectedDays) => {
  const days = MONTH.map((day, i) => {
    const counted = shares[i - (HISTORY_DAYS - shares.length)] ?? 1;
    // Not exactly as many every day.
    const exited = day.exited.map((exits) => Math.round(exits * counted * (0.97 + 0.01 * (i % 4))));
    return dayOf({ ...day, exited });
  });
  const model = learnDoors(days, 3);
  expect(model.rejectedDays).toHaveLength(rejectedDays);
  expect(Math.exp(-(model.learnedLogRatio ?? 0))).toBeCloseTo(share * 0.985, 1.5);
});
