/** The output folder of a backfill: its lock, the file that records finished months, and its summary. */
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOf, UsageError } from '../../base/errors.ts';
import { isLocked, LOCK_FILE, lockFolder, replaceFile } from '../../base/files.ts';
import type { FolderLock } from '../../base/files.ts';
import { ALL_COUNTERS } from '../../base/model.ts';
import type { CounterName, RawRecord } from '../../base/model.ts';
import type { Config, CustomerConfig } from '../../config/types.ts';
import { counted, createFormatter } from '../output.ts';
import type { BackfillFlags, Month } from './targets.ts';

const STATE_FILE = 'backfill.json';
/** Part of the digest: another version of the file does not match. */
const STATE_VERSION = 3;

interface State {
  readonly settings: string;
  readonly months: Record<string, MonthRecord>;
}

interface MonthRecord {
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
    const names = await readdir(path).catch((error: unknown): string[] => {
      if (codeOf(error) === 'ENOTDIR') {
        throw new UsageError(`--output: expected a folder, ${path} is a file`);
      }
      if (codeOf(error) === 'ENOENT') {
        return [];
      }
      throw error;
    });
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

  /** A row for each customer and month, and the command that makes blocks of the files. */
  summary(months: readonly Month[], customers: readonly CustomerConfig[]): string {
    const columns = ['customer', 'month', 'entered', 'exited', 'logins', 'day', 'samples'];
    const records = months.flatMap(({ name }) => this.#months[name] ?? []);
    const rows = customers.flatMap(({ name }) =>
      months.flatMap((month): RawRecord[] => {
        const record = this.#months[month.name]?.customers[name];
        if (record === undefined) {
          return [];
        }
        const { totals, samples } = record;
        const byMinute = ALL_COUNTERS.map((counter) => totals[counter]?.byMinute ?? null);
        return [[name, month.name, ...byMinute, dayDifference(totals), samples]];
      }),
    );
    const samples = rows.reduce((sum, row) => sum + Number(row.at(-1)), 0);
    const files = records.filter(({ bytes }) => bytes > 0);
    const megabytes = Math.ceil(files.reduce((sum, { bytes }) => sum + bytes, 0) / 1_000_000);
    return [
      createFormatter('table', columns, true)(rows),
      `${samples} samples in ${counted(files.length, 'file')} in ${this.path}, ${megabytes} MB\n`,
      rows.every((row) => row.includes('agrees')) ? '' : DIFFERENCE_NOTE,
      files.length > 0 ? nextCommand(this.path) : 'The service has no data of this time.\n',
    ].join('');
  }
}

const DIFFERENCE_NOTE =
  'If the column "day" is not "agrees", it has the difference of the service\'s totals by day to those by minute.\n' +
  'The minutes were used. Days may lag, cover other hours, or records came while the service was queried.\n';

/** As in `+12,0,-3`. */
function dayDifference(totals: Totals): string {
  const differences = ALL_COUNTERS.map((name) => {
    const { byMinute = 0, byDay = 0 } = totals[name] ?? {};
    return byDay - byMinute;
  });
  return differences.every((difference) => difference === 0)
    ? 'agrees'
    : differences.map((each) => (each > 0 ? `+${each}` : String(each))).join(',');
}

function nextCommand(folder: string): string {
  const quoted = `'${folder.replaceAll("'", String.raw`'\''`)}'`;
  return (
    'Next, make blocks for Prometheus (docs/backfill.md):\n' +
    `  for month in ${/^[\w./-]+$/.test(folder) ? folder : quoted}/*.om; do promtool tsdb create-blocks-from --max-block-duration=162h openmetrics "$month" blocks; done\n`
  );
}

/** A digest. Secrets and limits on requests are not included: they may change between two runs. */
export function settingsDigest(
  { from, to, step, instance, job, label, 'prometheus.url': url }: BackfillFlags,
  { service }: Config,
  customers: readonly CustomerConfig[],
): string {
  const described = customers.map(({ clientSecret: _secret, ...rest }) => rest);
  const flags = [from, to, step, instance, job, label, url?.host, url?.pathname];
  const settings = JSON.stringify([STATE_VERSION, flags, service.baseUrl, described]);
  return createHash('sha256').update(settings).digest('hex');
}

function parseState(text: string): State | null {
  try {
    return JSON.parse(text) as State | null;
  } catch {
    return null;
  }
}
