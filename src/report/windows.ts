/** Reads what was counted in consecutive windows, by key: a branch, a device, or the customer as a whole. */
import { MINUTE_MS } from '../base/duration.ts';
import { countsOf } from '../counting/breakdowns/poll-breakdown.ts';
import type { CountsByKey } from '../counting/breakdowns/poll-breakdown.ts';
import type { Span } from '../counting/calendar/calendar.ts';
import { areEqual, grandTotal, minus, plus } from '../counting/rows/counts.ts';
import type { Counts } from '../counting/rows/counts.ts';

/** Reads the counts of one window by key. */
export type ReadWindow = (startMs: number, endMs: number) => Promise<CountsByKey>;

const OVERLAP_MS = 2 * MINUTE_MS;
/** Requests of one customer at the same time. */
const PARALLEL = 2;

/** Returns how many requests {@link readWindows} sends if nobody comes where windows meet. */
export function requestsFor(windows: number): number {
  return windows + 2;
}

/**
 * Returns the counts of each window. Whether windows include their edges is not known: so their sums are
 * compared with one response for all of them. If they differ, or somebody was counted at the end, windows are
 * read with an overlap, which is subtracted. Then each record is in the window that starts before it.
 */
export async function readWindows(
  windows: readonly Span[],
  read: ReadWindow,
): Promise<readonly CountsByKey[]> {
  const [first] = windows;
  const endMs = windows.at(-1)?.endMs;
  if (first === undefined || endMs === undefined) {
    return [];
  }
  const tables = await inParallel(windows, (window) => read(window.startMs, window.endMs));
  const tail = await read(endMs, endMs + OVERLAP_MS);
  const whole = await read(first.startMs, endMs);
  if (isEmpty(tail) && areSame(sumOf(tables), whole)) {
    return tables;
  }
  const exact = await inParallel(windows, async ({ startMs, endMs: atMs }, i) => {
    const overlap = await read(atMs, atMs + OVERLAP_MS);
    const table = tables[i] ?? new Map<string, Counts>();
    return isEmpty(overlap) ? table : subtract(await read(startMs, atMs + OVERLAP_MS), overlap);
  });
  const exactWhole = subtract(await read(first.startMs, endMs + OVERLAP_MS), tail);
  if (areSame(sumOf(exact), exactWhole)) {
    return exact;
  }
  // A fault of the service lowers a response for a moment, so the larger one of two is used.
  return inParallel(windows, async ({ startMs, endMs: atMs }, i) => {
    const overlap = await read(atMs, atMs + OVERLAP_MS);
    const again = subtract(await read(startMs, atMs + OVERLAP_MS), overlap);
    const before = exact[i] ?? again;
    return total(again) > total(before) ? again : before;
  });
}

/** Runs some at a time, and returns their results in order. */
export async function inParallel<Item, Result>(
  items: readonly Item[],
  run: (item: Item, i: number) => Promise<Result>,
  atOnce = PARALLEL,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  let next = 0;
  async function work(): Promise<void> {
    for (let i = next++; i < items.length; i = next++) {
      results[i] = await run(items[i] as Item, i);
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, work));
  return results;
}

/** Returns the sums by key of several tables. */
export function sumOf(tables: readonly CountsByKey[]): CountsByKey {
  const sums = new Map<string, Counts>();
  for (const table of tables) {
    for (const [key, counts] of table) {
      const before = sums.get(key);
      sums.set(key, before === undefined ? counts : plus(before, counts));
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

function isEmpty(table: CountsByKey): boolean {
  return total(table) === 0;
}

function total(table: CountsByKey): number {
  return [...table.values()].reduce((sum, counts) => sum + grandTotal(counts), 0);
}
