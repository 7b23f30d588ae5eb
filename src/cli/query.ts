/** `query`: reads any part of the service's interface once, as rows on standard output. */
import { Argument, Command, Option } from 'commander';
import { refuseReversed } from '../backfill/targets.ts';
import type { TimeFlag } from '../backfill/targets.ts';
import { systemClock } from '../base/clock.ts';
import { DAY_MS, MINUTE_MS } from '../base/duration.ts';
import { codeOf, messageOf, UsageError } from '../base/errors.ts';
import { AGGREGATIONS } from '../base/model.ts';
import type {
  AggregatedQuery,
  Aggregation,
  Endpoint,
  PageQuery,
  RawRecord,
  ResponseMetadata,
  Window,
} from '../base/model.ts';
import { Secret } from '../base/secret.ts';
import { loadConfig } from '../config/load.ts';
import { accessOf } from '../config/credentials.ts';
import { Zone } from '../counting/calendar/zone.ts';
import { recordFields, rowFields } from '../service/decode.ts';
import { findContradiction, isWider } from '../service/metadata.ts';
import type { ServiceClient } from '../service/types.ts';
import { findCustomer, patientRetries, serviceOf } from './access.ts';
import { configOption, helpNotes, integer, parseTimeFlag, TIME_FORMATS } from './flags.ts';
import { InterruptedError } from './io.ts';
import type { Io } from './io.ts';
import {
  counted,
  createFormatter,
  FORMATS,
  jsonLine,
  printable,
  ProgressLine,
  recordOf,
} from '../base/output.ts';
import type { Format } from '../base/output.ts';

interface QueryFlags {
  readonly 'config.file': string;
  readonly customer: string;
  readonly aggregation?: Aggregation;
  readonly from?: TimeFlag;
  readonly to?: TimeFlag;
  readonly limit: number;
  readonly startToken?: string;
  readonly includePatronFields: boolean;
  readonly format: Format | 'json';
}

/** A page of this many records is a third of the 1 MB above which the service aggregates. */
const DEFAULT_LIMIT = 1_000;
const QUARTER_MS = 15 * MINUTE_MS;

/** Returns the command `query`. */
export function queryCommand(io: Io): Command {
  const endpoints = Object.keys(AGGREGATIONS);
  return new Command('query')
    .summary('read data of a customer from the service, once')
    .description('Reads people counts or logins of a customer from the service and prints them.')
    .addArgument(new Argument(`<${endpoints.join('|')}>`, 'what to read').choices(endpoints))
    .addOption(configOption())
    .requiredOption('--customer <name>', 'customer name; required')
    .addOption(
      new Option(
        '--aggregation <name>',
        'aggregation, for login only day, quarter, minute; raw records without',
      ).choices(AGGREGATIONS.peoplecount),
    )
    .option('--from <time>', `start: ${TIME_FORMATS}`, parseTimeFlag)
    .option('--to <time>', 'end; needs --from', parseTimeFlag)
    .addOption(
      new Option('--limit <number>', 'raw records per page; all pages are read')
        .argParser(integer(1, 1_000_000))
        .default(DEFAULT_LIMIT)
        .conflicts('aggregation'),
    )
    .addOption(
      new Option('--start-token <token>', 'first page; needs the other flags as before').conflicts(
        'aggregation',
      ),
    )
    .option('--include-patron-fields', "print patrons' age, gender and address as well", false)
    .addOption(
      new Option('--format <format>', 'output format; json is a response a line, with its metadata')
        .choices([...FORMATS, 'json'])
        .default('table'),
    )
    .addHelpText(
      'after',
      helpNotes(
        'commands.md',
        'query peoplecount --customer=main --aggregation=day',
        'query login --customer=main --from=-24h --format=csv',
      ),
    )
    .action((endpoint: Endpoint, flags: QueryFlags) => query(endpoint, flags, io));
}

/** Throws a UsageError or ConfigError before the first request, and an Error after it. */
async function query(endpoint: Endpoint, flags: QueryFlags, io: Io): Promise<void> {
  const { aggregation, includePatronFields, limit } = flags;
  const allowed: readonly Aggregation[] = AGGREGATIONS[endpoint];
  if (aggregation !== undefined && !allowed.includes(aggregation)) {
    throw new UsageError(
      `--aggregation: expected one of ${allowed.join(', ')} for ${endpoint}, got "${aggregation}"`,
    );
  }
  if (flags.to !== undefined && flags.from === undefined) {
    throw new UsageError('--to needs --from');
  }
  const { config, warnings } = await loadConfig({ path: flags['config.file'], env: io.env });
  warnings.forEach((warning) => io.writeError(`warning: ${warning}\n`));
  const customer = findCustomer(config, flags.customer);
  const window = resolveWindow(flags, new Zone(customer.timezone));
  for (const [end, time] of Object.entries(window)) {
    if (isInsideBucket(time, aggregation)) {
      io.writeError(`note: --${end} cuts a ${aggregation}: its row has a part of its counts\n`);
    }
  }
  const columns =
    aggregation === undefined ? recordFields(endpoint, includePatronFields) : rowFields(endpoint);
  const format = createResponseFormatter(flags.format, columns);
  const progress = new ProgressLine(io);
  const service = serviceOf(config, io);
  const client = service.clientFor(accessOf(customer), patientRetries(progress));
  const start = flags.startToken === undefined ? {} : { startToken: new Secret(flags.startToken) };
  const pages =
    aggregation === undefined
      ? readPages(client, { endpoint, limit, includePatronFields, ...window, ...start }, io.stop)
      : readAggregated(client, { endpoint, aggregation, ...window }, io.stop);
  let pageCount = 0;
  let rowsWritten = 0;
  let next = flags.startToken;
  const notes = new Set<string>();
  try {
    for await (const response of pages) {
      const { rows } = response;
      progress.clear();
      await io.deliverOut(format(response));
      notesOn(response, window).forEach((note) => notes.add(note));
      pageCount += 1;
      rowsWritten += rows.length;
      next = response.startToken?.reveal();
      progress.show(`${counted(pageCount, 'page')}, ${counted(rowsWritten, 'record')}`);
    }
  } catch (error) {
    if (codeOf(error) === 'EPIPE') {
      return; // Nobody reads the rows any more, as in `query … | head -1`.
    }
    const [Failure, reason] = io.stop.aborted
      ? [InterruptedError, 'stopped']
      : [Error, messageOf(error)];
    const goOn = next === undefined ? '' : `\n${howToGoOn(next, limit, window)}`;
    throw new Failure(`${reason} (rows written: ${rowsWritten})${goOn}`, { cause: error });
  } finally {
    progress.clear();
    notes.forEach((note) => io.writeError(`note: ${note}\n`));
    service.close();
  }
}

