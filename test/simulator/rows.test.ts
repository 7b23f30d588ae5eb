/**
 * Every switch that is about the rows of an answer shows in them: their keys, their number, their
 * order.
 */
import { describe, expect, test } from 'vitest';
import type { Conventions, MinuteKey } from '../../src/simulator/conventions.ts';
import { at, keys, silent, small, oneEntry } from './support.ts';

const PEOPLE = '/v1/peoplecount';

describe('the key of a minute', () => {
  const periodMs = at('2026-03-18T11:34:00Z');
  const forms: readonly (readonly [MinuteKey, string | number])[] = [
    [iso('customer', 'offset', 'second'), '2026-03-18T12:34:00+01:00'],
    [iso('utc', 'offset', 'minute'), '2026-03-18T11:34+00:00'],
    [iso('utc', 'Z', 'fraction'), '2026-03-18T11:34:00.000Z'],
    [iso('customer', 'none', 'second'), '2026-03-18T12:34:00'],
    [iso('utc', 'none', 'minute'), '2026-03-18T11:34'],
    [{ form: 'epoch', unit: 's', type: 'number' }, periodMs / 1_000],
    [{ form: 'epoch', unit: 'ms', type: 'string' }, `${periodMs}`],
    [{ form: 'epoch', unit: 'min', type: 'number' }, periodMs / 60_000],
    [{ form: 'compact', zone: 'customer', type: 'number' }, 202603181234],
    [{ form: 'compact', zone: 'utc', type: 'string' }, '202603181134'],
    [{ form: 'minute-of-day', zone: 'customer', type: 'number' }, 754],
    [{ form: 'minute-of-day', zone: 'utc', type: 'string' }, '694'],
    [{ form: 'index', type: 'number' }, 94],
    [{ form: 'clock', zone: 'customer' }, '12:34'],
  ];
  test.each(forms)('%j', (minuteKey, key) => {
    const answer = oneEntry({ minuteKey }).ask(PEOPLE, {
      aggregation: 'minute',
      from: '2026-03-18T10:00:00Z',
    });
    expect(answer.result).toEqual([{ key, in: 1, out: 0 }]);
  });

  function iso(
    zone: 'customer' | 'utc',
    designator: 'offset' | 'Z' | 'none',
    precision: 'minute' | 'second' | 'fraction',
  ): MinuteKey {
    return { form: 'iso', zone, designator, precision };
  }
});

describe('the key of a larger bucket', () => {
  test.each([
    ['day', {}, '2026-03-18T00:00:00+01:00'],
    ['day', { dayKey: 'date' }, '2026-03-18'],
    ['day', { dayKey: 'compact' }, 20260318],
    ['day', { dayKey: 'index' }, 2],
    ['quarter', {}, '2026-03-18T12:30:00+01:00'],
    ['quarter', { quarterKey: 'label' }, 50],
    ['quarter', { quarterKey: 'index' }, 190],
    ['quarter', { quarter: '3 months' }, '2026-01-01T00:00:00+01:00'],
    ['quarter', { quarter: '3 months', quarterKey: 'label' }, '2026-Q1'],
    ['quarter', { quarter: '3 months', quarterKey: 'index' }, 0],
  ] as const)('%s %j', (aggregation, conventions, key) => {
    const query = { aggregation, from: '2026-03-16T12:00:00Z' };
    expect(keys(oneEntry(conventions).ask(PEOPLE, query))).toEqual([key]);
  });

  test.each([
    ['number', [421, 422]],
    ['string', ['421', '422']],
    ['name', ['Here 421', 'There 422']],
  ] as const)('branch as a %s', (groupKey, expected) => {
    const branches = [
      { id: 421, name: 'Here' },
      { id: 422, name: 'There' },
    ];
    const { ask } = small({ groupKey }, { branches, visitsPerDay: 500 });
    expect(keys(ask(PEOPLE, { aggregation: 'branch' }))).toEqual(expected);
  });
});

describe('rows', () => {
  test('of the hour that occurs twice are two with one key, or one', () => {
    const minuteKey: MinuteKey = {
      form: 'iso',
      zone: 'customer',
      designator: 'none',
      precision: 'minute',
    };
    function rows(repeatedKeys: Conventions['repeatedKeys']) {
      const world = silent({ minuteKey, repeatedKeys }, at('2026-10-25T12:00:00Z'));
      world.service.record('lone', { kind: 'in', atMs: at('2026-10-25T00:30:00Z') });
      world.service.record('lone', { kind: 'out', atMs: at('2026-10-25T01:30:00Z') });
      return world.ask(PEOPLE, { aggregation: 'minute', from: '2026-10-24T12:00:00Z' }).result;
    }
    const key = '2026-10-25T02:30';
    expect(rows('separate')).toEqual([
      { key, in: 1, out: 0 },
      { key, in: 0, out: 1 },
    ]);
    expect(rows('merged')).toEqual([{ key, in: 1, out: 1 }]);
  });

  test('without counts are listed up to now, or not', () => {
    const query = { aggregation: 'minute', from: '2026-03-18T11:30:00Z' };
    expect(oneEntry({ emptyBuckets: 'omitted' }).ask(PEOPLE, query).result).toHaveLength(1);
    const listed = oneEntry({ emptyBuckets: 'listed' }).ask(PEOPLE, query).result;
    expect(listed).toHaveLength(211);
    expect(listed.at(-1)).toEqual({ key: '2026-03-18T16:00:00+01:00', in: 0, out: 0 });
  });

  test('stand in either order', () => {
    const query = { aggregation: 'minute', from: '2026-03-18T11:30:00Z' };
    const ascending = keys(small().ask(PEOPLE, query));
    expect(ascending.length).toBeGreaterThan(5);
    const { ask } = small({ rowOrder: 'descending' });
    expect(keys(ask(PEOPLE, query))).toEqual(ascending.toReversed());
  });

  test('of days belong to the days of the customer, or of UTC', () => {
    function days(dayZone: Conventions['dayZone']) {
      const world = silent({ dayZone, dayKey: 'date' });
      world.service.record('lone', { kind: 'in', atMs: at('2026-03-16T23:30:00Z') });
      return keys(world.ask(PEOPLE, { aggregation: 'day' }));
    }
    expect(days('customer')).toEqual(['2026-03-17']);
    expect(days('utc')).toEqual(['2026-03-16']);
  });
});
