/** Days and pasts of branches as they are stored, and what is invalid. test/storage has the restarts. */
import { expect, test } from 'vitest';
import { HOUR_MS } from '../../../src/base/duration.ts';
import { countsOfKey, NO_SUMS, unknownDay, WINDOW_MS } from '../../../src/counting/branches/day.ts';
import type { BranchDay } from '../../../src/counting/branches/day.ts';
import { NO_BRANCHES } from '../../../src/counting/branches/plan.ts';
import {
  restoreBranches,
  serializeDay,
  serializePasts,
} from '../../../src/counting/branches/stored-branches.ts';
import { createPast, daysBefore } from '../../../src/counting/past/past.ts';
import { CALENDAR, NOW_MS } from '../../support/owner.ts';

const TODAY = CALENDAR.dayAt(NOW_MS);
const { startMs: dayStartMs, endMs } = TODAY;
const SUMS = [
  [3, 1, 3, 1],
  [4, 1, 3, 1, 1, 0],
];
/** What is stored of a day. */
const STORED = {
  end_ms: endMs,
  window_ms: WINDOW_MS,
  keys: ['101', '102'],
  customer: [4, 1],
  sums: [null, null, SUMS[0], null, SUMS[1]],
};

function restored(...days: readonly object[]) {
  return restoreBranches(
    CALENDAR,
    days.map((day) => ({ dayStartMs, content: JSON.stringify({ ...STORED, ...day }) })),
    undefined,
  );
}

test('a day is stored with null in place of the sums of the window before', () => {
  const [first = NO_SUMS, second = NO_SUMS] = SUMS.map((sums) => Uint8Array.from(sums));
  const sums = [NO_SUMS, NO_SUMS, first, first, second];
  const day: BranchDay = { ...unknownDay(TODAY, WINDOW_MS), sums, customer: [4, 1] };
  const state = { ...NO_BRANCHES, keys: ['101', '102'] };
  expect(JSON.parse(serializeDay(state, day))).toEqual(STORED);
  expect(restored({})).toEqual({ ...state, past: [day] });
});

test.each([
  ['another end', { end_ms: endMs + 1 }],
  ['other windows', { window_ms: 2 * HOUR_MS }],
  ['more sums than windows', { sums: Array(97).fill(null) }],
  ['sums that are no numbers', { sums: [[4, 'people']] }],
  ['counts of one direction', { customer: [4] }],
])('a day with %s is left out', (_, change) => {
  expect(restored(change).past).toEqual([]);
});

test('a day of another start is left out', () => {
  const other = { dayStartMs: dayStartMs + HOUR_MS, content: JSON.stringify(STORED) };
  expect(restoreBranches(CALENDAR, [other], undefined).past).toEqual([]);
});

test('keys are those of the day that has most, and days with others are left out', () => {
  const days = [['101'], ['101', '102', '103'], ['101', '103'], []];
  const { keys, past } = restored(...days.map((of, i) => ({ keys: of, customer: [i, i] })));
  expect(keys).toEqual(['101', '102', '103']);
  expect(past.map(({ customer }) => customer[0])).toEqual([0, 1, 3]);
  expect(restored({ keys: null }).keys).toEqual([]);
});

test('days whose windows are not in the pasts yet are not stored with these', () => {
  const [before, yesterday] = daysBefore(CALENDAR, TODAY)
    .slice(-2)
    .map((day) => unknownDay(day, HOUR_MS)) as [BranchDay, BranchDay];
  const { sums: _, ...folded } = yesterday;
  const past = [folded, before];
  const counts = countsOfKey(CALENDAR, yesterday, 0);
  const pasts = new Map([['101', createPast(CALENDAR, TODAY, [counts])]]);
  const content = serializePasts(CALENDAR, { ...NO_BRANCHES, past, pasts });
  const { keys, past: known } = restoreBranches(CALENDAR, [], { dayStartMs, content });
  expect({ keys, known }).toEqual({ keys: ['101'], known: [folded] });
});
