/**
 * Counts by key: what an answer that is aggregated by branch, client or device comes to. A key is
 * here the text that its series are labelled with, and has an order; nothing reads more into it.
 */
import type { Key, Row } from '../base/model.ts';
import { at, isZero, plus } from './counts.ts';
import type { Counts } from './counts.ts';

export type CountsByKey = ReadonlyMap<string, Counts>;

const WHOLE = /^\d{1,15}$/;

/** Rows with one key are summed; 101 and "101" are one key. */
export function byKey(rows: readonly Row[]): CountsByKey {
  const table = new Map<string, Counts>();
  for (const { key, counts } of rows) {
    const text = textOf(key);
    const known = table.get(text);
    table.set(text, known === undefined ? counts : plus(known, counts));
  }
  return table;
}

/** Halves of characters, which JSON can hold, would all be written as the same one: two series under one name. */
function textOf(key: Key): string {
  return String(key).toWellFormed();
}

/** What is not listed has no counts. */
export function countsOf(table: CountsByKey, key: string): Counts {
  return table.get(key) ?? [];
}

/** Only these keys of a table, as far as it lists them. */
export function only(table: CountsByKey, keys: readonly string[]): CountsByKey {
  const found = new Map<string, Counts>();
  for (const key of keys) {
    const counts = table.get(key);
    if (counts !== undefined) {
      found.set(key, counts);
    }
  }
  return found;
}

/** Whether no key has counts. */
export function hasNothing(table: CountsByKey): boolean {
  return [...table.values()].every(isZero);
}

/** Whether any key has fewer counts in `table` than in `expected`. */
export function anyKeyBelow(table: CountsByKey, expected: CountsByKey): boolean {
  return [...expected].some(([key, counts]) =>
    counts.some((count, kind) => at(countsOf(table, key), kind) < count),
  );
}

/** The counts of these keys one after the other, and their sums at the end: to compare two tables by. */
export function inARow(table: CountsByKey, keys: readonly string[], counterCount: number): Counts {
  const zeros: Counts = Array.from({ length: counterCount }, () => 0);
  const counts = keys.map((key) => plus(zeros, countsOf(table, key)));
  return [...counts.flat(), ...counts.reduce(plus, zeros)];
}

/** The order of keys: whole numbers by their value, and then the rest as text. */
export function compareKeys(a: string, b: string): number {
  const [first, second] = [WHOLE.test(a), WHOLE.test(b)];
  if (first !== second) {
    return first ? -1 : 1;
  }
  const difference = first ? Number(a) - Number(b) : 0;
  return difference === 0 ? compareTexts(a, b) : difference;
}

function compareTexts(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
