import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { SampleStore } from '../../src/metrics/sample-store.ts';

const FAMILIES = 3;
const CUSTOMERS = 6;

const lines = fc.tuple(
  ...Array.from({ length: FAMILIES }, () =>
    fc.oneof(fc.constant(''), fc.string({ unit: 'binary', maxLength: 12 })),
  ),
);
const all = fc.array(lines, { minLength: CUSTOMERS, maxLength: CUSTOMERS });
const some = fc.dictionary(fc.integer({ min: 0, max: CUSTOMERS - 1 }).map(String), lines);

test('after any history of changes the bytes are those of the newest lines, in order', () => {
  fc.assert(
    fc.property(all, fc.array(some, { maxLength: 5 }), (first, changes) => {
      const store = new SampleStore(FAMILIES);
      const newest = new Map<number, readonly string[]>(first.entries());
      store.reset(CUSTOMERS);
      store.update(newest);
      for (const change of changes) {
        const changed = Object.entries(change).map(([key, value]) => [Number(key), value] as const);
        store.update(new Map(changed));
        changed.forEach(([customer, value]) => newest.set(customer, value));
      }
      for (let family = 0; family < FAMILIES; family += 1) {
        const expected = [...newest.values()].map((each) => each[family]).join('');
        expect(Buffer.from(store.family(family))).toEqual(Buffer.from(expected));
      }
    }),
  );
});
