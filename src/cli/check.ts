/** `check`: reports every problem of a configuration, and with `--connect` what the service returns. */
import { readFile } from 'node:fs/promises';
import { Command, Option } from 'commander';
import { ConfigError, messageOf } from '../base/errors.ts';
import type { CounterName, MinuteStream, RequestTimes } from '../base/model.ts';
import { loadConfig } from '../config/load.ts';
import { requestsPerSecond } from '../config/request-limit.ts';
import type { EstimateMetrics } from '../counting/customer-metrics.ts';
import type { RequestTimesComparison } from '../counting/check/request-times.ts';
import { readCustomers } from './connect.ts';
import type { CustomerReport } from './connect.ts';
import { configOption, helpNotes, repeatable, webConfigOption } from './flags.ts';
import { VERSION } from './io.ts';
import type { Io } from './io.ts';
import { ABSENT, counted, createFormatter } from '../base/output.ts';

interface CheckFlags {
  readonly 'config.file': string;
  readonly 'web.config.file'?: string;
  readonly rules?: readonly string[];
  readonly connect: boolean;
}

/** Returns the command `check`. */
export function checkCommand(io: Io): Command {
  return new Command('check')
    .summary('check a configuration, and the service')
    .description('Reports every problem of a configuration, with its place and what is expected.')
    .addOption(configOption())
    .addOption(webConfigOption())
    .addOption(rulesOption())
    .option('--connect', 'also read every customer from the service, and print the result', false)
    .addHelpText(
      'after',
      helpNotes('commands.md', 'check --config.file=config.yaml', 'check --connect'),
    )
    .action((flags: CheckFlags) => check(flags, io));
}

/** Throws an Error if the service does not return everything that the exporter needs. */
async function check(flags: CheckFlags, io: Io): Promise<void> {
  const { 'config.file': path, 'web.config.file': webPath } = flags;
  const loaded = await loadConfig({ path, webPath, env: io.env }).catch((error: unknown) => {
    if (error instanceof ConfigError) {
      io.writeOut(`${error.message.trimEnd()}\n`);
      throw new ConfigError('the configuration has problems');
    }
    throw error;
  });
  const { config, web } = loaded;
  const customers = counted(config.customers.length, 'customer');
  for (const warning of [...loaded.warnings, ...(web?.warnings ?? [])]) {
    io.writeOut(`warning: ${warning}\n`);
  }
  const perMinute = Number(
    (60 * requestsPerSecond(config.polling, config.customers)).toPrecision(3),
  );
  io.writeOut(`${path}: good, ${customers}, ${perMinute} requests a minute\n`);
  if (web !== undefined) {
    io.writeOut(`${webPath}: good\n`);
  }
  for (const file of flags.rules ?? []) {
    io.writeOut(`${await describeRules(file)}\n`);
  }
  if (flags.connect) {
    const reports = await readCustomers(config, io);
    for (const { title, columns } of TABLES) {
      const format = createFormatter('table', ['CUSTOMER', ...columns.map(([name]) => name)]);
      const rows = reports.map((report) => [
        report.metrics.customer,
        ...columns.map(([, cell]) => cell(report)),
      ]);
      io.writeOut(`\n${title}\n${format(rows)}`);
    }
    writeBranches(reports, io);
    const findings = reports.flatMap(({ metrics, findings: texts }) =>
      texts.map((text) => `${metrics.customer}: ${text}\n`),
    );
    const compared = reports.flatMap(({ requestTimes, streams }) =>
      requestTimes !== undefined && streams.some(({ newest: last }) => last !== undefined)
        ? [requestTimes]
        : [],
    );
    // The setting is the same for all customers.
    if (compared.length > 0 && compared.every(({ fitting }) => fitting.length === 0)) {
      findings.push(UNTESTED);
    }
    io.writeOut(`\n${LEGEND}\n${findings.join('')}`);
    const failed = reports.filter((report) =>
      report.findings.some((text) => text.startsWith('error')),
    );
    if (failed.length > 0) {
      throw new Error(`${failed.length} of ${customers} failed`);
    }
  }
}

function rulesOption(): Option {
  const description = 'installed file of rules: is it of this version? repeatable';
  return new Option('--rules <file>', description).argParser(repeatable);
}

/** Returns whether a file of the shipped rules, which may have been changed, is of this version. */
async function describeRules(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new Error(`--rules: ${messageOf(error)}`);
  });
  const version = /^# library-stats-exporter (\S+)/.exec(text)?.[1];
  return version === VERSION
    ? `${file}: rules of this version`
    : `warning: ${file}: rules of ${version ?? 'an unknown version'}, this is ${VERSION}: copy prometheus/rules again`;
}

const UNTESTED =
  'warning: nobody came lately, so service.request_times was not tested: check again while a library is open\n';

const LEGEND = `-: nobody counted, not known, or not read
agrees: the totals by day are the sums of the minutes
`;

/** A column after the name of the customer. */
type Column = readonly [name: string, cell: (report: CustomerReport) => string | number];

