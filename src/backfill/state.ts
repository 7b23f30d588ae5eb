/** The file in the output folder of a backfill that records finished months, and their summary. */
import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf, UsageError } from '../base/errors.ts';
import { replaceFile } from '../base/files.ts';
import { MINUTE_STREAMS } from '../base/model.ts';
import type { MinuteStream, RawRecord } from '../base/model.ts';
import type { Config, CustomerConfig } from '../config/types.ts';
import type { MinuteHistory } from './read-minutes.ts';
import { counted, createFormatter } from '../base/output.ts';
import type { BackfillFlags, Month } from './targets.ts';

const STATE_FILE = 'backfill.json';
/** Part of the digest: another version of the file does not match. */
const STATE_VERSION = 5;

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
  /** The service's totals of the month. */
  readonly totals: Totals;
}

export type Totals = Readonly<Partial<Record<MinuteStream, Pick<MinuteHistory, 'sums' | 'byDay'>>>>;

export class BackfillState {
  readonly #folder: string;
  #file: StateFile;

  private constructor(folder: string, file: StateFile) {
    this.#folder = folder;
    this.#file = file;
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

  /** The totals of a customer in the months before. */
  totalsBefore(month: string, customer: string): readonly Totals[] {
    return Object.entries(this.#file.months)
      .filter(([name]) => name < month)
      .flatMap(([, { customers }]) => customers[customer]?.totals ?? []);
  }

  /** False for a month that was still running, and was written up to another end. */
  async isFinished({ name, parts }: Month): Promise<boolean> {
    const record = this.#file.months[name];
    const file = await stat(join(this.#folder, `${name}.om`)).catch(() => undefined);
    return (
      record?.bytes === (file?.size ?? 0) &&
      parts.every(
        ({ target, range }) => record.customers[target.config.name]?.endMs === range.endMs,
      )
    );
  }

  async finish(month: string, record: MonthRecord): Promise<void> {
    const { settings, months } = this.#file;
    this.#file = { settings, months: { ...months, [month]: record } };
    await replaceFile(join(this.#folder, STATE_FILE), `${JSON.stringify(this.#file)}\n`, 0o640);
  }

  /** A row for each month and customer, and the command that makes blocks of the files. */
  summary(months: readonly Month[]): string {
    const columns = ['month', 'customer', 'entered', 'exited', 'logins', 'day'];
    const records = months.flatMap(({ name }) => {
      const record = this.#file.months[name];
      return record === undefined ? [] : [{ month: name, ...record }];
    });
    const rows = records.flatMap(({ month, customers }) =>
      Object.entries(customers).map(([name, { totals }]) => [month, name, ...totalsRow(totals)]),
    );
    const samples = records.reduce((sum, record) => sum + record.samples, 0);
    const files = records.filter(({ bytes }) => bytes > 0).length;
    return [
      createFormatter('table', columns)(rows),
      `${samples} samples in ${counted(files, 'file')} in ${this.#folder}\n`,
      files > 0 ? nextCommand(this.#folder) : 'The service has no data of this time.\n',
    ].join('');
  }
}

/** The totals by minute, and whether those by day are the same. */
function totalsRow(totals: Totals): RawRecord {
  const [entered = null, exited = null] = totals.people?.sums ?? [];
  const [logins = null] = totals.logins?.sums ?? [];
  const differences = MINUTE_STREAMS.flatMap((stream) => {
    const { sums = [], byDay = [] } = totals[stream] ?? {};
    return sums.map((sum, i) => (byDay[i] ?? 0) - sum);
  });
  const agrees = differences.every((difference) => difference === 0);
  return [entered, exited, logins, agrees ? 'agrees' : differences.join()];
}

function nextCommand(folder: string): string {
  const quoted = `'${folder.replaceAll("'", String.raw`'\''`)}'`;
  return `Next, make blocks for Prometheus (docs/backfill.md):
  for month in ${quoted}/*.om; do promtool tsdb create-blocks-from --max-block-duration=162h openmetrics "$month" blocks; done
`;
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
    if (codeOf(error) === 'ENOTDIR') {
      throw new UsageError(`--output: expected a folder, ${dirname(path)} is a file`);
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
  const flags = [from.text, to?.text, step, instance, job, label, url?.host, url?.pathname];
  const settings = JSON.stringify([STATE_VERSION, flags, service.baseUrl, described]);
  return createHash('sha256').update(settings).digest('hex');
}
