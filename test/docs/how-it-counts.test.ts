/** docs/how-it-counts.md: each case of its table names the tests that show it, and those are there. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { claimsOf, missingTests } from './named-tests.ts';

const PAGE = 'docs/how-it-counts.md';
const CLAIMS = claimsOf(PAGE);

test('every case of the table has its tests, in order', () => {
  const text = readFileSync(new URL(`../../${PAGE}`, import.meta.url), 'utf8');
  const cases = Array.from(text.matchAll(/^\| +(\d+) \|/gm), ([, number]) => Number(number));
  expect(cases.length).toBeGreaterThan(25);
  expect(cases).toEqual(cases.map((_, i) => i + 1));
  expect([...CLAIMS.keys()]).toEqual(cases);
  expect([...CLAIMS].filter(([, tests]) => tests.length === 0)).toEqual([]);
});

test('every test that is named exists', () => {
  expect(missingTests(CLAIMS)).toEqual([]);
});
