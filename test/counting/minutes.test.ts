import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Row } from '../../src/base/model.ts';
import { MinuteLedger } from '../../src/counting/minute-ledger.ts';
import type { DatedRow } from '../../src/counting/minute-ledger.ts';
import { dated, lastSeenIn, PATH_STEP_MS, walk, withRows } from '../../src/counting/minutes.ts';
import type { Span } from '../../src/counting/calendar.ts';

const ALL = { startMs: 0, endMs: 100 };

function dating({ key }: Row): number | undefined {
  return typeof key === 'number' ? key : undefined;
}

function added(ledger: MinuteLedger, rows: readonly Row[], sign: 1 | -1 = 1): MinuteLedger {
  return withRows(ledger, rows, sign, dating) ?? MinuteLedger.EMPTY;
}

function ledgerOf(rows: readonly Row[]): MinuteLedger {
  return added(MinuteLedger.EMPTY, rows);
}

function occupancyPathOf(ledger: MinuteLedger, span: Span): readonly number[] {
  return walk(ledger, [], span).path;
}

function withCounts(ledger: MinuteLedger): readonly DatedRow[] {
  return ledger.rows().filter(({ counts }) => counts.some((count) => count !== 0));
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
        const ledger = added(ledgerOf(some), others);
        const minutes = [...new Set([...some, ...others].map(({ key }) => key))].toSorted(
          (a, b) => a - b,
        );
        expect(ledger.rows().map(({ startMs }) => startMs)).toEqual(minutes);
        expect(ledger.rows()).toEqual(ledgerOf([...others, ...some]).rows());
      }),
    );
  });

  test('takes away what it added', () => {
    fc.assert(
      fc.property(rows, rows, (some, others) => {
        const back = added(added(ledgerOf(some), others), others, -1);
        expect(withCounts(back)).toEqual(withCounts(ledgerOf(some)));
      }),
    );
  });

  test('is not known where a key cannot be read', () => {
    const odd = [{ key: 'x', counts: [1, 0] }];
    expect(withRows(MinuteLedger.EMPTY, odd, 1, dating)).toBeUndefined();
    expect(withRows(MinuteLedger.EMPTY, [], 1, dating)?.length).toBe(0);
  });
});

describe('a ledger', () => {
  test('gives back whatever it was made of, in cells of any size', () => {
    const minute = fc.oneof(
      fc.integer({ min: 0, max: 1_440 }).map((number) => number * 60_000),
      fc.maxSafeInteger(),
    );
    const count = fc.oneof(fc.integer({ min: -9, max: 9 }), fc.maxSafeInteger());
    fc.assert(
      fc.property(
        fc.uniqueArray(minute),
        fc.array(fc.tuple(count, count), { minLength: 1 }),
        (minutes, counts) => {
          const made = minutes
            .toSorted((a, b) => a - b)
            .map((startMs, i) => ({ startMs, counts: counts[i % counts.length] ?? [] }));
          // Two of the largest are too far apart for a number to say how far.
          fc.pre((made.at(-1)?.startMs ?? 0) - (made[0]?.startMs ?? 0) <= Number.MAX_SAFE_INTEGER);
          expect(new MinuteLedger(made).rows()).toEqual(made);
        },
      ),
    );
  });

  test('is walked over together with further minutes as if they were in it', () => {
    fc.assert(
      fc.property(rows, rows, fc.nat({ max: 30 }), (some, others, startMs) => {
        const span = { startMs, endMs: startMs + 20 };
        const together = walk(ledgerOf(some), dated(others, dating) ?? [], span);
        expect(together).toEqual(walk(added(ledgerOf(some), others), [], span));
        const back = added(MinuteLedger.EMPTY, some, -1);
        const sameBack = dated(others, dating) ?? [];
        expect(lastSeenIn(back, span, sameBack)).toBe(walk(back, sameBack, span).lastSeenMs);
      }),
    );
  });
});

describe('occupancy', () => {
  test('is the running sum less its lowest value below zero', () => {
    fc.assert(
      fc.property(rows, (some) => {
        const ledger = ledgerOf(some);
        let sum = 0;
        let lowest = 0;
        for (const { counts } of ledger.rows()) {
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
    expect(occupancyPathOf(MinuteLedger.EMPTY, { startMs: 0, endMs: 2 * PATH_STEP_MS })).toEqual([
      0, 0,
    ]);
    expect(occupancyPathOf(MinuteLedger.EMPTY, { startMs: 0, endMs: 0 })).toEqual([]);
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
