import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/base/duration.ts';
import { ServiceError } from '../../../src/base/errors.ts';
import {
  branchesToday,
  countedKeys,
  isPastKnown,
  pastDaysOf,
} from '../../../src/counting/branches/branch-values.ts';
import {
  areSumsEqual,
  packSums,
  pastDayOfKey,
  unknownDay,
} from '../../../src/counting/branches/branch-day.ts';
import { decide } from '../../../src/counting/branches/branch-responses.ts';
import { NO_BRANCHES } from '../../../src/counting/branches/branch-state.ts';
import { update } from '../../../src/counting/branches/branch-update.ts';
import { plan } from '../../../src/counting/branches/branch-windows.ts';
import { Calendar } from '../../../src/counting/calendar/calendar.ts';
import { HISTORY_DAYS } from '../../../src/counting/occupancy/door-model.ts';
import { createHistory } from '../../../src/counting/occupancy/history.ts';
import { countInMinute, positiveSums } from '../../../src/counting/rows/day-counts.ts';
import { CALENDAR, COPENHAGEN } from '../../support/owner.ts';
import { at, BranchFixture } from './fixture.ts';

const NORTH = '101';
const SOUTH = '102';

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

function pastTotals({ state, calendar }: BranchFixture, key: string): readonly number[][] {
  return pastDaysOf(state, calendar, key).map((day) => [...positiveSums(day)]);
}

describe('today', () => {
  test('is counted in windows of a quarter-hour', async () => {
    const branches = await morning();
    expect(branches.windows(NORTH)).toEqual([
      [24, 8, 4],
      [25, 8, 4],
      [26, 8, 4],
      [27, 6, 3],
    ]);
    expect(branches.windows(SOUTH)).toEqual([
      [24, 0, 4],
      [25, 0, 4],
      [26, 0, 3],
      [27, 0, 4],
    ]);
  });

  test('ends with a running window from the last finished one to now', async () => {
    const branches = new BranchFixture(at(10, 18));
    branches.record(NORTH, at(10, 3), [5, 0]);
    branches.record(NORTH, at(10, 17), [0, 4]);
    await branches.poll();
    const counts = branchesToday(branches.state, branches.calendar, branches.customer())?.get(
      NORTH,
    )?.counts;
    // The window until 10:15 is finished at 10:20.
    expect(branches.windows(NORTH)).toEqual([[24, 5, 4]]);
    expect(counts?.lastStepEndMs).toBe(at(10, 18));
    expect(counts && countInMinute(counts, 0, 360)).toBeCloseTo(5 / 18, 12);
    expect(counts && countInMinute(counts, 0, 378)).toBe(0);

    branches.nowMs = at(10, 20);
    await branches.poll();
    expect(branches.windows(NORTH)).toEqual([
      [24, 5, 0],
      [25, 0, 4],
    ]);
  });

  test('is unknown while the newest counts of the customer have no response', async () => {
    const branches = await morning();
    branches.record(NORTH, at(11, 41), [1, 0]);
    branches.nowMs = at(11, 42);
    branches.change = () => {
      throw new ServiceError('server', '500');
    };
    await branches.poll();
    expect(branchesToday(branches.state, branches.calendar, branches.customer())).toBeUndefined();
  });

  test('is known without a request while nobody is counted', async () => {
    const branches = new BranchFixture(at(9, 30));
    await branches.pollUntil(at(12));
    expect(branches.requests).toEqual([]);
    expect(branchesToday(branches.state, branches.calendar, branches.customer())).toEqual(
      new Map(),
    );
    expect(isPastKnown(branches.state)).toBe(true);
  });

  test('is unknown before the first poll, and at counts of another day', async () => {
    const branches = new BranchFixture(at(10));
    expect(branchesToday(NO_BRANCHES, branches.calendar, branches.customer())).toBeUndefined();
    expect(plan(NO_BRANCHES, branches.customer())).toBeUndefined();
    await branches.poll();
    for (const days of [-1, 1]) {
      branches.nowMs = at(10) + days * DAY_MS;
      expect(branchesToday(branches.state, branches.calendar, branches.customer())).toBeUndefined();
      expect(plan(branches.state, branches.customer())).toBeUndefined();
    }
  });

  test('has nobody in a branch that did not count', async () => {
    const branches = await morning();
    const { state, calendar } = branches;
    const today = branchesToday(state, calendar, branches.customer(), ['unknown']);
    const { counts, lastSeenMs } = today?.get('unknown') ?? {};
    expect(counts && positiveSums(counts)).toEqual([0, 0]);
    expect(lastSeenMs).toBeUndefined();
    expect(pastDaysOf(state, calendar, 'unknown').map(positiveSums)).toEqual(
      Array.from({ length: HISTORY_DAYS }, () => [0, 0]),
    );
  });

  test('does not take the running window after a window that was finished meanwhile', async () => {
    const branches = new BranchFixture(at(10, 18));
    branches.record(NORTH, at(10, 3), [5, 0]);
    branches.state = update(branches.state, branches.calendar, branches.customer());
    const task = plan(branches.state, branches.customer());
    expect(task?.kind).toBe('running');
    branches.nowMs = at(10, 20);
    await branches.poll();
    const table = new Map([[NORTH, [9, 9]]]);
    expect(task && decide(branches.state, task, table)).toEqual(branches.state);
    expect(task && decide(NO_BRANCHES, task, table)).toEqual({ ...NO_BRANCHES, keys: [NORTH] });
  });

  test('takes a request a window and a minute that counted anybody', async () => {
    const branches = await morning();
    // In two of the minutes in which a window was finished, nobody was counted.
    expect(branches.requests).toHaveLength(30 + 5 + 2);
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
    const seen = [branches, fresh].map(({ state, calendar }) =>
      [NORTH, SOUTH].map(
        (key) => branchesToday(state, calendar, branches.customer())?.get(key)?.lastSeenMs,
      ),
    );
    expect(seen).toEqual([
      [at(10, 7), at(10, 11)],
      [at(10), at(10)],
    ]);
  });

  test('does not take the last minute of the customer for a branch that counted before', async () => {
    const branches = new BranchFixture(at(10));
    await branches.poll();
    branches.record(NORTH, at(10, 7), [1, 0]);
    branches.record(SOUTH, at(10, 55), [1, 0]);
    branches.nowMs = at(10, 56);
    await branches.poll();
    const { state, calendar } = branches;
    const today = branchesToday(state, calendar, branches.customer());
    expect([NORTH, SOUTH].map((key) => today?.get(key)?.lastSeenMs)).toEqual([at(10), at(10, 55)]);
  });
});