const TABLES: readonly { readonly title: string; readonly columns: readonly Column[] }[] = [
  {
    title: 'The service: newest minute with counts, in local time',
    columns: [
      ['TOKEN', token],
      ['PEOPLE', (report) => newest(report, 'people')],
      ['LOGINS', (report) => newest(report, 'logins')],
      ['KEYS', ({ streams }) => distinct(streams.map(({ keys }) => keys))],
      ['DAY', ({ streams }) => distinct(streams.map(({ day }) => day))],
      ['CLOCK', clock],
    ],
  },
  {
    title: 'Exported values: since the start of the month, and today',
    columns: [
      ['ENTERED', (report) => value(report, 'people_entered', 'total')],
      ['EXITED', (report) => value(report, 'people_exited', 'total')],
      ['LOGINS', (report) => value(report, 'logins', 'total')],
      ['TODAY: IN', (report) => value(report, 'people_entered', 'today')],
      ['OUT', (report) => value(report, 'people_exited', 'today')],
      ['LOGINS', (report) => value(report, 'logins', 'today')],
      ['INSIDE', ({ metrics }) => metrics.occupancy ?? ABSENT],
    ],
  },
  {
    title: 'The doors: counts in the last 28 days',
    columns: [
      ['IN PER OUT', ({ metrics }) => ratio(metrics.estimate)],
      ['EMPTY AT NIGHT', ({ metrics }) => emptyAtNight(metrics.estimate)],
    ],
  },
  {
    title: 'Times of requests: counts of one past window, by service.request_times',
    columns: [
      ['OFFSET', ({ requestTimes }) => sumCell(requestTimes, 'offset')],
      ['UTC', ({ requestTimes }) => sumCell(requestTimes, 'utc')],
      ['LOCAL', ({ requestTimes }) => sumCell(requestTimes, 'local')],
      ['FITS', fittingCell],
    ],
  },
];

/** Writes the branches of those customers that have any. */
function writeBranches(reports: readonly CustomerReport[], io: Io): void {
  const rows = reports.flatMap(({ metrics, branches }) =>
    branches.map(({ key, name = ABSENT, counts: [entered = 0, exited = 0] }) => [
      metrics.customer,
      key,
      name,
      entered,
      exited,
    ]),
  );
  if (rows.length > 0) {
    const columns = ['CUSTOMER', 'BRANCH', 'NAME', 'IN', 'OUT'];
    const table = createFormatter('table', columns)(rows);
    io.writeOut(`\nThe branches: counts in the last 28 days\n${table}`);
  }
}

function token({ metrics: { credentialsValid } }: CustomerReport): string {
  return credentialsValid === undefined ? 'none' : credentialsValid ? 'good' : 'refused';
}

/** Returns a local time such as `11-22 19:06`, or why there is none. */
function newest({ streams }: CustomerReport, stream: MinuteStream): string {
  const report = streams.find((one) => one.stream === stream);
  const time = report?.newest?.slice('2026-'.length, '2026-11-22T19:06'.length);
  return time?.replace('T', ' ') ?? report?.failure ?? ABSENT;
}

/** Returns one value if it is the same for all streams. */
function distinct(values: readonly (string | undefined)[]): string {
  return [...new Set(values.map((one) => one ?? ABSENT))].join(' / ');
}

/** Returns by how much the service's clock is ahead, such as `-182s`. */
function clock({ clock: aheadMs }: CustomerReport): string {
  if (aheadMs === undefined) {
    return ABSENT;
  }
  const seconds = Math.round(aheadMs / 1_000);
  return `${seconds < 0 ? '' : '+'}${seconds}s`;
}

function value(
  { metrics: { counters } }: CustomerReport,
  counter: CounterName,
  kind: 'total' | 'today',
): string | number {
  return counters[counter]?.[kind] ?? ABSENT;
}

/** Returns entries counted per exit with their standard deviation, such as `1.003 ± 0.004`. */
function ratio({ ratio: learned }: EstimateMetrics): string {
  return learned === undefined
    ? ABSENT
    : `${learned.value.toFixed(3)} ± ${learned.stddev.toFixed(3)}`;
}

function emptyAtNight({ isEstimable }: EstimateMetrics): string {
  return isEstimable === undefined ? ABSENT : isEstimable ? 'yes' : 'no';
}

/** The sum of the counts, or `refused`. */
function sumCell(
  comparison: RequestTimesComparison | undefined,
  requestTimes: RequestTimes,
): string | number {
  return comparison === undefined
    ? ABSENT
    : (comparison.counts[requestTimes]?.reduce((sum, count) => sum + count, 0) ?? 'refused');
}

/** `offset, utc, local`; `utc?` if it fits only if somebody came. */
function fittingCell({ requestTimes, streams }: CustomerReport): string {
  if (requestTimes === undefined) {
    return streams.some(({ newest: last }) => last !== undefined) ? 'not comparable' : ABSENT;
  }
  const { fitting, isCertain, counts } = requestTimes;
  if (fitting.length === 0) {
    return Object.values(counts).some((one) => one !== undefined) ? 'nobody came' : 'none';
  }
  return fitting.join(', ') + (isCertain ? '' : '?');
}
