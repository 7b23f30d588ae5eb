import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { CUSTOMERS_OF_A_BLOCK, SampleStore } from '../../src/metrics/sample-store.ts';
import type { ChangedLines } from '../../src/metrics/sample-store.ts';

const FAMILIES = 3;
/** In two blocks: the edges of both are among those that change. */
const CUSTOMERS = CUSTOMERS_OF_A_BLOCK + 3;
const PLACES = [0, 1, 7, CUSTOMERS_OF_A_BLOCK - 1, CUSTOMERS_OF_A_BLOCK, CUSTOMERS - 1];

const text = fc.oneof(fc.constant(''), fc.string({ unit: 'binary', maxLength: 12 }));
const lines = fc.tuple(
  ...Array.from({ length: FAMILIES }, () => fc.oneof(fc.constant(undefined), text)),
);
const change = fc.dictionary(fc.constantFrom(...PLACES).map(String), lines);

function bytesOf(store: SampleStore, family: number): Buffer {
  return Buffer.concat(store.family(family).map(({ plain }) => plain));
}

test('after any history of changes the bytes are those of the newest lines, in order', () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 8 }), (changes) => {
      const store = new SampleStore(FAMILIES, CUSTOMERS);
      const newest = Array.from({ length: CUSTOMERS }, () => ['', '', '']);
      const shown: { readonly bytes: Uint8Array; readonly copy: Buffer }[] = [];
      for (const changed of changes) {
        const update = new Map<number, ChangedLines>(
          Object.entries(changed).map(([key, value]) => [Number(key), value]),
        );
        store.update(update);
        for (const [customer, value] of update) {
          newest[customer] = value.map((one, i) => one ?? newest[customer]?.[i] ?? '');
        }
        for (let family = 0; family < FAMILIES; family += 1) {
          const expected = newest.map((each) => each[family]).join('');
          expect(bytesOf(store, family)).toEqual(Buffer.from(expected));
          for (const { plain } of store.family(family)) {
            shown.push({ bytes: plain, copy: Buffer.from(plain) });
          }
        }
      }
      // Whoever reads a piece reads what he was given, whatever has come since.
      expect(shown.every(({ bytes, copy }) => copy.equals(bytes))).toBe(true);
    }),
  );
});

test('a piece whose bytes are as before is the same piece, which need not be compressed again', () => {
  const store = new SampleStore(2, 2);
  store.update(
    new Map([
      [0, ['a', 'b']],
      [1, ['c', 'd']],
    ]),
  );
  const [first, second] = [...store.family(0), ...store.family(1)];
  store.update(new Map([[1, ['c', 'e']]]));
  expect(store.family(0)[0]).toBe(first);
  expect(store.family(1)[0]).not.toBe(second);
});

test('a block is quiet once nothing in it has changed between two looks, and is told of once', () => {
  const store = new SampleStore(1, CUSTOMERS);
  function quiet(): string[] {
    return store.quiet().map(({ plain }) => Buffer.from(plain).toString());
  }
  store.update(new Map([[0, ['a']]]));
  expect(quiet()).toEqual([]);
  store.update(
    new Map([
      [0, ['b']],
      [CUSTOMERS - 1, ['c']],
    ]),
  );
  expect(quiet()).toEqual([]);
  store.update(new Map([[CUSTOMERS - 1, ['d']]]));
  expect(quiet()).toEqual(['b']);
  expect(quiet()).toEqual(['d']);
  expect(quiet()).toEqual([]);
});
