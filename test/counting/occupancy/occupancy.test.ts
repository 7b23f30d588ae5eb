import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  addMinutes,
  continueDay,
  lastSeenIn,
  minutesOf,
  NO_MINUTES,
  occupancyUntil,
  packMinutes,
  SAMPLE_MS,
  subtractMinutes,
  unpackMinutes,
} from '../../../src/counting/occupancy/occupancy.ts';
import type { Minutes } from '../../../src/counting/occupancy/occupancy.ts';
import type { Row } from '../../../src/base/model.ts';
import { MINUTE_MS } from '../../../src/counting/calendar/calendar.ts';
import type { Span } from '../../../src/counting/calendar/calendar.ts';

const ALL = { startMs: 0, endMs: 100 };

/** Keys are milliseconds. */
function minutes(...rows: readonly Row[]): Minutes {
  return minutesOf(rows, ({ key }) => Number(key)) ?? [];
}

function computeOccupancy(some: Minutes, span: Span): number[] {
  return occupancyUntil(continueDay(NO_MINUTES, some, span), span);
}

const rows = fc.array(
  fc.record({
    key: fc.integer({ min: 0, max: 30 }),
    counts: fc.tuple(fc.nat({ max: 9 }), fc.nat({ max: 9 })),
  }),
);

describe('minutes', () => {
  test('are sorted, each once, in whatever order the rows come, and can be subtracted again', () => {
    fc.assert(
      fc.property(rows, rows, (some, others) => {
        const sums = addMinutes(minutes(...some), minutes(...others));
        const starts = sums.map(({ startMs }) => startMs);
        expect(starts).toEqual([...new Set(starts)].toSorted((a, b) => a - b));
        expect(sums).toEqual(minutes(...others, ...some));
        expect(subtractMinutes(sums, minutes(...others))).toEqual(minutes(...some));
      }),
    );
  });

  test('are the same after packing, from whatever minute on', () => {
    // All in one byte, in two, or in eight.
    const parsed = fc.oneof(
      fc.array(fc.tuple(fc.integer({ min: 100, max: 300 }), fc.nat(9), fc.nat(255))),
      fc.array(
        fc.tuple(
          fc.integer({ min: -50_000, max: 1_500 }),
          fc.nat(9),
          fc.integer({ min: -9, max: 9 }),
        ),
      ),
      fc.array(fc.tuple(fc.nat(1_500), fc.maxSafeInteger(), fc.nat(9))),
    );
    fc.assert(
      fc.property(parsed, fc.integer({ min: -1, max: 1_500 }), (some, from) => {
        const all = minutesOf(
          some.map(([minute, ...amounts]) => ({ key: minute * MINUTE_MS, counts: amounts })),
          ({ key }) => Number(key),
        );
        const since = all?.filter(({ startMs }) => startMs >= from * MINUTE_MS);
        const packed = packMinutes(all ?? []);
        expect(unpackMinutes(packed, from * MINUTE_MS)).toEqual(since);
      }),
    );
  });

  test('are unknown if a key cannot be parsed', () => {
    expect(minutesOf([{ key: 'x', counts: [1, 0] }], () => undefined)).toBeUndefined();
    expect(minutesOf([], () => undefined)).toEqual([]);
  });
});

describe('occupancy', () => {
  test('is the running sum less its lowest value below zero', () => {
    fc.assert(
      fc.property(rows, (some) => {
        let sum = 0;
        let lowest = 0;
        for (const { counts } of minutes(...some)) {
          sum += (counts[0] ?? 0) - (counts[1] ?? 0);
          lowest = Math.min(lowest, sum);
        }
        expect(computeOccupancy(minutes(...some), ALL).at(-1)).toBe(sum - lowest);
      }),
    );
  });

  test('has a sample at the end of each quarter of an hour and one at the end of the span', () => {
    const some = minutes(
      { key: 0, counts: [2, 0] },
      { key: SAMPLE_MS - 1, counts: [0, 1] },
      { key: SAMPLE_MS, counts: [9, 0] },
      { key: 3 * SAMPLE_MS + 1, counts: [0, 4] },
    );
    const span = { startMs: 0, endMs: 3 * SAMPLE_MS + 2 };
    expect(computeOccupancy(some, span)).toEqual([1, 10, 10, 6]);
    expect(computeOccupancy([], { startMs: 0, endMs: 2 * SAMPLE_MS })).toEqual([0, 0, 0]);
    expect(computeOccupancy([], { startMs: 0, endMs: 0 })).toEqual([0]);
  });

  test('has at most 104 samples, however far ahead a device clock is', () => {
    const year = 365 * 86_400_000;
    const some = minutes({ key: 0, counts: [2, 0] }, { key: year, counts: [3, 0] });
    const samples = computeOccupancy(some, { startMs: 0, endMs: year + 1 });
    expect(samples).toEqual([...Array.from({ length: 103 }, () => 2), 5]);
  });

  test('continues what the minutes before have shown', () => {
    fc.assert(
      fc.property(rows, fc.nat({ max: 31 }), fc.nat({ max: 31 }), (some, startMs, middleMs) => {
        fc.pre(startMs <= middleMs);
        const day = { startMs, endMs: 31 };
        const all = minutes(...some);
        const before = continueDay(NO_MINUTES, all, { ...day, endMs: middleMs });
        const after = all.filter((minute) => minute.startMs >= middleMs);
        expect(continueDay(before, after, day)).toEqual(continueDay(NO_MINUTES, all, day));
      }),
    );
  });

  test('and last seen leave out minutes outside the span, and those that counted nobody', () => {
    const some = minutes(
      { key: 1, counts: [2, 0] },
      { key: 5, counts: [3, 0] },
      { key: 6, counts: [0, 0] },
      { key: 9, counts: [4, 0] },
    );
    expect(computeOccupancy(some, { startMs: 2, endMs: 9 }).at(-1)).toBe(3);
    expect(lastSeenIn(some, { startMs: 2, endMs: 9 })).toBe(5);
    expect(lastSeenIn(some, { startMs: 2, endMs: 5 })).toBeUndefined();
  });
});
