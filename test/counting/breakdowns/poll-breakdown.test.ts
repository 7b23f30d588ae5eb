import { describe, expect, test } from 'vitest';
import { MAX_KEYS } from '../../../src/counting/breakdowns/poll-breakdown.ts';
import { NOVEMBER } from '../../support/owner.ts';
import { responseOf } from '../../support/responses.ts';
import type { Rows } from '../../support/responses.ts';
import { MINUTE_MS } from '../fixture.ts';
import { BreakdownFixture } from './fixture.ts';

const DAY_END_MS = Date.UTC(2026, 10, 19, 3);

const TOTALS = { '101': [400, 390], '102': [30, 28] };
const TODAY = { '101': [9, 4] };
const LARGE = { '101': [5_000, 4_900], '102': [40_000, 39_000] };
const NO_EXCESS = { '101': [0, 0], '102': [0, 0] };

async function polled(totals: Rows = TOTALS, today: Rows = TODAY): Promise<BreakdownFixture> {
  const branches = new BreakdownFixture(totals, today);
  await branches.poll();
  return branches;
}

/** Polls once more, with these totals. */
async function pollWith(branches: BreakdownFixture, totals: Rows): Promise<void> {
  branches.totalRows = totals;
  await branches.polls(1);
}

describe('a breakdown', () => {
  test('exports nothing before the first poll, then totals and today by two requests', async () => {
    const branches = new BreakdownFixture(TOTALS, TODAY);
    expect(branches.exported()).toEqual({ keys: [], droppedKeys: undefined });
    await branches.poll();
    expect(branches.totals()).toEqual(TOTALS);
    // What the service does not list has counted nobody.
    expect(branches.today()).toEqual({ '101': [9, 4], '102': [0, 0] });
    expect(branches.requests).toEqual([
      { endpoint: 'peoplecount', aggregation: 'branch', from: '2026-11-01T04:00:00+01:00' },
      { endpoint: 'peoplecount', aggregation: 'branch', from: '2026-11-18T04:00:00+01:00' },
    ]);
  });

  test('keeps a counter when the service removes counts, and exports the excess', async () => {
    const branches = await polled();
    await pollWith(branches, { 101: [395, 390], 102: [33, 28] });
    expect(branches.requests).toHaveLength(3);
    expect([branches.excess(), branches.notes]).toEqual([NO_EXCESS, ['decrease_pending']]);
    await branches.polls(2);
    expect(branches.totals()).toEqual({ '101': [400, 390], '102': [33, 28] });
    expect(branches.excess()).toEqual({ '101': [5, 0], '102': [0, 0] });
    await branches.polls(1);
    expect(branches.requests).toHaveLength(2);
  });

  test('keeps a branch that the service no longer lists until the counting period ends, over a restart too', async () => {
    const branches = await polled();
    await pollWith(branches, { 101: [401, 390] });
    await branches.polls(2);
    const kept = { '101': [401, 390], '102': [30, 28] };
    expect(branches.totals()).toEqual(kept);
    expect(branches.excess()).toEqual({ '101': [0, 0], '102': [30, 28] });
    branches.restart();
    expect(branches.totals()).toEqual({});
    await branches.polls(1);
    expect(branches.totals()).toEqual(kept);
    branches.nowMs = NOVEMBER.endMs;
    expect(branches.totals()).toEqual({});
    branches.todayRows = { 101: [2, 1] };
    await pollWith(branches, { 101: [2, 1] });
    expect(branches.totals()).toEqual({ '101': [2, 1], '102': [0, 0] });
  });

  test('adds up rows with the same key, 101 and "101" or two lone surrogates among them', async () => {
    const keys = [101, '\ud800', '101', '\udbff'];
    const branches = await polled(keys.map((key) => ({ key, counts: [5, 1] })));
    expect(branches.totals()).toEqual({ '101': [10, 2], '\ufffd': [10, 2] });
  });

  test.each(['', 'a:b', '__proto__'])('exports the key %j, also after a restart', async (key) => {
    const branches = await polled([{ key, counts: [7, 3] }], [{ key, counts: [1, 0] }]);
    branches.restart();
    await pollWith(branches, [{ key, counts: [6, 3] }]);
    expect(branches.exported().keys).toMatchObject([
      { key, counters: { people_entered: { total: 7, excess: 1, today: 1 } } },
    ]);
  });

  test('exports whole numbers first and by their value, then the rest as text', async () => {
    const keys = ['b', '10', '9', '', '101', 'B', '-1', '0'];
    const branches = await polled(keys.map((key) => ({ key, counts: [1, 0] })));
    expect(branches.keys()).toEqual(['0', '9', '10', '101', '', '-1', 'B', 'b']);
  });

  test('changes nothing when a poll fails, as for another aggregation', async () => {
    const branches = await polled();
    branches.faults.push(responseOf({ 101: [450, 400] }), responseOf({ 101: [9, 9] }, 'day'));
    await pollWith(branches, { 101: [450, 400] });
    expect(branches.totals()).toEqual(TOTALS);
    const { up, lastError, failures } = branches.metrics().streams.branch ?? {};
    expect({ up, failures }).toEqual({ up: false, failures: 1 });
    expect(lastError?.message).toContain('expected aggregation "branch"');
  });
});

