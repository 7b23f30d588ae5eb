/** Sums of rows: what the counters are made of. Nothing here reads a key. */
/** One number per counter of the stream, in the order of `COUNTERS`. */
export type Counts = readonly number[];

/** A key is the label value of a series and has an order; that is all. */
export type CountsByKey = ReadonlyMap<string, Counts>;

/** Returns the sum of each of the stream's `counters`, in the order in which a row has them. */
export function sumCounts(
  rows: readonly { readonly counts: Counts }[],
  counters: readonly unknown[],
): Counts {
  const sums = counters.map(() => 0);
  for (const { counts } of rows) {
    for (let counter = 0; counter < sums.length; counter++) {
      sums[counter] = countOf(sums, counter) + countOf(counts, counter);
    }
  }
  return sums;
}

/** Returns the sum by counter; `b` may have fewer counters. */
export function plus(a: Counts, b: Counts): Counts {
  return a.map((count, counter) => count + countOf(b, counter));
}

/** Returns the difference by counter; `b` may have fewer counters. */
export function minus(a: Counts, b: Counts): Counts {
  return a.map((count, counter) => count - countOf(b, counter));
}

/** Returns one count, 0 where there is none. */
export function countOf(counts: ArrayLike<number>, counter: number): number {
  return counts[counter] ?? 0;
}

/** Returns the sum of all counts: of all counters, or of all steps. */
export function grandTotal(counts: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < counts.length; i++) {
    sum += countOf(counts, i);
  }
  return sum;
}

/** Returns whether nobody was counted. */
export function isZero(counts: Counts): boolean {
  return counts.every((count) => count === 0);
}

/** Returns whether all counters are equal. */
export function areEqual(a: Counts, b: Counts): boolean {
  return a.every((count, counter) => count === countOf(b, counter));
}

/** Returns whether any counter is lower in `a` than in `b`. */
export function anyBelow(a: Counts, b: Counts): boolean {
  return b.some((count, counter) => countOf(a, counter) < count);
}

/** One count of the first counter: only an empty response is below it. */
export const ANY_COUNT: Counts = [1];

/** Returns the larger value of each counter; undefined if neither is known. */
export function higher(a: Counts | undefined, b: Counts | undefined): Counts | undefined {
  return a === undefined || b === undefined
    ? (a ?? b)
    : a.map((count, counter) => Math.max(count, countOf(b, counter)));
}
