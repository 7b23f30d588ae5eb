import { describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/base/duration.ts';
import { ServiceError } from '../../../src/base/errors.ts';
import type { AggregatedResponse } from '../../../src/base/model.ts';
import {
  decide,
  isPastKnown,
  NO_BRANCHES,
  plan,
  update,
} from '../../../src/counting/branches/plan.ts';
import { countedKeys } from '../../../src/counting/branches/sites.ts';
import { Calendar } from '../../../src/counting/calendar/calendar.ts';
import { HISTORY_DAYS } from '../../../src/counting/occupancy/door-model.ts';
import { countInMinute } from '../../../src/counting/rows/day-counts.ts';
import type { CountsToday } from '../../../src/counting/rows/day-counts.ts';
import { COPENHAGEN } from '../../support/owner.ts';
import { responseOf } from '../../support/responses.ts';
import { at, BranchFixture, NORTH, SOUTH } from './fixture.ts';

/** Two branches open from ten to eleven; polled up to 11:40. */
async function morning(): Promise<BranchFixture> {
  const branches = new BranchFixture(at(9, 30));
  for (let minute = 0; minute < 60; minute += 4) {
    branches.record(NORTH, at(10, minute), [2, 1]);
    branches.record(SOUTH, at(10, minute + 1), [0, 1]);
  }
  await branches.poll();
  await branches.pollUntil(at(11, 40));
  return branches;
}

describe('today', () => {
  test('ends with a running window from the last finished one to now', async () => {
    const branches = new BranchFixture(at(10, 18));
    branches.record(NORTH, at(10, 3), [5, 0]);
    branches.record(NORTH, at(10, 17), [0, 4]);
    await branches.poll();
    const { counts } = branches.today(NORTH) as CountsToday;
    // The window until 10:15 is finished at 10:20.
    expect(branches.windows(NORTH)).toEqual([[24, 5, 4]]);
    expect(counts.lastStepEndMs).toBe(at(10, 18));
    expect(countInMinute(counts, 0, 360)).toBeCloseTo(5 / 18, 12);
    expect(countInMinute(counts, 0, 378)).toBe(0);

    await branches.pollAt(at(10, 20));
    const windows = [
      [24, 5, 0],
      [25, 0, 4],
    ];
    expect(branches.windows(NORTH)).toEqual(windows);
  });

  test('is unknown while the newest counts of the customer have no response', async () => {
    const branches = await morning();
    branches.record(NORTH, at(11, 41), [1, 0]);
    const { change: unchanged } = branches;
    branches.change = () => {
      throw new ServiceError('server', '500');
    };
    branches.requests = [];
    await branches.pollAt(at(11, 42));
    expect(branches.requests).toHaveLength(1);
    expect(branches.today(NORTH)).toBeUndefined();
    branches.change = unchanged;
    await branches.poll();
    expect(branches.sumsToday(NORTH)).toEqual([31, 15]);
  });

  test('is known without a request while nobody is counted', async () => {
    const branches = new BranchFixture(at(9, 30));
    await branches.pollUntil(at(12));
    expect(branches.requests).toEqual([]);
    expect(branches.sumsToday(NORTH)).toEqual([0, 0]);
    expect(branches.today(NORTH)?.lastSeenMs).toBeUndefined();
    expect(isPastKnown(branches.state)).toBe(true);
    expect(isPastKnown({ ...branches.state, today: undefined })).toBe(false);
    expect(isPastKnown({ ...branches.state, past: [] })).toBe(false);
  });

  test('is unknown before the first poll, and at counts of another day', async () => {
    const branches = new BranchFixture(at(10));
    expect(branches.today(NORTH)).toBeUndefined();
    expect(plan(NO_BRANCHES, branches.customer())).toBeUndefined();
    await branches.poll();
    for (const days of [-1, 1]) {
      branches.nowMs = at(10) + days * DAY_MS;
      expect(branches.today(NORTH)).toBeUndefined();
      expect(plan(branches.state, branches.customer())).toBeUndefined();
    }
  });

  test('does not take a response to a request of another day, or for a window that is known', async () => {
    const branches = new BranchFixture(at(10, 18));
    branches.record(NORTH, at(10, 3), [5, 0]);
    branches.count();
    const now = plan(branches.state, branches.customer());
    expect(now).toMatchObject({ toMs: undefined });
    branches.nowMs = at(10, 20);
    branches.count();
    const window = plan(branches.state, branches.customer());
    expect(window).toMatchObject({ toMs: at(10, 15) });
    const table = new Map([[NORTH, [9, 9]]]);
    // A poll with the same counts changes nothing.
    const polled = update(branches.state, branches.calendar, branches.customer());
    expect(window && decide(polled, window, table).today?.sums).toHaveLength(25);
    await branches.poll();
    expect(window && decide(branches.state, window, table)).toEqual(branches.state);
    expect(now && decide(NO_BRANCHES, now, table)).toEqual({ ...NO_BRANCHES, keys: [NORTH] });
  });

  test('takes a request a window and a minute that counted anybody', async () => {
    const branches = await morning();
    expect(branches.requests).toHaveLength(30 + 5);
    // The first who came at ten may be in the window before.
    expect(branches.requests.filter(({ to }) => to !== undefined)).toHaveLength(5);
    branches.requests = [];
    await branches.pollUntil(at(20));
    expect(branches.requests).toHaveLength(0);
  });

  test('has the minute in which a branch was last seen while it runs, and a window after a restart', async () => {
    const branches = new BranchFixture(at(10));
    await branches.poll();
    branches.record(NORTH, at(10, 7), [1, 0]);
    branches.record(SOUTH, at(10, 11), [1, 0]);
    await branches.pollUntil(at(10, 30));
    const fresh = branches.restarted();
    await fresh.poll();
    const [seen, known] = [branches, fresh].map((one) =>
      [NORTH, SOUTH].map((key) => one.today(key)?.lastSeenMs),
    );
    expect(seen).toEqual([at(10, 7), at(10, 11)]);
    expect(known).toEqual([at(10), at(10)]);
  });

  test('does not take the last minute of the customer for a branch that counted before', async () => {
    const branches = new BranchFixture(at(10));
    await branches.poll();
    branches.record(NORTH, at(10, 7), [1, 0]);
    branches.record(SOUTH, at(10, 55), [1, 0]);
    await branches.pollAt(at(10, 56));
    const seen = [NORTH, SOUTH].map((key) => branches.today(key)?.lastSeenMs);
    expect(seen).toEqual([at(10), at(10, 55)]);
  });
});

describe('late records', () => {
  test('are in the sums at once, and in the window in which they were first seen', async () => {
    const branches = await morning();
    // A door was offline from 10:20 on.
    branches.record(SOUTH, at(10, 20), [7, 0], 92 * MINUTE_MS);
    await branches.pollUntil(at(11, 52));
    branches.requests = [];
    await branches.pollUntil(at(11, 53));
    expect(branches.sumsToday(SOUTH)).toEqual([7, 15]);
    await branches.pollUntil(at(13));
    const ends = branches.requests.map(({ to }) => to?.slice(11, 16));
    expect(ends).toEqual([undefined, '12:00']);
    expect(branches.sumsToday(SOUTH)).toEqual([7, 15]);
    expect(branches.windows(SOUTH).at(-1)).toEqual([31, 7, 0]);
    expect(branches.windows(NORTH)).toEqual((await morning()).windows(NORTH));
  });

  test('of a day that is over are read once the customer has them', async () => {
    const branches = await morning();
    branches.record(NORTH, at(10, 50), [3, 0], 30 * HOUR_MS);
    await branches.pollUntil(at(10) + DAY_MS, HOUR_MS);
    expect(branches.pastTotals(NORTH).at(-1)).toEqual([30, 15]);
    branches.requests = [];
    await branches.pollUntil(at(10) + 2 * DAY_MS, HOUR_MS);
    expect(branches.pastTotals(NORTH).at(-2)).toEqual([33, 15]);
    // The four of the quarter-hours in which it counted anybody.
    expect(branches.requests).toHaveLength(4);
  });

  test('of a day that is over replace what is known of it as a whole', async () => {
    const branches = await morning();
    await branches.pollUntil(at(5) + DAY_MS, HOUR_MS);
    branches.record(NORTH, at(10, 50), [3, 0], 20 * HOUR_MS);
    branches.nowMs = at(7) + DAY_MS;
    await branches.poll(2);
    expect(isPastKnown(branches.state)).toBe(false);
    expect(branches.pastTotals(NORTH).at(-1)).toEqual([30, 15]);
    await branches.poll();
    expect(isPastKnown(branches.state)).toBe(true);
    expect(branches.pastTotals(NORTH).at(-1)).toEqual([33, 15]);
  });
});

describe('the days before', () => {
  test('are by hour until the last of those from before the first start is gone', async () => {
    const branches = new BranchFixture(at(12));
    for (let day = -30; day <= HISTORY_DAYS; day += 1) {
      branches.record(NORTH, at(10, 20, day), [9, 6]);
    }
    for (const [days, windowMs] of [
      [0, HOUR_MS],
      [27, HOUR_MS],
      [28, 15 * MINUTE_MS],
    ] as const) {
      await branches.pollUntil(at(12) + days * DAY_MS + 1, 6 * HOUR_MS);
      const past = branches.state.pasts.get(NORTH);
      expect(past).toMatchObject({ windowMs, days: HISTORY_DAYS, sums: [9 * 28, 6 * 28] });
    }
  });

  test('are not known while those of the customer are not', async () => {
    expect(isPastKnown(NO_BRANCHES)).toBe(false);
    const branches = await morning();
    branches.record(NORTH, at(12, 0, 1), [1, 1]);
    branches.nowMs += DAY_MS;
    const customer = { ...branches.customer(), past: undefined };
    const state = update(NO_BRANCHES, branches.calendar, customer);
    expect(plan(state, customer)).toBeUndefined();
    expect(isPastKnown(state)).toBe(false);
    const known = update(state, branches.calendar, branches.customer());
    expect(plan(known, branches.customer())).toMatchObject({ toMs: at(11) });
  });

  test('are by quarter-hour where the process missed them, and by hour before the first start', async () => {
    const branches = await morning();
    branches.record(NORTH, at(13, 20) + DAY_MS, [4, 4]);
    branches.record(NORTH, at(13, 20, 1), [4, 4]);
    await branches.pollAt(at(10) + 2 * DAY_MS);
    const quarters = [3, 1].map((daysAgo) => branches.pastQuarters(NORTH, daysAgo));
    expect(quarters).toEqual([[36, 37, 38, 39].map((quarter) => [quarter, 1, 1]), [[37, 4, 4]]]);
  });

  test('are by hour, too, where no window of the day was known', async () => {
    const branches = new BranchFixture(at(10));
    branches.record(NORTH, at(4, 1), [1, 0]);
    await branches.poll(0);
    await branches.pollAt(branches.nowMs + DAY_MS);
    expect(branches.requests).toMatchObject([{ to: '2026-11-18T05:00:00+01:00' }]);
  });

  test('are read again when the clock was set back to one of them', async () => {
    const branches = await morning();
    const { nowMs } = branches;
    const windows = branches.windows(NORTH);
    await branches.pollUntil(nowMs + DAY_MS, HOUR_MS);
    await branches.pollAt(nowMs);
    expect(branches.windows(NORTH)).toEqual(windows);
  });

  test.each([
    [25, Date.UTC(2026, 9, 24, 22)],
    [23, Date.UTC(2026, 2, 28, 23)],
  ])('may have %d hours', async (hours, startMs) => {
    // Clocks change between two and three, so this day starts at midnight.
    const branches = new BranchFixture(startMs, new Calendar(COPENHAGEN, { hour: 0, minute: 0 }));
    for (let half = 0; half < 2 * hours; half += 1) {
      branches.record(NORTH, startMs + half * (HOUR_MS / 2), [1, 0]);
    }
    const endMs = startMs + hours * HOUR_MS;
    await branches.pollUntil(endMs - MINUTE_MS, 10 * MINUTE_MS);
    expect(branches.sumsToday(NORTH)).toEqual([2 * hours, 0]);
    await branches.pollUntil(endMs + HOUR_MS, 10 * MINUTE_MS);
    expect(branches.pastTotals(NORTH).at(-1)).toEqual([2 * hours, 0]);
  });
});

test('a thousand branches are counted, and no window is requested again for those above', async () => {
  const branches = new BranchFixture(at(10));
  for (let branch = 1; branch <= 1_100; branch += 1) {
    branches.record(String(branch), at(10, 1), [branch, 0]);
  }
  await branches.pollUntil(at(10, 40));
  expect(countedKeys(branches.state)).toHaveLength(1_000);
  expect(branches.windows('1000')).toEqual([[24, 1_000, 0]]);
  expect(branches.windows('1001')).toEqual([]);
  expect(branches.requests).toHaveLength(2);
});

test.each([
  ['is empty', {}],
  ['has less than the one before, if not than the customer', { [NORTH]: [1, 0] }],
])('a response that %s is requested again', async (_, less) => {
  const branches = new BranchFixture(at(10, 18));
  branches.record(NORTH, at(10, 3), [1, 0]);
  // The customer has no counts of SOUTH.
  const served: AggregatedResponse[] = [];
  branches.change = () => served.pop() ?? responseOf({ [NORTH]: [1, 0], [SOUTH]: [4, 0] });
  await branches.pollUntil(at(10, 34));
  branches.requests = [];
  served.push(responseOf(less));
  await branches.pollUntil(at(10, 35));
  expect(branches.requests).toHaveLength(2);
  expect(branches.sumsToday(SOUTH)).toEqual([4, 0]);
});
