/** The switches of what the metadata says of a response. */
import { expect, test } from 'vitest';
import { PEOPLE, oneEntry } from './support.ts';

const QUERY = { from: '2026-03-18T11:00:00+01:00', to: '2026-03-19T00:00:00+01:00' };
const TIMES = { from: '2026-03-18T10:00:00.000Z', to: '2026-03-18T23:00:00.000Z' };

test.each([
  [{}, { ...QUERY, count: 1 }],
  [{ metadataCount: 'counts' }, { ...QUERY, count: 1 }],
  [{ metadataCount: 'absent' }, QUERY],
  [{ metadataTimes: 'utc' }, { ...TIMES, count: 1 }],
  [{ metadataTimes: 'absent' }, { count: 1 }],
] as const)('with %j, the metadata has %j', (conventions, expected) => {
  const raw = oneEntry(conventions).ask(PEOPLE, QUERY);
  expect(raw.metadata).toEqual(expected);
  const aggregated = oneEntry(conventions).ask(PEOPLE, { ...QUERY, aggregation: 'day' });
  expect(aggregated.metadata).toEqual({ ...expected, aggregation: 'day' });
});

test('`counts` are those that the rows sum up, or that all pages have', () => {
  const one = oneEntry({ metadataCount: 'counts' });
  one.service.record('lone', { kind: 'in', atMs: Date.UTC(2026, 2, 18, 11), arrivesMs: 0 });
  expect(one.ask(PEOPLE, { ...QUERY, aggregation: 'day' }).metadata).toMatchObject({ count: 2 });
  expect(one.ask(PEOPLE, { ...QUERY, limit: '1' }).metadata).toMatchObject({ count: 2, limit: 1 });
});
