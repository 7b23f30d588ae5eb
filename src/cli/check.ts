/** `check`: reports every problem of a configuration, and with `--connect` what the service returns. */
import { Command, Option } from 'commander';
import { ConfigError } from '../base/errors.ts';
import type { MinuteStream } from '../base/model.ts';
import { loadConfig, requestsPerSecond } from '../config/load.ts';
import { readCustomers } from './connect.ts';
import type { CustomersFinding, StreamReport } from './connect.ts';
import { configOption, helpNotes, webConfigOption } from './flags.ts';
import type { Io } from './io.ts';
import { ABSENT, counted, createFormatter, listed } from './output.ts';

interface CheckFlags {
  readonly 'config.file': string;
  readonly 'web.config.file'?: string;
  readonly connect: boolean;
  readonly format: 'table' | 'json';
}

export function checkCommand(io: Io): Command {
  return new Command('check')
    .summary('check a configuration, and the service')
    .description('Reports every problem of a configuration, with its place and what is expected.')
    .addOption(configOption())
    .addOption(webConfigOption())
    .option('--connect', 'also read every customer from the service, and print the result', false)
    .addOption(
      new Option('--format <format>', 'output format').choices(['table', 'json']).default('table'),
    )
    .addHelpText(
      'after',
      helpNotes('commands.md', [
        'check --config.file=config.yaml',
        'check --connect --format=json',
      ]),
    )
    .action((flags: CheckFlags) => check(flags, io));
}

/** Throws an Error if the service does not return everything that the exporter needs. */
async function check(flags: CheckFlags, io: Io): Promise<void> {
  const { 'config.file': path, 'web.config.file': webPath } = flags;
  function write(text: string, json: object): void {
    const result = { config: path, ...json };
    io.writeOut(flags.format === 'table' ? text : `${JSON.stringify(result, undefined, 2)}\n`);
  }
  const loaded = await loadConfig({ path, webPath, env: io.env }).catch((error: unknown) => {
    if (error instanceof ConfigError) {
      const problems = error.message.trimEnd();
      write(`${problems}\n`, { problems: problems.split('\n') });
      throw new ConfigError('the configuration has problems');
    }
    throw error;
  });
  const { config, web } = loaded;
  const customers = config.customers.length;
  const warnings = [...loaded.warnings, ...(web?.warnings ?? [])];
  const text =
    warnings.map((warning) => `warning: ${warning}\n`).join('') +
    `${path}: good, ${counted(customers, 'customer')}\n` +
    (web === undefined ? '' : `${webPath}: good\n`);
  if (!flags.connect) {
    write(text, { customers, warnings });
    return;
  }
  const { streams, findings } = await readCustomers(config, io);
  const byCustomer = [...Map.groupBy(streams, ({ customer }) => customer).values()];
  const requests = Number(requestsPerSecond(config.polling, config.customers).toPrecision(2));
  const limit = config.service.maxRequestsPerSecond;
  const errors = findings.filter(({ severity }) => severity === 'error');
  const failed = new Set(errors.flatMap((finding) => finding.customers)).size;
  write(
    text +
      TABLES.map((table) => tableText(table, byCustomer)).join('') +
      findings.map(findingText).join('') +
      `requests per second: ${requests}, at most ${limit} (max_requests_per_second)\n` +
      (failed > 0 ? '' : `no errors for ${counted(customers, 'customer')}\n`),
    { customers, warnings, streams, findings, requests_per_second: requests },
  );
  if (failed > 0) {
    throw new Error(`errors for ${failed} of ${counted(customers, 'customer')}`);
  }
}

function tableText(
  [title, columns]: (typeof TABLES)[number],
  customers: readonly CustomerStreams[],
): string {
  const format = createFormatter(
    'table',
    columns.map(([name]) => name),
    true,
  );
  return `${title}\n${format(customers.map((streams) => columns.map(([, cell]) => cell(streams))))}\n`;
}

/** The reports of one customer. */
type CustomerStreams = readonly StreamReport[];

type Cell = (streams: CustomerStreams) => string | number;

const TABLES: readonly (readonly [title: string, columns: readonly (readonly [string, Cell])[]])[] =
  [
    [
      'The service: newest minute with counts, in local time',
      [
        ['CUSTOMER', value('customer')],
        ['TOKEN', value('token')],
        ['PEOPLE', newest('people')],
        ['LOGINS', newest('logins')],
        ['KEYS', distinct('keys')],
        ['DAY', distinct('day')],
        ['CLOCK', clock],
      ],
    ],
    [
      'Exported values: since the start of the month, and today',
      [
        ['CUSTOMER', value('customer')],
        ['ENTERED', value('people_entered')],
        ['EXITED', value('people_exited')],
        ['LOGINS', value('logins')],
        ['TODAY: IN', value('people_entered_today')],
        ['OUT', value('people_exited_today')],
        ['LOGINS', value('logins_today')],
        ['INSIDE', value('occupancy')],
      ],
    ],
    [
      'The doors: counts in the last 28 days',
      [
        ['CUSTOMER', value('customer')],
        ['IN PER OUT', ratio],
        ['EMPTY AT NIGHT', value('empty_at_night')],
      ],
    ],
  ];

/** Of the stream that has it. */
function value(key: string): Cell {
  return (streams) => {
    const known = streams.map((report) => report[key]).find((one) => one !== undefined) ?? ABSENT;
    return typeof known === 'boolean' ? (known ? 'yes' : 'no') : known;
  };
}

/** One value if it is the same for all streams. */
function distinct(key: 'keys' | 'day'): Cell {
  return (streams) => [...new Set(streams.map((report) => report[key]))].join(' / ');
}

/** `14:03 (26h)`: the local time and the age, or why there is none. */
function newest(stream: MinuteStream): Cell {
  return (streams) => {
    const report = streams.find((one) => one.stream === stream);
    if (report === undefined) {
      return ABSENT;
    }
    const { failure, keys, newest: time, lag_seconds: lagSeconds } = report;
    if (typeof time !== 'string' || typeof lagSeconds !== 'number') {
      return String(failure ?? (keys === 'unknown' ? 'unreadable' : 'none'));
    }
    const hours = Math.floor(lagSeconds / 3_600);
    const age = hours < 1 ? `${Math.floor(lagSeconds / 60)}m` : `${hours}h`;
    return `${time.slice('2026-11-01T'.length, '2026-11-01T04:00'.length)} (${age})`;
  };
}

/** `+0s`, `-182s`. */
function clock([report]: CustomerStreams): string {
  const seconds = report?.['clock_ahead_seconds'];
  return typeof seconds === 'number' ? `${seconds < 0 ? '' : '+'}${seconds}s` : ABSENT;
}

/** `1.003 ± 0.004`. */
function ratio(streams: CustomerStreams): string {
  const doors = streams.find(({ stream }) => stream === 'people');
  const [mean, stddev] = [doors?.['door_count_ratio'], doors?.['door_count_ratio_stddev']];
  return typeof mean === 'number' && typeof stddev === 'number'
    ? `${mean.toFixed(3)} ± ${stddev.toFixed(3)}`
    : ABSENT;
}

function findingText({ severity, message, fix, customers }: CustomersFinding): string {
  return `${severity}: ${message}\n  customers: ${listed(customers)}\n  fix: ${fix}\n`;
}
