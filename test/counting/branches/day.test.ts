import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/base/duration.ts';
import { restoreDays, serializeDay } from '../../../src/counting/branches/day.ts';
import type { StoredBranchDay } from '../../../src/counting/branches/day.ts';
import { NO_BRANCHES, restoreBranches } from '../../../src/counting/branches/plan.ts';
import type { BranchState } from '../../../src/counting/branches/plan.ts';
import { branchesToday, pastDaysOf } from '../../../src/counting/branches/sites.ts';
import { Calendar } from '../../../src/counting/calendar/calendar.ts';
import { Zone } from '../../../src/counting/calendar/zone.ts';
import { damaged } from '../../support/damage.ts';
import { COPENHAGEN } from '../../support/owner.ts';
import { at, BranchFixture } from './fixture.ts';

/** Two days of two branches, polled until noon of the third. */
async function polled(): Promise<BranchFixture> {
  const branches = new BranchFixture(at(9));
  for (let day = 0; day < 3; day += 1) {
    for (let minute = 0; minute < 240; minute += 9) {
      branches.record('101', at(10, minute, -day), [3, 2]);
      branches.record('102', at(10, minute, -day), [70_000, 1]);
    }
  }
  await branches.pollUntil(at(12, 0, -2), 5 * MINUTE_MS);
  return branches;
}

/** The days that a store has, newest first. */
function storedDays({ keys, today, past }: BranchState): readonly StoredBranchDay[] {
  return [today, ...past].flatMap((day) =>
    day === undefined || day.sums.length === 0 ? [] : [serializeDay(keys, day)],
  );
}

