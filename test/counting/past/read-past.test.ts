/**
 * Services with drawn conventions: whatever their windows and keys mean, the totals are those of the
 * service, and each day has its own counts.
 */
import { expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/base/duration.ts';
import type { AggregatedResponse } from '../../../src/base/model.ts';
import { seededRandom } from '../../../src/base/random.ts';
import { Calendar } from '../../../src/counting/calendar/calendar.ts';
import { grandTotal, minus, plus } from '../../../src/counting/rows/counts.ts';
import type { Counts } from '../../../src/counting/rows/counts.ts';
import { stepsUntil } from '../../../src/counting/rows/day-counts.ts';
import { MIN_CHUNK_MS } from '../../../src/counting/rows/window-reader.ts';
import { readPast } from '../../../src/counting/past/read-past.ts';
import type { PastCounts, Resolution } from '../../../src/counting/past/read-past.ts';
import { Zone } from '../../../src/counting/calendar/zone.ts';
import type { Conventions } from '../../../src/simulator/conventions.ts';
import { ALWAYS_OPEN, OFFICE_HOURS } from '../../../src/simulator/libraries.ts';
import { pick } from '../../../src/simulator/chance.ts';
import { CALENDAR } from '../../support/owner.ts';
import type { Requested } from '../../support/responses.ts';
import { fittingKeyTimes, MINUTE_KEYS, SimulatedPeople } from '../../support/simulated-people.ts';
import { drawConventions } from '../../support/drawn-conventions.ts';
import { sourceOf } from './fixture.ts';

/** After the clocks were set back in Europe and America, and after the month began. */
const NOW_MS = Date.parse('2026-11-05T15:00:00Z');
const ZONES = ['Europe/Copenhagen', 'Europe/London', 'America/New_York', 'Asia/Kathmandu'];

/** The totals of the minutes before an instant. */
function countedBefore({ days }: Pick<PastCounts, 'days'>, atMs: number): Counts {
  return days
    .map((day) => stepsUntil(day, atMs).counts.map((steps) => grandTotal([...steps])))
    .reduce<Counts>((total, counts) => plus(counts, total), []);
}

/** Without what no reader can correct: unknown keys, offsets read as UTC, forced windows that are wider. */
function readable(drawn: Conventions): Conventions {
  const { minuteKey, designator } = drawn;
  return {
    ...drawn,
    minuteKey: minuteKey.form === 'opaque' ? MINUTE_KEYS.seconds : minuteKey,
    designator: designator === 'ignored, read as UTC' ? 'ignored, read as local' : designator,
    rateLimit: undefined,
    forcedWindow: 'as asked',
  };
}

test.each(Array.from({ length: 12 }, (_, i) => i + 1))(
  'has the totals of the service with the drawn conventions %i',
  { timeout: 120_000 },
  async (seed) => {
    const random = seededRandom(seed);
    const conventions = readable(drawConventions(random));
    const timezone = pick(random, ZONES);
    const opening = pick(random, [ALWAYS_OPEN, OFFICE_HOURS]);
    const visitsPerDay = pick(random, [3, 60, 200]);
    const hasQuietNights = opening === OFFICE_HOURS;
    const quietHours = hasQuietNights ? 0.15 : 0.5;
    const library = { timezone, opening, visitsPerDay, quietHours };
    const service = new SimulatedPeople(conventions, library);
    const calendar = new Calendar(new Zone(timezone), { hour: 4, minute: 0 });
    const endMs = calendar.dayAt(NOW_MS - 2 * DAY_MS).startMs;
    const startMs = calendar.dayAt(endMs - 11 * DAY_MS).startMs;
    const keyTimes = fittingKeyTimes(conventions.minuteKey);
    const source = sourceOf((q) => service.respond(q, NOW_MS), undefined, calendar, keyTimes);
    const past = (await readPast(source, { startMs, endMs }, 'minute')) ?? { days: [] };

    function servedBefore(atMs: number): Counts {
      return minus(service.total(startMs, NOW_MS), service.total(atMs, NOW_MS));
    }
    // A record exactly at the end is in the range or not: the service decides.
    const tolerance = hasQuietNights ? 0 : 3;
    for (const difference of minus(countedBefore(past, endMs), servedBefore(endMs))) {
      expect(Math.abs(difference)).toBeLessThanOrEqual(tolerance);
    }
    const hasTrueDays = hasQuietNights && conventions.windowTime === conventions.keyTime;
    for (let dayMs = startMs; hasTrueDays && dayMs < endMs; dayMs = calendar.dayAt(dayMs).endMs) {
      expect(countedBefore(past, dayMs)).toEqual(servedBefore(dayMs));
    }
  },
);

const DAY = CALENDAR.dayAt(NOW_MS - DAY_MS);

/** Reads a day from a service with a row at each of these times. */
async function readDay(
  resolution: Resolution,
  timesMs: readonly number[],
  change: (response: AggregatedResponse, request: number) => AggregatedResponse = (same) => same,
) {
  const requests: Requested[] = [];
  const rows = timesMs.map((key) => ({ key, counts: [1, 0] }));
  const source = sourceOf(
    ({ aggregation }) => change({ aggregation, rows }, requests.length),
    requests,
  );
  const past = await readPast(source, DAY, resolution);
  const days = past?.days.map(({ counts }) => counts.map(grandTotal));
  return { past, days, read: requests.map(({ aggregation }) => aggregation) };
}

test.each<[Resolution, string, readonly number[], readonly string[]]>([
  ['minute', 'neither response', [], ['day', 'minute']],
  ['quarter', 'neither response', [], ['day', 'minute']],
  ['minute', 'the sums by day', [1], ['day', 'minute', 'minute', 'day']],
  ['minute', 'the minutes', [2], ['day', 'minute', 'minute']],
  ['minute', 'the sums and the second minutes', [1, 3], ['day', 'minute', 'minute', 'day']],
])('%s: has all counts if a fault lowers %s', async (resolution, _, lowered, expected) => {
  const timesMs = [1, 5, 9].map((hours) => DAY.startMs + (hours * DAY_MS) / 24);
  const { past, days, read } = await readDay(resolution, timesMs, (response, request) =>
    lowered.includes(request) ? { ...response, rows: response.rows.slice(1) } : response,
  );
  expect(past).toMatchObject({ sums: [3, 0], byDay: [3, 0] });
  expect(days).toEqual([[3, 0]]);
  expect(read).toEqual(expected);
});

test.each<[Resolution, number]>([
  ['minute', 3],
  ['quarter', 1],
])('%s: of three rows, two of them dated outside, %i are in the day', async (resolution, n) => {
  const timesMs = [-1, 0.5, 2].map((days) => DAY.startMs + days * DAY_MS);
  const { past, days } = await readDay(resolution, timesMs);
  expect(past?.sums).toEqual([3, 0]);
  expect(days).toEqual([[n, 0]]);
});

test('minute: what even the shortest windows return by hour is counted at their ends', async () => {
  const timesMs = [1, 5, 9].map((hours) => DAY.startMs + hours * HOUR_MS);
  const source = sourceOf((question) => {
    const [fromMs, toMs] = [Date.parse(question.from), Date.parse(question.to ?? '')];
    const within = timesMs.filter((ms) => ms >= fromMs && ms < toMs);
    const rows = within.map((ms) => ({ key: ms - HOUR_MS / 2, counts: [1, 0] }));
    return { aggregation: question.aggregation === 'minute' ? 'hour' : 'day', rows };
  });
  const past = await readPast(source, DAY, 'minute');
  const { first = NaN, counts = [] } = past?.days[0] ?? {};
  const lateMs = [...(counts[0] ?? [])]
    .flatMap((count, i) => (count === 0 ? [] : [DAY.startMs + (first + i) * MINUTE_MS]))
    .map((ms, i) => ms - (timesMs[i] ?? NaN));
  expect(lateMs).toHaveLength(3);
  expect(lateMs.every((ms) => ms >= 0 && ms < MIN_CHUNK_MS)).toBe(true);
});
