/** Counts by branch, client or device. A key is the label value of a series and has an order; that is all. */
import type { Row } from '../base/model.ts';
import { at, isZero, plus } from './counts.ts';
import type { Counts } from './counts.ts';

export type CountsByKey = ReadonlyMap<string, Counts>;

const WHOLE_NUMBER = /^\d{1,15}$/;

/** Rows with the same key are added up; 101 and "101" are the same key. */
export function byKey(rows: readonly Row[]): CountsByKey {
  const table = new Map<string, Counts>();
  for (const { key, counts } of rows) {
    // Lone surrogates would all be written as the same character: two series with one label.
    const text = String(key).toWellFormed();
    const before = table.get(text);
    table.set(text, before === undefined ? counts : plus(before, counts));
  }
  return table;
}

/** A key that is not listed has no counts. */
export function countsOf(table: CountsByKey, key: string): Counts {
  return table.get(key) ?? [];
}

/** The entries of these keys. */
export function only(table: CountsByKey, keys: readonly string[]): CountsByKey {
  const wanted = new Set(keys);
  return new Map([...table].filter(([key]) => wanted.has(key)));
}

export function hasNoCounts(table: CountsByKey): boolean {
  return [...table.values()].every(isZero);
}

/** Whether any key has fewer counts in `table` than in `expected`. */
export function anyKeyBelow(table: CountsByKey, expected: CountsByKey): boolean {
  return [...expected].some(([key, counts]) =>
    counts.some((count, counter) => at(countsOf(table, key), counter) < count),
  );
}

/** The counts of these keys in a row, and their sums at the end. */
export function flatCounts(
  table: CountsByKey,
  keys: readonly string[],
  counterCount: number,
): Counts {
  const zeros: Counts = Array.from({ length: counterCount }, () => 0);
  const counts = keys.map((key) => plus(zeros, countsOf(table, key)));
  return [...counts.flat(), ...counts.reduce(plus, zeros)];
}

/** Whole numbers by their value, then the rest as text. */
export function compareKeys(a: string, b: string): number {
  const [isNumberA, isNumberB] = [WHOLE_NUMBER.test(a), WHOLE_NUMBER.test(b)];
  if (isNumberA !== isNumberB) {
    return isNumberA ? -1 : 1;
  }
  const difference = isNumberA ? Number(a) - Number(b) : 0;
  return difference === 0 ? compareTexts(a, b) : difference;
}

function compareTexts(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
