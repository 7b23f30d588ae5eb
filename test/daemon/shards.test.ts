import { expect, test } from 'vitest';
import { shardOf } from '../../src/customers.ts';

const NAMES = Array.from({ length: 10_000 }, (_, i) => `library-${i}`);

test('a customer stays on its shard in every release', () => {
  const names = ['riverside', 'hillside', 'old-town', 'Åbenrå', '図書館'];
  expect(names.map((name) => shardOf(name, 1))).toEqual([0, 0, 0, 0, 0]);
  expect(names.map((name) => shardOf(name, 4))).toEqual([3, 0, 2, 1, 3]);
  expect(names.map((name) => shardOf(name, 100))).toEqual([72, 63, 99, 1, 54]);
});

test.each([2, 4, 7, 100])('of %i shards, all have about the same number of customers', (shards) => {
  const sizes = Array.from({ length: shards }, () => 0);
  for (const name of NAMES) {
    const shard = shardOf(name, shards);
    sizes[shard] = (sizes[shard] ?? NaN) + 1;
  }
  // Five standard deviations.
  const even = NAMES.length / shards;
  expect(sizes.filter((size) => !(Math.abs(size - even) <= 5 * Math.sqrt(even)))).toEqual([]);
});

test.each([2, 4, 7, 100])('with one more than %i shards, customers move to it only', (shards) => {
  const moved = NAMES.filter((name) => shardOf(name, shards + 1) !== shardOf(name, shards));
  expect(new Set(moved.map((name) => shardOf(name, shards + 1)))).toEqual(new Set([shards]));
  const share = NAMES.length / (shards + 1);
  expect(Math.abs(moved.length - share)).toBeLessThan(5 * Math.sqrt(share));
});
