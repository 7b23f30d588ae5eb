/** `query`: reads any part of the service's interface once, as rows on standard output. */
import { Argument, Command, Option } from 'commander';
import { systemClock } from '../base/clock.ts';
import { formatDuration } from '../base/duration.ts';
import { codeOf, messageOf, ServiceError, UsageError } from '../base/errors.ts';
import { AGGREGATIONS } from '../base/model.ts';
import type {
  AggregatedQuestion,
  Aggregation,
  Endpoint,
  PageQuestion,
  RawRecord,
  Window,
} from '../base/model.ts';
import { loadConfig } from '../config/load.ts';
import { accessOf } from '../config/secret-file.ts';
import type { Config, CustomerConfig } from '../config/types.ts';
import { Zone } from '../counting/zone.ts';
import { recordFields, rowFields } from '../service/decode.ts';
import type { RetryPolicy } from '../service/retry.ts';
import type { ServiceClient } from '../service/types.ts';
import { noSuchCustomer, serviceOf } from './access.ts';
import { configOption, helpNotes, integer } from './flags.ts';
import { InterruptedError } from './io.ts';
import type { Io } from './io.ts';
import { counted, createFormatter, FORMATS, printable, ProgressLine } from './output.ts';
import type { Format, Formatter } from './output.ts';
import { PagingError, readPages } from './query-pages.ts';
import { formatTime, parseTimeFlag, refuseReversed } from './time-flag.ts';
import type { TimeFlag } from './time-flag.ts';

interface QueryFlags {
  readonly 'config.file': string;
  readonly customer?: string;
  readonly aggregation?: Aggregation;
  readonly from?: TimeFlag;
  readonly to?: TimeFlag;
  readonly limit?: number;
  readonly maxRecords?: number;
  readonly includePatronFields: boolean;
  readonly format: Format;
}

/** A page of this many records is a third of the 1 MB above which the service aggregates. */
const DEFAULT_LIMIT = 1_000;
const MAX_LIMIT = 1_000_000;

const NOTES = `Without --aggregation, all raw records are read, page by page.

Times are ISO 8601 (2026-11-01T04:00:00+01:00), in the customer's time zone if
they have no offset; dates (2026-11-01), which mean midnight; or durations
before now (-24h).`;

export function queryCommand(io: Io): Command {
  return new Command('query')
    .summary('read data of a customer from the service, once')
    .description('Reads people counts or logins of a customer from the service and prints them.')
    .addArgument(
      new Argument(`<${Object.keys(AGGREGATIONS).join('|')}>`, 'what to read').choices(
        Object.keys(AGGREGATIONS),
      ),
    )
    .addOption(configOption())
    .option('--customer <name>', 'customer; required if the configuration has several')
    .addOption(
      new Option(
        '--aggregation <name>',
        'aggregation; for login only day, quarter, minute',
      ).choices(AGGREGATIONS.peoplecount),
    )
    .option('--from <time>', 'start', parseTimeFlag)
    .option('--to <time>', 'end; needs --from', parseTimeFlag)
    .option(
      '--limit <number>',
      `raw records per page (default: ${DEFAULT_LIMIT})`,
      integer(1, MAX_LIMIT),
    )
    .option(
      '--max-records <number>',
      'stop after this many raw records',
      integer(1, Number.MAX_SAFE_INTEGER),
    )
    .option('--include-patron-fields', "print patrons' age, gender and address as well", false)
    .addOption(new Option('--format <format>', 'output format').choices(FORMATS).default('table'))
    .addHelpText(
      'after',
      helpNotes(
        'commands.md',
        [
          'query peoplecount --aggregation=day --from=2026-11-01',
          'query login --from=-24h --format=csv > logins.csv',
        ],
        NOTES,
      ),
    )
    .action((endpoint: Endpoint, flags: QueryFlags) => query(endpoint, flags, io));
}

