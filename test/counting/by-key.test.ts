import { expect, test } from 'vitest';
import { compareKeys } from '../../src/counting/breakdown.ts';

test('whole numbers come first and by their value, then the rest as text', () => {
  const keys = ['b', '10', '9', '', '101', 'B', '-1', '0'];
  const sorted = ['0', '9', '10', '101', '', '-1', 'B', 'b'];
  expect(keys.toSorted(compareKeys)).toEqual(sorted);
  expect(keys.toReversed().toSorted(compareKeys)).toEqual(sorted);
});