describe('late records', () => {
  test('are repaired at the next window, newest first', async () => {
    const branches = await morning();
    // A door was offline from 10:20 on.
    branches.record(SOUTH, at(10, 20), [7, 0], 92 * MINUTE_MS);
    await branches.pollUntil(at(12));
    branches.requests = [];
    await branches.pollUntil(at(12, 6));
    const ends = branches.requests.map(({ to }) => to?.slice(11, 16));
    // The window until 12:00, then those before it, of which that until 10:15 has what the customer counted.
    expect(ends).toEqual(['12:00', '11:45', '11:30', '11:15', '11:00', '10:45', '10:30']);
    expect(branches.windows(SOUTH)[1]).toEqual([25, 7, 4]);
    expect(branches.windows(NORTH)).toEqual((await morning()).windows(NORTH));
  });

  test('are repaired again if a request of the repair fails', async () => {
    const branches = await morning();
    branches.record(SOUTH, at(10, 20), [7, 0], 92 * MINUTE_MS);
    await branches.pollUntil(at(12, 4));
    let requests = 0;
    branches.change = (response) => {
      requests += 1;
      if (requests === 3) {
        throw new ServiceError('timeout', 'no response');
      }
      return response;
    };
    await branches.pollUntil(at(12, 5));
    expect(branches.windows(SOUTH)).toEqual([]);
    await branches.pollUntil(at(12, 6));
    expect(branches.windows(SOUTH)[1]).toEqual([25, 7, 4]);
  });

  test('that are taken back while they are repaired end the repair', async () => {
    const branches = await morning();
    branches.record(SOUTH, at(10, 20), [7, 0], 92 * MINUTE_MS);
    await branches.pollUntil(at(12, 4));
    branches.nowMs = at(12, 5);
    await branches.poll(1);
    expect(plan(branches.state, branches.customer())?.kind).toBe('repair');
    branches.record(SOUTH, at(10, 20), [-7, 0], 105 * MINUTE_MS);
    branches.nowMs = at(12, 6);
    expect(await branches.poll()).toBe(0);
    expect(branches.windows(SOUTH)).toEqual((await morning()).windows(SOUTH));
  });

  test('of a day that is over are repaired once its sums differ from those of the customer', async () => {
    const branches = await morning();
    branches.record(NORTH, at(10, 50), [3, 0], 30 * HOUR_MS);
    await branches.pollUntil(at(10) + DAY_MS, HOUR_MS);
    expect(pastTotals(branches, NORTH).at(-1)).toEqual([30, 15]);
    await branches.pollUntil(at(10) + 2 * DAY_MS, HOUR_MS);
    expect(pastTotals(branches, NORTH).at(-2)).toEqual([33, 15]);
  });
});

