/** How far a backfill is, on a terminal. */
import { systemClock } from '../base/clock.ts';
import { DAY_MS, formatDuration } from '../base/duration.ts';
import { counted } from '../base/output.ts';
import type { ProgressLine } from '../base/output.ts';
import type { Month, MonthPart } from './targets.ts';

export class BackfillProgress {
  readonly #line: ProgressLine;
  requests = 0;
  #startedMs = 0;
  /** Days of all customers. */
  #days = 0;
  #daysDone = 0;

  constructor(line: ProgressLine) {
    this.#line = line;
  }

  start(months: readonly Month[]): void {
    this.#startedMs = systemClock.nowMs();
    this.#days = daysIn(months.flatMap(({ parts }) => parts));
  }

  /** `2026-11: 2 of 5 customers; 40 of 150 days, 300 requests, 2m left` */
  show({ name, parts }: Month, customersDone: number): void {
    const done = this.#daysDone + daysIn(parts.slice(0, customersDone));
    const elapsedMs = systemClock.nowMs() - this.#startedMs;
    const leftMs = Math.ceil((elapsedMs * (this.#days / done - 1)) / 1_000) * 1_000;
    const left = done === 0 ? '' : `, ${formatDuration(leftMs)} left`;
    this.#line.show(
      `${name}: ${customersDone} of ${counted(parts.length, 'customer')}; ` +
        `${done} of ${counted(this.#days, 'day')}, ${counted(this.requests, 'request')}${left}`,
    );
  }

  finish({ parts }: Month): void {
    this.#daysDone += daysIn(parts);
  }
}

function daysIn(parts: readonly MonthPart[]): number {
  return parts.reduce(
    (sum, { range: { startMs, endMs } }) => sum + Math.ceil((endMs - startMs) / DAY_MS),
    0,
  );
}
