/** Progress of a backfill: one line that is rewritten on a terminal, otherwise a log message now and then. */
import type { Clock } from '../../base/clock.ts';
import { formatDuration } from '../../base/duration.ts';
import type { Logger } from '../../base/log.ts';
import { DAY_MS } from '../../counting/calendar.ts';
import type { Io } from '../io.ts';
import { CLEAR_LINE } from '../words.ts';
import type { Month, MonthPart } from './targets.ts';

const LOG_INTERVAL_MS = 10_000;

export class Progress {
  #requests = 0;
  readonly #io: Io;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #startMs: number;
  #lastLogMs: number;
  #isShown = false;
  #daysTotal = 0;
  #daysDone = 0;
  #daysRead = 0;

  constructor(io: Io, clock: Pick<Clock, 'monotonicMs'>) {
    this.#io = io;
    this.#clock = clock;
    this.#startMs = clock.monotonicMs();
    this.#lastLogMs = this.#startMs;
  }

  get requests(): number {
    return this.#requests;
  }

  countRequest(): void {
    this.#requests += 1;
  }

  /** Writes to standard error in place of the progress line. */
  readonly write = (text: string): void => {
    this.clear();
    this.#io.writeError(text);
  };

  clear(): void {
    if (this.#isShown) {
      this.#io.writeError(CLEAR_LINE);
      this.#isShown = false;
    }
  }

  start(months: readonly Month[]): void {
    this.#daysTotal = months
      .flatMap(({ parts }) => parts)
      .reduce((sum, part) => sum + daysOf(part), 0);
  }

  /** A customer's month was written, now or by an earlier run. */
  done(part: MonthPart, month: string, wasRead: boolean, log: Logger): void {
    this.#daysDone += daysOf(part);
    this.#daysRead += wasRead ? daysOf(part) : 0;
    const elapsedMs = this.#clock.monotonicMs() - this.#startMs;
    const leftMs = (elapsedMs / this.#daysRead) * (this.#daysTotal - this.#daysDone);
    const left = Number.isFinite(leftMs) ? Math.ceil(leftMs / 1_000) : undefined;
    const fields = {
      month,
      days: Math.round(this.#daysDone),
      days_total: Math.round(this.#daysTotal),
      requests: this.#requests,
      seconds_left: left,
    };
    if (this.#io.errorIsTerminal) {
      const { days, days_total, requests } = fields;
      const rest = left === undefined ? '' : `, ${formatDuration(left * 1_000)} left`;
      this.#io.writeError(
        `${CLEAR_LINE}${month}: ${days} of ${days_total} days, ${requests} requests${rest}`,
      );
      this.#isShown = true;
    } else if (this.#clock.monotonicMs() - this.#lastLogMs >= LOG_INTERVAL_MS) {
      this.#lastLogMs = this.#clock.monotonicMs();
      log.info('backfill progress', fields);
    }
  }
}

function daysOf({ range }: MonthPart): number {
  return (range.endMs - range.startMs) / DAY_MS;
}
