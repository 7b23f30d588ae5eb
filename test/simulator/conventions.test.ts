/** Every switch shows in an answer: the simulator can be any service that the document allows. */
import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../src/base/random.ts';
import type { Conventions } from '../../src/simulator/conventions.ts';
import { drawConventions } from '../../src/simulator/drawn-conventions.ts';
import { at, keys, silent, small, sum, oneEntry } from './support.ts';
import type { RawRecord } from './support.ts';

const PEOPLE = '/v1/peoplecount';
const HOUR_MS = 3_600_000;

describe('the window', () => {
  const from = '2026-03-18T11:34:56.789Z';
  test.each([
    ['fromEdge', { from, to: '2026-03-18T12:00:00Z' }],
    ['toEdge', { from: '2026-03-18T11:00:00Z', to: from }],
  ] as const)('%s takes a record at the very edge, or not', (edge, query) => {
    const asked = { aggregation: 'minute', ...query };
    expect(oneEntry({ [edge]: 'inclusive' }).ask(PEOPLE, asked).result).toHaveLength(1);
    expect(oneEntry({ [edge]: 'exclusive' }).ask(PEOPLE, asked).result).toHaveLength(0);
  });

  test.each([
    [1, '2026-03-18T11:34:56.788Z', 1],
    [1, '2026-03-18T11:34:56.789Z', 0],
    [1_000, '2026-03-18T11:34:55.999Z', 1],
    [1_000, '2026-03-18T11:34:56Z', 0],
    [60_000, '2026-03-18T11:33:59Z', 1],
    [60_000, '2026-03-18T11:34:00Z', 0],
  ] as const)(
    'is compared with times cut to %i ms: from %s shows %i',
    (resolutionMs, edge, count) => {
      const query = { aggregation: 'minute', from: edge };
      expect(oneEntry({ resolutionMs }).ask(PEOPLE, query).result).toHaveLength(count);
    },
  );

  test('goes by local, server or client time, and the key by its own', () => {
    const deviceClocks = { share: 1, aheadMs: 20 * 60_000 };
    function rows(windowTime: Conventions['windowTime'], keyTime: Conventions['keyTime']) {
      const world = silent({ windowTime, keyTime, deviceClocks });
      const atMs = at('2026-03-18T11:30:00Z');
      world.service.record('lone', { kind: 'in', atMs, arrivesMs: atMs + HOUR_MS });
      const query = { aggregation: 'minute', from: '2026-03-18T12:00:00Z' };
      return keys(world.ask(PEOPLE, query));
    }
    expect(rows('local', 'local')).toEqual([]);
    expect(rows('client', 'client')).toEqual([]);
    expect(rows('server', 'server')).toEqual(['2026-03-18T13:30:00+01:00']);
    expect(rows('server', 'client')).toEqual(['2026-03-18T12:50:00+01:00']);
  });

  test('honours the zone designator, or reads the wall clock as local or as UTC', () => {
    function found(designator: Conventions['designator'], edge: string): number {
      const query = { aggregation: 'minute', from: edge };
      return oneEntry({ designator }).ask(PEOPLE, query).result.length;
    }
    expect(found('honoured', '2026-03-18T12:30:00+01:00')).toBe(1);
    expect(found('honoured', '2026-03-18T12:40:00+01:00')).toBe(0);
    expect(found('honoured', '2026-03-18T12:30:00Z')).toBe(0);
    expect(found('ignored, read as local', '2026-03-18T12:30:00Z')).toBe(1);
    expect(found('ignored, read as local', '2026-03-18T12:40:00Z')).toBe(0);
    expect(found('ignored, read as UTC', '2026-03-18T12:30:00+01:00')).toBe(0);
    expect(found('ignored, read as UTC', '2026-03-18T11:30:00+01:00')).toBe(1);
    expect(found('honoured', '2026-03-18T12:30:00')).toBe(1);
  });

  test.each([
    [30 * 24 * HOUR_MS, '2026-03-18T13:00:00Z', '2026-03-19T13:00:00Z'],
    [20 * 60_000, '2026-03-18T13:00:00Z', '2026-03-18T15:10:00Z'],
    [-30 * 24 * HOUR_MS, '2026-02-13T13:00:00Z', '2026-02-14T13:00:00Z'],
  ])('finds what devices recorded whose clock is %i ms ahead', (aheadMs, from, to) => {
    const { ask } = small({
      deviceClocks: { share: 0.5, aheadMs },
      forced: { above: 'rows', limit: 1_000_000, to: 'day', window: 'as asked' },
    });
    const within = ask<RawRecord>(PEOPLE).result.filter(({ localTime }) => {
      const localMs = at(localTime);
      return localMs > at(from) && localMs < at(to);
    });
    expect(within.length).toBeGreaterThan(10);
    expect(ask<RawRecord>(PEOPLE, { from, to }).result).toEqual(within);
  });

  test('without a designator starts at the earlier of two instants, and after a gap', () => {
    function found(edge: string, instant: string): number {
      const world = silent({ fromEdge: 'inclusive' }, at('2026-10-26T12:00:00Z'));
      world.service.record('lone', { kind: 'in', atMs: at(instant) });
      return world.ask(PEOPLE, { aggregation: 'minute', from: edge }).result.length;
    }
    expect(found('2026-10-25T02:30:00', '2026-10-25T00:30:00Z')).toBe(1);
    expect(found('2026-10-25T02:30:00', '2026-10-25T00:29:59Z')).toBe(0);
    expect(found('2026-03-29T02:30:00', '2026-03-29T01:30:00Z')).toBe(1);
    expect(found('2026-03-29T02:30:00', '2026-03-29T01:29:59Z')).toBe(0);
  });

  test('of days is widened to whole days, or not', () => {
    const query = { aggregation: 'day', from: '2026-03-18T11:40:00Z' };
    expect(oneEntry({ window: 'as asked' }).ask(PEOPLE, query).result).toHaveLength(0);
    expect(oneEntry({ window: 'whole buckets' }).ask(PEOPLE, query).result).toHaveLength(1);
  });
});

