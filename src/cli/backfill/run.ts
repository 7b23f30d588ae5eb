/** A backfill, month by month. Months that are finished stay, and the next run skips them. */
import { systemClock } from '../../base/clock.ts';
import { ServiceError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { COUNTERS, MINUTE_STREAMS } from '../../base/model.ts';
import type { MinuteStream } from '../../base/model.ts';
import { loadConfig } from '../../config/load.ts';
import { customersAtOnce, serviceOf } from '../access.ts';
import type { BackfillFlags } from '../backfill.ts';
import { InterruptedError } from '../io.ts';
import type { Io } from '../io.ts';
import { counted } from '../output.ts';
import { findLiveStarts } from './live-start.ts';
import { OutputFolder, settingsDigest } from './output-folder.ts';
import type { CustomerRecord, Totals } from './output-folder.ts';
import { Progress, summaryOf } from './progress.ts';
import { HistoryReader } from './reading.ts';
import type { PartHistory } from './reading.ts';
import {
  createTargets,
  infoLabelNames,
  scrapeLabels,
  selectCustomers,
  splitIntoMonths,
} from './targets.ts';
import type { Month, MonthPart } from './targets.ts';
import { MonthFile } from './writing.ts';
import type { WriteOptions } from './writing.ts';

/** Throws a UsageError or ConfigError before the service is queried, and an Error after that. */
export async function backfill(
  flags: BackfillFlags,
  io: Io,
  createLog: (write: (text: string) => void) => Logger,
): Promise<void> {
  const progress = new Progress(io, systemClock);
  try {
    const summary = await writeHistory(flags, io, progress, createLog(progress.write));
    progress.clear();
    io.writeOut(summary);
  } catch (error) {
    progress.clear();
    throw io.stop.aborted
      ? new InterruptedError('stopped; run the same command again to continue', { cause: error })
      : error;
  }
}

async function writeHistory(
  flags: BackfillFlags,
  io: Io,
  progress: Progress,
  log: Logger,
): Promise<string> {
  const { config, warnings } = await loadConfig({ path: flags['config.file'], env: io.env });
  warnings.forEach((warning) => log.warn('config warning', { warning }));
  const customers = selectCustomers(config, flags.customer);
  const labels = scrapeLabels(flags, config);
  const folder = await OutputFolder.read(flags.output, settingsDigest(flags, config, customers));
  const nowMs = systemClock.nowMs();
  const liveStarts = await findLiveStarts(flags, customers, labels, nowMs, log, io.stop);
  const months = splitIntoMonths(createTargets(customers, liveStarts, flags, nowMs));
  await folder.lock();
  const service = serviceOf(config, io, { request: () => progress.countRequest() });
  try {
    await writeMonths(months, {
      folder,
      options: {
        folder: flags.output,
        breakdowns: new Set(customers.flatMap(({ breakdowns }) => breakdowns)),
        stepMs: flags.step,
        scrapeLabels: labels,
        infoLabelNames: infoLabelNames(config),
      },
      reader: new HistoryReader(service, log, io.stop),
      progress,
      log,
      workers: customersAtOnce(config.service),
      stop: io.stop,
    });
    return summaryOf(folder, months, customers);
  } finally {
    service.close();
    folder.unlock();
  }
}

interface Run {
  readonly folder: OutputFolder;
  readonly options: WriteOptions;
  readonly reader: HistoryReader;
  readonly progress: Progress;
  readonly log: Logger;
  /** How many customers are read at the same time. */
  readonly workers: number;
  readonly stop: AbortSignal;
}

async function writeMonths(months: readonly Month[], run: Run): Promise<void> {
  const { folder, progress, log } = run;
  log.info('backfill started', { months: months.length, output: folder.path });
  progress.start(months);
  for (const month of months) {
    if (await folder.isFinished(month)) {
      month.parts.forEach((part) => progress.done(part, month.name, false, log));
    } else {
      await writeMonth(month, run);
    }
  }
  log.info('backfill finished', { requests: progress.requests });
}

/** Reads several customers at the same time, and writes them in their order. */
async function writeMonth(month: Month, run: Run): Promise<void> {
  const { folder, options, reader, progress, log, workers, stop } = run;
  const file = new MonthFile(month.name, options);
  const customers: Record<string, CustomerRecord> = {};
  const failures: string[] = [];
  try {
    await file.open();
    for (const { part, reading } of readAhead(month.parts, reader, workers)) {
      stop.throwIfAborted();
      const { name } = part.target.config;
      try {
        const history = await reading;
        const totals = totalsOf(history);
        const streams = streamsWithData([...folder.totalsBefore(month.name, name), totals]);
        const samples = await file.add(part, history, streams);
        customers[name] = { endMs: part.range.endMs, samples, totals };
        progress.done(part, month.name, true, log);
      } catch (error) {
        if (stop.aborted || !(error instanceof ServiceError)) {
          throw error;
        }
        failures.push(`  ${name}: ${error.reason}: ${error.message}`);
      }
    }
    if (failures.length > 0) {
      throw new Error(
        `${month.name} failed for ${counted(failures.length, 'customer')}:\n${failures.join('\n')}\n` +
          'run the same command again to continue, or use --customer and another --output',
      );
    }
    const bytes = await file.finish();
    await folder.finish(month.name, { bytes, customers });
    log.info('month written', { month: month.name, bytes });
  } finally {
    await file.close();
  }
}

/** At most `count` are read at the same time, or wait to be written. */
function* readAhead(
  parts: readonly MonthPart[],
  reader: HistoryReader,
  count: number,
): Generator<{ readonly part: MonthPart; readonly reading: Promise<PartHistory> }> {
  const pending: { part: MonthPart; reading: Promise<PartHistory> }[] = [];
  for (const part of parts) {
    const reading = reader.read(part);
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
