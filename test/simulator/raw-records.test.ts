import { describe, expect, test } from 'vitest';
import { LOGIN, NOW_MS, PEOPLE, at, silent, small } from './support.ts';
import type { RawRecord } from './support.ts';

describe('raw records', () => {
  test('that arrive between two pages do not shift the second one', () => {
    const { ask, request, service } = small();
    const first = ask<RawRecord>(PEOPLE, { from: '2026-03-18T08:00:00Z', limit: '10' });
    service.record('lone', { kind: 'in', atMs: at('2026-03-18T08:00:01Z'), arrivesMs: NOW_MS });
    const startToken = first.metadata.startToken ?? '';
    expect(request(LOGIN, { startToken }).status).toBe(400);
    const second = ask<RawRecord>(PEOPLE, { startToken, limit: '10' });
    const ids = [...first.result, ...second.result].map(({ id }) => id);
    expect(new Set(ids).size).toBe(20);
    expect(ids.filter((id) => id.endsWith('4000000-0'))).toEqual([]);
  });

  test('have the categories and time format of the conventions', () => {
    const { ask, service } = silent({
      categories: { in: 'ENTRY', out: 'EXIT', login: 'PATRON' },
      recordTimes: 'none',
      resolutionMs: 1_000,
    });
    service.record('lone', { kind: 'out', atMs: at('2026-03-18T12:00:00.5Z') });
    expect(ask<RawRecord>(PEOPLE).result[0]).toMatchObject({
      category: 'EXIT',
      libraryControllerState: 'Staffed',
      localTime: '2026-03-18T13:00:00',
      serverTime: '2026-03-18T12:00:00',
    });
  });
});

test('a limit above the maximum is clamped, or rejected', () => {
  const query = { limit: '101' };
  const { metadata } = small({ maximumLimit: 100 }).ask(PEOPLE, query);
  expect(metadata).toMatchObject({ limit: 100, count: 100 });
  const strict = small({ maximumLimit: 100, aboveMaximumLimit: 'rejected' });
  expect(strict.request(PEOPLE, query).status).toBe(400);
});
