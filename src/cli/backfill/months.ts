/** Reads the months of a backfill from the service and writes them. Finished months are skipped. */
import { systemClock } from '../../base/clock.ts';
import { formatDuration } from '../../base/duration.ts';
import { ServiceError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { COUNTERS, MINUTE_STREAMS } from '../../base/model.ts';
import type { AggregatedResponse, MinuteStream, Question } from '../../base/model.ts';
import { accessOf } from '../../config/files.ts';
import { readBreakdownHistory } from '../../counting/breakdown-history.ts';
import type { BreakdownHistory } from '../../counting/breakdown-history.ts';
import { DAY_MS, MINUTE_MS } from '../../counting/calendar.ts';
import { readDaysBefore } from '../../counting/door-history.ts';
import type { CountedDay } from '../../counting/door-model.ts';
import { ANY_KEY_FORMAT } from '../../counting/key-format.ts';
import type { KeyFormatState } from '../../counting/key-format.ts';
import { readMinuteHistory } from '../../counting/minute-history.ts';
import type { MinuteHistory } from '../../counting/minute-history.ts';
import type { RetryPolicy } from '../../service/retry.ts';
import type { CustomerClient, Service } from '../../service/types.ts';
import { counted } from '../output.ts';
import type { ProgressLine } from '../output.ts';
import type { CustomerRecord, OutputFolder, Totals } from './output-folder.ts';
import type { BackfillTarget, Month, MonthPart } from './targets.ts';
import { MonthFile } from './writing.ts';
import type { WriteOptions } from './writing.ts';

export interface Run {
  readonly folder: OutputFolder;
  readonly options: WriteOptions;
  readonly service: Service;
  readonly progress: ProgressLine;
  readonly log: Logger;
  /** How many customers are read at the same time. */
  readonly workers: number;
  readonly stop: AbortSignal;
}

export interface PartHistory {
  readonly streams: Readonly<Partial<Record<MinuteStream, MinuteHistory>>>;
  readonly breakdowns: readonly BreakdownHistory[];
  /** For the estimate, see PeriodHistory. */
  readonly daysBefore: readonly CountedDay[] | undefined;
}

type ReadPart = (part: MonthPart) => Promise<PartHistory>;
type PartWritten = (part: MonthPart, month: string, wasRead: boolean) => void;

/** Throws an Error that names the customers that failed. */
export async function writeMonths(months: readonly Month[], run: Run): Promise<void> {
  run.log.info('backfill started', { months: months.length, output: run.folder.path });
  const read = createReader(run);
  const written = createProgress(months, run.progress);
  for (const month of months) {
    if (await run.folder.isFinished(month)) {
      month.parts.forEach((part) => written(part, month.name, false));
    } else {
      await writeMonth(month, run, read, written);
    }
  }
  run.log.info('backfill finished', { months: months.length });
}

/** Reads several customers at the same time, and writes them in their order. */
async function writeMonth(
  { name: month, parts }: Month,
  { folder, options, log, workers, stop }: Run,
  read: ReadPart,
  written: PartWritten,
): Promise<void> {
  const file = new MonthFile(month, options);
  const customers: Record<string, CustomerRecord> = {};
  const failures: string[] = [];
  try {
    await file.open();
    for (const { part, reading } of readAhead(parts, read, workers)) {
      stop.throwIfAborted();
      const { name } = part.target.config;
      try {
        const history = await reading;
        const totals = totalsOf(history);
        const streams = streamsWithData([...folder.totalsBefore(month, name), totals]);
        const samples = await file.add(part, history, streams);
        customers[name] = { endMs: part.range.endMs, samples, totals };
        written(part, month, true);
      } catch (error) {
        if (stop.aborted || !(error instanceof ServiceError)) {
          throw error;
        }
        failures.push(`  ${name}: ${error.reason}: ${error.message}`);
      }
    }
    if (failures.length > 0) {
      throw new Error(
        `${month} failed for ${counted(failures.length, 'customer')}:\n${failures.join('\n')}\n` +
          'run the same command again to continue, or use --customer and another --output',
      );
    }
    const bytes = await file.finish();
    await folder.finish(month, { bytes, customers });
    log.info('month written', { month, bytes });
  } finally {
    await file.close();
  }
}

/** At most `count` are read at the same time, or wait to be written. */
function* readAhead(
  parts: readonly MonthPart[],
  read: ReadPart,
  count: number,
): Generator<{ readonly part: MonthPart; readonly reading: Promise<PartHistory> }> {
  const pending: { part: MonthPart; reading: Promise<PartHistory> }[] = [];
  for (const part of parts) {
    const reading = read(part);
    // A failure is handled when its turn comes.
    reading.catch(() => {});
    pending.push({ part, reading });
    const first = pending.length < count ? undefined : pending.shift();
    if (first !== undefined) {
      yield first;
    }
  }
  yield* pending;
}

/** Shows the days that are written, and the time that the others will need. */
function createProgress(months: readonly Month[], line: ProgressLine): PartWritten {
  const daysTotal = months.flatMap(({ parts }) => parts).reduce((sum, p) => sum + daysOf(p), 0);
  const startMs = systemClock.monotonicMs();
  let daysDone = 0;
  let daysRead = 0;
  return (part, month, wasRead) => {
    daysDone += daysOf(part);
    daysRead += wasRead ? daysOf(part) : 0;
    const msPerDay = (systemClock.monotonicMs() - startMs) / daysRead;
    const seconds = Math.ceil((msPerDay * (daysTotal - daysDone)) / 1_000);
    const left = daysRead === 0 ? '' : `, ${formatDuration(seconds * 1_000)} left`;
    line.show(`${month}: ${Math.round(daysDone)} of ${Math.round(daysTotal)} days${left}`);
  };
}

function daysOf({ range }: MonthPart): number {
  return (range.endMs - range.startMs) / DAY_MS;
}

/** Enough for an outage of some minutes, and for any Retry-After. */
const MAX_ATTEMPTS = 18;
const MAX_WAIT_MS = 3_600_000;
const MIN_LOGGED_WAIT_MS = 5_000;

/** The reader throws a ServiceError unless everything was read. */
function createReader({ service, log, stop }: Run): ReadPart {
  const retries: RetryPolicy = {
    maxAttempts: MAX_ATTEMPTS,
    maxWaitMs: MAX_WAIT_MS,
    onWait({ reason, message }, waitMs) {
      if (waitMs >= MIN_LOGGED_WAIT_MS) {
        const wait_seconds = Math.ceil(waitMs / 1_000);
        log.warn('service not available, retrying', { reason, error: message, wait_seconds });
      }
    },
  };
  /** Kept from month to month. */
  const clients = new Map<BackfillTarget, CustomerClient>();
  const formats = new Map<BackfillTarget, Partial<Record<MinuteStream, KeyFormatState>>>();

  return async ({ target, period, range }) => {
    const { config, calendar } = target;
    const client = clients.get(target) ?? service.clientFor(accessOf(config), retries);
    clients.set(target, client);
    const known = formats.get(target) ?? {};
    formats.set(target, known);
    function query(question: Question): Promise<AggregatedResponse> {
      return client.query(question, stop);
    }
    const { startMs } = period;
    const span = { startMs, endMs: Math.ceil(range.endMs / MINUTE_MS) * MINUTE_MS };
    const needsDayBefore = range.startMs < calendar.dayAt(startMs).endMs;
    const streams: Partial<Record<MinuteStream, MinuteHistory>> = {};
    await Promise.all(
      config.streams.map(async (stream) => {
        const minuteRange = { stream, calendar, span, needsDayBefore };
        const before = known[stream] ?? ANY_KEY_FORMAT;
        const { history, keyFormat } = await readMinuteHistory(minuteRange, before, query);
        known[stream] = keyFormat;
        streams[stream] = history;
      }),
    );
    const breakdowns: BreakdownHistory[] = [];
    for (const breakdown of config.breakdowns) {
      const exact = { startMs, endMs: range.endMs };
      breakdowns.push(await readBreakdownHistory(breakdown, calendar, exact, range.startMs, query));
    }
    const keyFormat = known.people ?? ANY_KEY_FORMAT;
    const firstDay = calendar.dayAt(range.startMs);
    return {
      streams,
      breakdowns,
      daysBefore:
        config.estimate && config.streams.includes('people')
          ? await readDaysBefore(query, calendar, firstDay, keyFormat, startMs)
          : undefined,
    };
  };
}

function totalsOf({ streams }: PartHistory): Totals {
  const totals = MINUTE_STREAMS.flatMap((stream) => {
    const { sums = [], byDay = [] } = streams[stream] ?? {};
    return sums.map((sum, i) => [COUNTERS[stream][i], { byMinute: sum, byDay: byDay[i] ?? 0 }]);
  });
  return Object.fromEntries(totals) as Totals;
}

/** A stream that had no counts in any month up to this one is unknown rather than 0. */
function streamsWithData(months: readonly Totals[]): ReadonlySet<MinuteStream> {
  function hasData(stream: MinuteStream): boolean {
    const totals = months.flatMap((month) => COUNTERS[stream].map((name) => month[name]));
    return totals.some((total) => total !== undefined && total.byMinute + total.byDay > 0);
  }
  return new Set(MINUTE_STREAMS.filter(hasData));
}
