import { describe, expect, test } from 'vitest';
import type { Breakdown } from '../../src/base/model.ts';
import { compareKeys, MAX_KEYS } from '../../src/counting/breakdown.ts';
import { CountedBreakdown, MINUTE_MS, responseOf, START_MS } from './counted.ts';
import type { Rows } from './counted.ts';

const DAY_END_MS = Date.UTC(2026, 10, 19, 3);
const PERIOD_END_MS = Date.UTC(2026, 11, 1, 3);

const TOTALS: Rows = [
  [102, 30, 28],
  [101, 400, 390],
];
const TODAY: Rows = [[101, 9, 4]];

function counted(
  totals: Rows = TOTALS,
  today: Rows = TODAY,
  kind: Breakdown = 'branch',
): CountedBreakdown {
  const breakdown = new CountedBreakdown(kind);
  Object.assign(breakdown, { totalRows: totals, todayRows: today });
  return breakdown;
}

describe('a breakdown', () => {
  test('exports nothing before the first poll, then totals and today by two requests', async () => {
    const branches = counted();
    expect(branches.metrics()).toEqual({ keys: [], droppedKeys: undefined, names: [] });
    await branches.poll();
    expect(branches.totals()).toEqual({ '101': [400, 390], '102': [30, 28] });
    // What the service does not list has counted nobody.
    expect(branches.today()).toEqual({ '101': [9, 4], '102': [0, 0] });
    expect(branches.asked).toEqual([
      { endpoint: 'peoplecount', aggregation: 'branch', from: '2026-11-01T04:00:00+01:00' },
      { endpoint: 'peoplecount', aggregation: 'branch', from: '2026-11-18T04:00:00+01:00' },
    ]);
  });

  test('keeps a counter when the service removes counts, and exports the excess', async () => {
    const branches = counted();
    await branches.poll();
    branches.totalRows = [
      [101, 395, 390],
      [102, 33, 28],
    ];
    await branches.polls(1);
    expect(branches.asked).toHaveLength(3);
    expect(branches.totals()).toEqual({ '101': [400, 390], '102': [33, 28] });
    expect(branches.excess()).toEqual({ '101': [5, 0], '102': [0, 0] });
    await branches.polls(1);
    expect(branches.asked).toHaveLength(2);
  });

  test('keeps a branch that the service no longer lists until the counting period ends, over a restart too', async () => {
    const branches = counted();
    await branches.poll();
    branches.totalRows = [[101, 401, 390]];
    await branches.polls(1);
    const kept = { '101': [401, 390], '102': [30, 28] };
    expect(branches.totals()).toEqual(kept);
    expect(branches.excess()).toEqual({ '101': [0, 0], '102': [30, 28] });
    branches.restart();
    expect(branches.totals()).toEqual({});
    await branches.polls(1);
    expect(branches.totals()).toEqual(kept);
    branches.nowMs = PERIOD_END_MS;
    branches.totalRows = [[101, 2, 1]];
    branches.todayRows = [[101, 2, 1]];
    await branches.polls(1);
    expect(branches.totals()).toEqual({ '101': [2, 1], '102': [0, 0] });
  });

  test('adds up rows with the same key, 101 and "101" among them', async () => {
    const branches = counted([
      [101, 5, 1],
      ['101', 2, 2],
    ]);
    await branches.poll();
    branches.totalRows = [['101', 8, 3]];
    await branches.polls(1);
    expect(branches.totals()).toEqual({ '101': [8, 3] });
  });

  test.each([
    '',
    'Main Library 101',
    'a:b',
    'a"b\\c\n',
    'people_entered:',
    '\ud83d\udcda',
    '__proto__',
  ])('exports the key %j, also after a restart', async (key) => {
    const branches = counted([[key, 7, 3]], [[key, 1, 0]]);
    await branches.poll();
    branches.totalRows = [[key, 6, 3]];
    branches.restart();
    await branches.polls(1);
    const [only] = branches.metrics().keys;
    expect(branches.keys()).toEqual([key]);
    expect(only?.counters.people_entered).toEqual({ total: 7, excess: 1, today: 1 });
  });

  test('replaces lone surrogates, which would give two series the same label', async () => {
    const branches = counted([
      ['\ud800', 5, 0],
      ['\udbff', 4, 0],
    ]);
    await branches.poll();
    expect(branches.totals()).toEqual({ '\ufffd': [9, 0] });
  });

  test('changes nothing when a poll fails, as for another aggregation', async () => {
    const branches = counted();
    await branches.poll();
    const before = branches.totals();
    branches.totalRows = [[101, 450, 400]];
    branches.glitches.push(
      responseOf([[101, 450, 400]]),
      responseOf([['2026-11-18', 9, 9]], 'day'),
    );
    await branches.polls(1);
    expect(branches.totals()).toEqual(before);
    const { up, lastError, failures } =
      branches.customer.metricsAt(branches.nowMs).streams.branch ?? {};
    expect({ up, failures }).toEqual({ up: false, failures: 1 });
    expect(lastError?.message).toContain('expected aggregation "branch"');
  });
});

