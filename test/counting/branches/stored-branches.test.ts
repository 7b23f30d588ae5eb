import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/base/duration.ts';
import { NO_BRANCHES } from '../../../src/counting/branches/branch-state.ts';
import type { BranchState } from '../../../src/counting/branches/branch-state.ts';
import {
  branchesToday,
  isPastKnown,
  pastDaysOf,
} from '../../../src/counting/branches/branch-values.ts';
import {
  restoreBranches,
  serializeBranches,
} from '../../../src/counting/branches/stored-branches.ts';
import { Calendar } from '../../../src/counting/calendar/calendar.ts';
import { Zone } from '../../../src/counting/calendar/zone.ts';
import { HISTORY_DAYS } from '../../../src/counting/occupancy/door-model.ts';
import { damaged } from '../../support/damage.ts';
import { COPENHAGEN, OWNER } from '../../support/owner.ts';
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

function textOf({ state }: BranchFixture): string {
  return serializeBranches(OWNER, state);
}

describe('a restart with a file', () => {
  test('shows the same without a request but for the running window', async () => {
    const branches = await polled();
    const restarted = branches.restarted();
    restarted.state = restoreBranches(OWNER, textOf(branches));
    expect(await restarted.poll()).toBe(1);
    const customer = branches.customer();
    const today = branchesToday(branches.state, branches.calendar, customer);
    const known = branchesToday(restarted.state, branches.calendar, customer);
    for (const key of ['101', '102']) {
      expect(known?.get(key)?.counts).toEqual(today?.get(key)?.counts);
    }
    expect(restarted.state.past).toEqual(branches.state.past);
    expect(isPastKnown(restarted.state)).toBe(true);
  });

  test('requests the days before that were not read yet', async () => {
    const branches = await polled();
    // Of a day without a window that is known by the customer's counts alone.
    branches.record('101', at(4, 10, 5), [1, 1]);
    const interrupted = branches.restarted();
    while (interrupted.windows('101').length === 0) {
      await interrupted.poll(1);
    }
    const restarted = branches.restarted();
    restarted.state = restoreBranches(OWNER, textOf(interrupted));
    expect(restarted.state.past).toHaveLength(HISTORY_DAYS - 1);
    await restarted.poll();
    const fresh = branches.restarted();
    await fresh.poll();
    expect(restarted.state.past).toEqual(fresh.state.past);
  });

  test('requests the windows that it missed', async () => {
    const branches = await polled();
    const restarted = branches.restarted();
    restarted.state = restoreBranches(OWNER, textOf(branches));
    restarted.nowMs += HOUR_MS;
    // Four windows and the running one.
    expect(await restarted.poll()).toBe(5);
  });

  test('after the day is over requests its other hours', async () => {
    const branches = await polled();
    const restarted = branches.restarted();
    restarted.state = restoreBranches(OWNER, textOf(branches));
    restarted.nowMs += DAY_MS;
    // Those from eleven to two; the customer counted nobody in others.
    expect(await restarted.poll()).toBe(3);
    const fresh = branches.restarted();
    fresh.nowMs = restarted.nowMs;
    await fresh.poll();
    expect(restarted.state.past).toEqual(fresh.state.past);
  });

  test('repairs sums that are not those of the service', async () => {
    const branches = await polled();
    const restarted = branches.restarted();
    const damaged = textOf(branches).replace(/\[\d+(,\d+){5}\]/, '[15,2,3,2,12,0]');
    expect(damaged).not.toBe(textOf(branches));
    restarted.state = restoreBranches(OWNER, damaged);
    await restarted.poll();
    await branches.pollUntil(branches.nowMs + 20 * MINUTE_MS);
    await restarted.pollUntil(branches.nowMs);
    expect(restarted.windows('102')).toEqual(branches.windows('102'));
  });

  test('ignores days of another time zone or day start', async () => {
    const branches = await polled();
    const calendar = new Calendar(COPENHAGEN, { hour: 5, minute: 0 });
    const restarted = branches.restarted(calendar);
    restarted.state = restoreBranches(OWNER, textOf(branches));
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
    restarted.state = restoreBranches(OWNER, textOf(branches));
    await restarted.poll();
    const fresh = branches.restarted(calendar);
    await fresh.poll();
    expect(restarted.state.past).toEqual(fresh.state.past);
  },
);

/** Returns the state of a text; undefined after an Error. */
function restoredFrom(text: string): BranchState | undefined {
  try {
    return restoreBranches(OWNER, text);
  } catch {
    return undefined;
  }
}

test('a damaged file is an error or a state with which the next polls work', async () => {
  const branches = await polled();
  let states = 0;
  await fc.assert(
    fc.asyncProperty(damaged(textOf(branches)), async (text) => {
      const restored = restoredFrom(text);
      if (restored === undefined) {
        return;
      }
      const restarted = branches.restarted();
      restarted.state = restored;
      states += 1;
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
  expect(states).toBeGreaterThan(10);
});

test('a window that is as the one before takes five characters', async () => {
  const branches = await polled();
  const [, today = ''] = textOf(branches).split('\n');
  expect(today).toContain('"sums":[null,null,null,');
  expect(today.length).toBeLessThan(600);
});

test('a file has what is known, be it nothing, a day before or today', async () => {
  const branches = await polled();
  const { keys, today, past } = branches.state;
  for (const state of [
    NO_BRANCHES,
    { ...NO_BRANCHES, keys, past },
    { ...NO_BRANCHES, keys, past, today },
  ]) {
    expect(restoreBranches(OWNER, serializeBranches(OWNER, state))).toEqual(state);
  }
});

test.each([
  [1_000, true],
  [1_001, false],
])('%d keys are valid: %s', (length, expected) => {
  const keys = JSON.stringify(Array.from({ length }, (_, i) => String(i)));
  expect(restoredFrom(`${FILE},"keys":${keys},"days":[]}`) !== undefined).toBe(expected);
});

const FILE = `{"format":"library-stats-exporter branches","version":1,"owner":${JSON.stringify(OWNER)}`;

test.each([
  ['nothing', '', 'Unexpected end of JSON input'],
  ['no object', 'null', 'not a library-stats-exporter branches file of version 1'],
  ['another version', '{"format":"library-stats-exporter branches","version":2}', 'version 1'],
  ['another format', '{"format":"backfill","version":1}', 'of version 1'],
  ['another owner', FILE.replace('riverside-api', 'north-api') + '}', 'another customer'],
  ['no keys', `${FILE},"days":[]}`, 'a key or a day is invalid'],
  ['a key twice', `${FILE},"keys":["1","1"],"days":[]}`, 'a key or a day is invalid'],
  ['a number as a key', `${FILE},"keys":["1",2],"days":[]}`, 'a key or a day is invalid'],
  ['no days', `${FILE},"keys":[]}`, 'a key or a day is invalid'],
  ['a day of no length', dayOf({ end_ms: 0 }), 'a day is invalid'],
  ['a day before 1970', dayOf({ start_ms: -HOUR_MS }), 'a day is invalid'],
  ['a day without an end', dayOf({ end_ms: null }), 'a day is invalid'],
  ['windows of another length', dayOf({ window_ms: 60_000 }), 'a day is invalid'],
  ['too many windows', dayOf({ sums: Array.from({ length: 3 }, () => null) }), 'a day is invalid'],
  ['no gap', dayOf({ gap: [0] }), 'a day is invalid'],
  ['half a person as gap', dayOf({ gap: [0, 0.5] }), 'a day is invalid'],
  ['a negative sum', dayOf({ sums: [[1, -1]] }), 'a sum is invalid'],
  ['a sum of an unknown key', dayOf({ sums: [[1, 1, 1, 1, 1, 1]] }), 'a sum is invalid'],
  ['a text as sums', dayOf({ sums: ['1'] }), 'a sum is invalid'],
])('a file with %s is rejected', (_, text, message) => {
  expect(() => restoreBranches(OWNER, text)).toThrow(message);
});

/** A file with a day of two hours and one branch. */
function dayOf(changes: Readonly<Record<string, unknown>>): string {
  const day = { start_ms: 0, end_ms: 2 * HOUR_MS, window_ms: HOUR_MS, gap: [0, 0], sums: [] };
  return `${FILE},"keys":["101"],"days":[${JSON.stringify({ ...day, ...changes })}]}`;
}
