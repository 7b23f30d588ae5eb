import { describe, expect, test } from 'vitest';
import { HOUR_MS, MINUTE_MS } from '../../../src/base/duration.ts';
import { ServiceError } from '../../../src/base/errors.ts';
import type { FailureReason } from '../../../src/base/errors.ts';
import {
  isForced,
  readByMinute,
  readChunks,
  sumChunks,
  WindowReader,
} from '../../../src/counting/rows/window-reader.ts';
import type { WindowResponse } from '../../../src/counting/rows/window-reader.ts';
import { COPENHAGEN, NOW_MS } from '../../support/owner.ts';
import { queryFrom, responseOf } from '../../support/responses.ts';
import type { Requested, Respond } from '../../support/responses.ts';

function readerOf(respond: Respond, requests: Requested[] = []): WindowReader {
  const query = queryFrom(respond, requests);
  return new WindowReader({ query, stream: 'people', zone: COPENHAGEN, nowMs: () => NOW_MS });
}

test.each<[string, FailureReason | undefined, requests: number, failures: number]>([
  ['are all sent', undefined, 2, 0],
  ['end with the first response that is missing', 'timeout', 1, 0],
  ['end with the first one that is refused for now', 'rate_limited', 1, 0],
  ['fail if credentials are refused', 'auth', 2, 2],
  ['fail if they are rejected', 'rejected', 2, 2],
  ['fail if a response is malformed', 'malformed', 2, 2],
])('optional requests %s', async (_, reason, requests, failures) => {
  const necessities: unknown[] = [];
  const reader = new WindowReader({
    query(_question, necessity) {
      necessities.push(necessity);
      return reason === undefined
        ? Promise.resolve(responseOf({}, 'minute'))
        : Promise.reject(new ServiceError(reason, 'no response'));
    },
    stream: 'people',
    zone: COPENHAGEN,
    nowMs: () => NOW_MS,
  });
  let failed = 0;
  for (let i = 0; i < 2; i += 1) {
    const response = await reader.readOptional('minute', NOW_MS).catch(() => (failed += 1));
    expect(response === undefined).toBe(reason !== undefined && failures === 0);
  }
  expect(necessities).toEqual(Array(requests).fill('optional'));
  expect(failed).toBe(failures);
});

function countsOf(text: string): readonly number[] {
  return text.split(' ').map(Number);
}

test.each([
  ['that is expected is used', '3 1', '3 1', '3 1'],
  ['without an expectation is used', undefined, '0 0', '0 0'],
  ['below it by one counter is requested again', '3 1', '9 0, 9 1', '9 1'],
  ['is used if the second one is lower', '3 1', '2 1, 1 0', '2 1'],
  ['is replaced by one of the same size', '3 1', '3 0, 2 1', '2 1'],
])('a response %s', async (_, expected, served, used) => {
  const responses = served.split(', ').map(countsOf);
  const requests: Requested[] = [];
  const reader = readerOf(
    () => responseOf({ x: responses[requests.length - 1] ?? [] }, 'minute'),
    requests,
  );
  const least = expected === undefined ? undefined : countsOf(expected);
  const { sums } = await reader.readAgainIfBelow(least, 'minute', NOW_MS - HOUR_MS);
  expect(sums).toEqual(countsOf(used));
  expect(requests).toHaveLength(responses.length);
});

/** A response to a window of so many minutes. */
function windowOf(minutes: number, aggregation = 'day', counts = [1, 0]): WindowResponse {
  const [startMs, endMs] = [NOW_MS - minutes * MINUTE_MS, NOW_MS];
  const response = responseOf({ x: counts }, aggregation);
  return { ...response, sums: counts, window: { startMs, endMs }, toMs: endMs };
}

test.each([
  ['minute', 24 * 60, false],
  ['day', 24 * 60, true],
  ['day', 30, false],
])('a response by %s to a window of %d minutes is forced: %s', (aggregation, minutes, expected) => {
  expect(isForced(windowOf(minutes, aggregation))).toBe(expected);
});

