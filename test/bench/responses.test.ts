/** The benchmark's service is consistent, or it would measure repeated requests; and its table. */
import { expect, test } from 'vitest';
import { Responses } from '../../bench/service/responses.ts';
import { tableOf } from '../../bench/table.ts';
import { Zone } from '../../src/counting/calendar/zone.ts';
import { decodeAggregated } from '../../src/service/decode.ts';
import type { AggregatedResponse } from '../../src/base/model.ts';

const MINUTE_MS = 60_000;
const NOW_MS = Date.UTC(2026, 10, 21, 14, 30, 20);
const responses = new Responses(new Zone('Europe/Copenhagen'), 3);

function read(
  aggregation: 'day' | 'quarter' | 'minute' | 'branch',
  minutes: number,
): AggregatedResponse {
  const from = new Date(NOW_MS - minutes * MINUTE_MS).toISOString();
  const body = responses.body(3, 'peoplecount', new URLSearchParams({ aggregation, from }), NOW_MS);
  return decodeAggregated(
    { endpoint: 'peoplecount', aggregation },
    { contentType: 'application/json', body },
    [],
  );
}

function sumOf({ rows }: AggregatedResponse): readonly number[] {
  return [0, 1].map((kind) => rows.reduce((sum, { counts }) => sum + (counts[kind] ?? 0), 0));
}

test('days, quarters, minutes and branches of one window have the same sums', () => {
  for (const minutes of [15, 60, 1_000, 10_000]) {
    expect(sumOf(read('day', minutes))).toEqual(sumOf(read('minute', minutes)));
    expect(sumOf(read('quarter', minutes))).toEqual(sumOf(read('minute', minutes)));
    expect(sumOf(read('branch', minutes))).toEqual(sumOf(read('minute', minutes)));
  }
  expect(read('day', 10_000).rows.length).toBeGreaterThanOrEqual(7);
});

test('minutes are those of the zone, and over', () => {
  const { rows } = read('minute', 60);
  expect(rows.length).toBeGreaterThan(10);
  for (const { key } of rows) {
    expect(key).toMatch(/^2026-11-21T1[45]:\d\d:00\+01:00$/);
    expect(Date.parse(String(key))).toBeLessThanOrEqual(NOW_MS - MINUTE_MS);
  }
});

test('the table has a line for each bar, and says which one is missed', () => {
  const rows = [
    { bar: 'start', ours: '300 ms', peer: '–', value: 300, limit: 400 },
    { bar: 'memory', ours: '500 MiB', peer: '400 MiB', value: 1.25, limit: 1.2 },
    { bar: 'none', ours: '', peer: '', value: NaN, limit: 1 },
  ];
  expect(
    tableOf(rows)
      .match(/ (yes|\*\*no\*\*) +\|$/gm)
      ?.map((met) => met.trim()),
  ).toEqual(['yes    |', '**no** |', '**no** |']);
});
