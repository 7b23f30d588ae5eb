/** Counts of rows of different length. */
import { expect, test } from 'vitest';
import { areEqual, higher } from '../../../src/counting/rows/counts.ts';

test.each([
  [[1, 2], [1, 2], true],
  [[1, 2], [1, 3], false],
  [[1, 0], [1], true],
])('%j and %j are equal: %s', (a, b, expected) => {
  expect(areEqual(a, b)).toBe(expected);
});

test.each([
  [undefined, undefined, undefined],
  [[1, 2], undefined, [1, 2]],
  [undefined, [1, 2], [1, 2]],
  [
    [1, 5],
    [3, 2],
    [3, 5],
  ],
])('the higher ones of %j and %j are %j', (a, b, expected) => {
  expect(higher(a, b)).toEqual(expected);
});
