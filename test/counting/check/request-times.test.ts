/** Which way to write times fits a service, by the counts of one window that was requested in each way. */
import { expect, test } from 'vitest';
import { HOUR_MS } from '../../../src/base/duration.ts';
import type { WindowQuery } from '../../../src/base/model.ts';
import { ServiceError } from '../../../src/base/errors.ts';
import { Zone } from '../../../src/counting/calendar/zone.ts';
import {
  compareRequestTimes,
  fittingRequestTimes,
} from '../../../src/counting/check/request-times.ts';

/** Counts of the window, of the time before it that another zone makes of it, and of the future. */
const BUSY = [2, 0, 1, 1];
const BEFORE = [1, 0];
const NOBODY: readonly number[] = [];

type Counts = readonly number[] | undefined;

test.each<[string, number, offset: Counts, utc: Counts, local: Counts, string, boolean]>([
  ['honours offsets, busy', 9, BUSY, BUSY, BUSY, 'offset utc local', true],
  ['honours offsets, takes bare times for UTC', 9, BUSY, BUSY, NOBODY, 'offset utc', true],
  ['honours offsets, quiet', 9, NOBODY, NOBODY, NOBODY, '', false],
  ['reads all as local, busy', 9, BUSY, BEFORE, BUSY, 'offset local', true],
  ['reads all as local, just opened', 9, BUSY, NOBODY, BUSY, 'offset local', true],
  ['reads all as local, just closed', 9, NOBODY, BEFORE, NOBODY, 'utc', false],
  ['refuses offsets', 9, undefined, BUSY, BUSY, 'utc local', true],
  ['refuses offsets, quiet', 9, undefined, NOBODY, NOBODY, 'utc local', false],
  ['refuses UTC, quiet', 9, NOBODY, undefined, NOBODY, 'offset local', false],
  ['refuses bare times, quiet', 9, NOBODY, NOBODY, undefined, 'offset utc', false],
  ['returns nobody for offsets', 9, NOBODY, BUSY, BUSY, 'utc local', true],
  ['has another zone for bare times', 9, NOBODY, NOBODY, BUSY, '', false],
  ['reads all as local, busy', -5, BUSY, NOBODY, BUSY, 'offset local', false],
  ['reads all as UTC, busy', -5, BEFORE, BUSY, BEFORE, 'utc', true],
  ['honours offsets, busy', 0, BUSY, BUSY, BUSY, 'offset utc local', false],
  ['honours offsets, quiet', 0, NOBODY, NOBODY, NOBODY, 'offset utc local', false],
])(
  'a service that %s, %i hours east of UTC',
  (_, hours, offset, utc, local, fitting, isCertain) => {
    const fit = fittingRequestTimes({ offset, utc, local }, hours * HOUR_MS);
    expect([fit.fitting.join(' '), fit.isCertain]).toEqual([fitting, isCertain]);
  },
);

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
