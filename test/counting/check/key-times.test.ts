/** Which setting of `service.key_times` fits a service, by the newest key and a request for its minute. */
import { expect, test } from 'vitest';
import { MINUTE_MS } from '../../../src/base/duration.ts';
import type { Key, KeyTimes, Row } from '../../../src/base/model.ts';
import { Zone } from '../../../src/counting/calendar/zone.ts';
import { compareKeyTimes, newestKey } from '../../../src/counting/check/key-times.ts';
import type { KeyTimesFit } from '../../../src/counting/check/key-times.ts';
import { WindowReader } from '../../../src/counting/rows/window-reader.ts';
import { queryFrom } from '../../support/responses.ts';
import type { Requested } from '../../support/responses.ts';

/** 19:00 in Tokyo. */
const NOW_MS = Date.UTC(2026, 10, 3, 10);
const TOKYO = new Zone('Asia/Tokyo');

/** Compares settings by a service that has rows five minutes ago. Returns the requested windows, too. */
async function compare(key: Key, configured: KeyTimes, rows: readonly Row[]) {
  const requests: Requested[] = [];
  const query = queryFrom(({ from, to = '' }) => {
    const atMs = NOW_MS - 5 * MINUTE_MS;
    const isWithin = Date.parse(from) <= atMs && atMs < Date.parse(to);
    return { aggregation: 'minute', rows: isWithin ? rows : [] };
  }, requests);
  const options = { stream: 'people', zone: TOKYO, nowMs: () => NOW_MS } as const;
  const reader = new WindowReader({ query, ...options });
  const fit = await compareKeyTimes(key, TOKYO, configured, NOW_MS, reader);
  const windows = requests.map(({ from, to }) => [from, to].map((time) => time?.slice(8, 16)));
  return { fit, windows };
}

const NO_FINDING: KeyTimesFit = { kind: 'no finding' };
const [LOCAL, UTC] = ['2026-11-03T18:55', '2026-11-03T09:55'];
const OWN = ['03T18:50', '03T19:00'];
const [EARLIER, LATER] = [
  ['03T09:50', '03T10:00'],
  ['04T03:50', '04T04:00'],
];

test.each<[Key, KeyTimes, KeyTimesFit, windows: readonly unknown[]]>([
  [LOCAL, 'local', NO_FINDING, [OWN]],
  [LOCAL, 'utc', { kind: 'other setting', keyTimes: 'local' }, [LATER, OWN]],
  [UTC, 'local', { kind: 'other setting', keyTimes: 'utc' }, [EARLIER, OWN]],
  [`${UTC}Z`, 'local', NO_FINDING, []],
])('the minute of %s is requested first by %s', async (key, configured, fit, windows) => {
  expect(await compare(key, configured, [{ key, counts: [0, 1] }])).toEqual({ fit, windows });
});

const OTHER = { key: 'x', counts: [1, 0] };
test.each<[string, Row[], KeyTimesFit['kind']]>([
  ['not found by other keys', [OTHER], 'no finding'],
  ['found by the key among others', [OTHER, { key: UTC, counts: [1, 0] }], 'other setting'],
])('another setting is %s', async (_, rows, kind) => {
  expect((await compare(UTC, 'local', rows)).fit.kind).toBe(kind);
});

test.each([
  ['03T19:30', undefined],
  ['03T19:31', 0.5],
  ['04T09:59', 15],
  ['04T10:00', undefined],
])('a key that neither setting finds, %s, is ahead by hours: %s', async (time, hours) => {
  const { fit } = await compare(`2026-11-${time}`, 'local', []);
  expect(fit).toEqual(hours === undefined ? NO_FINDING : { kind: 'ahead', hours });
});

// prettier-ignore
test.each<[string, readonly (readonly [time: string, count: number])[], string | undefined]>([
  ['the last that has begun', [['18:55', 1], ['19:00', 1], ['12:00', 2], ['19:01', 1]], '19:00'],
  ['one that counted anybody', [['18:55', 1], ['18:56', 0]], '18:55'],
  ['one that can be parsed, although it has not begun', [['?', 1], ['19:01', 1]], '19:01'],
  ['none if nobody was counted', [['18:55', 0]], undefined],
])('the newest key is %s', (_, counted, expected) => {
  const rows = counted.map(([key, count]) => ({ key: `2026-11-03T${key}`, counts: [count] }));
  const windows = [{ rows: rows.slice(0, 2) }, { rows: rows.slice(2) }];
  const key = newestKey(windows, TOKYO, 'local', NOW_MS);
  expect(key).toBe(expected && `2026-11-03T${expected}`);
});
