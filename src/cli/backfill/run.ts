/** A backfill, month by month. Months that are finished stay, and are skipped by the next run. */
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../../base/clock.ts';
import { codeOf, ServiceError, UsageError } from '../../base/errors.ts';
import { isLocked, LOCK_FILE, lockFolder, replaceFile } from '../../base/files.ts';
import type { FolderLock } from '../../base/files.ts';
import type { Logger } from '../../base/log.ts';
import { ALL_COUNTERS, COUNTERS, MINUTE_STREAMS } from '../../base/model.ts';
import type { CounterName, MinuteStream, RawRecord } from '../../base/model.ts';
import { loadConfig } from '../../config/load.ts';
import type { Config, CustomerConfig } from '../../config/types.ts';
import { customersAtOnce, serviceOf } from '../access.ts';
import type { BackfillFlags } from '../backfill.ts';
import { InterruptedError } from '../io.ts';
import type { Io } from '../io.ts';
import { createFormatter } from '../query/formats.ts';
import { counted } from '../words.ts';
import { findLiveStarts } from './live-start.ts';
import { Progress } from './progress.ts';
import { HistoryReader } from './reading.ts';
import type { PartHistory } from './reading.ts';
import {
  createTargets,
  infoLabelNames,
  scrapeLabels,
  selectCustomers,
  splitIntoMonths,
} from './targets.ts';
import type { BackfillTarget, Month, MonthPart } from './targets.ts';
import { MonthFile } from './writing.ts';
import type { WriteOptions } from './writing.ts';

/** In the output folder: what is finished, and a digest of the settings it was made with. */
const STATE_FILE = 'backfill.json';
const STATE_VERSION = 2;
/** Prometheus has written samples of this age to disk. */
const SETTLED_AGE_MS = 4 * 3_600_000;

interface State {
  readonly version: number;
  readonly settings: string;
  readonly months: Readonly<Record<string, MonthRecord>>;
}

interface MonthRecord {
  /** 0 if there was no data, and there is no file. */
  readonly bytes: number;
  readonly customers: Readonly<Record<string, CustomerRecord>>;
}

interface CustomerRecord {
  readonly endMs: number;
  readonly samples: number;
  /** The service's totals of the month; none for a stream that is not configured. */
  readonly totals: Readonly<Partial<Record<CounterName, { byMinute: number; byDay: number }>>>;
}

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
  warnings.forEach((warning) => log.warn('configuration warning', { warning }));
  const customers = selectCustomers(config, flags.customer);
  const labels = scrapeLabels(flags, config);
  const state = await readState(flags.output, settingsDigest(flags, config, customers));
  const nowMs = systemClock.nowMs();
  const liveStarts = await findLiveStarts(flags, customers, labels, nowMs, io.stop);
  const targets = createTargets(customers, liveStarts, flags, nowMs);
  if (flags['prometheus.url'] !== undefined) {
    warnAboutLiveStarts(targets, nowMs, log);
  }
  await mkdir(flags.output, { recursive: true });
  const lock = lockOutput(flags.output);
  const service = serviceOf(config, io, { request: () => progress.countRequest() });
  try {
    const months = splitIntoMonths(targets);
    const written = await writeMonths(months, {
      state,
      options: {
        folder: flags.output,
        breakdowns: new Set(customers.flatMap(({ breakdowns }) => breakdowns)),
        stepMs: flags.step,
        scrapeLabels: labels,
        infoLabelNames: infoLabelNames(config),
      },
      reader: new HistoryReader(service, config.service.timeoutMs, log, io.stop),
      progress,
      log,
      workers: customersAtOnce(config.service),
      stop: io.stop,
    });
    return summaryText(written, months, customers, flags.output);
  } finally {
    service.close();
    lock.close();
  }
}

interface Run {
  readonly state: State;
  readonly options: WriteOptions;
  readonly reader: HistoryReader;
  readonly progress: Progress;
  readonly log: Logger;
  /** How many customers are read at the same time. */
  readonly workers: number;
  readonly stop: AbortSignal;
}

async function writeMonths(months: readonly Month[], run: Run): Promise<State['months']> {
  const { state, options, progress, log } = run;
  log.info('backfill started', { months: months.length, output: options.folder });
  progress.start(months);
  let written = state.months;
  for (const month of months) {
    if (await isFinished(month, written[month.name], options.folder)) {
      month.parts.forEach((part) => progress.done(part, month.name, false, log));
      continue;
    }
    const record = await writeMonth(month, written, run);
    written = { ...written, [month.name]: record };
    await replaceFile(
      join(options.folder, STATE_FILE),
      `${JSON.stringify({ ...state, months: written })}\n`,
    );
    log.info('month written', { month: month.name, bytes: record.bytes });
  }
  log.info('backfill finished', { requests: progress.requests });
  return written;
}

/** A month that was still running was written up to another end. */
async function isFinished(
  { name, parts }: Month,
  record: MonthRecord | undefined,
  folder: string,
): Promise<boolean> {
  if (record === undefined) {
    return false;
  }
  const file = await stat(join(folder, `${name}.om`)).catch(() => undefined);
  return (
    (file?.size ?? 0) === record.bytes &&
    parts.every(({ target, range }) => record.customers[target.config.name]?.endMs === range.endMs)
  );
}

