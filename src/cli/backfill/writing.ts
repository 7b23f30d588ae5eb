/**
 * Writes one month as OpenMetrics. Samples of a family must be together, and customers are read one
 * after the other: each family has a temporary file, and the month's file is made of these at its end.
 */
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ALL_COUNTERS } from '../../base/model.ts';
import type { Breakdown, CounterName, MinuteStream } from '../../base/model.ts';
import { keyMetricsAt } from '../../counting/breakdown-history.ts';
import type { BreakdownHistory } from '../../counting/breakdown-history.ts';
import { compareKeys } from '../../counting/breakdown.ts';
import { contains } from '../../counting/calendar.ts';
import { replayPeriod } from '../../counting/history.ts';
import type { PastMetrics } from '../../counting/history.ts';
import { breakdownFamilies } from '../../metrics/breakdown-families.ts';
import { BACKFILL_FAMILIES } from '../../metrics/families.ts';
import type { Family, FamilyContext, LabelPair } from '../../metrics/family.ts';
import { END_OF, writeHead, writeLabel, writePastSample } from '../../metrics/format.ts';
import { counterId } from './live-start.ts';
import type { PartHistory } from './months.ts';
import { sampleTimes } from './targets.ts';
import type { MonthPart } from './targets.ts';

export interface WriteOptions extends FamilyContext {
  readonly folder: string;
  readonly breakdowns: ReadonlySet<Breakdown>;
  readonly stepMs: number;
  readonly scrapeLabels: readonly LabelPair[];
}

/** Text is written in chunks of so many samples, some hundred kilobytes. */
const MAX_CHUNK_SAMPLES = 4_000;

export class MonthFile {
  samples = 0;
  readonly #options: WriteOptions;
  readonly #path: string;
  readonly #temporaryFolder: string;
  readonly #families: readonly Family[];
  readonly #files = new Map<Family, FileHandle>();

  constructor(month: string, options: WriteOptions) {
    this.#options = options;
    this.#path = join(options.folder, `${month}.om`);
    this.#temporaryFolder = join(options.folder, `${month}.unfinished`);
    this.#families = [...BACKFILL_FAMILIES, ...breakdownFamilies(options.breakdowns)];
  }

  /** Discards what an interrupted run has left. */
  async open(): Promise<void> {
    await this.close();
    await mkdir(this.#temporaryFolder, { recursive: true });
  }

  /** Adds a customer. `streams` are those with data so far: the others are unknown, not 0. */
  async add(
    part: MonthPart,
    history: PartHistory,
    streams: ReadonlySet<MinuteStream>,
  ): Promise<number> {
    const before = this.samples;
    const past = streams.size === 0 ? [] : replay(part, history, streams, this.#options.stepMs);
    for (const family of this.#families) {
      for (const series of seriesOf(
        family,
        part,
        streams.has('people') ? history.breakdowns : [],
        past,
      )) {
        await this.#write(family, series);
      }
    }
    return this.samples - before;
  }

  /** Puts the families together. The size in bytes; 0 and no file if there is no sample. */
  async finish(): Promise<number> {
    let bytes = 0;
    if (this.samples > 0) {
      const whole = join(this.#temporaryFolder, 'whole');
      const output = createWriteStream(whole, { flush: true });
      await pipeline(this.#content(), output);
      await rename(whole, this.#path);
      bytes = output.bytesWritten;
    } else {
      await rm(this.#path, { force: true });
    }
    await this.close();
    return bytes;
  }

  /** Deletes the temporary files. */
  async close(): Promise<void> {
    await Promise.all(Array.from(this.#files.values(), (file) => file.close()));
    this.#files.clear();
    await rm(this.#temporaryFolder, { recursive: true, force: true });
  }

  async #write(family: Family, series: Iterable<PastMetrics>): Promise<void> {
    for (const { text, samples } of renderSeries(family, series, this.#options)) {
      const file = this.#files.get(family) ?? (await this.#openFamily(family));
      // Unlike write(), it goes on after a short write.
      await file.appendFile(text);
      this.samples += samples;
    }
  }

  async #openFamily(family: Family): Promise<FileHandle> {
    const file = await open(this.#familyPath(family), 'a', 0o644);
    this.#files.set(family, file);
    await file.appendFile(writeHead('openmetrics', family));
    return file;
  }

  async *#content(): AsyncGenerator<Buffer | string> {
    for (const family of this.#families.filter((each) => this.#files.has(each))) {
      yield* createReadStream(this.#familyPath(family)) as AsyncIterable<Buffer>;
    }
    yield END_OF.openmetrics;
  }

  #familyPath(family: Family): string {
    return join(this.#temporaryFolder, family.name);
  }
}

function replay(
  { target, period, range }: MonthPart,
  history: PartHistory,
  streams: ReadonlySet<MinuteStream>,
  stepMs: number,
): readonly PastMetrics[] {
  const { config, calendar, description } = target;
  const counted = Object.entries(history.streams).filter(([stream]) =>
    streams.has(stream as MinuteStream),
  );
  return [
    ...replayPeriod(
      {
        customer: config.name,
        timezone: config.timezone,
        description,
        calendar,
        period,
        streams: Object.fromEntries(counted),
        daysBefore: history.daysBefore,
        maxValues: maxValues({ target, period, range }, (name) => counterId(name)),
      },
      sampleTimes(range, stepMs),
    ),
  ];
}

/** The metrics of a family in groups: each has the samples of one series. */
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

/** The same instants, with the metrics of one key alone. */
function* pastOfKey(
  part: MonthPart,
  history: BreakdownHistory,
  key: string,
  past: readonly PastMetrics[],
): Generator<PastMetrics> {
  const { breakdown, keys } = history;
  const { branches } = part.target.config;
  const name = Object.hasOwn(branches, key) ? (branches[key] ?? key) : key;
  const names = breakdown === 'branch' ? [[key, name] as const] : [];
  const hasCounts = keys.includes(key);
  const limits = maxValues(part, (counter) => counterId(counter, breakdown, key));
  for (const { atMs, metrics } of past) {
    const ofKey = hasCounts ? [keyMetricsAt(history, key, limits, atMs)] : [];
    const breakdowns = { [breakdown]: { keys: ofKey, droppedKeys: undefined, names } };
    yield { atMs, metrics: { ...metrics, breakdowns } };
  }
}

/** The first live values, if they are of this period. */
function maxValues(
  { target, period }: MonthPart,
  idOf: (name: CounterName) => string,
): Readonly<Partial<Record<CounterName, number>>> {
  const first = ALL_COUNTERS.flatMap((name) => {
    const sample = target.liveStart?.counters.get(idOf(name));
    return sample !== undefined && contains(period, sample.atMs) ? [[name, sample.value]] : [];
  });
  return Object.fromEntries(first);
}

function* renderSeries(
  family: Family,
  past: Iterable<PastMetrics>,
  { scrapeLabels, ...context }: WriteOptions,
): Generator<{ readonly text: string; readonly samples: number }> {
  const added = scrapeLabels.map(writeLabel);
  let text = '';
  let samples = 0;
  for (const { atMs, metrics } of past) {
    for (const { labels, value } of family.samples(metrics, context)) {
      const own = [writeLabel(['customer', metrics.customer]), ...labels.map(writeLabel)];
      text += writePastSample(family.name, [...own, ...added].join(','), value, atMs);
      samples += 1;
    }
    if (samples >= MAX_CHUNK_SAMPLES) {
      yield { text, samples };
      text = '';
      samples = 0;
    }
  }
  if (samples > 0) {
    yield { text, samples };
  }
}