/** Throws a UsageError or ConfigError before the first request, and an Error after it. */
async function query(endpoint: Endpoint, flags: QueryFlags, io: Io): Promise<void> {
  checkFlags(endpoint, flags);
  const { config, warnings } = await loadConfig({ path: flags['config.file'], env: io.env });
  warnings.forEach((warning) => io.writeError(`warning: ${warning}\n`));
  const customer = selectCustomer(config, flags.customer, io);
  const zone = new Zone(customer.timezone);
  const window = resolveWindow(flags, zone);
  noteCutBuckets(flags.aggregation, window, io);
  const { aggregation, includePatronFields } = flags;
  const columns =
    aggregation === undefined ? recordFields(endpoint, includePatronFields) : rowFields(endpoint);
  const output = new RowOutput(io, createFormatter(flags.format, columns, io.outIsTerminal));
  const service = serviceOf(config, io);
  const client = service.clientFor(accessOf(customer), retryPolicy(output));
  try {
    if (aggregation === undefined) {
      const { maxRecords = Infinity, limit = Math.min(DEFAULT_LIMIT, maxRecords) } = flags;
      const question = { endpoint, limit, includePatronFields, ...window };
      await printRaw(client, question, maxRecords, output, io.stop);
    } else {
      await printAggregated(client, { endpoint, aggregation, ...window }, output, io.stop);
    }
  } catch (error) {
    const written = `${counted(output.rows, 'row')} written`;
    if (error instanceof ReaderGoneError) {
      return;
    }
    if (io.stop.aborted) {
      output.endProgress();
      throw new InterruptedError(`stopped, ${written}`, { cause: error });
    }
    const reason = error instanceof ServiceError ? `${error.reason}: ` : '';
    throw new Error(`${customer.name}: ${endpoint}: ${reason}${messageOf(error)} (${written})`, {
      cause: error,
    });
  } finally {
    output.endProgress();
    service.close();
  }
}

/** A user can wait longer than a poll, and is told so. */
function retryPolicy(output: RowOutput): RetryPolicy {
  return {
    maxAttempts: 6,
    maxWaitMs: 3_600_000,
    onWait(error, waitMs) {
      const wait = formatDuration(Math.ceil(waitMs / 1_000) * 1_000);
      output.notify(`${error.message}: retrying in ${wait}`);
    },
  };
}

async function printRaw(
  client: ServiceClient,
  question: PageQuestion,
  maxRecords: number,
  output: RowOutput,
  signal: AbortSignal,
): Promise<void> {
  for await (const records of readPages(
    client,
    question,
    (sentence) => output.notify(sentence),
    signal,
  )) {
    await output.write(records.slice(0, maxRecords - output.rows));
    if (output.rows >= maxRecords) {
      return;
    }
  }
}

async function printAggregated(
  client: ServiceClient,
  question: AggregatedQuestion,
  output: RowOutput,
  signal: AbortSignal,
): Promise<void> {
  const { aggregation, rows } = await client.query(question, signal);
  await output.write(rows.map(({ key, counts }) => [key, ...counts]));
  if (aggregation !== question.aggregation) {
    throw new PagingError(
      `expected the aggregation "${question.aggregation}", got ${printable(JSON.stringify(aggregation))}, ` +
        'which the service forces above 1 MB: choose a shorter time or a coarser aggregation',
    );
  }
}

function checkFlags(endpoint: Endpoint, flags: QueryFlags): void {
  const { aggregation } = flags;
  const known: readonly Aggregation[] = AGGREGATIONS[endpoint];
  if (aggregation !== undefined && !known.includes(aggregation)) {
    throw new UsageError(
      `--aggregation: expected one of ${known.join(', ')} for ${endpoint}, got "${aggregation}"`,
    );
  }
  if (aggregation !== undefined && (flags.limit ?? flags.maxRecords) !== undefined) {
    throw new UsageError('--limit and --max-records cannot be combined with --aggregation');
  }
  if (flags.to !== undefined && flags.from === undefined) {
    throw new UsageError('--to needs --from');
  }
}