describe('devices that counted anybody', () => {
  function devicesOf({ customer, nowMs }: BreakdownFixture) {
    const { startMs, month } = customer.periodAt(nowMs);
    return customer.breakdowns.devicesOf(startMs, customer.calendar.periodStart(month - 1));
  }

  test('are known by when one of their counters last rose', async () => {
    const totals = { '301': [5, 3], '302': [0, 0] };
    const devices = new BreakdownFixture(totals, { '301': [1, 1] }, 'device');
    expect(devicesOf(devices)).toBeUndefined();
    await devices.poll();
    await pollWith(devices, { '301': [5, 4], '302': [0, 0] });
    const lastMs = devices.nowMs;
    await devices.polls(1);
    const device = { key: '301', people: 9, excess: 0, lastMs, untilMs: devices.nowMs };
    expect(devicesOf(devices)).toEqual([device]);
  });

  test('and have no counts today counted before the day, whenever they were seen', async () => {
    const devices = new BreakdownFixture({ '301': [5, 3] }, {}, 'device');
    await devices.poll();
    const { startMs } = devices.customer.calendar.dayAt(devices.nowMs);
    expect(devicesOf(devices)).toMatchObject([{ key: '301', lastMs: startMs }]);
  });
});

describe('the time of the scrape', () => {
  test('hides the values of yesterday', async () => {
    const branches = await polled();
    branches.nowMs = DAY_END_MS - 1;
    expect(branches.today()['101']).toEqual([9, 4]);
    branches.nowMs = DAY_END_MS;
    expect(branches.today()['101']).toEqual([undefined, undefined]);
    expect(branches.totals()).toEqual(TOTALS);
  });

  test('does not take a key that counted nobody into the next counting period', async () => {
    const branches = await polled({ 101: [5, 0], 102: [0, 3], 103: [0, 0] });
    const { breakdowns, calendar } = branches.customer;
    expect(breakdowns.countedKeys('branch', NOVEMBER.startMs)).toEqual(['101', '102']);
    expect(breakdowns.countedKeys('branch', calendar.periodStart(NOVEMBER.month - 1))).toEqual([]);
    expect(breakdowns.countedKeys('device', NOVEMBER.startMs)).toEqual([]);
  });

  test('exports keys of the last counting period as 0, over a restart too, until they count', async () => {
    const branches = new BreakdownFixture(TOTALS, TODAY);
    branches.nowMs = NOVEMBER.endMs - MINUTE_MS;
    await branches.poll();
    branches.restart();
    for (const rows of [{ 101: [1, 0] }, { 101: [1, 0], 102: [2, 0] }]) {
      branches.todayRows = rows;
      await pollWith(branches, rows);
      expect(branches.totals()).toEqual({ '102': [0, 0], ...rows });
      expect(branches.today()).toEqual({ '102': [0, 0], ...rows });
    }
  });
});

