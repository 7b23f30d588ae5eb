import { describe, expect, test } from 'vitest';
import { shardOf } from '../../src/polling/shards.ts';

const NAMES = Array.from({ length: 10_000 }, (_, i) => `library-${i}`);

test('one shard has everybody', () => {
  expect(NAMES.filter((name) => shardOf(name, 1) !== 0)).toEqual([]);
});

test('a customer is where it always was: another release must not move it', () => {
  const names = ['riverside', 'hillside', 'old-town', 'Åbenrå', '図書館'];
  expect(names.map((name) => shardOf(name, 4))).toEqual([3, 0, 2, 1, 3]);
  expect(names.map((name) => shardOf(name, 100))).toEqual([72, 63, 99, 1, 54]);
});

describe.each([2, 3, 4, 7, 10, 100])('%i shards', (shards) => {
  const before = NAMES.map((name) => shardOf(name, shards));

  test('have about the same number of customers each, and no customer is on none of them', () => {
    const sizes = Array.from(
      { length: shards },
      (_, shard) => before.filter((one) => one === shard).length,
    );
    expect(sizes.reduce((sum, size) => sum + size)).toBe(NAMES.length);
    // Five times the deviation that chance has.
    const even = NAMES.length / shards;
    expect(sizes.filter((size) => Math.abs(size - even) > 5 * Math.sqrt(even))).toEqual([]);
  });

  test('get one more, and only what moves there moves', () => {
    const moved = NAMES.map((name) => shardOf(name, shards + 1)).filter(
      (one, i) => one !== before[i],
    );
    expect(moved.filter((one) => one !== shards)).toEqual([]);
    const share = NAMES.length / (shards + 1);
    expect(Math.abs(moved.length - share)).toBeLessThan(5 * Math.sqrt(share));
  });
});