describe('the time of the scrape', () => {
  test('hides the values of yesterday, and keeps the totals', async () => {
    const branches = counted();
    await branches.poll();
    branches.nowMs = DAY_END_MS - 1;
    expect(branches.today()['101']).toEqual([9, 4]);
    branches.nowMs = DAY_END_MS;
    expect(branches.today()['101']).toEqual([undefined, undefined]);
    expect(branches.totals()['101']).toEqual([400, 390]);
  });

  test('exports keys of the last counting period as 0, over a restart too, until they count', async () => {
    const branches = counted();
    branches.nowMs = PERIOD_END_MS - MINUTE_MS;
    await branches.poll();
    branches.restart();
    branches.todayRows = [[101, 1, 0]];
    branches.totalRows = [[101, 1, 0]];
    await branches.polls(1);
    expect(branches.totals()).toEqual({ '101': [1, 0], '102': [0, 0] });
    expect(branches.today()['102']).toEqual([0, 0]);
    branches.todayRows = [
      [101, 1, 0],
      [102, 2, 0],
    ];
    branches.totalRows = branches.todayRows;
    await branches.polls(1);
    expect(branches.totals()['102']).toEqual([2, 0]);
  });

  test('shows the occupancy of a branch, never below 0, for 15 minutes after a poll', async () => {
    const branches = counted(TOTALS, [
      [101, 9, 4],
      [102, 1, 3],
    ]);
    await branches.poll();
    expect(branches.occupancies()).toEqual({ '101': 5, '102': 0 });
    const { validUntilMs } = branches.customer.metricsAt(branches.nowMs);
    expect(validUntilMs).toBe(START_MS + 15 * MINUTE_MS + 1);
    branches.nowMs = validUntilMs - 1;
    expect(branches.occupancies()['101']).toBe(5);
    branches.nowMs = validUntilMs;
    expect(branches.occupancies()).toEqual({ '101': undefined, '102': undefined });
  });

  test('shows the occupancy for three intervals if these are longer', async () => {
    const branches = counted();
    branches.intervalMs = 60 * MINUTE_MS;
    branches.configure();
    await branches.poll();
    branches.nowMs = START_MS + 180 * MINUTE_MS;
    expect(branches.occupancies()['101']).toBe(5);
    branches.nowMs += 1;
    expect(branches.occupancies()['101']).toBeUndefined();
  });

  test('names every branch that is exported or configured; without a name, by its key', async () => {
    const branches = counted();
    branches.branchNames = { 101: 'Main Library', 99: 'Old Town' };
    branches.configure();
    const configured = [
      ['99', 'Old Town'],
      ['101', 'Main Library'],
    ];
    expect(branches.metrics().names).toEqual(configured);
    await branches.poll();
    expect(branches.metrics().names).toEqual([...configured, ['102', '102']]);
  });

  test('has neither occupancy nor names of devices', async () => {
    const devices = counted(TOTALS, TODAY, 'device');
    devices.branchNames = { 101: 'Main Library' };
    devices.configure();
    await devices.poll();
    expect(devices.totals()['101']).toEqual([400, 390]);
    expect(devices.occupancies()['101']).toBeUndefined();
    expect(devices.metrics().names).toEqual([]);
  });
});

