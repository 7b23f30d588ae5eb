/**
 * Writes the months as OpenMetrics. Samples of a family must be together, and customers are read one
 * after the other: each family has a temporary file, and the month's file is made of these at its end.
 */
import { createReadStream } from 'node:fs';
import { appendFile, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { DAY_MS, formatDuration } from '../base/duration.ts';
import { ServiceError, serviceErrorOf } from '../base/errors.ts';
import { replaceFile } from '../base/files.ts';
import type { Logger } from '../base/log.ts';
import { MINUTE_STREAMS } from '../base/model.ts';
import type { Breakdown, MinuteStream } from '../base/model.ts';
import { keyMetricsAt } from './read-breakdown.ts';
import type { BreakdownHistory } from './read-breakdown.ts';
import { compareKeys } from '../counting/breakdowns/poll-breakdown.ts';
import { replayPeriod } from './replay.ts';
import type { PastMetrics } from './replay.ts';
import { BACKFILL_FAMILIES, breakdownFamilies } from '../metrics/families.ts';
import { END_OF, writeHead, writeLabels, writePastSample } from '../metrics/family.ts';
import type { Family, FamilyContext, LabelPair } from '../metrics/family.ts';
import { counted } from '../base/output.ts';
import type { ProgressLine } from '../base/output.ts';
import { firstValues } from './live-start.ts';
import type { PartHistory, ReadPart } from './reading.ts';
import type { BackfillState, CustomerRecord, Totals } from './state.ts';
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
  readonly state: BackfillState;
  readonly breakdowns: ReadonlySet<Breakdown>;
  readonly stepMs: number;
  readonly scrapeLabels: readonly LabelPair[];
  readonly read: ReadPart;
  /** How many customers are read at the same time. */
  readonly workers: number;
  readonly progress: BackfillProgress;
  readonly log: Logger;
  readonly stop: AbortSignal;
}

/** Skips finished months. Throws an Error that names the customers that failed. */
export async function writeMonths(months: readonly Month[], run: Run): Promise<void> {
  const { folder, state, progress, log } = run;
  log.info('backfill started', { months: months.length, output: folder });
  const unfinished: Month[] = [];
  for (const month of months) {
    if (!(await state.isFinished(month))) {
      unfinished.push(month);
    }
  }
  progress.start(unfinished);
  for (const month of unfinished) {
    const temporary = join(folder, `${month.name}.unfinished`);
    try {
      await rm(temporary, { recursive: true, force: true });
      await mkdir(temporary, 0o750);
      await writeMonth(month, temporary, run);
      progress.finish(month);
    } finally {
      await rm(temporary, { recursive: true, force: true });
    }
  }
  log.info('backfill finished', { months: months.length });
}

/** Reads some customers at the same time, and writes them in their order. */
async function writeMonth(whole: Month, temporary: string, run: Run): Promise<void> {
  const { name: month, parts } = whole;
  const { folder, state, read, workers, progress, log, stop } = run;
  const families = [...BACKFILL_FAMILIES, ...breakdownFamilies(run.breakdowns)];
  const customers: Record<string, CustomerRecord> = {};
  const failures: string[] = [];
  let samples = 0;
  for (let done = 0; done < parts.length; done += workers) {
    progress.show(whole, done);
    const batch = parts.slice(done, done + workers);
    const results = await Promise.all(
      batch.map(async (part) => ({ part, history: await read(part).catch(serviceErrorOf) })),
    );
    stop.throwIfAborted();
    for (const { part, history } of results) {
      const { name } = part.target.config;
      if (history instanceof ServiceError) {
        failures.push(`  ${name}: ${history.reason}: ${history.message}`);
        continue;
      }
      const totals = totalsOf(history);
      const streams = streamsWithCounts([...state.totalsBefore(month, name), totals]);
      samples += await writePart(part, history, streams, families, temporary, run);
      customers[name] = { endMs: part.range.endMs, totals };
    }
  }
  if (failures.length > 0) {
    throw new Error(
      `${month} failed for ${counted(failures.length, 'customer')}:\n${failures.join('\n')}\n` +
        'run the same command again to continue, or use --customer and another --output',
    );
  }
  const bytes = await joinFamilies(families, temporary, join(folder, `${month}.om`));
  await state.finish(month, { bytes, samples, customers });
  log.info('month written', { month, samples, bytes });
}

