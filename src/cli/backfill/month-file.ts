/**
 * The file of one month. Each customer is written to a file of its own first, family after family;
 * once all of them are there they are put together family by family, as OpenMetrics wants it, under
 * the final name. What is unfinished lies in a folder that says so, and never is in memory whole.
 */
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { replaceFile } from '../../base/files.ts';
import type { Family } from '../../metrics/family.ts';
import { END_OF, writeHead } from '../../metrics/format.ts';
import type { PastSamples } from '../../metrics/history-text.ts';
import type { MonthRecord, PartRecord } from './manifest.ts';

/** A customer's part of a month, and where in its file each family ends. */
interface WrittenPart extends PartRecord {
  readonly ends: readonly number[];
}

export class MonthFile {
  readonly #path: string;
  readonly #parts: string;
  readonly #families: readonly Family[];

  constructor(folder: string, month: string, families: readonly Family[]) {
    this.#path = join(folder, `${month}.om`);
    this.#parts = join(folder, `${month}.unfinished`);
    this.#families = families;
  }

  /** Whether the whole file is there as it was written. */
  async isWhole({ bytes }: MonthRecord): Promise<boolean> {
    const found = await stat(this.#path).catch(() => undefined);
    return found?.size === bytes;
  }

  /** What was written of a customer before the run was stopped. */
  async partOf(number: number): Promise<PartRecord | undefined> {
    const part = await this.#readPart(number);
    if (part === undefined) {
      return undefined;
    }
    return part.ends.length === this.#families.length ? recordOf(part) : undefined;
  }

  /** Writes a customer's part: of each family its samples, piece by piece. */
  async writePart(
    number: number,
    record: Omit<PartRecord, 'samples'>,
    samplesOf: (family: Family) => Iterable<PastSamples>,
  ): Promise<PartRecord> {
    await mkdir(this.#parts, { recursive: true });
    const file = await open(this.#partPath(number), 'w', 0o644);
    const ends: number[] = [];
    let bytes = 0;
    let samples = 0;
    try {
      for (const family of this.#families) {
        for (const piece of samplesOf(family)) {
          // Goes on after a short write, as on a disk that is nearly full, until it is whole or fails.
          await file.appendFile(piece.text);
          bytes += Buffer.byteLength(piece.text);
          samples += piece.samples;
        }
        ends.push(bytes);
      }
      // The index, which says that the part is whole, must not outlive it in a power cut.
      await file.sync();
    } finally {
      await file.close();
    }
    const part: WrittenPart = { ...record, samples, ends };
    await replaceFile(this.#indexPath(number), JSON.stringify(part));
    return { ...record, samples };
  }

  /** Puts the parts of all customers together. They are gone then. */
  async finish(customers: readonly string[]): Promise<MonthRecord> {
    const parts = new Map<string, WrittenPart>();
    for (const [number, customer] of customers.entries()) {
      const part = await this.#readPart(number);
      if (part === undefined) {
        throw new Error(`${this.#indexPath(number)} is gone: run backfill again`);
      }
      parts.set(customer, part);
    }
    const unfinished = join(this.#parts, 'whole');
    await pipeline(
      this.#pieces([...parts.values()]),
      createWriteStream(unfinished, { flush: true }),
    );
    const { size } = await stat(unfinished);
    await rename(unfinished, this.#path);
    await rm(this.#parts, { recursive: true });
    const records = [...parts].map(([customer, part]) => [customer, recordOf(part)] as const);
    return { bytes: size, parts: Object.fromEntries(records) };
  }

  async *#pieces(parts: readonly WrittenPart[]): AsyncGenerator<Buffer | string> {
    for (const [i, family] of this.#families.entries()) {
      let hasHead = false;
      for (const [number, { ends }] of parts.entries()) {
        const start = ends[i - 1] ?? 0;
        const end = ends[i] ?? 0;
        if (end > start) {
          if (!hasHead) {
            yield writeHead('openmetrics', family);
            hasHead = true;
          }
          yield* createReadStream(this.#partPath(number), {
            start,
            end: end - 1,
          }) as AsyncIterable<Buffer>;
        }
      }
    }
    yield END_OF.openmetrics;
  }

  async #readPart(number: number): Promise<WrittenPart | undefined> {
    try {
      return JSON.parse(await readFile(this.#indexPath(number), 'utf8')) as WrittenPart;
    } catch {
      return undefined;
    }
  }

  #partPath(number: number): string {
    return join(this.#parts, `${number}.om`);
  }

  #indexPath(number: number): string {
    return join(this.#parts, `${number}.json`);
  }
}

function recordOf({ ends: _ends, ...record }: WrittenPart): PartRecord {
  return record;
}