describe('time passes', () => {
  test('until a late record arrives', async () => {
    const world = silent();
    const atMs = at('2026-03-18T14:50:00Z');
    world.service.record('lone', { kind: 'in', atMs, arrivesMs: atMs + HOUR_MS });
    expect(world.ask(PEOPLE, { aggregation: 'day' }).result).toEqual([]);
    await world.clock.advance(50 * 60_000);
    expect(sum(world.ask(PEOPLE, { aggregation: 'day' }).result)).toEqual({ in: 1, out: 0 });
  });

  test('and devices that were offline deliver after hours', () => {
    const from = { aggregation: 'day', from: '2026-03-18T00:00:00Z' };
    const onTime = sum(small({}, { visitsPerDay: 3_000 }).ask(PEOPLE, from).result).in;
    const lateness = { usualMs: 20_000, offlineShare: 0.3, offlineMaxMs: 24 * HOUR_MS };
    const late = small({ lateness }, { visitsPerDay: 3_000 });
    expect(sum(late.ask(PEOPLE, from).result).in).toBeLessThan(0.9 * onTime);
    const week = Date.parse('2026-03-25T15:00:00Z');
    const query = { aggregation: 'day', from: '2026-03-17T23:00:00Z', to: '2026-03-18T15:00:00Z' };
    const later = small({ lateness }, { visitsPerDay: 3_000 }, week);
    const never = small({}, { visitsPerDay: 3_000 }, week);
    expect(later.ask(PEOPLE, query)).toEqual(never.ask(PEOPLE, query));
  });

  test('and records are corrected, or taken back', () => {
    const world = silent();
    const atMs = at('2026-03-18T10:00:00Z');
    const id = world.service.record('lone', { kind: 'out', atMs, amount: 3 });
    world.service.correct('lone', id, 2, at('2026-03-18T11:00:00Z'));
    expect(sum(world.ask(PEOPLE, { aggregation: 'day' }).result)).toEqual({ in: 0, out: 2 });
    expect(world.service.truth('lone', 0, at('2026-03-18T10:59:59Z')).exited).toBe(3);
    world.service.correct('lone', id, 0);
    expect(world.ask(PEOPLE, { aggregation: 'day' }).result).toEqual([]);
    expect(world.service.record('lone', { kind: 'out', atMs })).not.toEqual(id);
  });

  test('and drawn corrections change the totals of the past', () => {
    const corrections = { share: 0.2, withinMs: HOUR_MS };
    const { service } = small({ corrections }, { visitsPerDay: 2_000 });
    const plain = small({}, { visitsPerDay: 2_000 }).service;
    const from = at('2026-03-17T04:00:00Z');
    expect(service.truth('lone', from).entered).toBeLessThan(plain.truth('lone', from).entered);
  });

  test('and records expire', async () => {
    const world = silent({ retentionMs: 24 * HOUR_MS });
    world.service.record('lone', { kind: 'in', atMs: at('2026-03-18T14:00:00Z') });
    expect(world.ask(PEOPLE, { aggregation: 'day' }).result).toHaveLength(1);
    await world.clock.advance(24 * HOUR_MS);
    expect(world.ask(PEOPLE, { aggregation: 'day' }).result).toHaveLength(0);
    expect(world.service.truth('lone', 0).entered).toBe(0);
  });

  test.each(['day', 'quarter'] as const)('and a nightly roll-up of %s lags', (aggregation) => {
    const { ask } = small({ [`${aggregation}Freshness`]: 'nightly' }, { visitsPerDay: 400 });
    expect(ask(PEOPLE, { aggregation, from: '2026-03-18T03:00:00Z' }).result).toEqual([]);
    const before = { from: '2026-03-15T23:00:00Z', to: '2026-03-17T23:00:00Z' };
    const minutes = sum(ask(PEOPLE, { aggregation: 'minute', ...before }).result);
    expect(minutes.in).toBeGreaterThan(200);
    expect(sum(ask(PEOPLE, { aggregation, ...before }).result)).toEqual(minutes);
  });

  test('by a clock that may be wrong', () => {
    const world = oneEntry({ serviceClockMs: -180_000 });
    const response = world.request(PEOPLE);
    expect(response.headers['date']).toBe('Wed, 18 Mar 2026 14:57:00 GMT');
    const [record] = world.ask<RawRecord>(PEOPLE).result;
    expect(record?.serverTime).toBe('2026-03-18T11:31:56.789Z');
    expect(record?.localTime).toBe('2026-03-18T12:34:56.789+01:00');
  });
});

test('drawn conventions are the same for a seed, and take every value in time', () => {
  expect(drawConventions(seededRandom(5))).toEqual(drawConventions(seededRandom(5)));
  const random = seededRandom(1);
  const drawn = Array.from({ length: 400 }, () => drawConventions(random));
  function values(name: keyof Conventions): number {
    return new Set(drawn.map((conventions) => JSON.stringify(conventions[name]))).size;
  }
  const names = Object.keys(drawn[0] ?? {}) as (keyof Conventions)[];
  expect(names.filter((name) => values(name) < 2)).toEqual([]);
  expect(new Set(drawn.map(({ minuteKey }) => minuteKey.form)).size).toBe(6);
});