/** A stream that had no counts in any month up to this one is unknown rather than 0. */
function streamsWithCounts(months: readonly Totals[]): readonly MinuteStream[] {
  return MINUTE_STREAMS.filter((stream) =>
    months.some(({ [stream]: { sums = [], byDay = [] } = {} }) =>
      [...sums, ...byDay].some((sum) => sum > 0),
    ),
  );
}

function totalsOf({ streams }: PartHistory): Totals {
  const totals = Object.entries(streams).map(([stream, { sums, byDay }]) => [
    stream,
    { sums, byDay },
  ]);
  return Object.fromEntries(totals) as Totals;
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
    await rm(path, { force: true });
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

/**
 * Adds a customer to the files of the families, and returns the number of samples. `streams` are
 * those with data so far: the others are unknown, not 0.
 */
async function writePart(
  part: MonthPart,
  history: PartHistory,
  streams: readonly MinuteStream[],
  families: readonly Family[],
  temporary: string,
  run: Run,
): Promise<number> {
  if (streams.length === 0) {
    return 0;
  }
  const { target, period, range } = part;
  const past = [
    ...replayPeriod(
      {
        ...target,
        ...history,
        period,
        streams: Object.fromEntries(streams.map((stream) => [stream, history.streams[stream]])),
        maxValues: firstValues(target.liveStart, period),
      },
      sampleTimes(range, run.stepMs),
    ),
  ];
  const breakdowns = streams.includes('people') ? history.breakdowns : [];
  let samples = 0;
  for (const family of families) {
    for (const metrics of seriesOf(family, part, breakdowns, past)) {
      const lines = writeSeries(family, metrics, run);
      samples += lines.length;
      if (lines.length > 0) {
        await appendFile(join(temporary, family.name), lines.join(''), { mode: 0o640 });
      }
    }
  }
  return samples;
}

/** The metrics of a family; of a breakdown, one key after the other. */
function* seriesOf(
  family: Family,
  part: MonthPart,
  breakdowns: readonly BreakdownHistory[],
  past: readonly PastMetrics[],
): Generator<Iterable<PastMetrics>> {
  if (BACKFILL_FAMILIES.includes(family)) {
    yield past;
    return;
  }
  const { branches } = part.target.config;
  for (const history of breakdowns) {
    const named = history.breakdown === 'branch' ? Object.keys(branches) : [];
    for (const key of new Set([...history.keys, ...named].toSorted(compareKeys))) {
      // Most families have nothing of the past. The last metrics show it without a look at all others.
      const [last] = pastOfKey(part, history, key, past.slice(-1));
      if (last !== undefined && family.samples(last.metrics, { infoLabelNames: [] }).length > 0) {
        yield pastOfKey(part, history, key, past);
      }
    }
  }
}

/** Yields the metrics at each instant, with those of one key alone. */
function* pastOfKey(
  part: MonthPart,
  history: BreakdownHistory,
  key: string,
  past: readonly PastMetrics[],
): Generator<PastMetrics> {
  const { breakdown, keys } = history;
  const { branches } = part.target.config;
  const names = breakdown === 'branch' ? [[key, branches[key]?.name ?? key] as const] : [];
  const hasCounts = keys.includes(key);
  const limits = firstValues(part.target.liveStart, part.period, breakdown, key);
  for (const { atMs, metrics } of past) {
    const ofKey = hasCounts ? [keyMetricsAt(history, key, limits, atMs)] : [];
    const breakdowns = { [breakdown]: { keys: ofKey, droppedKeys: undefined, names } };
    yield { atMs, metrics: { ...metrics, breakdowns } };
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
