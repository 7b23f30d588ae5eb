/** The total read by the minute in pieces, of a service that is busy at every chunk boundary. */
import { expect, test } from 'vitest';
import { DAY_MS, MINUTE_MS } from '../../../src/base/duration.ts';
import { WindowReader } from '../../../src/counting/rows/window-reader.ts';
import {
  answeredSource,
  BY_DAY,
  finerSource,
  totalByMinute,
} from '../../../src/counting/totals/period-total.ts';
import type { TotalSource } from '../../../src/counting/totals/period-total.ts';
import { Zone } from '../../../src/counting/calendar/zone.ts';
import type { Conventions } from '../../../src/simulator/conventions.ts';
import { queryFrom, responseOf } from '../../support/responses.ts';
import type { Respond } from '../../support/responses.ts';
import { forcedAbove, SimulatedPeople } from '../../support/simulated-people.ts';

const START_MS = Date.UTC(2026, 10, 18, 4);
const END_MS = START_MS + 24 * 60 * MINUTE_MS;

/** Somebody came at the start of every minute: as many records are on a boundary as can be. */
function busyService(edges: Pick<Conventions, 'fromEdge' | 'toEdge'>): Respond {
  const service = new SimulatedPeople({ ...forcedAbove(300), ...edges }, { timezone: 'UTC' });
  for (let atMs = START_MS; atMs < END_MS; atMs += MINUTE_MS) {
    service.record(atMs, [1, 0]);
  }
  return (question) => service.respond(question, END_MS);
}

function readerOf(respond: Respond): WindowReader {
  return new WindowReader({
    query: queryFrom(respond),
    stream: 'people',
    zone: new Zone('UTC'),
    nowMs: () => END_MS,
  });
}

function total(respond: Respond): Promise<readonly number[]> {
  return totalByMinute(readerOf(respond), START_MS - MINUTE_MS);
}

const PLAIN = { fromEdge: 'inclusive', toEdge: 'exclusive' } as const;

test.each([
  PLAIN,
  { fromEdge: 'exclusive', toEdge: 'inclusive' },
  { fromEdge: 'inclusive', toEdge: 'inclusive' },
  { fromEdge: 'exclusive', toEdge: 'exclusive' },
] as const)('%j: nobody at a chunk boundary is counted twice or left out', async (edges) => {
  expect(await total(busyService(edges))).toEqual([24 * 60, 0]);
});

test('a forced aggregation that has no counts yet is read by minute, too', async () => {
  const respond = busyService(PLAIN);
  const counts = await total((question) => {
    const response = respond(question);
    return response.aggregation === 'day' ? { ...response, rows: [] } : response;
  });
  expect(counts).toEqual([24 * 60, 0]);
});

test('an overlap that is empty for a moment does not make the total too high', async () => {
  const respond = busyService(PLAIN);
  for (let faulty = 0; faulty < 40; faulty++) {
    let requests = 0;
    const read = await total((question) => {
      const { from, to = '' } = question;
      const isOverlap = Date.parse(to) - Date.parse(from) === 2 * MINUTE_MS;
      const isFaulty = isOverlap && requests++ === faulty;
      return isFaulty ? { aggregation: 'minute', rows: [] } : respond(question);
    });
    expect(read).toEqual([24 * 60, 0]);
  }
});

const BY_QUARTER: TotalSource = { kind: 'unverified', aggregation: 'quarter' };
const VERIFIED: TotalSource = { kind: 'verified', aggregation: 'day' };
const BY_MINUTE: TotalSource = { kind: 'minutes', aggregation: 'minute' };

test.each([
  ['what was requested', VERIFIED, 'day', VERIFIED],
  ['quarters in place of days', VERIFIED, 'quarter', BY_QUARTER],
  ['days in place of quarters', BY_QUARTER, 'day', BY_DAY],
  ['days in place of minutes', BY_MINUTE, 'day', BY_DAY],
  ['minutes in place of days', VERIFIED, 'minute', VERIFIED],
  ['another aggregation', VERIFIED, 'week', VERIFIED],
])('a response by %s', (_, requested, aggregation, source) => {
  expect(answeredSource(requested, aggregation)).toEqual(source);
});

/** How many came on each of the last nine days, the oldest first, by aggregation. */
type Days = Readonly<Partial<Record<string, readonly number[]>>>;

/** Responds with what came since `from`. An aggregation without days is forced into `week`. */
function respondWith(days: Days): Respond {
  return ({ aggregation, from }) => {
    const counts = days[aggregation];
    const daysBack = Math.round((START_MS - Date.parse(from)) / DAY_MS);
    const entered = (counts ?? []).slice(9 - daysBack).reduce((sum, count) => sum + count, 0);
    return responseOf({ x: [entered, 0] }, counts === undefined ? 'week' : aggregation);
  };
}

function finerOf(days: Days, source: TotalSource = BY_DAY): Promise<TotalSource | undefined> {
  return finerSource(readerOf(respondWith(days)), source, START_MS);
}

const STEADY = [7, 7, 7, 7, 7, 7, 7, 7, 7];
/** So many fewer on a day in the middle that no day at the edges explains it. */
const LACKING = STEADY.with(4, -1);

test.each<[string, Days, TotalSource | undefined]>([
  ['quarters agree, too', { day: STEADY, quarter: STEADY, minute: STEADY }, BY_QUARTER],
  ['quarters lack somebody', { day: STEADY, quarter: LACKING, minute: STEADY }, BY_MINUTE],
  [
    'quarters have somebody more',
    { day: STEADY, quarter: STEADY.with(4, 15), minute: STEADY },
    BY_MINUTE,
  ],
  ['minutes lack somebody', { day: STEADY, quarter: STEADY, minute: LACKING }, undefined],
  [
    'minutes have somebody more',
    { day: STEADY, quarter: STEADY, minute: STEADY.with(4, 15) },
    undefined,
  ],
  [
    'days are counted a day early',
    { day: [...STEADY.slice(1), 0], quarter: STEADY, minute: STEADY },
    BY_QUARTER,
  ],
  ['older days cannot be read by day', { quarter: LACKING, minute: LACKING }, BY_QUARTER],
  ['older days cannot be read by quarter', { day: STEADY, minute: STEADY }, BY_QUARTER],
  ['older days cannot be read by minute', { day: STEADY, quarter: STEADY }, BY_QUARTER],
])('days disagree with today, and %s', async (_, days, source) => {
  expect(await finerOf(days)).toEqual(source);
});

test('after quarters, only minutes are left', async () => {
  const all = { day: STEADY, quarter: STEADY, minute: STEADY };
  expect(await finerOf(all, BY_QUARTER)).toEqual(BY_MINUTE);
});

test.each([
  ['the end', 2],
  ['the end of the shorter window', 3],
  ['the start of the longer window', 9],
])('older days of which %s cannot be read by minute are not compared', async (_, daysBack) => {
  const reader = readerOf(({ aggregation, from }) => {
    const isForced = aggregation === 'minute' && Date.parse(from) === START_MS - daysBack * DAY_MS;
    return responseOf({ x: [isForced ? 700 : 7, 0] }, isForced ? 'day' : aggregation);
  });
  expect(await finerSource(reader, BY_QUARTER, START_MS)).toEqual(BY_MINUTE);
});
