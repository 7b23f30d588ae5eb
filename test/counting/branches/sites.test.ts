/** Which branches of a customer there are, and what they say after each response. */
import { describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/base/duration.ts';
import { hasWindows, unknownDay, WINDOW_MS } from '../../../src/counting/branches/day.ts';
import { NO_BRANCHES } from '../../../src/counting/branches/plan.ts';
import { parseOpeningHours } from '../../../src/counting/calendar/opening-hours.ts';
import type { BranchMetrics, SiteDescription } from '../../../src/counting/customer-metrics.ts';
import { HISTORY_DAYS } from '../../../src/counting/occupancy/door-model.ts';
import { CALENDAR } from '../../support/owner.ts';
import { at, BranchFixture, NORTH, OTHERS, SOUTH } from './fixture.ts';

/** Branches that a service counts and a process shows. */
class ShownBranches extends BranchFixture {
  constructor(configured?: Readonly<Record<string, SiteDescription>>, nowMs = at(10, 18)) {
    super(nowMs, CALENDAR, configured);
  }

  /** Returns their values while polls bring new counts, and no login is known. */
  metrics(atMs = this.nowMs): readonly BranchMetrics[] {
    return this.sites.metricsAt(atMs, { isCurrent: true, loginMs: undefined });
  }

  get keys(): readonly string[] {
    return this.metrics().map(({ key }) => key);
  }

  get occupancy(): Readonly<Record<string, number | undefined>> {
    return Object.fromEntries(this.metrics().map(({ key, occupancy }) => [key, occupancy]));
  }
}

describe('the branches', () => {
  test('are those that are configured, before the first poll', () => {
    const { keys } = new ShownBranches({ b: OTHERS, 10: OTHERS, a: OTHERS, 9: OTHERS });
    expect(keys).toEqual(['9', '10', 'a', 'b']);
  });

  test('are also those that counted, and not those that the service merely lists', async () => {
    const branches = new ShownBranches({ [NORTH]: OTHERS });
    branches.change = ({ rows, ...response }) => ({
      ...response,
      rows: [...rows, { key: '300', counts: [0, 0] }],
    });
    branches.record(NORTH, at(10, 16), [1, 0]);
    await branches.poll();
    expect(branches.keys).toEqual([NORTH]);
    branches.record(SOUTH, at(10, 17), [3, 0]);
    await branches.poll();
    expect(branches.occupancy).toEqual({ [NORTH]: 1, [SOUTH]: 3 });
    expect([...branches.sites.names]).toEqual([
      [NORTH, NORTH],
      [SOUTH, SOUTH],
    ]);
  });

  test('are those of the stored windows before the first poll, not those that are restored later', async () => {
    const branches = new ShownBranches();
    branches.record(NORTH, at(10, 3), [1, 0]);
    await branches.poll();
    const restarted = new ShownBranches();
    restarted.sites.restore(branches.sites.state);
    expect(restarted.keys).toEqual([NORTH]);
    branches.sites.restore({ ...NO_BRANCHES, keys: [SOUTH] });
    expect(branches.sites.state.keys).toEqual([NORTH]);
    expect(branches.sites.plan()).toBeUndefined();
  });

  test.each([
    ['go', {}, [SOUTH]],
    ['stay if they are configured', { [NORTH]: OTHERS }, [NORTH, SOUTH]],
  ])('that counted nobody for four weeks %s', async (_, configured, expected) => {
    const branches = new ShownBranches(configured, at(11, 10));
    branches.record(NORTH, at(12, 0, HISTORY_DAYS), [1, 1]);
    branches.record(SOUTH, at(10, 3), [1, 0]);
    for (const keys of [[NORTH, SOUTH], expected]) {
      await branches.poll();
      branches.sites.learn();
      expect(branches.keys).toEqual(keys);
      branches.nowMs += DAY_MS;
    }
  });

  test('are a thousand, first those that are configured', () => {
    const branches = new ShownBranches({ north: OTHERS, south: OTHERS });
    const keys = Array.from({ length: 1_000 }, (_, i) => String(i + 1));
    const sums = [Float64Array.from([1_000, 0, ...keys.flatMap(() => [1, 0])])];
    const today = { ...unknownDay(branches.day, WINDOW_MS), sums };
    branches.sites.restore({ ...NO_BRANCHES, keys, today });
    expect(branches.keys).toEqual([...keys.slice(0, 998), 'north', 'south']);
  });
});

describe('settings', () => {
  test('that change keep the counts of a branch', async () => {
    const branches = new ShownBranches({ [NORTH]: OTHERS, 300: OTHERS });
    branches.record(NORTH, at(10, 16), [4, 0]);
    branches.record(SOUTH, at(10, 17), [2, 0]);
    await branches.poll();
    const configured = { [SOUTH]: { ...OTHERS, capacity: 60 }, 400: OTHERS };
    branches.sites.setDescriptions({ configured, others: { ...OTHERS, capacity: 7 } });
    // What is no longer configured and counted nobody is gone.
    expect(branches.metrics()).toMatchObject([
      { key: NORTH, capacity: 7, occupancy: 4 },
      { key: SOUTH, capacity: 60, occupancy: 2 },
      { key: '400', capacity: undefined, occupancy: undefined },
    ]);
  });

  test('say when a branch opens or closes', () => {
    const hours = ['09:00-17:00', '12:00-18:00'].map((text, i) => {
      return [i, { ...OTHERS, openingHours: parseOpeningHours(text, undefined) }] as const;
    });
    const { sites } = new ShownBranches({ ...Object.fromEntries(hours), 300: OTHERS });
    expect(sites.changesAfter(at(10))).toEqual(expect.arrayContaining([at(17), at(12), at(28)]));
  });
});

describe('values', () => {
  test('follow each response of today', async () => {
    const branches = new ShownBranches({ [NORTH]: OTHERS });
    branches.record(NORTH, at(10, 3), [5, 0]);
    // That of the running window.
    branches.count();
    expect(branches.occupancy).toEqual({ [NORTH]: undefined });
    expect(await branches.read()).toBe(1);
    expect(branches.occupancy).toEqual({ [NORTH]: 5 });
    // That of a window alone.
    branches.record(NORTH, at(10, 4), [2, 0], 15 * MINUTE_MS);
    branches.nowMs = at(10, 21);
    expect(await branches.poll()).toBe(1);
    expect(branches.occupancy).toEqual({ [NORTH]: 7 });
  });

  test('of today are known before the days before are', async () => {
    const branches = new ShownBranches({ [NORTH]: OTHERS });
    branches.record(NORTH, at(10, 3), [5, 0]);
    branches.record(NORTH, at(10, 3, 1), [5, 0]);
    branches.sites.counted({ ...branches.customer(), past: undefined });
    expect(await branches.read()).toBe(1);
    expect(branches.occupancy).toEqual({ [NORTH]: 5 });
    expect([branches.sites.learn(), branches.sites.isWaiting]).toEqual([false, false]);
    branches.count();
    expect(branches.sites.isWaiting).toBe(true);
  });
});

/** NORTH counts 12 an hour in each direction until 14:00, or until an instant; SOUTH likewise. */
async function counted(northUntilMs = at(14)): Promise<ShownBranches> {
  const branches = new ShownBranches({ [NORTH]: OTHERS, [SOUTH]: OTHERS }, at(14));
  for (let minutes = 0; minutes < 4 * 60; minutes += 15) {
    for (const key of [NORTH, SOUTH]) {
      for (const daysAgo of [7, 14, 21, 28]) {
        branches.record(key, at(10, minutes, daysAgo), [3, 3]);
      }
      if (key === SOUTH || at(10, minutes) < northUntilMs) {
        branches.record(key, at(10, minutes), [3, 3]);
      }
    }
  }
  await branches.poll();
  while (branches.sites.learn());
  return branches;
}

test('a branch counts nobody where another one does, unless the polls of their customer fail', async () => {
  const { sites } = await counted(at(10, 45));
  function problemsOf(isCurrent: boolean) {
    const metrics = sites.metricsAt(at(14), { isCurrent, loginMs: undefined });
    return metrics.map(({ problems, isTrusted }) => [problems, isTrusted]);
  }
  // From 11:00 to 13:00: the days before are known by hour.
  const silent = { kind: 'nobody_counted', sinceMs: at(10, 30), missed: 24 };
  expect(problemsOf(true)).toEqual([
    [[silent], false],
    [[], true],
  ]);
  expect(sites.problems).toEqual([[NORTH, [silent]]]);
  expect(problemsOf(false)).toEqual([
    [[], false],
    [[], false],
  ]);
});

test('a silent door is a problem of its branch alone, while others of the branch count', async () => {
  const [lastMs, untilMs] = [at(10, 30), at(14)];
  const device = { key: '301', lastMs, untilMs, people: 100, excess: 0, share: 0.5 };
  const [busy, closed] = [await counted(), await counted(at(12))].map(({ sites }) => sites);
  const silences = [busy, closed].map((sites) => sites?.sites.get(NORTH)?.silencesOf([device]));
  // To the last count of the branch.
  const openMs = silences.map((ofSite) => ofSite?.get('301')?.openMs);
  expect(openMs).toEqual([3.25 * HOUR_MS, 1.25 * HOUR_MS]);
  const around = { isCurrent: true, loginMs: undefined };
  const metrics = busy?.metricsAt(at(14), around, new Map([[NORTH, silences[0]]]));
  // 78 people since the end of the quarter-hour, of whom 39 came in.
  expect(metrics).toMatchObject([
    { problems: [{ kind: 'door_silent', missed: 19.5 }], isTrusted: false },
    { problems: [], isTrusted: true },
  ]);
});

test('nothing is requested before the first poll, and while keys cannot be parsed', async () => {
  const branches = new ShownBranches({ [NORTH]: OTHERS });
  branches.record(NORTH, at(10, 3), [5, 0]);
  expect(branches.sites.isWaiting).toBe(false);
  branches.count();
  expect(branches.sites.isWaiting).toBe(true);
  branches.sites.counted(undefined);
  expect(branches.sites.plan()).toBeUndefined();
  await branches.sites.readNext(branches.query);
  expect(branches.requests).toEqual([]);
});

describe('the days before', () => {
  test('are learned from once the day that ended is read', async () => {
    const branches = new ShownBranches({ [NORTH]: OTHERS }, at(27, 55));
    branches.record(NORTH, at(27, 50), [5, 5]);
    for (let day = 0; day < 2; day += 1) {
      branches.count();
      expect(branches.sites.learn()).toBe(false);
      expect(await branches.read()).toBe(1);
      branches.sites.learn();
      expect(branches.sites.isWaiting).toBe(false);
      branches.nowMs += 10 * MINUTE_MS;
    }
  });

  test('are in the past of each branch in place of their windows, also of one that a reload adds', async () => {
    const branches = new ShownBranches({ [NORTH]: OTHERS });
    branches.record(NORTH, at(12, 50, 1), [5, 5]);
    await branches.poll();
    const { sites } = branches;
    sites.learn();
    expect(sites.state.past.some(hasWindows)).toBe(false);
    expect([...sites.state.pasts.keys()]).toEqual([NORTH]);
    const restarted = new ShownBranches({ [NORTH]: OTHERS });
    restarted.sites.restore(sites.state);
    restarted.sites.counted(branches.customer());
    restarted.sites.learn();
    // Nothing is stored again.
    expect(restarted.sites.state.pasts).toBe(sites.state.pasts);
    sites.setDescriptions({ configured: { [NORTH]: OTHERS, [SOUTH]: OTHERS }, others: OTHERS });
    sites.learn();
    expect([...sites.state.pasts.keys()]).toEqual([NORTH, SOUTH]);
    expect(sites.isWaiting).toBe(false);
  });
});
