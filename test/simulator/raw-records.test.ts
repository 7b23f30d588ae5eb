/** Raw records of the simulated service: their fields, and their pages. */
import { describe, expect, test } from 'vitest';
import { plainConventions } from '../../src/simulator/conventions.ts';
import { NOW_MS, at, silent, small } from './support.ts';
import type { Answer, RawRecord, Small } from './support.ts';

const PEOPLE = '/v1/peoplecount';
const LOGIN = '/v1/login';

describe('raw records', () => {
  test('have all the fields of the interface', () => {
    const { ask } = small();
    const from = { from: '2026-03-18T11:00:00Z', limit: '1' };
    const [count] = ask<Record<string, unknown>>(PEOPLE, from).result;
    expect(Object.keys(count ?? {})).toEqual(
      (
        'id amount name localTime serverTime clientTime category libraryControllerState ' +
        'customerId branchId clientId deviceId'
      ).split(' '),
    );
    const [login] = ask<Record<string, unknown>>(LOGIN, from).result;
    expect(Object.keys(login ?? {})).toEqual(
      (
        'id patronAge patronGender patronAddress2 name localTime serverTime clientTime category ' +
        'customerId branchId clientId deviceId'
      ).split(' '),
    );
  });

  test.each([
    ['plain', {}],
    ['of whole minutes', { resolutionMs: 60_000 }],
    [
      'by server time, with devices offline',
      {
        windowTime: 'server',
        lateness: { usualMs: 1_000, offlineShare: 0.3, offlineMaxMs: 3_600_000 },
      },
    ],
    ['cut by bytes', { forced: { ...plainConventions.forced, limit: 5_000 } }],
    ['with a limit by default', { defaultLimit: 50 }],
  ] as const)('come page by page without loss: %s', (_, conventions) => {
    const { ask, service } = small(conventions);
    const from = '2026-03-17T11:00:00Z';
    const records = readPages({ ask }, { from, limit: '37' });
    expect(new Set(records.map(({ id }) => id)).size).toBe(records.length);
    function amounts(category: string): number {
      const ofCategory = records.filter((record) => record.category === category);
      return ofCategory.reduce((total, { amount }) => total + amount, 0);
    }
    const { entered, exited } = service.truth('lone', at(from)).served;
    expect(entered).toBeGreaterThan(80);
    expect({ in: amounts('in'), out: amounts('out') }).toEqual({ in: entered, out: exited });
  });

  test('that arrive between two pages move nothing', () => {
    const { ask, service } = small();
    const first = ask<RawRecord>(PEOPLE, { from: '2026-03-18T08:00:00Z', limit: '10' });
    service.record('lone', { kind: 'in', atMs: at('2026-03-18T08:00:01Z'), arrivesMs: NOW_MS });
    const startToken = first.metadata.startToken ?? '';
    const second = ask<RawRecord>(PEOPLE, { startToken, limit: '10' });
    const ids = [...first.result, ...second.result].map(({ id }) => id);
    expect(new Set(ids).size).toBe(20);
    expect(ids.filter((id) => id.endsWith('4000000-0'))).toEqual([]);
  });

  test('are clamped to the maximum limit, or a larger one is refused', () => {
    const query = { limit: '101' };
    const { metadata } = small({ maximumLimit: 100 }).ask(PEOPLE, query);
    expect(metadata).toMatchObject({ limit: 100, count: 100 });
    const strict = small({ maximumLimit: 100, aboveMaximumLimit: 'rejected' });
    expect(strict.request(PEOPLE, query).status).toBe(400);
  });

  test('name their category, and their times, as the conventions do', () => {
    const world = silent({
      categories: { in: 'ENTRY', out: 'EXIT', login: 'PATRON' },
      recordTimes: 'none',
      resolutionMs: 1_000,
    });
    world.service.record('lone', { kind: 'out', atMs: at('2026-03-18T12:00:00.5Z') });
    expect(world.ask<RawRecord>(PEOPLE).result[0]).toMatchObject({
      category: 'EXIT',
      localTime: '2026-03-18T13:00:00',
      serverTime: '2026-03-18T12:00:00',
    });
  });

  function readPages({ ask }: Pick<Small, 'ask'>, query: Record<string, string>): RawRecord[] {
    const records: RawRecord[] = [];
    let next: Record<string, string> = query;
    for (;;) {
      const { metadata, result }: Answer<RawRecord> = ask<RawRecord>(PEOPLE, next);
      expect(metadata.count).toBe(result.length);
      records.push(...result);
      if (metadata.startToken === undefined) {
        return records;
      }
      next = { ...query, startToken: metadata.startToken };
    }
  }
});
