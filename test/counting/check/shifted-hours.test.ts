/** Whether people come at the opening hours, or as in another time zone. */
import { expect, test } from 'vitest';
import { findShift } from '../../../src/counting/check/shifted-hours.ts';
import { HOUR_MS } from '../fixture.ts';

/** So many people in each hour of a day in UTC, from one hour to another. */
function comes(fromHour: number, toHour: number, people = 10) {
  const hours = Array.from({ length: toHour - fromHour }, (_, i) => fromHour + i);
  return hours.map((hour) => [Date.UTC(2026, 10, 3) + hour * HOUR_MS, people] as const);
}

/** Daily from 8 to 20 in UTC. */
function isOpenAt(atMs: number): boolean {
  const hour = new Date(atMs).getUTCHours();
  return hour >= 8 && hour < 20;
}

test.each([
  ['four hours later', comes(12, 24), { hours: 4, outside: 1 / 3, outsideShifted: 0 }],
  ['an hour earlier', comes(7, 19), { hours: -1, outside: 1 / 12, outsideShifted: 0 }],
  [
    'eight hours earlier, but some',
    [...comes(0, 12), ...comes(14, 15)],
    { hours: -8, outside: 8 / 13, outsideShifted: 1 / 13 },
  ],
])('people who come %s fit other hours', (_, arrivals, shift) => {
  expect(findShift(arrivals, isOpenAt)).toEqual(shift);
});

test.each([
  ['at the opening hours', comes(8, 20)],
  ['a little earlier, too', [...comes(7, 8, 5), ...comes(8, 20)]],
  ['two hours earlier, too', comes(6, 20)],
  ['all day', comes(0, 24)],
  ['in small numbers', comes(12, 24, 8)],
  ['never', []],
])('people who come %s fit no other hours', (_, arrivals) => {
  expect(findShift(arrivals, isOpenAt)).toBeUndefined();
});
