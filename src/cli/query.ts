/** `query`: reads any part of the service's interface once, as rows on standard output. */
import { Argument, Command, Option } from 'commander';
import { refuseReversed } from '../backfill/targets.ts';
import type { TimeFlag } from '../backfill/targets.ts';
import { systemClock } from '../base/clock.ts';
import { codeOf, messageOf, UsageError } from '../base/errors.ts';
import { AGGREGATIONS } from '../base/model.ts';
import type { Aggregation, Endpoint, Window } from '../base/model.ts';
import * as output from '../base/output.ts';
import type { Format } from '../base/output.ts';
import { loadConfig } from '../config/load.ts';
import { accessOf } from '../config/credentials.ts';
import { Zone } from '../counting/calendar/zone.ts';
import { recordFields, rowFields } from '../service/decode.ts';
import { readAll } from '../service/read-all.ts';
import type { Rows } from '../service/read-all.ts';
import { findCustomer, patientRetries, serviceOf } from './access.ts';
import { configOption, helpNotes, integer, parseTimeFlag, TIME_FORMATS } from './flags.ts';
import { InterruptedError } from './io.ts';
import type { Io } from './io.ts';

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
/** Returns the command `query`. */
export function queryCommand(io: Io): Command {
  const endpoints = Object.keys(AGGREGATIONS);
  const aggregations = 'aggregation, for login only day, quarter, minute; raw records without';
  const formats = 'output format; json is a response a line, with its metadata';
  return new Command('query')
    .summary('read data of a customer from the service, once')
    .description('Reads people counts or logins of a customer from the service and prints them.')
    .addArgument(new Argument(`<${endpoints.join('|')}>`, 'what to read').choices(endpoints))
    .addOption(configOption())
    .requiredOption('--customer <name>', 'customer name; required')
    .addOption(new Option('--aggregation <name>', aggregations).choices(AGGREGATIONS.peoplecount))
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
      new Option('--format <format>', formats)
        .choices([...output.FORMATS, 'json'])
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
  const allowed: readonly Aggregation[] = AGGREGATIONS[endpoint];
  if (flags.aggregation !== undefined && !allowed.includes(flags.aggregation)) {
    throw new UsageError(
      `--aggregation: expected one of ${allowed.join(', ')} for ${endpoint}, got "${flags.aggregation}"`,
    );
  }
  const { config, warnings } = await loadConfig({ path: flags['config.file'], env: io.env });
  warnings.forEach((warning) => io.writeError(`warning: ${warning}\n`));
  const customer = findCustomer(config, flags.customer);
  const window = windowOf(flags, new Zone(customer.timezone));
  const format = formatterOf(endpoint, flags);
  const service = serviceOf(config, io);
  const client = service.clientFor(accessOf(customer), patientRetries(new output.ProgressLine(io)));
  let rowsWritten = 0;
  let next = flags.startToken;
  try {
    for await (const response of readAll(client, { endpoint, ...flags }, window, io.stop)) {
      await io.deliverOut(format(response));
      rowsWritten += response.rows.length;
      next = response.startToken?.reveal();
    }
  } catch (error) {
    if (codeOf(error) === 'EPIPE') {
      return; // As in `query … | head -1`.
    }
    const { aborted } = io.stop;
    const [Failure, reason] = aborted ? [InterruptedError, 'stopped'] : [Error, messageOf(error)];
    const goOn = next === undefined ? '' : howToGoOn(next, flags.limit, window);
    throw new Failure(`${reason} (rows written: ${rowsWritten})${goOn}`, { cause: error });
  } finally {
    service.close();
  }
}

/** `json` is an object a response, on a line, with the documented fields alone. */
function formatterOf(
  endpoint: Endpoint,
  { aggregation, includePatronFields, format }: QueryFlags,
): (response: Rows) => string {
  const columns =
    aggregation === undefined ? recordFields(endpoint, includePatronFields) : rowFields(endpoint);
  if (format !== 'json') {
    const formatter = output.createFormatter(format, columns);
    return ({ rows }) => formatter(rows);
  }
  return ({ rows, metadata: { from, to, count, limit }, startToken: token, ...answer }) => {
    const metadata = { from, to, count, ...answer, startToken: token?.reveal(), limit };
    return output.jsonLine({ metadata, result: rows.map((row) => output.recordOf(columns, row)) });
  };
}

/** Returns the flags that read what is left, for a POSIX shell. */
function howToGoOn(startToken: string, limit: number, { from, to }: Window): string {
  const flags = Object.entries({ from, to, limit }).flatMap(([name, value]) =>
    value === undefined ? [] : ` --${name}=${value}`,
  );
  const quoted = `'${output.printable(startToken).replaceAll("'", String.raw`'\''`)}'`;
  return `\nTo read the rest, give${flags.join('')} --start-token=${quoted}`;
}

function windowOf({ from, to }: QueryFlags, zone: Zone): Window {
  const [fromMs, toMs] = [from, to].map((time) => time?.toInstantMs(zone, systemClock.nowMs()));
  if (toMs === undefined) {
    return fromMs === undefined ? {} : { from: zone.format(fromMs) };
  }
  if (fromMs === undefined) {
    throw new UsageError('--to needs --from');
  }
  refuseReversed(zone, fromMs, toMs);
  return { from: zone.format(fromMs), to: zone.format(toMs) };
}
