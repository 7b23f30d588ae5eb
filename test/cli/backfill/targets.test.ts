import { expect, test } from 'vitest';
import { Secret } from '../../../src/base/secret.ts';
import { sampleTimes, splitIntoMonths } from '../../../src/cli/backfill/targets.ts';
import type { BackfillTarget } from '../../../src/cli/backfill/targets.ts';
import { Calendar } from '../../../src/counting/calendar.ts';
import { Zone } from '../../../src/counting/zone.ts';

const MINUTE_MS = 60_000;
const START_MS = Date.UTC(2026, 9, 1, 2);

function target(timezone: string, from: string, to: string): BackfillTarget {
  return {
    config: {
      name: timezone,
      clientId: 'api',
      clientSecret: { secret: new Secret('quartz'), path: undefined },
      timezone,
      dayStartsAt: { hour: 4, minute: 0 },
      capacity: undefined,
      openingHours: undefined,
      holidays: undefined,
      labels: {},
      streams: ['people'],
      breakdowns: [],
      branches: {},
      estimate: true,
    },
    calendar: new Calendar(new Zone(timezone), { hour: 4, minute: 0 }),
    description: { labels: {}, capacity: undefined, openingHours: undefined, estimate: false },
    range: { startMs: Date.parse(from), endMs: Date.parse(to) },
    liveStart: undefined,
  };
}

test('samples are at the start, at every whole step and one second before the end', () => {
  const startMs = Date.UTC(2026, 9, 1, 2, 3, 20);
  const times = sampleTimes({ startMs, endMs: startMs + 12 * MINUTE_MS }, 5 * MINUTE_MS);
  expect(times.map((ms) => new Date(ms).toISOString().slice(11, 19))).toEqual([
    '02:03:20',
    '02:05:00',
    '02:10:00',
    '02:15:00',
    '02:15:19',
  ]);
});

test.each([
  [1, [0]],
  [1_000, [0]],
  [1_500, [0, 1_000]],
  [120_000, [0, 60_000, 119_000]],
  [120_001, [0, 60_000, 120_000]],
  [120_999, [0, 60_000, 120_000]],
])('a range of %i ms has samples at %j', (ms, expected) => {
  const times = sampleTimes({ startMs: START_MS, endMs: START_MS + ms }, MINUTE_MS);
  expect(times.map((atMs) => atMs - START_MS)).toEqual(expected);
});

test('a month has the customers whose range reaches into it, each with its own counting period', () => {
  const months = splitIntoMonths([
    target('America/New_York', '2026-10-31T00:00Z', '2026-11-01T09:00Z'),
    target('Asia/Tokyo', '2026-10-01T00:00Z', '2026-11-01T00:00Z'),
  ]);
  const ranges = months.map(({ name, parts }) => [
    name,
    ...parts.map(({ range }) =>
      [range.startMs, range.endMs].map((ms) => new Date(ms).toISOString().slice(0, 16)).join(' '),
    ),
  ]);
  expect(ranges).toEqual([
    ['2026-10', '2026-10-31T00:00 2026-11-01T09:00', '2026-10-01T00:00 2026-10-31T19:00'],
    ['2026-11', '2026-10-31T19:00 2026-11-01T00:00'],
  ]);
});
