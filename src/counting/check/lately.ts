/** For `check --connect`: branches and devices of four weeks, and those that counted nobody lately. */
import { DAY_MS } from '../../base/duration.ts';
import type { Breakdown } from '../../base/model.ts';
import { countsOf, readByKey } from '../breakdowns/poll-breakdown.ts';
import { grandTotal, isZero } from '../rows/counts.ts';
import type { CountsByKey } from '../rows/counts.ts';
import type { WindowReader } from '../rows/window-reader.ts';

export interface CountsLately {
  /** The counts of the last 28 days. */
  readonly counts: CountsByKey;
  /** Keys that counted nobody in a time while the others did. */
  readonly silent: readonly { readonly time: string; readonly keys: readonly string[] }[];
}

/** Requests each of them; the same weekdays are compared. Throws a ServiceError. */
export async function readLately(
  reader: WindowReader,
  breakdown: Breakdown,
  nowMs: number,
): Promise<CountsLately> {
  function read(daysAgo: number, untilDaysAgo?: number): Promise<CountsByKey> {
    const toMs = untilDaysAgo === undefined ? undefined : nowMs - untilDaysAgo * DAY_MS;
    return readByKey(reader, breakdown, nowMs - daysAgo * DAY_MS, toMs);
  }
  const counts = await read(28);
  return {
    counts,
    silent: [
      { time: '24 hours', keys: findSilent(await read(8, 7), await read(1)) },
      { time: '7 days', keys: findSilent(counts, await read(7)) },
    ],
  };
}

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
