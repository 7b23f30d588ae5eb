/** The output folder of a backfill: its lock, and the file that records which months are finished. */
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, UsageError } from '../../base/errors.ts';
import { isLocked, LOCK_FILE, lockFolder, replaceFile } from '../../base/files.ts';
import type { FolderLock } from '../../base/files.ts';
import type { CounterName } from '../../base/model.ts';
import type { Config, CustomerConfig } from '../../config/types.ts';
import type { BackfillFlags } from '../backfill.ts';
import type { Month } from './targets.ts';

const STATE_FILE = 'backfill.json';
/** Part of the digest: another version of the file does not match. */
const STATE_VERSION = 2;

interface State {
  readonly settings: string;
  readonly months: Record<string, MonthRecord>;
}

export interface MonthRecord {
  /** 0 if there was no data: then there is no file. */
  readonly bytes: number;
  readonly customers: Readonly<Record<string, CustomerRecord>>;
}

export interface CustomerRecord {
  readonly endMs: number;
  readonly samples: number;
  readonly totals: Totals;
}

/** The service's totals of a month; none for a stream that is not configured. */
export type Totals = Readonly<
  Partial<Record<CounterName, { readonly byMinute: number; readonly byDay: number }>>
>;

export class OutputFolder {
  readonly path: string;
  readonly #settings: string;
  #months: Record<string, MonthRecord>;
  #lock: FolderLock | undefined;

  private constructor(path: string, settings: string, months: Record<string, MonthRecord>) {
    this.path = path;
    this.#settings = settings;
    this.#months = months;
  }

  /** Changes nothing. Throws a UsageError if the folder is not for a backfill of these settings. */
  static async read(path: string, settings: string): Promise<OutputFolder> {
    const names = await namesIn(path);
    if (!names.includes(STATE_FILE)) {
      if (names.some((name) => name !== LOCK_FILE)) {
        throw new UsageError(`--output: expected an empty folder, or one of a backfill: ${path}`);
      }
      return new OutputFolder(path, settings, {});
    }
    const state = parseState(await readFile(join(path, STATE_FILE), 'utf8'));
    if (state?.settings !== settings) {
      throw new UsageError(
        `--output: ${path} has a backfill with other flags or another configuration; ` +
          'use the same ones to continue it, or another folder',
      );
    }
    return new OutputFolder(path, settings, state.months);
  }

  /** Throws a UsageError if another process has the lock. */
  async lock(): Promise<void> {
    await mkdir(this.path, { recursive: true });
    try {
      this.#lock = lockFolder(this.path);
    } catch (error) {
      throw isLocked(error)
        ? new UsageError(`--output: another backfill is writing to ${this.path}`)
        : error;
    }
  }

  unlock(): void {
    this.#lock?.close();
  }

  record(month: string): MonthRecord | undefined {
    return this.#months[month];
  }

  /** The totals of a customer in the months before. */
  totalsBefore(month: string, customer: string): readonly Totals[] {
    return Object.entries(this.#months)
      .filter(([name]) => name < month)
      .flatMap(([, { customers }]) => customers[customer]?.totals ?? []);
  }

  /** False for a month that was still running, and was written up to another end. */
  async isFinished({ name, parts }: Month): Promise<boolean> {
    const record = this.#months[name];
    const file = await stat(join(this.path, `${name}.om`)).catch(() => undefined);
    return (
      record?.bytes === (file?.size ?? 0) &&
      parts.every(
        ({ target, range }) => record.customers[target.config.name]?.endMs === range.endMs,
      )
    );
  }

  async finish(month: string, record: MonthRecord): Promise<void> {
    this.#months = { ...this.#months, [month]: record };
    const state: State = { settings: this.#settings, months: this.#months };
    await replaceFile(join(this.path, STATE_FILE), `${JSON.stringify(state)}\n`);
  }
}

/** A digest. Secrets and limits on requests are not included: they may change between two runs. */
export function settingsDigest(
  { from, to, step, instance, job, label, 'prometheus.url': url }: BackfillFlags,
  { service }: Config,
  customers: readonly CustomerConfig[],
): string {
  const described = customers.map(({ clientSecret: _secret, ...rest }) => rest);
  const flags = [from.text, to?.text, step, instance, job, label, url?.host, url?.pathname];
  const settings = JSON.stringify([STATE_VERSION, flags, service.baseUrl, described]);
  return createHash('sha256').update(settings).digest('hex');
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    if (codeOf(error) === 'ENOTDIR') {
      throw new UsageError(`--output: expected a folder, ${folder} is a file`);
    }
    if (codeOf(error) === 'ENOENT') {
      return [];
    }
    throw error;
  }
}

function parseState(text: string): State | undefined {
  try {
    return (JSON.parse(text) as State | null) ?? undefined;
  } catch {
    return undefined;
  }
}
