/** The nightly comparison of the past with the service: what is read again. */
import { expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/base/duration.ts';
import type { Key } from '../../../src/base/model.ts';
import { Calendar } from '../../../src/counting/calendar/calendar.ts';
import { comparePast } from '../../../src/counting/past/compare-past.ts';
import { appendDay } from '../../../src/counting/past/past.ts';
import type { Past } from '../../../src/counting/past/past.ts';
import { readFourWeeks } from '../../../src/counting/past/read-four-weeks.ts';
import type { Conventions } from '../../../src/simulator/conventions.ts';
import { countedDay } from '../../support/day-counts.ts';
import { CALENDAR, COPENHAGEN } from '../../support/owner.ts';
import type { Change, Requested } from '../../support/responses.ts';
import { SimulatedPeople } from '../../support/simulated-people.ts';
import { sourceOf } from './fixture.ts';

/** Clocks are set back within the four weeks before. */
const TODAY = CALENDAR.dayAt(Date.UTC(2026, 10, 18, 12));
const NIGHT_MS = TODAY.startMs + HOUR_MS;

const MIDNIGHT = new Calendar(COPENHAGEN, { hour: 0, minute: 0 });

/** Returns an instant within a day before today. */
function at(daysAgo: number, hour: number): number {
  return TODAY.startMs - daysAgo * DAY_MS + hour * HOUR_MS + 7 * MINUTE_MS + 1_234;
}

/** The request that compares a past. */
const COMPARED = 'day 28-0';

/** A library with other exits near midnight on each of 40 days, and its past of today. */
async function library(
  conventions: Partial<Conventions> = {},
  change: Change = (same) => same,
  calendar = CALENDAR,
) {
  const service = new SimulatedPeople(conventions);
  for (let day = 1; day <= 40; day += 1) {
    service.record(at(day, 6), [2, 0]);
    service.record(at(day, 19), [0, 1 + (day % 5)]);
  }
  const requests: Requested[] = [];
  const source = sourceOf(
    (question) => change(service.respond(question, NIGHT_MS), question),
    requests,
    calendar,
  );
  const today = calendar.dayAt(TODAY.startMs);
  const past = await readFourWeeks(source, today);
  /** Compares, and returns the past with the days that were requested again: how many ago, and by what. */
  async function compare(before: Past) {
    requests.length = 0;
    const compared = await comparePast(source, before);
    const read = requests.map(({ aggregation, from, to }) => {
      const daysAgo = [from, to].map((time) => (TODAY.startMs - Date.parse(String(time))) / DAY_MS);
      return `${aggregation} ${daysAgo.map((days) => Math.round(days)).join('-')}`;
    });
    return { compared, read };
  }
  return { service, source, today, past, compare };
}

test('takes one request where nothing has changed', async () => {
  const { past, compare } = await library();
  const { compared, read } = await compare(past);
  expect(read).toEqual([COMPARED]);
  expect(compared).toEqual(past);
  expect(compared.counts).toBe(past.counts);
});

test.each<[string, Partial<Conventions>]>([
  ['starts of days', {}],
  ['dates', { dayKey: 'date' }],
  ['starts of days in UTC', { dayZone: 'utc' }],
])('reads a day again that has a late record, and only that, by %s', async (_, conventions) => {
  const { service, source, past, compare } = await library(conventions);
  service.record(at(10, 12), [3, 0]);
  const { compared, read } = await compare(past);
  // A bucket from midnight to midnight is part of two days.
  expect(read).toEqual([COMPARED, 'day 11-9', 'minute 11-9']);
  expect(compared).toEqual(await readFourWeeks(source, TODAY));
});

test.each<[string, Partial<Conventions>]>([
  ['starts of days', {}],
  ['unknown keys', { dayKey: 'index' }],
])('reads again what the service has removed, by %s', async (_, conventions) => {
  const { service, source } = await library(conventions);
  service.record(at(20, 12), [0, 4], { goneMs: NIGHT_MS - 1 });
  const before = await library(conventions);
  before.service.record(at(20, 12), [0, 4]);
  const more = await readFourWeeks(before.source, TODAY);
  expect(await comparePast(source, more)).toEqual(await readFourWeeks(source, TODAY));
});

test('reads one day again if days start as those of the service', async () => {
  const { service, source, today, past, compare } = await library({}, undefined, MIDNIGHT);
  service.record(at(10, 12), [3, 0]);
  const { compared, read } = await compare(past);
  expect(read).toEqual([COMPARED, 'day 10-9', 'minute 10-9']);
  expect(compared).toEqual(await readFourWeeks(source, today));
});

test('reads a long run of days by quarter', async () => {
  const { service, source, past, compare } = await library();
  for (let day = 10; day < 20; day += 1) {
    service.record(at(day, 12), [1, 0]);
  }
  const { compared, read } = await compare(past);
  expect(read).toEqual([COMPARED, 'day 20-9', 'quarter 20-11', 'minute 11-9']);
  expect(compared).toEqual(await readFourWeeks(source, TODAY));
});

test('does not take a roll-up that lags for a change', async () => {
  const { past, service, source, compare } = await library({ dayFreshness: 'nightly' });
  const late = { arrivesMs: NIGHT_MS - 30 * MINUTE_MS };
  service.record(at(1, 12), [5, 0], late);
  const newer = await readFourWeeks(source, TODAY);
  expect(newer.sums).not.toEqual(past.sums);
  expect((await compare(newer)).read).toEqual([COMPARED]);
});

test.each<[string, Partial<Conventions>, (key: Key) => Key]>([
  ['cannot be parsed', { dayKey: 'index' }, (key) => key],
  ['are of other days', { dayKey: 'date' }, (key) => String(key).replace('2026', '2025')],
])('reads all days again if keys %s, and the total differs', async (_, conventions, keyOf) => {
  const { service, source, past, compare } = await library(conventions, (response) => ({
    ...response,
    rows: response.rows.map(({ key, counts }) => ({
      key: response.aggregation === 'day' ? keyOf(key) : key,
      counts,
    })),
  }));
  expect((await compare(past)).read).toEqual([COMPARED]);
  service.record(at(10, 12), [3, 0]);
  const { compared, read } = await compare(past);
  expect(read).toEqual([COMPARED, COMPARED, 'quarter 28-2', 'minute 2-0']);
  expect(compared).toEqual(await readFourWeeks(source, TODAY));
});

test('requests a lower answer a second time', async () => {
  let lowered = 0;
  const { past, compare } = await library({}, (response, { aggregation }) => {
    const isLow = aggregation === 'day' && lowered > 0;
    lowered -= Number(isLow);
    return isLow ? { ...response, rows: [] } : response;
  });
  lowered = 1;
  expect((await compare(past)).read).toEqual([COMPARED, COMPARED]);
});

test('does not read a day again whose sum differs still, until it changes', async () => {
  let more = 1;
  const { past, compare } = await library({}, ({ aggregation, rows }) => {
    const counts = rows[10]?.counts.map((count) => count + more) ?? [];
    const changed = rows.map((row, i) => (i === 10 ? { ...row, counts } : row));
    return { aggregation, rows: aggregation === 'day' ? changed : rows };
  });
  const first = await compare(past);
  expect(first.read).toEqual([COMPARED, 'day 19-17', 'minute 19-17']);
  expect(first.compared.comparison.differing).toEqual([[expect.any(Number), [3, 5]]]);
  const second = await compare(first.compared);
  expect(second.read).toEqual([COMPARED]);
  expect(second.compared).toEqual(first.compared);
  more = 2;
  expect((await compare(second.compared)).read).toEqual([COMPARED, 'day 19-17', 'minute 19-17']);
});

/** In Copenhagen, clocks are set back on 25 October, and forward on 28 March. */
test.each([
  ['autumn', Date.UTC(2026, 9, 20, 12)],
  ['spring', Date.UTC(2027, 2, 24, 12)],
])('a past that is appended day by day is the one that is read: %s', async (_, startMs) => {
  const service = new SimulatedPeople();
  const people = Array.from({ length: 1200 }, (__, i) => {
    return [Math.round(startMs - 30 * DAY_MS + i * 47.3 * MINUTE_MS), [1, i % 3]] as const;
  });
  people.forEach((counted) => service.record(...counted));
  let today = CALENDAR.dayAt(startMs);
  const source = sourceOf((question) => service.respond(question, today.startMs + HOUR_MS));
  let past: Past | undefined = await readFourWeeks(source, today);
  for (let day = 0; day < 8; day += 1) {
    const counts = countedDay(CALENDAR, today, people);
    const polled = { counts, atMs: today.endMs, endMs: today.endMs, lastSeenMs: undefined };
    today = CALENDAR.dayAt(today.endMs);
    past = appendDay(CALENDAR, past, polled, today);
    const read = await readFourWeeks(source, today);
    expect({ ...past, comparison: undefined }).toEqual({ ...read, comparison: undefined });
    past = past && (await comparePast(source, past));
    expect(past).toEqual(read);
  }
});
