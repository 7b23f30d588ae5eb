import { expect, test } from 'vitest';
import { keyMetricsAt, readBranchTotals } from '../../src/backfill/branch-totals.ts';
import type { BranchTotals } from '../../src/backfill/branch-totals.ts';
import { queryFrom, responseOf } from '../support/responses.ts';
import type { Requested, Respond } from '../support/responses.ts';
import { CALENDAR, OCTOBER } from '../support/owner.ts';
import { HOUR_MS } from '../counting/fixture.ts';

/** 04:00 of a day of October, which ends the day before. */
function october(day: number): number {
  return Date.UTC(2026, 9, day, 2);
}

function read(
  respond: Respond,
  { fromMs = OCTOBER.startMs, endMs = october(5), requests = [] as Requested[] } = {},
): Promise<BranchTotals> {
  const span = { startMs: OCTOBER.startMs, endMs };
  return readBranchTotals(CALENDAR, span, fromMs, queryFrom(respond, requests));
}

/** Ten an hour enter branch 101, three an hour branch 20. */
function steady({ to = '' }: Requested) {
  const hours = (Date.parse(to) - OCTOBER.startMs) / HOUR_MS;
  return responseOf({ 101: [10 * hours, 9 * hours], 20: [3 * hours, 0] });
}

function entered(totals: BranchTotals, key: string, atMs: number): number | undefined {
  return keyMetricsAt(totals, key, atMs).counters.people_entered?.total;
}

test('a counter rises at the end of each day, one second before it', async () => {
  const requests: Requested[] = [];
  const totals = await read(steady, { requests });
  expect(totals.keys).toEqual(['20', '101']);
  const times = [OCTOBER.startMs, october(2) - 2_000, october(2) - 1_000, october(5)];
  expect(times.map((atMs) => entered(totals, '101', atMs))).toEqual([0, 0, 240, 960]);
  expect(requests.map(({ from, to }) => [from, to])).toEqual(
    ['02', '03', '04', '05'].map((day) => [
      '2026-10-01T04:00:00+02:00',
      `2026-10-${day}T04:00:00+02:00`,
    ]),
  );
});

test('a range that ends within a day has the counts up to an hour before its end, and to its end', async () => {
  const requests: Requested[] = [];
  const endMs = october(5) + 6 * HOUR_MS;
  const totals = await read(steady, { fromMs: october(3) + HOUR_MS, endMs, requests });
  expect(requests.map(({ to }) => to?.slice(0, 16))).toEqual([
    '2026-10-03T05:00',
    '2026-10-04T04:00',
    '2026-10-05T04:00',
    '2026-10-05T09:00',
    '2026-10-05T10:00',
  ]);
  expect(entered(totals, '101', endMs - HOUR_MS)).toBe(1_010);
  expect(entered(totals, '101', endMs - 1_000)).toBe(1_020);
});

test('a counter does not decrease if the service lowers a total or omits the key', async () => {
  const responses = [{ a: [5, 1] }, { a: [4, 2] }, { b: [1, 0] }, { a: [7, 2] }];
  const totals = await read(() => responseOf(responses.shift() ?? {}));
  const days = [2, 3, 4, 5].map(october);
  expect(days.map((atMs) => entered(totals, 'a', atMs))).toEqual([5, 5, 5, 7]);
  expect(days.map((atMs) => entered(totals, 'b', atMs))).toEqual([0, 0, 1, 1]);
});

test('has at most a thousand keys', async () => {
  const rows = Array.from({ length: 1_002 }, (_, key) => ({ key, counts: [1, 1] }));
  const { keys } = await read(() => responseOf(rows));
  expect([keys.length, keys.at(-1)]).toEqual([1_000, '999']);
});

test('fails if the service forces another aggregation', async () => {
  await expect(read(() => responseOf({ '2026-10-01': [5, 5] }, 'day'))).rejects.toThrow(
    'expected aggregation "branch"',
  );
});
