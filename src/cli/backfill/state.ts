/** The file in the output folder of a backfill that records finished months. */
import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, UsageError } from '../../base/errors.ts';
import { replaceFile } from '../../base/files.ts';
import type { MinuteStream } from '../../base/model.ts';
import type { Config, CustomerConfig } from '../../config/types.ts';
import type { BackfillFlags, Month } from './targets.ts';

const STATE_FILE = 'backfill.json';
/** Part of the digest: another version of the file does not match. */
const STATE_VERSION = 4;

interface StateFile {
  readonly settings: string;
  readonly months: Readonly<Record<string, MonthRecord>>;
}

export interface MonthRecord {
  /** 0 if there was no data: then there is no file. */
  readonly bytes: number;
  readonly samples: number;
  readonly customers: Readonly<Record<string, CustomerRecord>>;
}

export interface CustomerRecord {
  readonly endMs: number;
  /** The streams with counts in this month or before. */
  readonly streams: readonly MinuteStream[];
}

export class BackfillState {
  readonly #folder: string;
  readonly #settings: string;
  #months: StateFile['months'];

  private constructor(folder: string, { settings, months }: StateFile) {
    this.#folder = folder;
    this.#settings = settings;
    this.#months = months;
  }

  /** Throws a UsageError if the folder has a backfill with other settings. */
  static async read(
    flags: BackfillFlags,
    config: Config,
    customers: readonly CustomerConfig[],
  ): Promise<BackfillState> {
    const settings = settingsDigest(flags, config, customers);
    const found = await readStateFile(join(flags.output, STATE_FILE));
    if (found !== undefined && found?.settings !== settings) {
      throw new UsageError(
        `--output: ${flags.output} has a backfill with other flags or another configuration; ` +
          'use the same ones to continue it, or another folder',
      );
    }
    return new BackfillState(flags.output, found ?? { settings, months: {} });
  }

  /** The streams of a customer with counts before a month. */
  streamsBefore(month: string, customer: string): readonly MinuteStream[] {
    return Object.entries(this.#months)
      .filter(([name]) => name < month)
      .flatMap(([, { customers }]) => customers[customer]?.streams ?? []);
  }

  /** False for a month that was still running, and was written up to another end. */
  async isFinished({ name, parts }: Month): Promise<boolean> {
    const record = this.#months[name];
    const file = await stat(join(this.#folder, `${name}.om`)).catch(() => undefined);
    return (
      record?.bytes === (file?.size ?? 0) &&
      parts.every(
        ({ target, range }) => record.customers[target.config.name]?.endMs === range.endMs,
      )
    );
  }

  async finish(month: string, record: MonthRecord): Promise<void> {
    this.#months = { ...this.#months, [month]: record };
    const state: StateFile = { settings: this.#settings, months: this.#months };
    await replaceFile(join(this.#folder, STATE_FILE), `${JSON.stringify(state)}\n`);
  }

  /** What the files of these months have. */
  summary(months: readonly Month[]): { readonly samples: number; readonly files: number } {
    const records = months.flatMap(({ name }) => this.#months[name] ?? []);
    return {
      samples: records.reduce((sum, { samples }) => sum + samples, 0),
      files: records.filter(({ bytes }) => bytes > 0).length,
    };
  }
}

/** Undefined without a file, null if it cannot be parsed. */
async function readStateFile(path: string): Promise<StateFile | null | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as StateFile | null;
  } catch (error) {
    if (error instanceof SyntaxError) {
      return null;
    }
    if (codeOf(error) === 'ENOENT') {
      return undefined;
    }
    throw error;
  }
}

/** Secrets and limits on requests are not included: they may change between two runs. */
function settingsDigest(
  { from, to, step, instance, job, label, 'prometheus.url': url }: BackfillFlags,
  { service }: Config,
  customers: readonly CustomerConfig[],
): string {
  const described = customers.map(({ clientSecret: _secret, ...rest }) => rest);
  const flags = [from, to, step, instance, job, label, url?.host, url?.pathname];
  const settings = JSON.stringify([STATE_VERSION, flags, service.baseUrl, described]);
  return createHash('sha256').update(settings).digest('hex');
}