function selectCustomer(config: Config, name: string | undefined, io: Io): CustomerConfig {
  const [first, ...others] = config.customers;
  if (name === undefined && first !== undefined && others.length === 0) {
    io.writeError(`customer: ${first.name}\n`);
    return first;
  }
  const found = config.customers.find((customer) => customer.name === name);
  if (found === undefined) {
    throw noSuchCustomer(config, name);
  }
  return found;
}

function resolveWindow({ from, to }: QueryFlags, zone: Zone): Window {
  const nowMs = systemClock.nowMs();
  const fromMs = from?.(zone, nowMs);
  const toMs = to?.(zone, nowMs);
  if (fromMs !== undefined && toMs !== undefined) {
    refuseReversed(zone, fromMs, toMs);
  }
  return {
    ...(fromMs === undefined ? {} : { from: formatTime(zone, fromMs) }),
    ...(toMs === undefined ? {} : { to: formatTime(zone, toMs) }),
  };
}

/** The local time at which a bucket starts, after the date. */
const BUCKET_STARTS: Readonly<Partial<Record<Aggregation, RegExp>>> = {
  day: /T00:00:00(?!\.)/,
  quarter: /T\d\d:(00|15|30|45):00(?!\.)/,
  minute: /T\d\d:\d\d:00(?!\.)/,
};

/** A row for a part of a day looks like a row for a whole one. */
function noteCutBuckets(aggregation: Aggregation | undefined, window: Window, io: Io): void {
  const start = aggregation && BUCKET_STARTS[aggregation];
  for (const [flag, row] of [
    ['from', 'first'],
    ['to', 'last'],
  ] as const) {
    const time = window[flag];
    if (start !== undefined && time !== undefined && !start.test(time)) {
      io.writeError(
        `note: the ${row} row may be only a part of a ${aggregation}: --${flag} is ${time}\n`,
      );
    }
  }
}

/** An error to be thrown when nobody reads the rows any more, as in `query … | head -1`. */
class ReaderGoneError extends Error {
  override readonly name = 'ReaderGoneError';
}

/** Rows go to standard output as fast as its reader takes them, everything else to standard error. */
class RowOutput {
  readonly #io: Io;
  readonly #format: Formatter;
  readonly #progress: ProgressLine;
  readonly #startMs = systemClock.monotonicMs();
  #pages = 0;
  #rows = 0;
  #bytes = 0;

  constructor(io: Io, format: Formatter) {
    this.#io = io;
    this.#format = format;
    this.#progress = new ProgressLine(io);
  }

  get rows(): number {
    return this.#rows;
  }

  /** Resolves when there is room for more. Throws a ReaderGoneError. */
  async write(rows: readonly RawRecord[]): Promise<void> {
    const text = this.#format(rows);
    this.#progress.clear();
    try {
      await this.#io.deliverOut(text);
    } catch (error) {
      const code = codeOf(error) ?? 'unknown';
      throw code === 'EPIPE'
        ? new ReaderGoneError('standard output is closed', { cause: error })
        : new Error(`cannot write to standard output (${code})`, { cause: error });
    }
    this.#pages += 1;
    this.#rows += rows.length;
    this.#bytes += Buffer.byteLength(text);
    const seconds = Math.max(0.001, (systemClock.monotonicMs() - this.#startMs) / 1_000);
    this.#progress.show(
      `${counted(this.#pages, 'page')}, ${counted(this.#rows, 'row')}, ` +
        `${(this.#bytes / 1_000_000).toFixed(1)} MB, ${Math.round(this.#rows / seconds)} rows/s`,
    );
  }

  notify(sentence: string): void {
    this.#progress.clear();
    this.#io.writeError(`${sentence}\n`);
  }

  endProgress(): void {
    this.#progress.end();
  }
}
