/**
 * Writes the months as OpenMetrics. Samples of a family must be together, and customers are read one
 * after the other: each family has a temporary file, and the month's file is made of these at its end.
 */
import { createReadStream } from 'node:fs';
import { appendFile, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { DAY_MS, formatDuration } from '../base/duration.ts';
import { codeOf, ServiceError, serviceErrorOf } from '../base/errors.ts';
import { replaceFile } from '../base/files.ts';
import type { Logger } from '../base/log.ts';
import { MINUTE_STREAMS } from '../base/model.ts';
import type { MinuteStream } from '../base/model.ts';
import { keyMetricsAt } from './branch-totals.ts';
import type { BranchTotals } from './branch-totals.ts';
import { compareKeys } from '../counting/breakdowns/poll-breakdown.ts';
import { replayPeriod } from './replay.ts';
import type { PastMetrics } from './replay.ts';
import { BACKFILL_FAMILIES, breakdownFamilies } from '../metrics/families.ts';
import { END_OF, writeHead, writeLabels, writePastSample } from '../metrics/family.ts';
import type { Family, FamilyContext, LabelPair } from '../metrics/family.ts';
import { counted } from '../base/output.ts';
import type { ProgressLine } from '../base/output.ts';
import type { PartPast, ReadPart } from './reading.ts';
import type { Totals, WrittenMonth } from './summary.ts';
import { sampleTimes } from './targets.ts';
import type { Month, MonthPart } from './targets.ts';

/** How far a backfill is, on a terminal. */
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

export interface Run extends FamilyContext {
  readonly folder: string;
  readonly scrapeLabels: readonly LabelPair[];
  readonly read: ReadPart;
  /** How many customers are read at the same time. */
  readonly workers: number;
  readonly progress: BackfillProgress;
  readonly log: Logger;
  readonly stop: AbortSignal;
}

/**
 * Writes the months that have no file, and returns them. Throws an Error that names the customers that failed,
 * or says that another backfill writes the same month.
 */
export async function writeMonths(
  months: readonly Month[],
  run: Run,
): Promise<readonly WrittenMonth[]> {
  const { folder, progress, log } = run;
  log.info('backfill started', { months: months.length, output: folder });
  const unfinished: Month[] = [];
  for (const month of months) {
    const file = fileOf(folder, month);
    if (await stat(file).catch(() => undefined)) {
      log.info('month skipped, its file exists', { month: month.name, file });
    } else {
      unfinished.push(month);
    }
  }
  progress.start(unfinished);
  const written: WrittenMonth[] = [];
  for (const month of unfinished) {
    const temporary = join(folder, `${month.name}.unfinished`);
    await createFolder(temporary);
    try {
      written.push(await writeMonth(month, temporary, run));
      progress.finish(month);
    } finally {
      await rm(temporary, { recursive: true, force: true });
    }
  }
  log.info('backfill finished', { months: written.length });
  return written;
}

function fileOf(folder: string, { name }: Month): string {
  return join(folder, `${name}.om`);
}

/** Only a killed backfill leaves one behind. */
async function createFolder(temporary: string): Promise<void> {
  try {
    await mkdir(temporary, 0o750);
  } catch (error) {
    throw codeOf(error) === 'EEXIST'
      ? new Error(`another backfill writes to ${temporary}; if it was killed, delete this folder`)
      : error;
  }
}

/** Reads some customers at the same time, and writes them in their order. */
async function writeMonth(whole: Month, temporary: string, run: Run): Promise<WrittenMonth> {
  const { name: month, parts } = whole;
  const { folder, read, workers, progress, log, stop } = run;
  const isByBranch = parts.some(({ target }) => target.config.breakdowns.includes('branch'));
  const families = [
    ...BACKFILL_FAMILIES,
    ...breakdownFamilies(new Set(isByBranch ? ['branch'] : [])),
  ];
  const customers = new Map<string, Totals>();
  const failures: string[] = [];
  let samples = 0;
  for (let done = 0; done < parts.length; done += workers) {
    progress.show(whole, done);
    const batch = parts.slice(done, done + workers);
    const results = await Promise.all(
      batch.map(async (part) => ({ part, partPast: await read(part).catch(serviceErrorOf) })),
    );
    stop.throwIfAborted();
    for (const { part, partPast } of results) {
      const { name } = part.target.config;
      if (partPast instanceof ServiceError) {
        failures.push(`  ${name}: ${partPast.reason}: ${partPast.message}`);
        continue;
      }
      samples += await writePart(part, partPast, families, temporary, run);
      customers.set(name, partPast.streams);
    }
  }
  if (failures.length > 0) {
    throw new Error(
      `${month} failed for ${counted(failures.length, 'customer')}:\n${failures.join('\n')}\n` +
        'run the same command again to continue, or use --customer and another --output',
    );
  }
  const bytes = await joinFamilies(families, temporary, fileOf(folder, whole));
  log.info('month written', { month, samples, bytes });
  return { month, hasFile: bytes > 0, samples, customers };
}

/** A stream without counts in a month is unknown rather than 0. */
function streamsWithCounts({ streams }: PartPast): readonly MinuteStream[] {
  return MINUTE_STREAMS.filter((stream) => {
    const { sums = [], byDay = [] } = streams[stream] ?? {};
    return [...sums, ...byDay].some((sum) => sum > 0);
  });
}

/** The size in bytes; 0 and no file if there is no sample. */
async function joinFamilies(
  families: readonly Family[],
  temporary: string,
  path: string,
): Promise<number> {
  const names = await readdir(temporary);
  const written = families.filter(({ name }) => names.includes(name));
  if (written.length === 0) {
    return 0;
  }
  async function* content(): AsyncGenerator<Buffer | string> {
    for (const family of written) {
      yield writeHead('openmetrics', family);
      yield* createReadStream(join(temporary, family.name)) as AsyncIterable<Buffer>;
    }
    yield END_OF.openmetrics;
  }
  return replaceFile(path, content(), 0o640);
}

/** Adds a customer to the files of the families, and returns the number of samples. */
async function writePart(
  part: MonthPart,
  partPast: PartPast,
  families: readonly Family[],
  temporary: string,
  run: Run,
): Promise<number> {
  const streams = streamsWithCounts(partPast);
  if (streams.length === 0) {
    return 0;
  }
  const { target, period, range } = part;
  const ofStreams = Object.fromEntries(streams.map((stream) => [stream, partPast.streams[stream]]));
  const past = [
    ...replayPeriod({ ...target, ...partPast, period, streams: ofStreams }, sampleTimes(range)),
  ];
  const branches = streams.includes('people') ? partPast.branchTotals : undefined;
  let samples = 0;
  for (const family of families) {
    for (const metrics of seriesOf(family, part, branches, past)) {
      const lines = writeSeries(family, metrics, run);
      samples += lines.length;
      if (lines.length > 0) {
        await appendFile(join(temporary, family.name), lines.join(''), { mode: 0o640 });
      }
    }
  }
  return samples;
}

/** The metrics of a family; of counters of branches, one branch after the other. */
function* seriesOf(
  family: Family,
  { target }: MonthPart,
  totals: BranchTotals | undefined,
  past: readonly PastMetrics[],
): Generator<Iterable<PastMetrics>> {
  if (BACKFILL_FAMILIES.includes(family)) {
    yield past;
    return;
  }
  const { branches } = target.config;
  const keys = new Set(totals && [...totals.keys, ...Object.keys(branches)].toSorted(compareKeys));
  for (const key of keys) {
    const name = branches[key]?.name ?? key;
    // Most families have nothing of the past. The last metrics show it without a look at all others.
    const [last] = pastOfBranch(totals, key, name, past.slice(-1));
    if (last !== undefined && family.samples(last.metrics, { infoLabelNames: [] }).length > 0) {
      yield pastOfBranch(totals, key, name, past);
    }
  }
}

/** Yields the metrics at each instant, with those of one branch alone. */
function* pastOfBranch(
  totals: BranchTotals | undefined,
  key: string,
  name: string,
  past: readonly PastMetrics[],
): Generator<PastMetrics> {
  for (const { atMs, metrics } of past) {
    const keys = totals?.keys.includes(key) === true ? [keyMetricsAt(totals, key, atMs)] : [];
    const branch = { keys, droppedKeys: undefined, names: [[key, name] as const] };
    yield { atMs, metrics: { ...metrics, breakdowns: { branch } } };
  }
}

/** A line for each sample; OpenMetrics wants those of one series together. */
function writeSeries(family: Family, past: Iterable<PastMetrics>, run: Run): readonly string[] {
  const added = writeLabels(...run.scrapeLabels);
  const series = new Map<string, string[]>();
  for (const { atMs, metrics } of past) {
    for (const { labels, value } of family.samples(metrics, run)) {
      const customer = writeLabels(['customer', metrics.customer]);
      const text = [customer, labels, added].filter((part) => part !== '').join(',');
      const lines = series.get(text) ?? [];
      lines.push(writePastSample(family.name, text, value, atMs));
      series.set(text, lines);
    }
  }
  return [...series.values()].flat();
}
