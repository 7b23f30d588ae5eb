/** `check`: reports every problem of a configuration, and with `--connect` what the service returns. */
import { readFile } from 'node:fs/promises';
import { Command, Option } from 'commander';
import { ConfigError, messageOf } from '../base/errors.ts';
import { ALL_COUNTERS, REQUEST_TIMES } from '../base/model.ts';
import type { Key, KeyTimes, MinuteStream, RawRecord } from '../base/model.ts';
import { ABSENT, counted, createFormatter } from '../base/output.ts';
import { loadConfig, requestsPerSecond } from '../config/load.ts';
import type { Config } from '../config/types.ts';
import type { Zone } from '../counting/calendar/zone.ts';
import type { DayAgreement } from '../counting/check/diagnose.ts';
import type { RequestTimesComparison } from '../counting/check/request-times.ts';
import { grandTotal } from '../counting/rows/counts.ts';
import { readKey } from '../counting/rows/keys.ts';
import { readCustomers } from './connect.ts';
import type { CustomerReport, StreamReport } from './connect.ts';
import { configOption, helpNotes, repeatable, webConfigOption } from './flags.ts';
import { VERSION } from './io.ts';
import type { Io } from './io.ts';

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
    await connect(config, io);
  }
}

/** Prints what the service returns. Throws an Error if values of some customers are missing. */
async function connect(config: Config, io: Io): Promise<void> {
  const reports = await readCustomers(config, io);
  for (const [title, columns, rowsOf] of TABLES) {
    const rows = reports.flatMap((report) =>
      rowsOf(report, config).map((row) => [report.metrics.customer, ...row]),
    );
    if (rows.length > 0) {
      io.writeOut(`\n${title}\n${createFormatter('table', ['CUSTOMER', ...columns])(rows)}`);
    }
  }
  const lines = reports.flatMap(({ metrics, findings }) =>
    findings.map(([severity, text]) => `${metrics.customer}: ${severity}: ${text}\n`),
  );
  const compared = reports.filter(({ requestTimes, streams }) => requestTimes && wasSeen(streams));
  const fitting = compared.flatMap(({ requestTimes }) => requestTimes?.fitting ?? []);
  // The setting is the same for all customers.
  const isUntested = compared.length > 0 && fitting.length === 0;
  io.writeOut(`\n${LEGEND}\n${lines.join('')}${isUntested ? UNTESTED : ''}`);
  const failed = reports.filter(({ findings }) => findings.some(([one]) => one === 'error')).length;
  if (failed > 0) {
    throw new Error(`${failed} of ${counted(reports.length, 'customer')} failed`);
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
A bug report needs this output and --version.
`;

type Table = readonly [
  title: string,
  columns: readonly string[],
  /** Returns the rows of a customer, without its name. */
  rowsOf: (report: CustomerReport, config: Config) => readonly RawRecord[],
];

const TABLES: readonly Table[] = [
  [
    'The service: newest minute with counts, in local time',
    ['TOKEN', 'PEOPLE', 'LOGINS', 'KEYS', 'DAY', 'CLOCK'],
    ({ metrics: { credentialsValid: isValid }, streams, zone, aheadMs }, { service }) => [
      [
        isValid === undefined ? 'none' : isValid ? 'good' : 'refused',
        newest(streams, 'people', zone),
        newest(streams, 'logins', zone),
        distinct(streams.map(({ key }) => keyText(key, service.keyTimes))),
        distinct(streams.map(({ day }) => dayText(day))),
        aheadMs === undefined ? ABSENT : signed(Math.round(aheadMs / 1_000)),
      ],
    ],
  ],
  [
    'Exported values: since the start of the month, and today',
    ['ENTERED', 'EXITED', 'LOGINS', 'TODAY: IN', 'OUT', 'LOGINS', 'INSIDE'],
    ({ metrics: { counters, occupancy } }) => [
      [
        ...ALL_COUNTERS.map((counter) => counters[counter]?.total ?? ABSENT),
        ...ALL_COUNTERS.map((counter) => counters[counter]?.today ?? ABSENT),
        occupancy ?? ABSENT,
      ],
    ],
  ],
  [
    'Times of requests: counts of one past window, by service.request_times',
    ['OFFSET', 'UTC', 'LOCAL', 'FITS'],
    ({ requestTimes: compared, streams }) => [
      [
        ...REQUEST_TIMES.map((one) => (compared ? sumText(compared.counts[one]) : ABSENT)),
        compared ? fittingText(compared) : wasSeen(streams) ? 'not comparable' : ABSENT,
      ],
    ],
  ],
  [
    'The branches: counts in the last 28 days',
    ['BRANCH', 'NAME', 'IN', 'OUT'],
    ({ branches }) => branches.map(({ key, name, counts }) => [key, name ?? ABSENT, ...counts]),
  ],
];

function wasSeen(streams: readonly StreamReport[]): boolean {
  return streams.some(({ lastSeenMs }) => lastSeenMs !== undefined);
}

/** Returns a local time such as `11-22 19:06`, or why there is none. */
function newest(streams: readonly StreamReport[], stream: MinuteStream, zone: Zone): string {
  const { lastSeenMs, failure } = streams.find((one) => one.stream === stream) ?? {};
  return lastSeenMs === undefined
    ? (failure ?? ABSENT)
    : zone.format(lastSeenMs).slice('2026-'.length, '2026-11-22T19:06'.length).replace('T', ' ');
}

/** Returns one text if it is the same for all streams. */
function distinct(texts: readonly string[]): string {
  return [...new Set(texts)].join(' / ');
}

/** Returns how keys of minutes are written; by the setting, if that is what they depend on. */
function keyText(key: Key | undefined, keyTimes: KeyTimes): string {
  const time = key === undefined ? undefined : readKey(key);
  if (key === undefined || time === undefined) {
    return key === undefined ? ABSENT : 'unreadable';
  }
  return time.zone !== 'written' ? keyTimes : /^\d+$/.test(String(key)) ? 'unix time' : 'offset';
}

/** Returns `agrees` if `day` agrees with the minutes, else its sum of that of the minutes. */
function dayText(day: DayAgreement | undefined): string {
  if (day?.agrees === false) {
    return `${grandTotal(day.byDay)} of ${grandTotal(day.byMinute)}`;
  }
  return day?.agrees === true ? 'agrees' : ABSENT;
}

function signed(seconds: number): string {
  return `${seconds < 0 ? '' : '+'}${seconds}s`;
}

function sumText(counts: readonly number[] | undefined): string | number {
  return counts === undefined ? 'refused' : counts.reduce((sum, count) => sum + count, 0);
}

/** Returns `offset, utc, local`; `utc?` if it fits only if somebody came. */
function fittingText({ fitting, isCertain, counts }: RequestTimesComparison): string {
  if (fitting.length === 0) {
    return Object.values(counts).some((one) => one !== undefined) ? 'nobody came' : 'none';
  }
  return fitting.join(', ') + (isCertain ? '' : '?');
}