describe('the days before', () => {
  test('are read by hours in which the customer counted anybody, newest first, once', async () => {
    const branches = new BranchFixture(at(9, 30));
    for (let day = 1; day <= HISTORY_DAYS; day += 1) {
      for (let hour = 8; hour < 20; hour += 1) {
        branches.record(NORTH, at(hour, 20, day), [12, 8]);
      }
    }
    await branches.poll(30);
    expect(isPastKnown(branches.state)).toBe(false);
    expect(branches.requests[0]).toMatchObject({
      from: '2026-11-17T04:00:00+01:00',
      to: '2026-11-17T09:00:00+01:00',
    });
    await branches.poll();
    expect(branches.requests).toHaveLength(HISTORY_DAYS * 12);
    expect(isPastKnown(branches.state)).toBe(true);
    const yesterday = pastDaysOf(branches.state, branches.calendar, NORTH).at(-1);
    expect(yesterday).toMatchObject({ first: 16, stepMs: 15 * MINUTE_MS });
    expect([...(yesterday?.counts[0] ?? [])]).toEqual(Array.from({ length: 48 }, () => 3));
    branches.requests = [];
    await branches.pollUntil(at(9, 30) + DAY_MS, HOUR_MS);
    expect(branches.requests).toEqual([]);
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
    expect(plan(state, branches.customer())).toMatchObject({ kind: 'window' });
  });

  test('are the same object until they change: then they are not stored again', async () => {
    const branches = await morning();
    const { past } = branches.state;
    await branches.pollUntil(at(11, 50));
    expect(branches.state.past).toBe(past);
    await branches.pollUntil(at(5) + DAY_MS, HOUR_MS);
    expect(branches.state.past).not.toBe(past);
  });

  test('have today when it is over', async () => {
    const branches = await morning();
    await branches.pollUntil(at(5) + DAY_MS, HOUR_MS);
    const fresh = branches.restarted();
    await fresh.poll();
    for (const { key, sums } of [
      { key: NORTH, sums: [30, 15] },
      { key: SOUTH, sums: [0, 15] },
    ]) {
      expect(pastTotals(branches, key).at(-1)).toEqual(sums);
      const days = pastDaysOf(branches.state, branches.calendar, key);
      expect(days).toEqual(pastDaysOf(fresh.state, fresh.calendar, key));
    }
  });

  test('include those that the process missed', async () => {
    const branches = await morning();
    branches.record(SOUTH, at(13), [2, 2]);
    branches.record(SOUTH, at(13) + DAY_MS, [4, 4]);
    branches.nowMs = at(10) + 2 * DAY_MS;
    await branches.poll();
    expect(pastTotals(branches, SOUTH).slice(-2)).toEqual([
      [2, 17],
      [4, 4],
    ]);
  });

  test.each([
    ['25', '2026-10-25T12:00:00+01:00', 25],
    ['23', '2026-03-29T12:00:00+02:00', 23],
  ])('may have %s hours', async (_, noon, hours) => {
    const noonMs = Date.parse(noon);
    // Clocks change between two and three, so this day starts at midnight.
    const calendar = new Calendar(COPENHAGEN, { hour: 0, minute: 0 });
    const branches = new BranchFixture(noonMs, calendar);
    const { startMs, endMs } = branches.day;
    expect(endMs - startMs).toBe(hours * HOUR_MS);
    branches.nowMs = startMs;
    for (let atMs = startMs; atMs < endMs; atMs += 20 * MINUTE_MS) {
      branches.record(NORTH, atMs, [1, 0]);
    }
    await branches.pollUntil(endMs - MINUTE_MS, 10 * MINUTE_MS);
    const minutes = (endMs - startMs) / MINUTE_MS;
    expect(branches.windows(NORTH).reduce((sum, [, entered = 0]) => sum + entered, 0)).toBe(
      minutes / 20,
    );
    await branches.pollUntil(endMs + HOUR_MS, 10 * MINUTE_MS);
    expect(pastTotals(branches, NORTH).at(-1)).toEqual([minutes / 20, 0]);
  });
});

