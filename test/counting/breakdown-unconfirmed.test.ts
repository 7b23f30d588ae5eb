/** What a breakdown does not believe at once, for a mark that is too high stays until the month ends. */
import { describe, expect, test } from 'vitest';
import { Zone } from '../../src/counting/zone.ts';
import { CountedBreakdown, readingOf } from '../support/counted-breakdown.ts';
import type { Rows } from '../support/counted-breakdown.ts';

const START_MS = Date.UTC(2026, 10, 18, 10);
const TOTALS: Rows = [
  [101, 5_000, 4_900],
  [102, 40_000, 39_000],
];
const SHOWN = { '101': [5_000, 4_900], '102': [40_000, 39_000] };
const TODAY: Rows = [[101, 9, 4]];
const EMPTY = readingOf([]);

/** A breakdown that was polled once. */
async function counted(): Promise<CountedBreakdown> {
  const branches = new CountedBreakdown(new Zone('Europe/Copenhagen'), START_MS);
  Object.assign(branches, { totals: TOTALS, today: TODAY });
  await branches.poll();
  return branches;
}

describe('an answer that is lower than before', () => {
  test.each([
    ['empty', EMPTY],
    ['without a branch', readingOf([[101, 5_003, 4_900]])],
    [
      'lower in one of them',
      readingOf([
        [101, 4_000, 4_900],
        [102, 40_001, 39_000],
      ]),
    ],
  ])('%s, is asked again at once, and the larger counts', async (_, glitch) => {
    const branches = await counted();
    branches.totals = [
      [101, 5_003, 4_900],
      [102, 40_001, 39_000],
    ];
    branches.glitches.push(glitch);
    await branches.polls(1);
    expect(branches.asked).toHaveLength(3);
    expect(branches.shown()).toEqual({ '101': [5_003, 4_900], '102': [40_001, 39_000] });
    expect(branches.held()).toEqual({ '101': [0, 0], '102': [0, 0] });
  });

  test("of today's figures is asked again too", async () => {
    const branches = await counted();
    branches.glitches.push(readingOf(TOTALS), EMPTY);
    await branches.polls(1);
    expect(branches.asked).toHaveLength(3);
    expect(branches.shownToday()['101']).toEqual([9, 4]);
  });

  test('after a restart is lower than the marks', async () => {
    const branches = await counted();
    branches.restart();
    branches.glitches.push(readingOf([[101, 5_000, 4_900]]));
    await branches.polls(1);
    expect(branches.held()).toEqual({ '101': [0, 0], '102': [0, 0] });
  });
});

describe('nothing', () => {
  test('where there were counts is believed at the third poll', async () => {
    const branches = await counted();
    Object.assign(branches, { totals: [], today: [] });
    for (const notes of [['empty_response_pending'], ['empty_response_pending'], []]) {
      expect(branches.held()['101']).toEqual([0, 0]);
      await branches.polls(1);
      expect(branches.notes).toEqual(notes);
    }
    expect(branches.shown()).toEqual(SHOWN);
    expect(branches.held()).toEqual(SHOWN);
  });

  test('today where there were counts is believed at the third poll', async () => {
    const branches = await counted();
    branches.today = [];
    await branches.polls(2);
    expect(branches.shownToday()['101']).toEqual([9, 4]);
    await branches.polls(1);
    expect(branches.shownToday()['101']).toEqual([0, 0]);
  });

  test('as the first total is 0 only after a reconcile interval', async () => {
    const branches = new CountedBreakdown(new Zone('Europe/Copenhagen'), START_MS);
    branches.totals = [[101, 0, 0]];
    await branches.polls(12);
    expect(branches.keys()).toEqual([]);
    await branches.polls(1);
    expect(branches.shown()).toEqual({ '101': [0, 0] });
  });

  test('where there was nothing is no news', async () => {
    const branches = new CountedBreakdown(new Zone('Europe/Copenhagen'), START_MS);
    await branches.polls(14);
    expect(branches.notes).toEqual([]);
    branches.totals = [[101, 1, 0]];
    await branches.polls(1);
    expect(branches.shown()).toEqual({ '101': [1, 0] });
  });
});

describe('a rise out of all proportion', () => {
  test.each<[string, Rows]>([
    [
      'of all',
      [
        [101, 500_000, 4_900],
        [102, 40_000, 39_000],
      ],
    ],
    [
      'of one that the sum hides',
      [
        [101, 10_001, 4_900],
        [102, 40_000, 39_000],
      ],
    ],
    [
      'of two that were taken for each other',
      [
        [101, 40_000, 39_000],
        [102, 5_000, 4_900],
      ],
    ],
    ['of one that was not there', [...TOTALS, [103, 5_500, 0]]],
  ])('%s is not believed before it has come again', async (_, totals) => {
    const branches = await counted();
    branches.totals = totals;
    await branches.polls(1);
    expect(branches.notes).toEqual(['increase_pending']);
    expect(branches.shown()).toEqual(SHOWN);
    branches.totals = TOTALS;
    await branches.polls(1);
    expect(branches.shown()).toEqual(SHOWN);
    branches.totals = totals;
    await branches.polls(2);
    expect(branches.shown()['101']?.[0]).toBe(Math.max(5_000, totals[0]?.[1] ?? 0));
    expect(branches.notes).toEqual([]);
  });

  test('of very many small ones shows in the sum', async () => {
    const branches = await counted();
    const small: Rows = Array.from({ length: 100 }, (_, i) => [200 + i, 900, 0] as const);
    branches.totals = [...TOTALS, ...small];
    await branches.polls(1);
    expect(branches.notes).toEqual(['increase_pending']);
  });

  test('that goes on growing comes again, however long the interval is', async () => {
    const branches = await counted();
    branches.intervalMs = 86_400_000;
    branches.totals = [
      [101, 12_000, 4_900],
      [102, 40_000, 39_000],
    ];
    await branches.polls(1);
    expect(branches.shown()).toEqual(SHOWN);
    branches.totals = [
      [101, 13_500, 4_900],
      [102, 40_000, 39_000],
    ];
    await branches.polls(1);
    expect(branches.shown()['101']).toEqual([13_500, 4_900]);
  });

  test('comes again, though the service takes something back of another branch meanwhile', async () => {
    const branches = await counted();
    branches.totals = [
      [101, 12_000, 4_900],
      [102, 40_000, 39_000],
    ];
    await branches.polls(1);
    branches.totals = [
      [101, 12_001, 4_900],
      [102, 39_999, 39_000],
    ];
    await branches.polls(1);
    expect(branches.shown()).toEqual({ '101': [12_001, 4_900], '102': [40_000, 39_000] });
  });

  test('is none where a branch comes back as it was', async () => {
    const branches = await counted();
    branches.totals = [[101, 5_000, 4_900]];
    await branches.polls(1);
    expect(branches.held()['102']).toEqual([40_000, 39_000]);
    branches.totals = [
      [101, 5_000, 4_900],
      [102, 40_002, 39_000],
    ];
    await branches.polls(1);
    expect(branches.shown()['102']).toEqual([40_002, 39_000]);
    expect(branches.held()['102']).toEqual([0, 0]);
  });
});