/** One response, ready to be printed. */
interface PrintedResponse {
  readonly rows: readonly RawRecord[];
  readonly metadata: ResponseMetadata;
  readonly aggregation?: string;
  readonly startToken?: Secret | undefined;
}

/** Returns a formatter of responses. `json` is an object a line, with the documented fields alone. */
function createResponseFormatter(
  format: QueryFlags['format'],
  columns: readonly string[],
): (response: PrintedResponse) => string {
  if (format !== 'json') {
    const formatter = createFormatter(format, columns);
    return ({ rows }) => formatter(rows);
  }
  return ({ rows, metadata: { from, to, count, limit }, aggregation, startToken }) => {
    const metadata = { from, to, count, aggregation, startToken: startToken?.reveal(), limit };
    return jsonLine({ metadata, result: rows.map((row) => recordOf(columns, row)) });
  };
}

/** Returns what a reader of the rows should know of their response. */
function notesOn({ rows, metadata }: PrintedResponse, window: Window): readonly string[] {
  const contradiction = findContradiction(window, { rows, metadata });
  return [
    ...(contradiction === undefined ? [] : [contradiction]),
    ...(isWider(window, metadata) ? ['the service covered more time than requested'] : []),
  ];
}

/** Returns the flags that read what is left, for a POSIX shell. */
function howToGoOn(startToken: string, limit: number, { from, to }: Window): string {
  const times = Object.entries({ from, to }).filter(([, time]) => time !== undefined);
  const flags = [...times, ['limit', limit]].map(([name, value]) => ` --${name}=${value}`);
  const quoted = `'${printable(startToken).replaceAll("'", String.raw`'\''`)}'`;
  return `To read the rest, give${flags.join('')} --start-token=${quoted}`;
}

function resolveWindow({ from, to }: QueryFlags, zone: Zone): Window {
  const nowMs = systemClock.nowMs();
  const fromMs = from?.toInstantMs(zone, nowMs);
  const toMs = to?.toInstantMs(zone, nowMs);
  if (fromMs !== undefined && toMs !== undefined) {
    refuseReversed(zone, fromMs, toMs);
  }
  return {
    ...(fromMs !== undefined && { from: zone.format(fromMs) }),
    ...(toMs !== undefined && { to: zone.format(toMs) }),
  };
}

/** Returns true if a local time cuts a row of `day` or `quarter`, as the service documents them. */
function isInsideBucket(time: string, aggregation: Aggregation | undefined): boolean {
  const bucketMs = aggregation === 'day' ? DAY_MS : aggregation === 'quarter' ? QUARTER_MS : 1;
  return Date.parse(`${time.slice(0, 19)}Z`) % bucketMs !== 0;
}

const MAX_EMPTY_PAGES = 10;

/** Yields the records of each page; some pages may be empty. Throws an Error if the pages never end. */
async function* readPages(
  client: ServiceClient,
  question: PageQuery,
  signal: AbortSignal,
): AsyncGenerator<PrintedResponse> {
  /** A service that repeats pages may give them new tokens. */
  const firstIds = new Set<RawRecord[number]>();
  let emptyPages = 0;
  let { startToken } = question;
  do {
    const page = await client.page({ ...question, ...(startToken && { startToken }) }, signal);
    if (page.aggregation !== undefined) {
      throw new Error(
        `the service forced the aggregation ${printable(JSON.stringify(page.aggregation))} ` +
          `instead of a page of ${question.limit} records: choose a smaller --limit`,
      );
    }
    const [id] = page.records[0] ?? [];
    if (id === undefined) {
      emptyPages += 1;
    } else if (firstIds.has(id)) {
      throw new Error('the service returned a page twice');
    } else {
      firstIds.add(id);
      emptyPages = 0;
    }
    if (emptyPages > MAX_EMPTY_PAGES) {
      throw new Error(`the service returned ${emptyPages} empty pages in a row`);
    }
    ({ startToken } = page);
    yield { rows: page.records, metadata: page.metadata, startToken };
  } while (startToken !== undefined);
}

/** Yields all rows at once. If the service forces another aggregation, throws an Error after its rows. */
async function* readAggregated(
  client: ServiceClient,
  question: AggregatedQuery,
  signal: AbortSignal,
): AsyncGenerator<PrintedResponse> {
  const { aggregation, rows, metadata = {} } = await client.query(question, signal);
  yield { rows: rows.map(({ key, counts }) => [key, ...counts]), metadata, aggregation };
  if (aggregation !== question.aggregation) {
    throw new Error(
      `expected the aggregation "${question.aggregation}", got ${printable(JSON.stringify(aggregation))}, ` +
        'which the service forces above 1 MB: choose a shorter time or a coarser aggregation',
    );
  }
}
