/** What a backfill reports: its progress, and a summary at the end. */
import type { Clock } from '../../base/clock.ts';
import { formatDuration } from '../../base/duration.ts';
import type { Logger } from '../../base/log.ts';
import { ALL_COUNTERS } from '../../base/model.ts';
import type { RawRecord } from '../../base/model.ts';
import type { CustomerConfig } from '../../config/types.ts';
import { DAY_MS } from '../../counting/calendar.ts';
import type { Io } from '../io.ts';
import { CLEAR_LINE, counted, createFormatter } from '../output.ts';
import type { OutputFolder, Totals } from './output-folder.ts';
import type { Month, MonthPart } from './targets.ts';

const LOG_INTERVAL_MS = 10_000;

/** One line that is rewritten on a terminal, otherwise a log message now and then. */
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

/** A row for each customer and month, and the command that makes blocks of the files. */
export function summaryOf(
  folder: OutputFolder,
  months: readonly Month[],
  customers: readonly CustomerConfig[],
): string {
  const columns = ['customer', 'month', 'entered', 'exited', 'logins', 'day', 'samples'];
  const format = createFormatter('table', columns, true);
  const records = customers.flatMap(({ name }) =>
    months.flatMap((month) => {
      const record = folder.record(month.name)?.customers[name];
      return record === undefined ? [] : [{ name, month: month.name, ...record }];
    }),
  );
  const rows = records.map(({ name, month, totals, samples }): RawRecord => {
    const byMinute = ALL_COUNTERS.map((counter) => totals[counter]?.byMinute ?? null);
    return [name, month, ...byMinute, dayDifference(totals), samples];
  });
  const samples = records.reduce((sum, record) => sum + record.samples, 0);
  const files = months.flatMap((month) => folder.record(month.name)?.bytes || []);
  const megabytes = Math.ceil(files.reduce((sum, bytes) => sum + bytes, 0) / 1_000_000);
  const differs = rows.some((row) => !row.includes('agrees'));
  return [
    format(rows),
    `${samples} samples in ${counted(files.length, 'file')} in ${folder.path}, ${megabytes} MB\n`,
    differs ? DIFFERENCE_NOTE : '',
    files.length > 0 ? nextCommand(folder.path) : 'The service has no data of this time.\n',
  ].join('');
}

const DIFFERENCE_NOTE =
  'If the column "day" is not "agrees", it has the difference of the service\'s totals by day to those by minute.\n' +
  'The minutes were used. Days may lag, cover other hours, or records came while the service was queried.\n';

/** As in `+12,0,-3`. */
function dayDifference(totals: Totals): string {
  const differences = ALL_COUNTERS.map((name) => {
    const { byMinute = 0, byDay = 0 } = totals[name] ?? {};
    return byDay - byMinute;
  });
  return differences.every((difference) => difference === 0)
    ? 'agrees'
    : differences.map((each) => (each > 0 ? `+${each}` : String(each))).join(',');
}

function nextCommand(folder: string): string {
  const quoted = /^[\w./-]+$/.test(folder)
    ? folder
    : `'${folder.replaceAll("'", String.raw`'\''`)}'`;
  return (
    'Next, make blocks for Prometheus (docs/backfill.md):\n' +
    `  for month in ${quoted}/*.om; do promtool tsdb create-blocks-from --max-block-duration=162h openmetrics "$month" blocks; done\n`
  );
}
