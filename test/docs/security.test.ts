/** SECURITY.md: each claim names the tests that hold it, and those are there. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const ROOT = new URL('../../', import.meta.url);
const LINES = readFileSync(new URL('SECURITY.md', ROOT), 'utf8').split('\n');

/** The claims by number, each with its `FILE: TITLE` lines. */
function claims(): ReadonlyMap<number, readonly string[]> {
  const found = new Map<number, string[]>();
  for (const line of LINES) {
    const number = /^(\d+)\. /.exec(line)?.[1];
    const named = /^ +- (.*)$/.exec(line)?.[1];
    if (number !== undefined) {
      found.set(Number(number), []);
    } else if (named !== undefined) {
      [...found.values()].at(-1)?.push(named);
    }
  }
  return found;
}

/** Whether a test of the file has the title, written as one literal. */
function hasTest(file: string, title: string): boolean {
  const text = readFileSync(new URL(file, ROOT), 'utf8');
  return [`'${title}'`, `"${title}"`, `\`${title}\``].some((literal) =>
    text
      .split(literal)
      .slice(0, -1)
      .some((before) => /\btest\b[^;]*$/.test(before)),
  );
}

test('every claim has a number, in order, and a test', () => {
  const numbers = [...claims().keys()];
  expect(numbers.length).toBeGreaterThan(20);
  expect(numbers).toEqual(numbers.map((_, i) => i + 1));
  expect([...claims()].filter(([, tests]) => tests.length === 0)).toEqual([]);
});

test('every test that is named exists', () => {
  const missing = [...claims().values()].flat().filter((named) => {
    const [, file, title] = /^(test\/\S+\.test\.ts): (.+)$/.exec(named) ?? [];
    return file === undefined || title === undefined || !hasTest(file, title);
  });
  expect(missing).toEqual([]);
});

test('a test that is not there is found to be missing', () => {
  expect(hasTest('test/docs/security.test.ts', `every claim has ${'a hat'}`)).toBe(false);
  expect(hasTest('test/docs/security.test.ts', 'every test that is named exists')).toBe(true);
});