describe('a restart with stored days', () => {
  test('shows the same without a request but for the running window', async () => {
    const branches = await polled();
    const restarted = branches.restarted();
    restarted.state = restoreBranches(storedDays(branches.state));
    expect(await restarted.poll()).toBe(1);
    const customer = branches.customer();
    const today = branchesToday(branches.state, branches.calendar, customer);
    const known = branchesToday(restarted.state, branches.calendar, customer);
    for (const key of ['101', '102']) {
      expect(known?.get(key)?.counts).toEqual(today?.get(key)?.counts);
    }
    expect(restarted.state.past).toEqual(branches.state.past);
    expect(restarted.state.phase).toBe('complete');
  });

  test('requests the days before that were not read yet', async () => {
    const branches = await polled();
    const interrupted = branches.restarted();
    do {
      await interrupted.poll(1);
    } while (interrupted.state.past[0]?.sums.length === 0);
    expect(interrupted.state.phase).toBe('reading');
    const restarted = branches.restarted();
    restarted.state = restoreBranches(storedDays(interrupted.state));
    const fresh = branches.restarted();
    expect(await restarted.poll()).toBeLessThan((await fresh.poll()) / 2);
    expect(restarted.state.past).toEqual(fresh.state.past);
  });

  test('requests the windows that it missed', async () => {
    const branches = await polled();
    const restarted = branches.restarted();
    restarted.state = restoreBranches(storedDays(branches.state));
    restarted.nowMs += HOUR_MS;
    // Four windows and the running one.
    expect(await restarted.poll()).toBe(5);
  });

  test('after the day is over requests its other windows', async () => {
    const branches = await polled();
    const restarted = branches.restarted();
    restarted.state = restoreBranches(storedDays(branches.state));
    restarted.nowMs += DAY_MS;
    // Those from a quarter to twelve to two; the customer counted nobody in others.
    expect(await restarted.poll()).toBe(9);
    await branches.pollUntil(restarted.nowMs, 5 * MINUTE_MS);
    expect(restarted.state.past).toEqual(branches.state.past);
  });

  test('reads a day again whose sums are not those of the customer', async () => {
    const branches = await polled();
    await branches.pollUntil(branches.nowMs + DAY_MS, 30 * MINUTE_MS);
    const restarted = branches.restarted();
    const [yesterday, ...older] = storedDays({ ...branches.state, today: undefined });
    const content = yesterday?.content.replace(/"customer":\[\d+/, '"customer":[1') ?? '';
    expect(content).not.toBe(yesterday?.content);
    restarted.state = restoreBranches([{ dayStartMs: NaN, ...yesterday, content }, ...older]);
    expect(await restarted.poll()).toBeGreaterThan(10);
    expect(restarted.state.past).toEqual(branches.state.past);
  });

  test('ignores days of another time zone or day start', async () => {
    const branches = await polled();
    const calendar = new Calendar(COPENHAGEN, { hour: 5, minute: 0 });
    const restarted = branches.restarted(calendar);
    restarted.state = restoreBranches(storedDays(branches.state));
    const fresh = branches.restarted(calendar);
    expect(await restarted.poll()).toBe(await fresh.poll());
    expect(restarted.state.past).toEqual(fresh.state.past);
  });
});

test.each([3, 4])(
  'a day that starts or ends at another time is not restored: %d:00 in Lagos, which has no summer time',
  async (hour) => {
    const branches = await polled();
    const calendar = new Calendar(new Zone('Africa/Lagos'), { hour, minute: 0 });
    const restarted = branches.restarted(calendar);
    restarted.state = restoreBranches(storedDays(branches.state));
    await restarted.poll();
    const fresh = branches.restarted(calendar);
    await fresh.poll();
    const [days, expected] = [restarted, fresh].map(({ state: { past } }) =>
      past.map(({ day, sums }) => [day, sums.at(-1)]),
    );
    expect(days).toEqual(expected);
  },
);

test('with a damaged day the next polls work', async () => {
  const branches = await polled();
  const days = storedDays(branches.state);
  const contents = damaged(days[0]?.content ?? '');
  await fc.assert(
    fc.asyncProperty(contents, fc.nat(2), async (content, place) => {
      const restarted = branches.restarted();
      const stored = days.map((day, i) => (i === place ? { ...day, content } : day));
      restarted.state = restoreBranches(stored);
      await restarted.poll();
      restarted.nowMs += 20 * MINUTE_MS;
      await restarted.poll();
      const { state, calendar } = restarted;
      const today = branchesToday(state, calendar, restarted.customer());
      for (const key of state.keys) {
        const counts = [today?.get(key)?.counts, ...pastDaysOf(state, calendar, key)];
        const steps = counts.flatMap((day) => day?.counts.map((ofDay) => [...ofDay]) ?? []);
        expect(steps.flat().every(Number.isFinite)).toBe(true);
      }
    }),
    { seed: 46, numRuns: 60 },
  );
});

test('a window that is as the one before takes five characters', async () => {
  const branches = await polled();
  const [today] = storedDays(branches.state);
  expect(today?.content).toContain('"sums":[null,null,null,');
  expect(today?.content.length).toBeLessThan(600);
});

test('what is known is restored, be it nothing, a day before or today', async () => {
  const branches = await polled();
  const { keys, today, past } = branches.state;
  const known = past.filter(({ sums }) => sums.length > 0);
  for (const state of [
    NO_BRANCHES,
    { ...NO_BRANCHES, keys, past: known },
    { ...NO_BRANCHES, keys, past: known, today },
  ]) {
    expect(restoreBranches(storedDays(state))).toEqual(state);
  }
});

test('days from before a branch was known are restored with those after', () => {
  const older = dayWith({ keys: ['101'], sums: [[1, 0, 1, 0]] }, 0);
  const newer = dayWith({ keys: ['101', '102'], sums: [[2, 0, 1, 0, 1, 0]] }, 2 * HOUR_MS);
  const { keys, days } = restoreDays([newer, older]);
  expect(keys).toEqual(['101', '102']);
  expect(days.map(({ day }) => day.startMs)).toEqual([2 * HOUR_MS, 0]);
  const other = dayWith({ keys: ['102'] }, 0);
  expect(restoreDays([newer, other]).days).toHaveLength(1);
  expect(restoreDays([older, newer]).days).toHaveLength(2);
});

/** A stored day of two hours and one branch. */
function dayWith(changes: Readonly<Record<string, unknown>>, dayStartMs = 0): StoredBranchDay {
  const endMs = dayStartMs + 2 * HOUR_MS;
  const day = { end_ms: endMs, window_ms: HOUR_MS, keys: ['101'], customer: [0, 0], sums: [] };
  return { dayStartMs, content: JSON.stringify({ ...day, ...changes }) };
}

const KEYS = Array.from({ length: 1_001 }, (_, i) => String(i));

test.each<[string, StoredBranchDay, number]>([
  ['as it was written', dayWith({}), 1],
  ['a thousand keys', dayWith({ keys: KEYS.slice(1) }), 1],
  ['more keys', dayWith({ keys: KEYS }), 0],
  ['nothing', { dayStartMs: 0, content: '' }, 0],
  ['no object', { dayStartMs: 0, content: 'null' }, 0],
  ['no keys', dayWith({ keys: undefined }), 0],
  ['a key twice', dayWith({ keys: ['1', '1'] }), 0],
  ['a number as a key', dayWith({ keys: ['1', 2] }), 0],
  ['a day of no length', dayWith({ end_ms: 0 }), 0],
  ['a day without an end', dayWith({ end_ms: null }), 0],
  ['windows of another length', dayWith({ window_ms: 60_000 }), 0],
  ['too many windows', dayWith({ sums: [null, null, null] }), 0],
  ['more counters', dayWith({ customer: [0, 0, 0] }), 0],
  ['half a person', dayWith({ customer: [0, 0.5] }), 0],
  ['a negative sum', dayWith({ sums: [[1, -1]] }), 0],
  ['a sum of an unknown key', dayWith({ sums: [[1, 1, 1, 1, 1, 1]] }), 0],
  ['a text as sums', dayWith({ sums: ['1'] }), 0],
])('of a stored day with %s', (_, day, expected) => {
  expect(restoreDays([day]).days).toHaveLength(expected);
});