test('a day that ends within an hour has nobody after its end', () => {
  // Clocks were set forward by half an hour.
  const day = { startMs: at(4), endMs: at(4) + 23.5 * HOUR_MS };
  const none = [0, 0, 0, 0];
  const sums = [...Array.from({ length: 23 }, () => none), [1, 0, 1, 0]];
  const branchDay = { ...unknownDay(day, HOUR_MS), sums: sums.map(packSums) };
  const counts = pastDayOfKey(CALENDAR, branchDay, 0);
  const history = createHistory(CALENDAR, { startMs: day.endMs, endMs: at(4, 0, -2) }, [counts]);
  expect(history.lastSeenMs).toEqual([day.endMs - 15 * MINUTE_MS, undefined]);
});

test('sums that end early have no counts after their end', () => {
  expect(packSums([2, 0, 2, 0, 0, 0])).toEqual(packSums([2, 0, 2, 0]));
  expect(areSumsEqual(packSums([2, 0]), packSums([2, 0, 2]))).toBe(false);
  expect(areSumsEqual(packSums([2, 0, 2]), packSums([2, 0]))).toBe(false);
});

test.each([
  [65_535, Uint16Array],
  [65_536, Float64Array],
])('sums up to %d are kept in a %o', (sum, type) => {
  expect(packSums([0, sum])).toEqual(type.of(0, sum));
});

test('a branch is counted from its first running window on', async () => {
  const branches = new BranchFixture(at(10, 18));
  expect(countedKeys(branches.state)).toEqual([]);
  branches.record(NORTH, at(10, 3), [5, 0]);
  await branches.poll();
  expect(countedKeys(branches.state)).toEqual([NORTH]);
  expect(countedKeys({ ...branches.state, running: undefined })).toEqual([]);
});

test('a branch appears and goes', async () => {
  const branches = await morning();
  expect(countedKeys(branches.state)).toEqual([NORTH, SOUTH]);
  branches.record('90', at(11, 50), [3, 0]);
  await branches.pollUntil(at(12, 10));
  expect(branches.windows('90')).toEqual([[31, 3, 0]]);
  branches.nowMs += (HISTORY_DAYS + 1) * DAY_MS;
  branches.record(NORTH, branches.nowMs - HOUR_MS, [1, 1]);
  await branches.poll();
  expect(countedKeys(branches.state)).toEqual([NORTH]);
  expect(branches.windows(NORTH)).toHaveLength(1);
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
  expect(branches.requests).toHaveLength(3);
});

test('a service that forces another aggregation leaves the branches unknown', async () => {
  const branches = new BranchFixture(at(10, 40));
  branches.record(NORTH, at(10), [4, 0]);
  branches.change = (response) => ({ ...response, aggregation: 'day' });
  await branches.poll();
  expect(branches.requests).toHaveLength(1);
  expect(branchesToday(branches.state, branches.calendar, branches.customer())).toBeUndefined();
  branches.change = (response) => response;
  await branches.poll();
  expect(branches.windows(NORTH)).toEqual([[24, 4, 0]]);
});

test('an empty response is requested again', async () => {
  const branches = await morning();
  branches.record(NORTH, at(11, 41), [1, 0]);
  await branches.pollUntil(at(11, 49));
  let requests = 0;
  branches.change = (response) => {
    requests += 1;
    return requests === 1 ? { ...response, rows: [] } : response;
  };
  await branches.pollUntil(at(11, 50));
  expect(requests).toBe(2);
  expect(branches.windows(NORTH).at(-1)).toEqual([30, 1, 0]);
});

test('where windows include the minute at their end, who came then is counted at once', async () => {
  const branches = new BranchFixture(at(10));
  branches.isEndIncluded = true;
  await branches.poll();
  branches.record(NORTH, at(10, 15), [1, 0]);
  branches.record(NORTH, at(10, 18), [1, 0]);
  await branches.pollUntil(at(10, 22));
  expect(branches.windows(NORTH)).toEqual([
    [24, 1, 0],
    [25, 1, 0],
  ]);
});

