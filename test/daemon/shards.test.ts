import { expect, test } from 'vitest';
import { shardOf } from '../../src/customers.ts';

test('a customer stays on its shard in every release', () => {
  const names = ['riverside', 'hillside', 'old-town', 'Åbenrå', '図書館'];
  expect(names.map((name) => shardOf(name, 1))).toEqual([0, 0, 0, 0, 0]);
  expect(names.map((name) => shardOf(name, 4))).toEqual([3, 0, 2, 1, 3]);
  expect(names.map((name) => shardOf(name, 100))).toEqual([72, 63, 99, 1, 54]);
});
