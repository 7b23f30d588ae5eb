/** For `check --connect`: branches and doors that counted nobody while the others did. */
import { countsOf } from '../breakdowns/poll-breakdown.ts';
import { grandTotal, isZero } from '../rows/counts.ts';
import type { CountsByKey } from '../rows/counts.ts';

/** Fewer passes may be missing by chance. */
const MIN_EXPECTED_PASSES = 20;

/**
 * Returns the keys that counted nobody lately, where so many passes were to be expected from their share of
 * those before, and from the others.
 */
export function findSilent(before: CountsByKey, lately: CountsByKey): readonly string[] {
  const silent = [...before.keys()].filter((key) => isZero(countsOf(lately, key)));
  const others = [...before.keys()].filter((key) => !silent.includes(key));
  const ratio = sumOf(lately, others) / sumOf(before, others);
  return silent.filter((key) => grandTotal(countsOf(before, key)) * ratio >= MIN_EXPECTED_PASSES);
}

function sumOf(table: CountsByKey, keys: readonly string[]): number {
  return keys.reduce((sum, key) => sum + grandTotal(countsOf(table, key)), 0);
}
