/** One month of all customers, from the service into its file; what is there already is left alone. */
import type { Logger } from '../../base/log.ts';
import type { Breakdown, MinuteStream } from '../../base/model.ts';
import { COUNTERS } from '../../base/model.ts';
import { DAY_MS } from '../../counting/calendar.ts';
import type { Family } from '../../metrics/family.ts';
import type { Gate } from '../../service/limits.ts';
import type { Manifest, MonthRecord, PartRecord } from './manifest.ts';
import { MonthFile } from './month-file.ts';
import { countedStreams, pastFamilies, samplesOfPart, totalsOf } from './past.ts';
import type { PastOptions } from './past.ts';
import type { Month, Part } from './plan.ts';
import type { Progress } from './progress.ts';
import type { Reader } from './reader.ts';

export interface MonthWriterOptions {
  readonly folder: string;
  /** Those that any customer has. */
  readonly families: ReadonlySet<Breakdown>;
  readonly past: PastOptions;
  readonly reader: Reader;
  readonly progress: Progress;
  /** How many customers are asked for at once. */
  readonly atOnce: number;
  readonly rendering: Gate;
  readonly log: Logger;
  readonly stop: AbortSignal;
}

export interface MonthOutcome {
  /** Undefined where it is not whole: somebody failed, or it was stopped. */
  readonly record: MonthRecord | undefined;
  readonly failures: ReadonlyMap<string, unknown>;
}

export class MonthWriter {
  readonly #options: MonthWriterOptions;
  readonly #families: readonly Family[];

  constructor(options: MonthWriterOptions) {
    this.#options = options;
    this.#families = pastFamilies(options.families);
  }

  async write(month: Month, manifest: Manifest): Promise<MonthOutcome> {
    const { folder, progress, atOnce, log, stop } = this.#options;
    const file = new MonthFile(folder, month.name, this.#families);
    const before = manifest.months[month.name];
    if (before !== undefined && areTold(month, before) && (await file.isWhole(before))) {
      month.parts.forEach((part) => progress.done(month.name, daysOf(part), false));
      return { record: before, failures: new Map() };
    }
    const failures = new Map<string, unknown>();
    const waiting = month.parts.entries();
    const writeInTurn = async (): Promise<void> => {
      for (const [number, part] of waiting) {
        if (stop.aborted) {
          return;
        }
        try {
          const wasRead = await this.#writePart(file, number, part, month, manifest);
          progress.done(month.name, daysOf(part), wasRead);
        } catch (error) {
          failures.set(part.subject.config.name, error);
        }
      }
    };
    await Promise.all(Array.from({ length: atOnce }, writeInTurn));
    if (stop.aborted || failures.size > 0) {
      return { record: undefined, failures };
    }
    const record = await file.finish(month.parts.map(({ subject }) => subject.config.name));
    const samples = Object.values(record.parts).reduce((sum, part) => sum + part.samples, 0);
    log.info('month written', { month: month.name, samples, bytes: record.bytes });
    return { record, failures };
  }

  /** Whether the service was asked. */
  async #writePart(
    file: MonthFile,
    number: number,
    part: Part,
    month: Month,
    manifest: Manifest,
  ): Promise<boolean> {
    const { reader, rendering, past } = this.#options;
    const left = await file.partOf(number);
    if (left !== undefined && isTold(part, left)) {
      return false;
    }
    const history = await reader.read(part);
    const counted = new Set<MinuteStream>([
      ...countedStreams(history),
      ...countedBefore(part, month, manifest),
    ]);
    const free = await rendering.enter();
    try {
      const record = { told: part.told, totals: totalsOf(history) };
      await file.writePart(number, record, samplesOfPart(part, history, counted, past));
    } finally {
      free();
    }
    return true;
  }
}

/** Streams that had counts in a month before this one: from then on they are known. */
function countedBefore(
  { subject }: Part,
  { name }: Month,
  { months }: Manifest,
): readonly MinuteStream[] {
  const earlier = Object.keys(months).filter((other) => other < name);
  const totals = earlier.flatMap(
    (other) => months[other]?.parts[subject.config.name]?.totals ?? [],
  );
  return subject.config.streams.filter((stream) =>
    COUNTERS[stream].some((kind) => totals.some((ofMonth) => (ofMonth[kind]?.byMinute ?? 0) > 0)),
  );
}

/** Whether what was written is the same stretch: a month that was not over then is to be read again. */
function isTold({ told }: Part, record: PartRecord): boolean {
  return record.told.startMs === told.startMs && record.told.endMs === told.endMs;
}

function areTold({ parts }: Month, record: MonthRecord): boolean {
  return (
    parts.length === Object.keys(record.parts).length &&
    parts.every((part) => {
      const known = record.parts[part.subject.config.name];
      return known !== undefined && isTold(part, known);
    })
  );
}

export function daysOf({ told }: Part): number {
  return (told.endMs - told.startMs) / DAY_MS;
}
