import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Row } from '../../src/base/nouns.ts';
import { PATH_STEP_MS, lastSeenIn, occupancyPathOf, withRows } from '../../src/counting/minutes.ts';
import type { MinuteLedger } from '../../src/counting/minutes.ts';

const ALL = { startMs: 0, endMs: 100 };

function dating({ key }: Row): number | undefined {
  return typeof key === 'number' ? key : undefined;
}

function ledgerOf(rows: readonly Row[]): MinuteLedger {
  return withRows([], rows, 1, dating) ?? [];
}

const rows = fc.array(
  fc.record({
    key: fc.integer({ min: 0, max: 30 }),
    counts: fc.tuple(fc.nat({ max: 9 }), fc.nat({ max: 9 })),
  }),
);

describe('withRows', () => {
  test('sums rows of one minute and keeps the minutes in order, whatever the order of the rows', () => {
    fc.assert(
      fc.property(rows, rows, (some, others) => {
        const ledger = withRows(ledgerOf(some), others, 1, dating) ?? [];
        const minutes = [...new Set([...some, ...others].map(({ key }) => key))].toSorted(
          (a, b) => a - b,
        );
        expect(ledger.map(({ startMs }) => startMs)).toEqual(minutes);
        expect(ledger).toEqual(ledgerOf([...others, ...some]));
      }),
    );
  });

  test('takes away what it added', () => {
    fc.assert(
      fc.property(rows, rows, (some, others) => {
        const added = withRows(ledgerOf(some), others, 1, dating) ?? [];
        const back = withRows(added, others, -1, dating) ?? [];
        const left = back.filter(({ counts }) => counts.some((count) => count !== 0));
        expect(left).toEqual(
          ledgerOf(some).filter(({ counts }) => counts.some((count) => count !== 0)),
        );
      }),
    );
  });

  test('is not known where a key cannot be read', () => {
    expect(withRows([], [{ key: 'x', counts: [1, 0] }], 1, dating)).toBeUndefined();
    expect(withRows([], [], 1, dating)).toEqual([]);
  });
});

describe('occupancy', () => {
  test('is the running sum less its lowest value below zero', () => {
    fc.assert(
      fc.property(rows, (some) => {
        const ledger = ledgerOf(some);
        let sum = 0;
        let lowest = 0;
        for (const { counts } of ledger) {
          sum += (counts[0] ?? 0) - (counts[1] ?? 0);
          lowest = Math.min(lowest, sum);
        }
        expect(occupancyPathOf(ledger, ALL).at(-1)).toBe(sum - lowest);
      }),
    );
  });

  test('forgets an exit too many, minute by minute', () => {
    const ledger = ledgerOf([
      { key: 1, counts: [2, 5] },
      { key: 2, counts: [4, 0] },
    ]);
    expect(occupancyPathOf(ledger, ALL).at(-1)).toBe(4);
  });

  test('is known at the end of each quarter of an hour, the last one cut short', () => {
    const ledger = ledgerOf([
      { key: 0, counts: [2, 0] },
      { key: PATH_STEP_MS - 1, counts: [0, 1] },
      { key: PATH_STEP_MS, counts: [9, 0] },
      { key: 3 * PATH_STEP_MS + 1, counts: [0, 4] },
    ]);
    const path = occupancyPathOf(ledger, { startMs: 0, endMs: 3 * PATH_STEP_MS + 2 });
    expect(path).toEqual([1, 10, 10, 6]);
  });

  test('is 0 at every quarter of a day without minutes', () => {
    expect(occupancyPathOf([], { startMs: 0, endMs: 2 * PATH_STEP_MS })).toEqual([0, 0]);
    expect(occupancyPathOf([], { startMs: 0, endMs: 0 })).toEqual([]);
  });

  test('has no more points than the longest day, however far ahead a clock is', () => {
    const year = 365 * 86_400_000;
    const ledger = ledgerOf([
      { key: 0, counts: [2, 0] },
      { key: year, counts: [3, 0] },
    ]);
    const path = occupancyPathOf(ledger, { startMs: 0, endMs: year + 1 });
    expect(path).toEqual([...Array.from({ length: 103 }, () => 2), 5]);
  });

  test('leaves out what lies outside the span', () => {
    const ledger = ledgerOf([
      { key: 1, counts: [2, 0] },
      { key: 5, counts: [3, 0] },
      { key: 9, counts: [4, 0] },
    ]);
    expect(occupancyPathOf(ledger, { startMs: 2, endMs: 9 }).at(-1)).toBe(3);
    expect(lastSeenIn(ledger, { startMs: 2, endMs: 9 })).toBe(5);
    expect(lastSeenIn(ledger, { startMs: 2, endMs: 5 })).toBeUndefined();
  });

  test('does not see anybody in a minute that counted nobody', () => {
    const ledger = ledgerOf([
      { key: 1, counts: [0, 1] },
      { key: 2, counts: [0, 0] },
    ]);
    expect(lastSeenIn(ledger, ALL)).toBe(1);
  });
});
