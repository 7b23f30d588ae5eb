/**
 * Today's minutes: how many were counted in each, and what follows from their order: the occupancy
 * and the newest minute that counted anybody. Rows are added with a sign, because the ledger of a
 * poll is today's rows plus the newest window minus the same window at the anchor.
 */
import type { Row } from '../base/nouns.ts';
import type { Counts } from './counts.ts';
import { MINUTE_MS } from './calendar.ts';
import type { Span } from './calendar.ts';

export interface DatedRow {
  /** Start of the minute. */
  readonly startMs: number;
  readonly counts: Counts;
}

/** Sorted by time, one entry a minute. Immutable. */
export type MinuteLedger = readonly DatedRow[];

export type Dating = (row: Row) => number | undefined;

/**
 * The ledger with `rows` added, or taken away with sign -1; undefined where a key cannot be read.
 * Rows of one minute are summed: in the hour that occurs twice, two rows may have one key.
 */
export function withRows(
  ledger: MinuteLedger,
  rows: readonly Row[],
  sign: 1 | -1,
  dating: Dating,
): MinuteLedger | undefined {
  if (rows.length === 0) {
    return ledger;
  }
  const dated: DatedRow[] = [];
  for (const row of rows) {
    const startMs = dating(row);
    if (startMs === undefined) {
      return undefined;
    }
    dated.push({ startMs, counts: row.counts.map((count) => sign * count) });
  }
  return merge(
    ledger,
    dated.toSorted((a, b) => a.startMs - b.startMs),
  );
}

function merge(ledger: MinuteLedger, sorted: readonly DatedRow[]): MinuteLedger {
  const merged: DatedRow[] = [];
  let next = 0;
  function push(row: DatedRow): void {
    const last = merged.at(-1);
    if (last?.startMs === row.startMs) {
      const counts = last.counts.map((count, kind) => count + (row.counts[kind] ?? 0));
      merged[merged.length - 1] = { startMs: row.startMs, counts };
    } else {
      merged.push(row);
    }
  }
  for (const row of ledger) {
    for (let added = sorted[next]; added !== undefined && added.startMs < row.startMs;) {
      push(added);
      next += 1;
      added = sorted[next];
    }
    push(row);
  }
  sorted.slice(next).forEach(push);
  return merged;
}

/** How far two points of a path are apart. */
export const PATH_STEP_MS = 15 * MINUTE_MS;
/** 26 hours: what is later than any day lasts is in the last point. */
const MOST_POINTS = 104;

/**
 * People inside at the end of each quarter of an hour of `span`, the last one cut short by its end:
 * the walk X = max(0, X + in - out) over the minutes (Lindley's recursion). The floor is what a
 * counter that missed an entry costs least with.
 */
export function occupancyPathOf(ledger: MinuteLedger, { startMs, endMs }: Span): number[] {
  const path: number[] = [];
  let inside = 0;
  for (const row of ledger) {
    if (row.startMs < startMs || row.startMs >= endMs) {
      continue;
    }
    const ended = Math.floor((row.startMs - startMs) / PATH_STEP_MS);
    while (path.length < Math.min(ended, MOST_POINTS - 1)) {
      path.push(inside);
    }
    const [entered = 0, exited = 0] = row.counts;
    inside = insideAfter(inside, entered, exited);
  }
  while (path.length < MOST_POINTS && path.length * PATH_STEP_MS < endMs - startMs) {
    path.push(inside);
  }
  return path;
}

/** One step of that walk: people inside at the end of a minute, by those at its start. */
export function insideAfter(inside: number, entered: number, exited: number): number {
  return Math.max(0, inside + Math.max(0, entered) - Math.max(0, exited));
}

/** Start of the newest minute in `span` that counted anybody. */
export function lastSeenIn(ledger: MinuteLedger, span: Span): number | undefined {
  return ledger.findLast(
    ({ startMs, counts }) =>
      startMs >= span.startMs && startMs < span.endMs && counts.some((count) => count > 0),
  )?.startMs;
}
