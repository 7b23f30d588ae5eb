import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { anyKeyBelow, byKey, compareKeys, flatCounts } from '../../src/counting/by-key.ts';
import { sumRows } from '../../src/counting/counts.ts';

const key = fc.oneof(
  fc.integer(),
  fc.string({ maxLength: 3 }),
  fc.string({ unit: fc.constantFrom('0', '1', '9'), maxLength: 18 }),
);
const count = fc.nat(1000);
const rows = fc.array(fc.record({ key, counts: fc.tuple(count, count) }), { maxLength: 12 });

test('whole numbers come first and by their value, then the rest as text', () => {
  const keys = ['b', '10', '9', '', '101', 'B', '-1', '0'];
  expect(keys.toSorted(compareKeys)).toEqual(['0', '9', '10', '101', '', '-1', 'B', 'b']);
});

test('the order is the same from whichever order the keys come', () => {
  fc.assert(
    fc.property(fc.uniqueArray(key.map(String), { maxLength: 20 }), fc.nat(), (keys, turn) => {
      const at = turn % (keys.length + 1);
      const turned = [...keys.slice(at), ...keys.slice(0, at)];
      expect(turned.toSorted(compareKeys)).toEqual(keys.toSorted(compareKeys));
    }),
  );
});

test('a table has all counts of its rows, and is below none of its own', () => {
  fc.assert(
    fc.property(rows, (some) => {
      const table = byKey(some);
      const keys = [...table.keys()];
      expect(flatCounts(table, keys, 2).slice(-2)).toEqual(sumRows(some, 2));
      expect(anyKeyBelow(table, table)).toBe(false);
      const counts = keys.some((one) => (table.get(one) ?? []).some((n) => n > 0));
      expect(anyKeyBelow(new Map(), table)).toBe(counts);
    }),
  );
});