describe('keys above the limit', () => {
  const NUMBERS = Array.from({ length: MAX_KEYS + 50 }, (_, i) => i + 1);
  const MANY = NUMBERS.map((key) => ({ key, counts: [key, 1] }));

  test('are dropped by the order of the keys, counted, and logged once', async () => {
    const branches = await polled(MANY.toReversed());
    expect(branches.keys()).toEqual(NUMBERS.slice(0, MAX_KEYS).map(String));
    expect(branches.exported().droppedKeys).toBe(50);
    expect(branches.notes).toEqual(['breakdown_keys_dropped']);
    await branches.polls(1);
    expect(branches.notes).toEqual([]);
  });

  test('do not replace exported ones, also after a restart', async () => {
    const branches = await polled(MANY.slice(50));
    const exported = branches.keys();
    await pollWith(branches, MANY);
    branches.restart();
    await branches.polls(1);
    expect(branches.keys()).toEqual(exported);
    expect(branches.exported().droppedKeys).toBe(50);
  });
});

describe('what is not accepted at once (rules 3 and 5)', () => {
  test('a response without a branch is requested again at once, also after a restart', async () => {
    const branches = await polled(LARGE);
    for (const entered of [5_003, 5_004]) {
      branches.faults.push(responseOf({ 101: [entered, 4_900] }));
      await pollWith(branches, { 101: [entered, 4_900], 102: [40_001, 39_000] });
      expect(branches.requests).toHaveLength(3);
      expect(branches.totals()).toEqual(branches.totalRows);
      expect(branches.excess()).toEqual(NO_EXCESS);
      branches.restart();
    }
  });

  test('an empty response where there were counts is accepted at the third poll', async () => {
    const branches = await polled(LARGE);
    branches.todayRows = {};
    for (const notes of [['empty_response_pending'], ['empty_response_pending'], []]) {
      expect(branches.excess()).toEqual(NO_EXCESS);
      await pollWith(branches, {});
      expect(branches.notes).toEqual(notes);
    }
    expect([branches.totals(), branches.excess()]).toEqual([LARGE, LARGE]);
  });

  test('an empty response where there was none is accepted after an hour', async () => {
    const branches = new BreakdownFixture();
    await branches.polls(12);
    expect(branches.notes).toEqual(['empty_response_pending']);
    await branches.polls(1);
    expect(branches.notes).toEqual([]);
    await pollWith(branches, { 101: [1, 0] });
    expect(branches.totals()).toEqual({ '101': [1, 0] });
  });

  test('an implausible increase of one, while another loses counts, is accepted at the third poll', async () => {
    const branches = await polled(LARGE);
    branches.totalRows = { 101: [12_000, 4_900], 102: [39_999, 39_000] };
    for (let poll = 0; poll < 2; poll += 1) {
      await branches.polls(1);
      expect(branches.notes).toEqual(['increase_pending']);
      expect(branches.totals()).toEqual(LARGE);
    }
    await branches.polls(1);
    expect(branches.totals()).toEqual({ '101': [12_000, 4_900], '102': LARGE['102'] });
    expect(branches.notes).toEqual([]);
  });

  test('after a restart, an increase is that since the last poll before it', async () => {
    const branches = await polled(LARGE);
    branches.restart();
    await pollWith(branches, { ...LARGE, 102: [44_999, 39_000] });
    expect(branches.notes).toEqual([]);
    branches.restart();
    await pollWith(branches, { ...LARGE, 102: [50_001, 39_000] });
    expect(branches.notes).toEqual(['increase_pending']);
  });

  test('an implausible increase of many small ones shows in the sum', async () => {
    const branches = await polled(LARGE);
    const small = Array.from({ length: 100 }, (_, i) => [200 + i, [900, 0]] as const);
    await pollWith(branches, { ...LARGE, ...Object.fromEntries(small) });
    expect(branches.notes).toEqual(['increase_pending']);
  });
});
