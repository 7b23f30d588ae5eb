/** What was counted in each minute of a stretch of time. Must not know how keys are read. */
import type { WindowResponse } from './query.ts';
import { MINUTE_MS } from './calendar.ts';
import type { Span } from './calendar.ts';
import type { DateRow } from './minutes.ts';

export class MinuteTable {
  readonly minutes: readonly Float64Array[];
  sums: number[];
  readonly #span: Span;

  constructor(span: Span, counterCount: number) {
    const count = Math.ceil((span.endMs - span.startMs) / MINUTE_MS);
    this.minutes = Array.from({ length: counterCount }, () => new Float64Array(count));
    this.sums = Array.from({ length: counterCount }, () => 0);
    this.#span = span;
  }

  /**
   * A row that cannot be dated, or was dated by a clock that is off, is put where it is nearest:
   * the totals are the service's all the same.
   */
  add(answer: WindowResponse, dateOf: DateRow, sign: 1 | -1): void {
    const { startMs, endMs } = this.#span;
    for (const row of answer.rows) {
      const atMs = dateOf(row) ?? answer.window.endMs - MINUTE_MS;
      const last = Math.ceil((endMs - startMs) / MINUTE_MS) - 1;
      const place = Math.min(last, Math.max(0, Math.floor((atMs - startMs) / MINUTE_MS)));
      // Where windows include their end, the minute at the end of the stretch is none of it.
      const isNext = atMs === endMs;
      row.counts.forEach((count, kind) => {
        const minutes = this.minutes[kind];
        if (minutes !== undefined) {
          this.sums[kind] = (this.sums[kind] ?? 0) + sign * count;
          minutes[place] = (minutes[place] ?? 0) + (isNext ? 0 : sign * count);
        }
      });
    }
  }
}
