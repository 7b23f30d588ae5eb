/** Reads what was counted in consecutive windows, by key: a branch, a device, or the customer as a whole. */
import { MINUTE_MS } from '../base/duration.ts';
import { inParallel } from '../base/parallel.ts';
import { countsOf } from '../counting/breakdowns/poll-breakdown.ts';
import { spanOf } from '../counting/calendar/calendar.ts';
import type { Span } from '../counting/calendar/calendar.ts';
import { areEqual, grandTotal, minus, plus } from '../counting/rows/counts.ts';
import type { Counts, CountsByKey } from '../counting/rows/counts.ts';

const OVERLAP_MS = 2 * MINUTE_MS;
/** Requests of one customer at the same time. */
const PARALLEL = 2;
/** What {@link readWindows} reads beside the windows. */
export const MORE_REQUESTS = 2;

/**
 * Returns the counts of each window. Whether windows include their edges is not known: so their sums are
 * compared with one response for all of them. If they differ, or somebody was counted at the end, windows are
 * read with an overlap, which is subtracted. Then each record is in the window that starts before it.
 */
export async function readWindows(
  windows: readonly Span[],
  read: (startMs: number, endMs: number) => Promise<CountsByKey>,
): Promise<readonly CountsByKey[]> {
  if (windows.length === 0) {
    return [];
  }
  const { startMs, endMs } = spanOf(windows);
  const tables = await inParallel(windows, PARALLEL, (window) =>
    read(window.startMs, window.endMs),
  );
  const tail = await read(endMs, endMs + OVERLAP_MS);
  const whole = await read(startMs, endMs);
  if (total(tail) === 0 && areSame(sumOf(tables), whole)) {
    return tables;
  }
  async function readExactly(window: Span, withoutOverlap?: CountsByKey): Promise<CountsByKey> {
    const toMs = window.endMs + OVERLAP_MS;
    const overlap = await read(window.endMs, toMs);
    return withoutOverlap !== undefined && total(overlap) === 0
      ? withoutOverlap
      : subtract(await read(window.startMs, toMs), overlap);
  }
  const exact = await inParallel(windows, PARALLEL, (window, i) => readExactly(window, tables[i]));
  const exactWhole = subtract(await read(startMs, endMs + OVERLAP_MS), tail);
  if (areSame(sumOf(exact), exactWhole)) {
    return exact;
  }
  // A fault of the service lowers a response for a moment, so the larger one of two is used.
  return inParallel(windows, PARALLEL, async (window, i) => {
    const again = await readExactly(window);
    const before = exact[i] ?? again;
    return total(again) > total(before) ? again : before;
  });
}

/** Returns the sums by key of several tables. */
export function sumOf(tables: readonly CountsByKey[]): CountsByKey {
  const sums = new Map<string, Counts>();
  for (const table of tables) {
    for (const [key, counts] of table) {
      sums.set(key, plus(counts, sums.get(key) ?? []));
    }
  }
  return sums;
}

function subtract(table: CountsByKey, less: CountsByKey): CountsByKey {
  return new Map(Array.from(table, ([key, counts]) => [key, minus(counts, countsOf(less, key))]));
}

function areSame(a: CountsByKey, b: CountsByKey): boolean {
  return [...new Set([...a.keys(), ...b.keys()])].every((key) =>
    areEqual(countsOf(a, key), countsOf(b, key)),
  );
}

function total(table: CountsByKey): number {
  return [...table.values()].reduce((sum, counts) => sum + grandTotal(counts), 0);
}
