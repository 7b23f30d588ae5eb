/** The total read by the minute in pieces, of a service that is busy at every chunk boundary. */
import { expect, test } from 'vitest';
import { MINUTE_MS } from '../../../src/base/duration.ts';
import { WindowReader } from '../../../src/counting/rows/window-reader.ts';
import {
  answeredSource,
  BY_DAY,
  finerSource,
  isFinerTotal,
  totalByMinute,
} from '../../../src/counting/totals/period-total.ts';
import type { TotalSource } from '../../../src/counting/totals/period-total.ts';
import { Zone } from '../../../src/counting/calendar/zone.ts';
import type { Conventions } from '../../../src/simulator/conventions.ts';
import { queryFrom } from '../../support/responses.ts';
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

function total(respond: Respond): Promise<readonly number[]> {
  const query = queryFrom(respond);
  const options = { stream: 'people', zone: new Zone('UTC'), nowMs: () => END_MS } as const;
  return totalByMinute(new WindowReader({ query, ...options }), START_MS - MINUTE_MS);
}

test.each([
  { fromEdge: 'inclusive', toEdge: 'exclusive' },
  { fromEdge: 'exclusive', toEdge: 'inclusive' },
  { fromEdge: 'inclusive', toEdge: 'inclusive' },
] as const)('%j: nobody at a chunk boundary is counted twice or left out', async (edges) => {
  expect(await total(busyService(edges))).toEqual([24 * 60, 0]);
});

const BY_QUARTER: TotalSource = { kind: 'unverified', aggregation: 'quarter' };
const VERIFIED: TotalSource = { kind: 'verified', aggregation: 'day' };
const BY_MINUTE: TotalSource = { kind: 'minutes', aggregation: 'minute' };

test.each([
  ['what was requested', VERIFIED, 'day', VERIFIED],
  ['quarters in place of days', VERIFIED, 'quarter', BY_QUARTER],
  ['days in place of quarters', BY_QUARTER, 'day', BY_DAY],
  ['minutes in place of days', VERIFIED, 'minute', VERIFIED],
])('a response by %s', (_, requested, aggregation, source) => {
  expect(answeredSource(requested, aggregation)).toEqual(source);
});

test.each([
  [VERIFIED, BY_QUARTER],
  [BY_QUARTER, BY_MINUTE],
] as const)('finer than %j is %j', (source, finer) => {
  expect(finerSource(source)).toEqual(finer);
});

test.each<[string, number, number, number, boolean]>([
  ['as many', 100, 100, 0, true],
  ['more than twice as many', 201, 100, 0, true],
  ['twice as many', 200, 100, 0, false],
  ['twice as few', 38, 19, 0, true],
  ['fewer by a tenth', 90, 100, 0, true],
  ['fewer', 89, 100, 0, false],
])(
  'a finer total of %s replaces the coarser one: %i of %i',
  (_, finer, coarser, came, replaces) => {
    expect(isFinerTotal([finer], [coarser], [came])).toBe(replaces);
  },
);
