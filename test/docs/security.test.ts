/** SECURITY.md: each claim names the tests that hold it, and those are there. */
import { expect, test } from 'vitest';
import { claimsOf, hasTest, missingTests } from './named-tests.ts';

const CLAIMS = claimsOf('SECURITY.md');

test('every claim has a number, in order, and a test', () => {
  const numbers = [...CLAIMS.keys()];
  expect(numbers.length).toBeGreaterThan(20);
  expect(numbers).toEqual(numbers.map((_, i) => i + 1));
  expect([...CLAIMS].filter(([, tests]) => tests.length === 0)).toEqual([]);
});

test('every test that is named exists', () => {
  expect(missingTests(CLAIMS)).toEqual([]);
});

test('a test that is not there is found to be missing', () => {
  expect(hasTest('test/docs/security.test.ts', `every claim has ${'a hat'}`)).toBe(false);
  expect(hasTest('test/docs/security.test.ts', 'every test that is named exists')).toBe(true);
});