/** Reads several customers at the same time, and writes them in their order. */
async function writeMonth(month: Month, months: State['months'], run: Run): Promise<MonthRecord> {
  const { options, reader, progress, log, workers, stop } = run;
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
        const before = Object.values(months).map((record) => record.customers[name]?.totals);
        const samples = await file.add(part, history, streamsWithData([...before, totals]));
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
    return { bytes: await file.finish(), customers };
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

function totalsOf({ streams }: PartHistory): CustomerRecord['totals'] {
  const totals = MINUTE_STREAMS.flatMap((stream) =>
    COUNTERS[stream].map((name, i) => {
      const { sums, byDay } = streams[stream] ?? {};
      return [name, sums && { byMinute: sums[i] ?? 0, byDay: byDay?.[i] ?? 0 }] as const;
    }),
  );
  return Object.fromEntries(totals.filter(([, total]) => total !== undefined));
}

/** A stream that never had a count, up to this month, is unknown rather than 0. */
function streamsWithData(
  months: readonly (CustomerRecord['totals'] | undefined)[],
): ReadonlySet<MinuteStream> {
  return new Set(
    MINUTE_STREAMS.filter((stream) =>
      COUNTERS[stream].some((name) =>
        months.some((totals) => {
          const { byMinute = 0, byDay = 0 } = totals?.[name] ?? {};
          return byMinute > 0 || byDay > 0;
        }),
      ),
    ),
  );
}

/** Secrets and limits on requests are not included: they may change between two runs. */
function settingsDigest(
  { from, to, step, instance, job, label, 'prometheus.url': url }: BackfillFlags,
  { service }: Config,
  customers: readonly CustomerConfig[],
): string {
  const described = customers.map(({ clientSecret: _secret, ...rest }) => rest);
  const flags = [from.text, to?.text, step, instance, job, label, url?.host, url?.pathname];
  const settings = JSON.stringify([flags, service.baseUrl, described]);
  return createHash('sha256').update(settings).digest('hex');
}

/** Throws a UsageError if the folder is not for this backfill. */
async function readState(folder: string, settings: string): Promise<State> {
  let names: readonly string[];
  try {
    names = await readdir(folder);
  } catch (error) {
    if (codeOf(error) === 'ENOTDIR') {
      throw new UsageError(`--output: expected a folder, ${folder} is a file`);
    }
    if (codeOf(error) !== 'ENOENT') {
      throw error;
    }
    names = [];
  }
  if (names.includes(STATE_FILE)) {
    const state = parseState(await readFile(join(folder, STATE_FILE), 'utf8'));
    if (state?.settings !== settings) {
      throw new UsageError(
        `--output: ${folder} has a backfill with other flags or another configuration; ` +
          'use the same ones to continue it, or another folder',
      );
    }
    return state;
  }
  if (names.some((name) => name !== LOCK_FILE)) {
    throw new UsageError(`--output: expected an empty folder, or one of a backfill: ${folder}`);
  }
  return { version: STATE_VERSION, settings, months: {} };
}

function parseState(text: string): State | undefined {
  try {
    const state = JSON.parse(text) as State | null;
    return state?.version === STATE_VERSION ? state : undefined;
  } catch {
    return undefined;
  }
}

function lockOutput(folder: string): FolderLock {
  try {
    return lockFolder(folder);
  } catch (error) {
    if (isLocked(error)) {
      throw new UsageError(`--output: another backfill is writing to ${folder}`);
    }
    throw error;
  }
}

function warnAboutLiveStarts(targets: readonly BackfillTarget[], nowMs: number, log: Logger): void {
  const unknown = targets.filter(({ liveStart }) => liveStart === undefined);
  if (unknown.length > 0) {
    log.warn('customers without samples in Prometheus, their history ends three hours ago', {
      customers: unknown.length,
      first: unknown[0]?.config.name,
    });
  }
  const newestMs = Math.max(...targets.map(({ liveStart }) => liveStart?.atMs ?? -Infinity));
  if (nowMs - newestMs < SETTLED_AGE_MS) {
    log.warn('Prometheus still changes the hours of its first samples, load the blocks later', {
      not_before: new Date(newestMs + SETTLED_AGE_MS).toISOString(),
    });
  }
}

function summaryText(
  written: State['months'],
  months: readonly Month[],
  customers: readonly CustomerConfig[],
  folder: string,
): string {
  const columns = ['customer', 'month', 'entered', 'exited', 'logins', 'day', 'samples'];
  const format = createFormatter({ format: 'table', columns, forTerminal: true });
  const records = customers.flatMap(({ name }) =>
    months.flatMap((month) => {
      const record = written[month.name]?.customers[name];
      return record === undefined ? [] : [{ name, month: month.name, ...record }];
    }),
  );
  const rows = records.map(({ name, month, totals, samples }): RawRecord => {
    const byMinute = ALL_COUNTERS.map((counter) => totals[counter]?.byMinute ?? null);
    return [name, month, ...byMinute, dayDifference(totals), samples];
  });
  const samples = records.reduce((sum, record) => sum + record.samples, 0);
  const files = months.flatMap((month) => written[month.name]?.bytes || []);
  const megabytes = Math.ceil(files.reduce((sum, bytes) => sum + bytes, 0) / 1_000_000);
  const differs = rows.some((row) => !row.includes('agrees'));
  return [
    format(rows),
    `${samples} samples in ${counted(files.length, 'file')} in ${folder}, ${megabytes} MB\n`,
    differs ? DIFFERENCE_NOTE : '',
    files.length > 0 ? nextCommand(folder) : 'The service has no data of this time.\n',
  ].join('');
}

const DIFFERENCE_NOTE =
  'If the column "day" is not "agrees", it has the difference of the service\'s totals by day to those by minute.\n' +
  'The minutes were used. Days may lag, cover other hours, or records came while the service was queried.\n';

/** As in `+12,0,-3`. */
function dayDifference(totals: CustomerRecord['totals']): string {
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
