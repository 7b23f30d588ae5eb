import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DAY_MS, MINUTE_MS } from '../../../src/base/duration.ts';
import {
  aboveSince,
  CURVE_STEP_MS,
  nextOccupancy,
  occupancyAt,
  occupancyCurve,
} from '../../../src/counting/occupancy/occupancy.ts';
import { minutesOf } from '../../support/day-counts.ts';

const count = fc.nat({ max: 9 });

test('is the running sum less its lowest value below zero', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(count, count)), (rows) => {
      let sum = 0;
      let lowest = 0;
      let people = 0;
      for (const [entered, exited] of rows) {
        sum += entered - exited;
        lowest = Math.min(lowest, sum);
        people = nextOccupancy(people, entered, exited);
      }
      const day = minutesOf(
        rows.map(([entered]) => entered),
        rows.map(([, exited]) => exited),
      );
      expect([occupancyAt(day, day.day.endMs), people]).toEqual([sum - lowest, sum - lowest]);
    }),
  );
});

test('leaves out the minutes that have not begun', () => {
  const startMs = Date.UTC(2026, 10, 18, 3);
  const day = { ...minutesOf([2, 3, 4], []), day: { startMs, endMs: startMs + DAY_MS } };
  const elapsed = [0, 1, MINUTE_MS, MINUTE_MS + 1];
  expect(elapsed.map((ms) => occupancyAt(day, startMs + ms))).toEqual([0, 2, 2, 5]);
  expect(occupancyCurve(day, startMs + 90_000, MINUTE_MS)).toEqual([2, 5]);
});

test('is above a limit since the start of a minute, until it is not', () => {
  const startMs = Date.UTC(2026, 10, 18, 3);
  const counts = minutesOf([2, 3, 0, 0, 4], [0, 0, 1, 1, 0]);
  const day = { ...counts, day: { startMs, endMs: startMs + DAY_MS } };
  const minutes = [1, 2, 3, 4, 5, 90].map((minute) =>
    aboveSince(day, startMs + minute * MINUTE_MS, 3),
  );
  const [second, fifth] = [startMs + MINUTE_MS, startMs + 4 * MINUTE_MS];
  expect(minutes).toEqual([undefined, second, second, undefined, fifth, fifth]);
});

test('has a point at the end of each quarter of an hour, and one now', () => {
  const entered = Array.from({ length: 46 }, (_, minute) => ({ 0: 2, 15: 9 })[minute] ?? 0);
  const exited = entered.map((_, minute) => ({ 14: 1, 45: 4 })[minute] ?? 0);
  const day = minutesOf(entered, exited);
  const now = 3 * CURVE_STEP_MS + 2;
  expect(occupancyCurve(day, now, CURVE_STEP_MS)).toEqual([1, 10, 10, 6]);
  expect(occupancyCurve(minutesOf([], []), 2 * CURVE_STEP_MS, CURVE_STEP_MS)).toEqual([0, 0, 0]);
  expect(occupancyCurve(minutesOf([], []), 0, CURVE_STEP_MS)).toEqual([0]);
});
