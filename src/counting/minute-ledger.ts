/** Minutes and their counts in as few bytes as they need. Must not know what follows from their order. */
import { MINUTE_MS } from './calendar.ts';
import type { Counts } from './counts.ts';

export interface DatedRow {
  /** Start of the minute. */
  readonly startMs: number;
  readonly counts: Counts;
}

/** The smallest cells that hold all values. */
type Cells = Int8Array | Int16Array | Int32Array | Float64Array;

/**
 * Minutes sorted by time, each once. Immutable. There is one for each stream of each customer, with
 * some hundred minutes: as objects they would be most of the memory, and most of what is collected.
 * Minutes are stored as what lies between them, which mostly fits into a byte.
 */
export class MinuteLedger {
  static readonly EMPTY = new MinuteLedger([]);
  /** Starts of the first and the last minute; 0 where there is none. */
  readonly firstMs: number;
  readonly lastMs: number;
  readonly #unitMs: number;
  /** How many cells a minute has: how long after the one before it starts, in units, and its counts. */
  readonly #width: number;
  readonly #cells: Cells;

  /** `rows` are sorted by time, one a minute. */
  constructor(rows: readonly DatedRow[]) {
    const firstMs = rows[0]?.startMs ?? 0;
    // What lies between whole minutes is of the time zones of a hundred years ago.
    const isWhole = rows.every(({ startMs }) => (startMs - firstMs) % MINUTE_MS === 0);
    const unitMs = isWhole ? MINUTE_MS : 1;
    this.firstMs = firstMs;
    this.lastMs = rows.at(-1)?.startMs ?? 0;
    this.#unitMs = unitMs;
    this.#width = 1 + (rows[0]?.counts.length ?? 0);
    this.#cells = cellsFor(
      rows.flatMap(({ startMs, counts }, place) => [
        (startMs - (rows[place - 1]?.startMs ?? firstMs)) / unitMs,
        ...counts,
      ]),
    );
  }

  get length(): number {
    return this.#cells.length / this.#width;
  }

  /** How long after the minute before it one starts; 0 for the first, and for what is none. */
  gapMsAt(place: number): number {
    return (this.#cells[place * this.#width] ?? 0) * this.#unitMs;
  }

  countAt(place: number, kind: number): number {
    return kind + 1 < this.#width ? (this.#cells[place * this.#width + 1 + kind] ?? 0) : 0;
  }

  rows(): DatedRow[] {
    let startMs = this.firstMs;
    return Array.from({ length: this.length }, (_, place) => {
      startMs += this.gapMsAt(place);
      const counts = Array.from({ length: this.#width - 1 }, (__, kind) =>
        this.countAt(place, kind),
      );
      return { startMs, counts };
    });
  }
}

function cellsFor(values: readonly number[]): Cells {
  const least = values.reduce((a, b) => Math.min(a, b), 0);
  const most = values.reduce((a, b) => Math.max(a, b), 0);
  for (const [CounterName, limit] of [
    [Int8Array, 2 ** 7],
    [Int16Array, 2 ** 15],
    [Int32Array, 2 ** 31],
  ] as const) {
    if (least >= -limit && most < limit) {
      return CounterName.from(values);
    }
  }
  return Float64Array.from(values);
}
