/**
 * Today's minutes: how many were counted in each, and what follows from their order: the occupancy
 * and the newest minute that counted anybody. Rows are added with a sign, because the ledger of a
 * poll is today's rows plus the newest window minus the same window at the anchor.
 */
import type { Row } from '../base/model.ts';
import { MINUTE_MS } from './calendar.ts';
import type { Span } from './calendar.ts';
import { MinuteLedger } from './minute-ledger.ts';
import type { DatedRow } from './minute-ledger.ts';

/** The start of a row's minute; undefined where its key cannot be read. */
export type DateRow = (row: Row) => number | undefined;

/**
 * The rows as minutes, sorted, each minute once: in the hour that occurs twice, two rows may have one
 * key. Undefined where a key cannot be read.
 */
export function dated(rows: readonly Row[], dateOf: DateRow): readonly DatedRow[] | undefined {
  const found: DatedRow[] = [];
  let isSorted = true;
  let lastMs = -Infinity;
  for (const row of rows) {
    const startMs = dateOf(row);
    if (startMs === undefined) {
      return undefined;
    }
    isSorted &&= startMs > lastMs;
    lastMs = startMs;
    found.push({ startMs, counts: row.counts });
  }
  return isSorted
    ? found
    : merged(
        [],
        found.toSorted((a, b) => a.startMs - b.startMs),
        1,
      );
}

/**
 * The ledger with `rows` added, or taken away with sign -1; undefined where a key cannot be read.
 */
export function withRows(
  ledger: MinuteLedger,
  rows: readonly Row[],
  sign: 1 | -1,
  dateOf: DateRow,
): MinuteLedger | undefined {
  const added = dated(rows, dateOf);
  return added === undefined || added.length === 0
    ? added && ledger
    : new MinuteLedger(merged(ledger.rows(), added, sign));
}

/** Both are sorted; rows of one minute are summed. */
function merged(ledger: readonly DatedRow[], added: readonly DatedRow[], sign: 1 | -1): DatedRow[] {
  const all: DatedRow[] = [];
  function push({ startMs, counts }: DatedRow): void {
    const last = all.at(-1);
    if (last?.startMs === startMs) {
      const sums = last.counts.map((count, kind) => count + (counts[kind] ?? 0));
      all[all.length - 1] = { startMs, counts: sums };
    } else {
      all.push({ startMs, counts });
    }
  }
  let next = 0;
  function pushAddedBefore(startMs: number): void {
    for (let row = added[next]; row !== undefined && row.startMs < startMs; row = added[next]) {
      push({ startMs: row.startMs, counts: row.counts.map((count) => sign * count) });
      next += 1;
    }
  }
  for (const row of ledger) {
    pushAddedBefore(row.startMs);
    push(row);
  }
  pushAddedBefore(Infinity);
  return all;
}

/** How far two points of a path are apart. */
export const PATH_STEP_MS = 15 * MINUTE_MS;
/** 26 hours: what is later than any day lasts is in the last point. */
const MOST_POINTS = 104;

/** What follows from the order of the minutes of a span. */
export interface Walked {
  /**
   * People inside at the end of each quarter of an hour of the span, the last one cut short by its
   * end: the walk X = max(0, X + in - out) over the minutes (Lindley's recursion). The floor is what
   * a counter that missed an entry costs least with.
   */
  readonly path: number[];
  /** Start of the newest minute that counted anybody. */
  readonly lastSeenMs: number | undefined;
}

/** Walks over the minutes of a ledger and those of `added`, sorted too, as if they were one. */
export function walk(
  ledger: MinuteLedger,
  added: readonly DatedRow[],
  { startMs: fromMs, endMs }: Span,
): Walked {
  const path: number[] = [];
  let lastSeenMs: number | undefined;
  let inside = 0;
  let place = 0;
  let next = 0;
  let ledgerMs = ledger.length > 0 ? ledger.firstMs : Infinity;
  while (place < ledger.length || next < added.length) {
    const row = added[next];
    const startMs = Math.min(ledgerMs, row?.startMs ?? Infinity);
    let entered = 0;
    let exited = 0;
    if (ledgerMs === startMs) {
      entered = ledger.countAt(place, 0);
      exited = ledger.countAt(place, 1);
      place += 1;
      ledgerMs = place < ledger.length ? ledgerMs + ledger.gapMsAt(place) : Infinity;
    }
    if (row?.startMs === startMs) {
      entered += at(row, 0);
      exited += at(row, 1);
      next += 1;
    }
    if (startMs < fromMs || startMs >= endMs) {
      continue;
    }
    if (entered > 0 || exited > 0) {
      lastSeenMs = startMs;
    }
    const ended = Math.min(Math.floor((startMs - fromMs) / PATH_STEP_MS), MOST_POINTS - 1);
    while (path.length < ended) {
      path.push(inside);
    }
    inside = insideAfter(inside, entered, exited);
  }
  while (path.length < MOST_POINTS && path.length * PATH_STEP_MS < endMs - fromMs) {
    path.push(inside);
  }
  // A copy, as it is kept: an array that has grown has room for more.
  return { path: path.slice(), lastSeenMs };
}

/** One step of that walk: people inside at the end of a minute, by those at its start. */
export function insideAfter(inside: number, entered: number, exited: number): number {
  return Math.max(0, inside + Math.max(0, entered) - Math.max(0, exited));
}

/** {@link Walked.lastSeenMs}, from the end, where it mostly is. */
export function lastSeenIn(
  ledger: MinuteLedger,
  { startMs: fromMs, endMs }: Span,
  added: readonly DatedRow[] = [],
): number | undefined {
  let place = ledger.length - 1;
  let last = added.length - 1;
  let ledgerMs = place >= 0 ? ledger.lastMs : -Infinity;
  while (place >= 0 || last >= 0) {
    const row = added[last];
    const startMs = Math.max(ledgerMs, row?.startMs ?? -Infinity);
    if (startMs < fromMs) {
      return undefined;
    }
    const isInLedger = ledgerMs === startMs;
    const isAdded = row?.startMs === startMs;
    const entered = (isInLedger ? ledger.countAt(place, 0) : 0) + (isAdded ? at(row, 0) : 0);
    const exited = (isInLedger ? ledger.countAt(place, 1) : 0) + (isAdded ? at(row, 1) : 0);
    if (startMs < endMs && (entered > 0 || exited > 0)) {
      return startMs;
    }
    if (isInLedger) {
      ledgerMs = place > 0 ? ledgerMs - ledger.gapMsAt(place) : -Infinity;
      place -= 1;
    }
    last -= isAdded ? 1 : 0;
  }
  return undefined;
}

function at({ counts }: DatedRow, kind: number): number {
  return counts[kind] ?? 0;
}
