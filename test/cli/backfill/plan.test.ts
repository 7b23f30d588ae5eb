import { expect, test } from 'vitest';
import { Secret } from '../../../src/base/secret.ts';
import { Calendar } from '../../../src/counting/calendar.ts';
import { Zone } from '../../../src/counting/zone.ts';
import { instantsOf, monthsOf, toldSpan } from '../../../src/cli/backfill/plan.ts';
import type { Subject } from '../../../src/cli/backfill/plan.ts';

const MINUTE_MS = 60_000;

function subject(timezone: string, from: string, to: string): Subject {
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
    },
    calendar: new Calendar(new Zone(timezone), { hour: 4, minute: 0 }),
    description: { labels: {}, capacity: undefined, openingHours: undefined },
    told: { startMs: Date.parse(from), endMs: Date.parse(to) },
    joint: undefined,
  };
}

test('samples are at the start, at every whole step and a second before the end', () => {
  const startMs = Date.UTC(2026, 9, 1, 2, 3, 20);
  expect(instantsOf({ startMs, endMs: startMs + 12 * MINUTE_MS }, 5 * MINUTE_MS)).toEqual([
    startMs,
    Date.UTC(2026, 9, 1, 2, 5),
    Date.UTC(2026, 9, 1, 2, 10),
    Date.UTC(2026, 9, 1, 2, 15),
    Date.UTC(2026, 9, 1, 2, 15, 19),
  ]);
});

test.each([0, 1, 456, 999])('the last one is less than the end at %i ms', (ms) => {
  const startMs = Date.UTC(2026, 9, 1, 2);
  const endMs = startMs + 10 * MINUTE_MS + ms;
  const last = instantsOf({ startMs, endMs }, MINUTE_MS).at(-1) ?? NaN;
  expect(last).toBeLessThan(endMs);
  expect(last).toBeGreaterThanOrEqual(endMs - 1_000);
  expect(last % 1_000).toBe(0);
});

test.each([1, 1_000, 1_500])('a stretch of %i ms has one sample or two, in order', (ms) => {
  const startMs = Date.UTC(2026, 9, 1, 2);
  const instants = instantsOf({ startMs, endMs: startMs + ms }, MINUTE_MS);
  expect(instants.length).toBeLessThanOrEqual(2);
  expect(instants.toSorted((a, b) => a - b)).toEqual([...new Set(instants)]);
  expect(instants[0]).toBe(startMs);
});

test('months have the customers that are told in them, each within an epoch of its own', () => {
  const west = subject('America/New_York', '2026-10-31T00:00Z', '2026-11-01T09:00Z');
  const east = subject('Asia/Tokyo', '2026-10-01T00:00Z', '2026-11-01T00:00Z');
  const months = monthsOf([west, east]).map(({ name, parts }) => [
    name,
    parts.map(({ told }) =>
      [told.startMs, told.endMs].map((ms) => new Date(ms).toISOString().slice(0, 16)),
    ),
  ]);
  expect(months).toEqual([
    [
      '2026-10',
      [
        ['2026-10-31T00:00', '2026-11-01T09:00'],
        ['2026-10-01T00:00', '2026-10-31T19:00'],
      ],
    ],
    ['2026-11', [['2026-10-31T19:00', '2026-11-01T00:00']]],
  ]);
});

test('a stretch begins at a whole second, and ends where it is told', () => {
  const zone = new Zone('Europe/Copenhagen');
  expect(toldSpan(zone, 1_234, 5_678, 9_999)).toEqual({ startMs: 2_000, endMs: 5_678 });
  expect(() => toldSpan(zone, 5_000, 5_000, 9_999)).toThrow('--from must be before --to');
  expect(() => toldSpan(zone, 1_000, 5_000, 4_000)).toThrow('--to must not be in the future');
});