/** Reads halves of a window of so many minutes from successive sums, each of people who came in. */
async function readHalves(minutes: number, served: readonly (number | undefined)[]) {
  const windows: (readonly number[])[] = [];
  const whole = windowOf(minutes);
  const chunks = await readChunks(
    whole,
    (fromMs, toMs) => {
      windows.push([fromMs, toMs ?? NaN].map((ms) => (ms - whole.window.startMs) / MINUTE_MS));
      const sum = served[windows.length - 1];
      return Promise.resolve(sum === undefined ? undefined : windowOf(60, 'minute', [sum, 0]));
    },
    ({ aggregation }) => aggregation !== 'minute',
  );
  return { windows, sums: chunks && sumChunks(chunks) };
}

describe('halves of a window of two hours', () => {
  const WINDOWS = [
    [60, 62],
    [0, 62],
    [60, 120],
    [60, 62],
  ];

  test.each([
    ['without what is in both', [1, 5, 7, 1], 11],
    ['without what came meanwhile', [1, 5, 7, 2], 10],
    ['with too much subtracted if the overlap became lower', [2, 5, 7, 0], 10],
    ['with the overlap in the second half alone', [1, 0, 7], 7],
  ])('count people %s', async (_, served, expected) => {
    const { windows, sums } = await readHalves(120, served);
    expect(sums).toEqual([expected, 0]);
    expect(windows).toEqual(WINDOWS.slice(0, served.length));
  });

  test.each([0, 1, 2, 3])('end after %d responses if the next is missing', async (count) => {
    const { windows, sums } = await readHalves(120, [1, 5, 7].slice(0, count));
    expect(sums).toBeUndefined();
    expect(windows).toHaveLength(count + 1);
  });
});

test.each([
  ['of five days start with a day', 5 * 24 * 60, 2 * 24 * 60],
  ['of an odd number of minutes start with one', 61, 30],
])('halves %s', async (_, minutes, expected) => {
  const { windows } = await readHalves(minutes, [1, 1, 1, 1]);
  expect(windows.map(([start]) => start)).toEqual([expected, 0, expected, expected]);
});

describe('minutes that were forced into days are read', () => {
  /** Reads windows that have minutes up to a length. One person came in each of these minutes. */
  async function readParts(minutes: number, forcedAbove: number, cameAt: readonly number[]) {
    const lengths: number[] = [];
    const whole = windowOf(minutes);
    const reader = readerOf(({ from, to = '' }) => {
      const [fromMs, toMs] = [Date.parse(from), Date.parse(to)];
      const length = (toMs - fromMs) / MINUTE_MS;
      lengths.push(length);
      expect(length).toBeGreaterThanOrEqual(2);
      const came = cameAt
        .map((minute) => whole.window.startMs + minute * MINUTE_MS)
        .filter((ms) => ms >= fromMs && ms < toMs);
      return responseOf(
        came.map((key) => ({ key, counts: [1, 0] })),
        length > forcedAbove ? 'day' : 'minute',
      );
    });
    const windows = await readByMinute(reader, whole);
    const keys = windows?.map(({ rows }) => rows.map(({ key }) => key));
    const starts = keys?.map((ofWindow) =>
      ofWindow.map((key) => (Number(key) - whole.window.startMs) / MINUTE_MS),
    );
    return { lengths, starts };
  }

  test('in halves that do not overlap, without empty ones', async () => {
    expect(await readParts(64, 16, [3, 20, 40])).toEqual({
      lengths: [32, 16, 16, 32, 16, 16],
      starts: [[3], [20], [40]],
    });
  });

  test('although only the shortest windows have them', async () => {
    const { starts } = await readParts(64, 2, [0, 1, 63]);
    expect(starts).toEqual([[0, 1], [63]]);
  });

  test.each([
    ['two minutes', 16, [8, 4, 2]],
    ['1/32 of a long window', 32 * 60, [960, 480, 240, 120, 60]],
  ])('until windows have %s, then not at all', async (_, minutes, lengths) => {
    expect(await readParts(minutes, 0, [0])).toEqual({ lengths, starts: undefined });
  });
});
