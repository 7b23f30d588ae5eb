/** Branches and doors that counted nobody while the others did. */
import { expect, test } from 'vitest';
import { findSilent } from '../../../src/counting/check/lately.ts';

type Passes = Readonly<Record<string, number>>;

function table(passes: Passes) {
  return new Map(Object.entries(passes).map(([key, count]) => [key, [count, 0]]));
}

test.each<[string, Passes, Passes, readonly string[]]>([
  ['that counts nobody is silent', { a: 50, b: 20, c: 9 }, { a: 50, c: 9 }, ['b']],
  ['that lists 0 is silent', { a: 50, b: 20 }, { a: 50, b: 0 }, ['b']],
  ['that counts a few is not', { a: 50, b: 90 }, { a: 50, b: 1 }, []],
  ['with few people is not', { a: 50, b: 19 }, { a: 50 }, []],
  ['is not while few come elsewhere', { a: 100, b: 99 }, { a: 20 }, []],
  ['is not while nobody comes elsewhere', { a: 50, b: 50 }, {}, []],
  ['that is the only one is not', { a: 50 }, {}, []],
  ['is compared with those that were there before', { a: 10, b: 20 }, { a: 5, new: 90 }, []],
])('a key %s', (_, before, lately, silent) => {
  expect(findSilent(table(before), table(lately))).toEqual(silent);
});
