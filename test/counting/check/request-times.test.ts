/** Which way to write times fits a service, by the counts of one window that was requested in each way. */
import { describe, expect, test } from 'vitest';
import type { WindowQuery } from '../../../src/base/model.ts';
import { ServiceError } from '../../../src/base/errors.ts';
import { Zone } from '../../../src/counting/calendar/zone.ts';
import {
  compareRequestTimes,
  fittingRequestTimes,
} from '../../../src/counting/check/request-times.ts';

const HOUR_MS = 3_600_000;

/** Counts of the window, of the time before it that another zone makes of it, and of the future. */
const BUSY = [2, 0, 1, 1];
const BEFORE = [1, 0];
const NOBODY: readonly number[] = [];

type Counts = readonly number[] | undefined;
type Case = readonly [
  string,
  offset: Counts,
  utc: Counts,
  local: Counts,
  fitting: string,
  certain: boolean,
];

// prettier-ignore
const CASES: Readonly<Record<string, readonly [offsetHours: number, cases: readonly Case[]]>> = {
  'east of UTC': [9, [
    ['honours offsets, busy', BUSY, BUSY, BUSY, 'offset utc local', true],
    ['honours offsets, takes bare times for UTC', BUSY, BUSY, NOBODY, 'offset utc', true],
    ['honours offsets, quiet', NOBODY, NOBODY, NOBODY, '', false],
    ['reads all as local, busy', BUSY, BEFORE, BUSY, 'offset local', true],
    ['reads all as local, just opened', BUSY, NOBODY, BUSY, 'offset local', true],
    ['reads all as local, just closed', NOBODY, BEFORE, NOBODY, 'utc', false],
    ['refuses offsets', undefined, BUSY, BUSY, 'utc local', true],
    ['refuses offsets, quiet', undefined, NOBODY, NOBODY, 'utc local', false],
    ['refuses UTC, quiet', NOBODY, undefined, NOBODY, 'offset local', false],
    ['refuses bare times, quiet', NOBODY, NOBODY, undefined, 'offset utc', false],
    ['returns nobody for offsets', NOBODY, BUSY, BUSY, 'utc local', true],
    ['has another zone for bare times', NOBODY, NOBODY, BUSY, '', false],
  ]],
  'west of UTC': [-5, [
    ['reads all as local, busy', BUSY, NOBODY, BUSY, 'offset local', false],
    ['reads all as UTC, busy', BEFORE, BUSY, BEFORE, 'utc', true],
  ]],
  'at UTC': [0, [
    ['honours offsets, busy', BUSY, BUSY, BUSY, 'offset utc local', false],
    ['honours offsets, quiet', NOBODY, NOBODY, NOBODY, 'offset utc local', false],
  ]],
};

describe.each(Object.entries(CASES))('a service %s', (_where, [offsetHours, cases]) => {
  test.each(cases)('that %s', (_service, offset, utc, local, fitting, isCertain) => {
    const fit = fittingRequestTimes({ offset, utc, local }, offsetHours * HOUR_MS);
    expect([fit.fitting.join(' '), fit.isCertain]).toEqual([fitting, isCertain]);
  });
});

const NOW_MS = Date.UTC(2026, 10, 3, 10, 0, 30);

/** Returns the comparison for people in a zone, and the questions. Times in UTC may have another aggregation. */
async function compared(zone: string, byUtc = 'minute', failure?: ServiceError, nowMs = NOW_MS) {
  const asked: WindowQuery[] = [];
  const comparison = await compareRequestTimes('people', new Zone(zone), nowMs, (question) => {
    asked.push(question);
    const rows = [
      { key: 1, counts: [0, 0] },
      { key: 2, counts: [2, 1] },
    ];
    const aggregation = question.requestTimes === 'utc' ? byUtc : 'minute';
    return failure !== undefined && question.requestTimes === 'offset'
      ? Promise.reject(failure)
      : Promise.resolve({ aggregation, rows });
  });
  return { comparison, asked };
}

test.each([
  ['Europe/Copenhagen', '2026-11-03T10:15:00+01:00', '2026-11-03T10:45:00+01:00'],
  ['America/New_York', '2026-11-03T00:15:00-05:00', '2026-11-03T04:45:00-05:00'],
])('one window is requested in each way, in %s from %s to %s', async (zone, from, to) => {
  const { comparison, asked } = await compared(zone);
  const question = { endpoint: 'peoplecount', aggregation: 'minute', from, to };
  const ways = ['offset', 'utc', 'local'];
  expect(asked).toEqual(ways.map((requestTimes) => ({ ...question, requestTimes })));
  expect(comparison).toMatchObject({
    window: { startMs: Date.parse(from), endMs: Date.parse(to) },
    counts: { offset: [2, 1], utc: [2, 1], local: [2, 1] },
    fitting: ways,
  });
});

test.each([
  [Date.UTC(2026, 2, 29, 8), '2026-03-29T09:15:00+02:00'],
  [Date.UTC(2026, 9, 25, 10), '2026-10-25T10:15:00+01:00'],
])(
  'the window of a day on which the offset changed is for the smaller one',
  async (nowMs, from) => {
    const { asked } = await compared('Europe/Copenhagen', 'minute', undefined, nowMs);
    expect(asked[0]).toMatchObject({ from });
  },
);

test('a forced aggregation cannot be compared', async () => {
  expect((await compared('Asia/Tokyo', 'day')).comparison).toBeUndefined();
});

test.each(['rejected', 'malformed'] as const)('a refusal is a result: %s', async (reason) => {
  const refusal = new ServiceError(reason, 'not accepted');
  const { comparison } = await compared('Asia/Tokyo', 'minute', refusal);
  const counts = { offset: undefined, utc: [2, 1] };
  expect(comparison).toMatchObject({ counts, fitting: ['utc', 'local'] });
});

test('another failure is not', async () => {
  const timeout = new ServiceError('timeout', 'no response');
  await expect(compared('Asia/Tokyo', 'minute', timeout)).rejects.toBe(timeout);
});