describe('keys above the limit', () => {
  function many(count: number, first = 1): Rows {
    return Array.from({ length: count }, (_, i) => [first + i, 1 + i, i] as const);
  }

  test('are dropped by the order of the keys, counted, and logged once', async () => {
    const branches = counted([...many(MAX_KEYS + 50)].toReversed());
    await branches.poll();
    expect(branches.keys()).toEqual(many(MAX_KEYS).map(([key]) => String(key)));
    expect(branches.metrics().droppedKeys).toBe(50);
    expect(branches.notes).toEqual(['breakdown_keys_dropped']);
    await branches.polls(1);
    expect(branches.notes).toEqual([]);
  });

  test('do not replace exported ones, also after a restart', async () => {
    const branches = counted(many(MAX_KEYS, 51));
    await branches.poll();
    expect(branches.metrics().droppedKeys).toBe(0);
    const shown = branches.keys();
    branches.totalRows = [...many(50), ...many(MAX_KEYS, 51)];
    await branches.polls(1);
    expect(branches.keys()).toEqual(shown);
    expect(branches.metrics().droppedKeys).toBe(50);
    branches.restart();
    await branches.polls(1);
    expect(branches.keys()).toEqual(shown);
    expect(branches.metrics().droppedKeys).toBe(50);
  });
});

describe('what is not accepted at once (rules 3 and 5)', () => {
  const LARGE: Rows = [
    [101, 5_000, 4_900],
    [102, 40_000, 39_000],
  ];
  const SHOWN = { '101': [5_000, 4_900], '102': [40_000, 39_000] };

  async function polled(): Promise<CountedBreakdown> {
    const branches = counted(LARGE);
    await branches.poll();
    return branches;
  }

  test.each([
    ['without a branch', responseOf([[101, 5_003, 4_900]])],
    [
      'lower in one of them',
      responseOf([
        [101, 4_000, 4_900],
        [102, 40_001, 39_000],
      ]),
    ],
  ])('a response %s is requested again at once, and the larger one is used', async (_, glitch) => {
    const branches = await polled();
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

  test('a response lower than the marks after a restart is requested again', async () => {
    const branches = await polled();
    branches.restart();
    branches.glitches.push(responseOf([[101, 5_000, 4_900]]));
    await branches.polls(1);
    expect(branches.excess()).toEqual({ '101': [0, 0], '102': [0, 0] });
  });

  test('an empty response where there were counts is accepted at the third poll', async () => {
    const branches = await polled();
    Object.assign(branches, { totalRows: [], todayRows: [] });
    for (const notes of [['empty_response_pending'], ['empty_response_pending'], []]) {
      expect(branches.excess()['101']).toEqual([0, 0]);
      await branches.polls(1);
      expect(branches.notes).toEqual(notes);
    }
    expect(branches.totals()).toEqual(SHOWN);
    expect(branches.excess()).toEqual(SHOWN);
  });

  test('an empty response where there was none is accepted', async () => {
    const branches = new CountedBreakdown();
    await branches.polls(14);
    expect(branches.notes).toEqual([]);
    branches.totalRows = [[101, 1, 0]];
    await branches.polls(1);
    expect(branches.totals()).toEqual({ '101': [1, 0] });
  });

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
  ])('an implausible increase %s is accepted when it comes again', async (_, totals) => {
    const branches = await polled();
    branches.totalRows = totals;
    await branches.polls(1);
    expect(branches.notes).toEqual(['increase_pending']);
    expect(branches.totals()).toEqual(SHOWN);
    branches.totalRows = LARGE;
    await branches.polls(1);
    expect(branches.totals()).toEqual(SHOWN);
    branches.totalRows = totals;
    await branches.polls(2);
    expect(branches.totals()['101']?.[0]).toBe(Math.max(5_000, totals[0]?.[1] ?? 0));
    expect(branches.notes).toEqual([]);
  });

  test('an implausible increase of many small ones shows in the sum', async () => {
    const branches = await polled();
    const small: Rows = Array.from({ length: 100 }, (_, i) => [200 + i, 900, 0] as const);
    branches.totalRows = [...LARGE, ...small];
    await branches.polls(1);
    expect(branches.notes).toEqual(['increase_pending']);
  });

  test('an increase is confirmed although another branch loses counts meanwhile', async () => {
    const branches = await polled();
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

  test('a branch that is listed again is no increase', async () => {
    const branches = await polled();
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

test('whole numbers come first and by their value, then the rest as text', () => {
  const keys = ['b', '10', '9', '', '101', 'B', '-1', '0'];
  const sorted = ['0', '9', '10', '101', '', '-1', 'B', 'b'];
  expect(keys.toSorted(compareKeys)).toEqual(sorted);
  expect(keys.toReversed().toSorted(compareKeys)).toEqual(sorted);
});
