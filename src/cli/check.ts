/** `check`: reports every problem of a configuration, and with `--connect` what the service returns. */
import { Command } from 'commander';
import { ConfigError } from '../base/errors.ts';
import type { CounterName, MinuteStream } from '../base/model.ts';
import { loadConfig, requestsPerSecond } from '../config/load.ts';
import { readCustomers } from './connect.ts';
import type { CustomerReport } from './connect.ts';
import { configOption, helpNotes, webConfigOption } from './flags.ts';
import type { Io } from './io.ts';
import { ABSENT, counted, createFormatter } from './output.ts';

interface CheckFlags {
  readonly 'config.file': string;
  readonly 'web.config.file'?: string;
  readonly connect: boolean;
}

export function checkCommand(io: Io): Command {
  return new Command('check')
    .summary('check a configuration, and the service')
    .description('Reports every problem of a configuration, with its place and what is expected.')
    .addOption(configOption())
    .addOption(webConfigOption())
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
  if (flags.connect) {
    const reports = await readCustomers(config, io);
    for (const { title, columns, row } of TABLES) {
      io.writeOut(`\n${title}\n${createFormatter('table', columns)(reports.map(row))}`);
    }
    const findings = reports.flatMap(({ metrics, streams }) => {
      const texts = streams.flatMap((stream) => stream.findings);
      return [...new Set(texts)].map((text) => `${metrics.customer}: ${text}\n`);
    });
    io.writeOut(`\n${findings.join('')}`);
    const failed = reports.filter(({ streams }) => streams.some(({ hasError }) => hasError)).length;
    if (failed > 0) {
      throw new Error(`${failed} of ${customers} failed`);
    }
  }
}

type Cell = string | number;

interface Table {
  readonly title: string;
  readonly columns: readonly string[];
  readonly row: (report: CustomerReport) => readonly Cell[];
}

const TABLES: readonly Table[] = [
  {
    title: 'The service: newest minute with counts, in local time',
    columns: ['CUSTOMER', 'TOKEN', 'PEOPLE', 'LOGINS', 'KEYS', 'DAY', 'CLOCK'],
    row: (report) => [
      report.metrics.customer,
      token(report),
      newest(report, 'people'),
      newest(report, 'logins'),
      distinct(report.streams.map(({ keys }) => keys)),
      distinct(report.streams.map(({ day }) => day)),
      clock(report),
    ],
  },
  {
    title: 'Exported values: since the start of the month, and today',
    columns: ['CUSTOMER', 'ENTERED', 'EXITED', 'LOGINS', 'TODAY: IN', 'OUT', 'LOGINS', 'INSIDE'],
    row: (report) => [
      report.metrics.customer,
      value(report, 'people_entered', 'total'),
      value(report, 'people_exited', 'total'),
      value(report, 'logins', 'total'),
      value(report, 'people_entered', 'today'),
      value(report, 'people_exited', 'today'),
      value(report, 'logins', 'today'),
      report.metrics.occupancy ?? ABSENT,
    ],
  },
  {
    title: 'The doors: counts in the last 28 days',
    columns: ['CUSTOMER', 'IN PER OUT', 'EMPTY AT NIGHT'],
    row: (report) => [report.metrics.customer, ratio(report), emptyAtNight(report)],
  },
];

function token({ metrics: { credentialsValid } }: CustomerReport): string {
  return credentialsValid === undefined ? 'none' : credentialsValid ? 'good' : 'refused';
}

/** `11-22 19:06`, or why there is none. */
function newest({ streams }: CustomerReport, stream: MinuteStream): string {
  const report = streams.find((one) => one.stream === stream);
  const time = report?.newest?.slice('2026-'.length, '2026-11-22T19:06'.length);
  return time?.replace('T', ' ') ?? report?.failure ?? ABSENT;
}

/** One value if it is the same for all streams. */
function distinct(values: readonly (string | undefined)[]): string {
  return [...new Set(values.map((one) => one ?? ABSENT))].join(' / ');
}

/** `+0s`, `-182s`. */
function clock({ clock: reading }: CustomerReport): string {
  if (reading === undefined) {
    return ABSENT;
  }
  const seconds = Math.round(reading.aheadMs / 1_000);
  return `${seconds < 0 ? '' : '+'}${seconds}s`;
}

function value(
  { metrics: { counters } }: CustomerReport,
  counter: CounterName,
  kind: 'total' | 'today',
): Cell {
  return counters[counter]?.[kind] ?? ABSENT;
}

/** `1.003 ± 0.004`. */
function ratio({ metrics: { estimate } }: CustomerReport): string {
  return estimate.ratio === undefined
    ? ABSENT
    : `${estimate.ratio.value.toFixed(3)} ± ${estimate.ratio.stddev.toFixed(3)}`;
}

function emptyAtNight({ metrics: { estimate } }: CustomerReport): string {
  return estimate.isEstimable === undefined ? ABSENT : estimate.isEstimable ? 'yes' : 'no';
}
