/** What a breakdown does not accept at once, for a mark that is too high stays until the month ends. */
import { describe, expect, test } from 'vitest';
import { CountedBreakdown, responseOf } from './counted.ts';
import type { Rows } from './counted.ts';

const TOTALS: Rows = [
  [101, 5_000, 4_900],
  [102, 40_000, 39_000],
];
const SHOWN = { '101': [5_000, 4_900], '102': [40_000, 39_000] };
const TODAY: Rows = [[101, 9, 4]];

/** A breakdown that was polled once. */
async function counted(): Promise<CountedBreakdown> {
  const branches = new CountedBreakdown();
  Object.assign(branches, { totalRows: TOTALS, todayRows: TODAY });
  await branches.poll();
  return branches;
}

describe('a response that is lower than before', () => {
  test.each([
    ['without a branch', responseOf([[101, 5_003, 4_900]])],
    [
      'lower in one of them',
      responseOf([
        [101, 4_000, 4_900],
        [102, 40_001, 39_000],
      ]),
    ],
  ])('%s, is requested again at once, and the larger counts', async (_, glitch) => {
    const branches = await counted();
    branches.totalRows = [
      [101, 5_003, 4_900],
      [102, 40_001, 39_000],
    ];
    branches.glitches.push(glitch);
    await branches.polls(1);
    expect(branches.asked).toHaveLength(3);
    expect(branches.totals()).toEqual({ '101': [5_003, 4_900], '102': [40_001, 39_000] });
    expect(branches.excess()).toEqual({ '101': [0, 0], '102': [0, 0] });
  });

  test('after a restart is lower than the marks', async () => {
    const branches = await counted();
    branches.restart();
    branches.glitches.push(responseOf([[101, 5_000, 4_900]]));
    await branches.polls(1);
    expect(branches.excess()).toEqual({ '101': [0, 0], '102': [0, 0] });
  });
});

describe('nothing', () => {
  test('where there were counts is accepted at the third poll', async () => {
    const branches = await counted();
    Object.assign(branches, { totalRows: [], todayRows: [] });
    for (const notes of [['empty_response_pending'], ['empty_response_pending'], []]) {
      expect(branches.excess()['101']).toEqual([0, 0]);
      await branches.polls(1);
      expect(branches.notes).toEqual(notes);
    }
    expect(branches.totals()).toEqual(SHOWN);
    expect(branches.excess()).toEqual(SHOWN);
  });

  test('where there was nothing is no news', async () => {
    const branches = new CountedBreakdown();
    await branches.polls(14);
    expect(branches.notes).toEqual([]);
    branches.totalRows = [[101, 1, 0]];
    await branches.polls(1);
    expect(branches.totals()).toEqual({ '101': [1, 0] });
  });
});

describe('an implausible increase', () => {
  test.each<[string, Rows]>([
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
  ])('%s is not accepted before it has come again', async (_, totals) => {
    const branches = await counted();
    branches.totalRows = totals;
    await branches.polls(1);
    expect(branches.notes).toEqual(['increase_pending']);
    expect(branches.totals()).toEqual(SHOWN);
    branches.totalRows = TOTALS;
    await branches.polls(1);
    expect(branches.totals()).toEqual(SHOWN);
    branches.totalRows = totals;
    await branches.polls(2);
    expect(branches.totals()['101']?.[0]).toBe(Math.max(5_000, totals[0]?.[1] ?? 0));
    expect(branches.notes).toEqual([]);
  });

  test('of very many small ones shows in the sum', async () => {
    const branches = await counted();
    const small: Rows = Array.from({ length: 100 }, (_, i) => [200 + i, 900, 0] as const);
    branches.totalRows = [...TOTALS, ...small];
    await branches.polls(1);
    expect(branches.notes).toEqual(['increase_pending']);
  });

  test('comes again, though the service takes something back of another branch meanwhile', async () => {
    const branches = await counted();
    branches.totalRows = [
      [101, 12_000, 4_900],
      [102, 40_000, 39_000],
    ];
    await branches.polls(1);
    branches.totalRows = [
      [101, 12_001, 4_900],
      [102, 39_999, 39_000],
    ];
    await branches.polls(1);
    expect(branches.totals()).toEqual({ '101': [12_001, 4_900], '102': [40_000, 39_000] });
  });

  test('is none where a branch comes back as it was', async () => {
    const branches = await counted();
    branches.totalRows = [[101, 5_000, 4_900]];
    await branches.polls(1);
    expect(branches.excess()['102']).toEqual([40_000, 39_000]);
    branches.totalRows = [
      [101, 5_000, 4_900],
      [102, 40_002, 39_000],
    ];
    await branches.polls(1);
    expect(branches.totals()['102']).toEqual([40_002, 39_000]);
    expect(branches.excess()['102']).toEqual([0, 0]);
  });
});