test('where the service lists fewer people than it counts, one more window is requested', async () => {
  const branches = new BranchFixture(at(10));
  branches.change = ({ rows, ...response }) => ({
    ...response,
    rows: rows.filter(({ key }) => key === NORTH),
  });
  await branches.poll();
  branches.record(NORTH, at(10, 5), [2, 1]);
  branches.record('unlisted', at(10, 6), [1, 0]);
  await branches.pollUntil(at(12));
  const ends = branches.requests.map(({ to }) => to?.slice(11, 16));
  // Each time also the end before, which differs by another number.
  const expected = ['10:15', '10:00', '10:30', '10:00'];
  expect(ends.filter((end) => end !== undefined)).toEqual(expected);
  expect(branches.windows(NORTH)).toEqual([[24, 2, 1]]);
});

test('where windows select records by arrival, the sums of a day are right when it is over', async () => {
  const branches = new BranchFixture(at(9));
  branches.isByArrival = true;
  for (let minute = 0; minute < 600; minute += 7) {
    branches.record(NORTH, at(10, minute), [1, 1], (minute % 5) * 40 * MINUTE_MS);
    branches.record(SOUTH, at(10, minute), [2, 1], (minute % 3) * 2 * MINUTE_MS);
  }
  await branches.pollUntil(at(5) + DAY_MS, 5 * MINUTE_MS);
  const passes = Math.ceil(600 / 7);
  expect(pastTotals(branches, NORTH).at(-1)).toEqual([passes, passes]);
  expect(pastTotals(branches, SOUTH).at(-1)).toEqual([2 * passes, passes]);
});

test.each([
  [14, 25, ['10:30', '10:15']],
  // The window until 10:30 has what the one before has, and yet one more is requested.
  [29, 26, ['10:45', '10:30']],
])(
  'where windows select records by arrival, one of 10:%d that comes later is in the next one',
  async (minute, window, expected) => {
    const branches = new BranchFixture(at(10));
    branches.isByArrival = true;
    await branches.poll();
    branches.record(NORTH, at(10, 5), [2, 0]);
    branches.record(NORTH, at(10, minute), [0, 1], 2 * MINUTE_MS);
    await branches.pollUntil(at(10, minute + 20));
    branches.requests = [];
    await branches.pollUntil(at(12));
    expect(branches.windows(NORTH)).toEqual([
      [24, 2, 0],
      [window, 0, 1],
    ]);
    // The window that has it, and the one before because it lacks a record; none of those after.
    const ends = branches.requests.map(({ to }) => to?.slice(11, 16));
    expect(ends).toEqual(expected);
  },
);

test('windows end as those of a fresh process, whatever came late, failed or was restarted', async () => {
  const record = fc.record({
    key: fc.constantFrom(NORTH, SOUTH, '103'),
    minute: fc.integer({ min: 0, max: 600 }),
    counts: fc.tuple(fc.nat(5), fc.nat(5)),
    lateMinutes: fc.oneof(fc.constant(0), fc.nat(3), fc.nat(400)),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.array(record, { minLength: 1, maxLength: 60 }),
      fc.integer({ min: 3, max: 40 }),
      fc.infiniteStream(fc.nat(99)),
      async (records, everyMinutes, draws) => {
        const branches = new BranchFixture(at(9));
        for (const { key, minute, counts, lateMinutes } of records) {
          branches.record(key, at(9, minute), counts, lateMinutes * MINUTE_MS);
        }
        branches.change = (response) => {
          const draw = draws.next().value;
          if (draw < 20) {
            throw new ServiceError('server', '500');
          }
          return draw < 25 ? { ...response, rows: [] } : response;
        };
        await branches.pollUntil(at(26), everyMinutes * MINUTE_MS);
        branches.change = (response) => response;
        // The next window with counts, and the end of the day, find what is left.
        branches.record(NORTH, at(26, 20), [1, 0]);
        await branches.pollUntil(at(27));
        const fresh = branches.restarted();
        await fresh.poll();
        for (const key of [NORTH, SOUTH, '103']) {
          expect(branches.windows(key)).toEqual(fresh.windows(key));
        }
      },
    ),
    { numRuns: 20 },
  );
});
