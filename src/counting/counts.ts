/** Sums of rows: what the counters are made of. Nothing here looks at a key. */
import type { Row } from '../base/model.ts';

/** One number per kind of the stream, in the order of `COUNTERS`. */
export type Counts = readonly number[];

export function sumRows(rows: readonly Row[], counterCount: number): Counts {
  const sums = Array.from({ length: counterCount }, () => 0);
  for (const row of rows) {
    for (let kind = 0; kind < counterCount; kind++) {
      sums[kind] = (sums[kind] ?? 0) + (row.counts[kind] ?? 0);
    }
  }
  return sums;
}

export function plus(a: Counts, b: Counts): Counts {
  return a.map((count, kind) => count + at(b, kind));
}

export function minus(a: Counts, b: Counts): Counts {
  return a.map((count, kind) => count - at(b, kind));
}

export function at(counts: Counts, kind: number): number {
  return counts[kind] ?? 0;
}

/** All counterCount together. */
export function grandTotal(counts: Counts): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

export function isZero(counts: Counts): boolean {
  return counts.every((count) => count === 0);
}

export function areEqual(a: Counts, b: Counts): boolean {
  return a.every((count, kind) => count === at(b, kind));
}

/** Whether any kind is lower in `a` than in `b`. */
export function anyBelow(a: Counts, b: Counts): boolean {
  return a.some((count, kind) => count < at(b, kind));
}

/** At least one of the first kind, which an empty answer is below of. */
export function anyOf(counterCount: number): Counts {
  return Array.from({ length: counterCount }, () => 0).with(0, 1);
}

/** The larger one of each kind; of one alone, that one. */
export function higher(a: Counts | undefined, b: Counts | undefined): Counts | undefined {
  return a === undefined || b === undefined
    ? (a ?? b)
    : a.map((count, kind) => Math.max(count, at(b, kind)));
}
