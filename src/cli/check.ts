/** `check`: reports every problem of a configuration, and with `--connect` what the service returns. */
import { Command, Option } from 'commander';
import { formatDuration } from '../base/duration.ts';
import { ConfigError, ServiceError } from '../base/errors.ts';
import { COUNTERS, MINUTE_STREAMS } from '../base/model.ts';
import type { MinuteStream } from '../base/model.ts';
import { requestsPerSecond } from '../config/checks.ts';
import { loadConfig } from '../config/load.ts';
import type { Config, WebConfig } from '../config/types.ts';
import { grandTotal } from '../counting/counts.ts';
import type { EstimateMetrics } from '../counting/customer-metrics.ts';
import { Zone } from '../counting/zone.ts';
import { findProblems, readCustomers } from './connect.ts';
import type { CustomerReport, CustomersFinding, StreamReport } from './connect.ts';
import { configOption, helpNotes, webConfigOption } from './flags.ts';
import { InterruptedError } from './io.ts';
import type { Io } from './io.ts';
import { ABSENT, counted, createFormatter, ProgressLine } from './output.ts';

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
  const { 'config.file': path, 'web.config.file': webPath, format } = flags;
  function write(text: string, json?: object): void {
    if (format === 'table') {
      io.writeOut(text);
    } else if (json !== undefined) {
      io.writeOut(`${JSON.stringify({ config: path, ...json }, undefined, 2)}\n`);
    }
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
  write(
    warnings.map((warning) => `warning: ${warning}\n`).join('') +
      `${path}: good, ${counted(customers, 'customer')}\n` +
      (web === undefined ? '' : `${webPath}: good, ${protectionText(web.config)}\n`),
    flags.connect ? undefined : { customers, warnings },
  );
  if (!flags.connect) {
    return;
  }
  const reports = await readWithProgress(config, io);
  const findings = findProblems(reports);
  const rates = requestRates(config, reports);
  const failed = new Set(
    findings.flatMap((finding) => (finding.severity === 'error' ? finding.customers : [])),
  );
  write(
    tables(reports) +
      findings.map(findingText).join('') +
      requestRateText(config, rates) +
      (failed.size > 0 ? '' : `no errors for ${counted(customers, 'customer')}\n`),
    {
      customers,
      warnings,
      streams: reports.flatMap((report) =>
        report.streams.map((stream) => streamFields(report, stream)),
      ),
      findings,
      requests_per_minute: rates,
    },
  );
  if (failed.size > 0) {
    throw new Error(`errors for ${failed.size} of ${counted(customers, 'customer')}`);
  }
}

async function readWithProgress(config: Config, io: Io): Promise<readonly CustomerReport[]> {
  const total = counted(config.customers.length, 'customer');
  const progress = new ProgressLine(io);
  const reports = await readCustomers(config, io, (read) =>
    progress.show(`${read} of ${total} read`),
  );
  progress.clear();
  if (io.stop.aborted) {
    throw new InterruptedError(`stopped, ${reports.length} of ${total} read`);
  }
  return reports;
}

function protectionText({ tls, users }: WebConfig): string {
  const scheme = tls === undefined ? 'http' : `https, ${tls.clientAuth}`;
  return `${scheme}, ${users.size === 0 ? 'no passwords' : counted(users.size, 'user')}`;
}

function tables(reports: readonly CustomerReport[]): string {
  const service = createFormatter(
    'table',
    ['CUSTOMER', 'TOKEN', 'PEOPLE', 'LOGINS', 'KEYS', 'DAY', 'CLOCK'],
    true,
  );
  const exported = createFormatter(
    'table',
    ['CUSTOMER', 'ENTERED', 'EXITED', 'LOGINS', 'TODAY: IN', 'OUT', 'LOGINS', 'INSIDE'],
    true,
  );
  const read = reports.map((report) => [
    report.config.name,
    tokenText(report),
    newestText(report, 'people'),
    newestText(report, 'logins'),
    forStreams(report, keyFormat),
    forStreams(report, dayText),
    report.clock === undefined ? ABSENT : clockText(report.clock.aheadMs),
  ]);
  const values = reports.map((report) => [
    report.config.name,
    ...Object.values(exportedValues(report, MINUTE_STREAMS)).map((value) => value ?? ABSENT),
  ]);
  const doors = createFormatter('table', ['CUSTOMER', 'IN PER OUT', 'EMPTY AT NIGHT'], true);
  const learned = reports.map(({ config: { name }, figures: { estimate } }) => [
    name,
    ratioText(estimate),
    estimate.isEstimable === undefined ? ABSENT : estimate.isEstimable ? 'yes' : 'no',
  ]);
  return (
    `The service: newest minute with counts, in local time\n${service(read)}\n` +
    `Exported values: since the start of the month, and today\n${exported(values)}\n` +
    `The doors: counts in the last 28 days\n${doors(learned)}\n`
  );
}

function ratioText({ ratio }: EstimateMetrics): string {
  return ratio === undefined ? ABSENT : `${ratio.value.toFixed(3)} ± ${ratio.stddev.toFixed(3)}`;
}

const MAX_NAMES = 8;

function findingText({ severity, message, fix, customers }: CustomersFinding): string {
  const names = customers.slice(0, MAX_NAMES).join(', ');
  const more = customers.length > MAX_NAMES ? ` and ${customers.length - MAX_NAMES} more` : '';
  return `${severity}: ${message}\n  customers: ${names}${more}\n  fix: ${fix}\n`;
}

/** What `--format=json` prints of a stream; null where there is no value. */
function streamFields(report: CustomerReport, stream: StreamReport) {
  const { config, atMs, clock, figures } = report;
  const { outcome } = stream;
  const zone = new Zone(config.timezone);
  const newestMs = outcome instanceof ServiceError ? undefined : outcome.lastSeenMs;
  return {
    customer: config.name,
    stream: stream.stream,
    failure: outcome instanceof ServiceError ? outcome.reason : null,
    token: tokenText(report),
    newest: newestMs === undefined ? null : zone.format(newestMs),
    lag_seconds: newestMs === undefined ? null : Math.round(Math.max(0, atMs - newestMs) / 1_000),
    keys: keyFormat(stream),
    day: dayText(stream),
    clock_ahead_seconds: clock === undefined ? null : Math.round(clock.aheadMs / 1_000),
    counter_start: zone.format(figures.periodStartMs),
    ...exportedValues(report, [stream.stream]),
    ...(stream.stream === 'people'
      ? {
          door_count_ratio: figures.estimate.ratio?.value ?? null,
          empty_at_night: figures.estimate.isEstimable ?? null,
        }
      : {}),
  };
}

/** In the order of the table: totals, today's values, people inside. */
function exportedValues(
  { figures: { counters, occupancy } }: CustomerReport,
  streams: readonly MinuteStream[],
): Readonly<Record<string, number | null>> {
  const names = streams.flatMap((stream) => COUNTERS[stream]);
  return {
    ...Object.fromEntries(names.map((name) => [name, counters[name]?.total ?? null])),
    ...Object.fromEntries(names.map((name) => [`${name}_today`, counters[name]?.today ?? null])),
    ...(streams.includes('people') ? { occupancy: occupancy ?? null } : {}),
  };
}

function tokenText({ credentialsValid }: CustomerReport): string {
  return credentialsValid === undefined ? 'none' : credentialsValid ? 'good' : 'refused';
}

function newestText({ config, streams, atMs }: CustomerReport, stream: MinuteStream): string {
  const outcome = streams.find((report) => report.stream === stream)?.outcome;
  if (outcome === undefined) {
    return ABSENT;
  }
  if (outcome instanceof ServiceError) {
    return outcome.reason;
  }
  const { lastSeenMs, keyFormat } = outcome;
  if (lastSeenMs === undefined) {
    return keyFormat.status === 'unknown' ? 'unreadable' : 'none';
  }
  const zone = new Zone(config.timezone);
  const [date = '', time = ''] = zone.format(lastSeenMs).split('T');
  const isToday = zone.format(atMs).startsWith(date);
  const age = ageText(Math.max(0, atMs - lastSeenMs));
  return `${isToday ? '' : `${date.slice(5)} `}${time.slice(0, 5)} (${age})`;
}

/** `3m`, `26h`, `9d`. */
function ageText(ageMs: number): string {
  const hours = Math.floor(ageMs / 3_600_000);
  if (hours < 1) {
    return `${Math.floor(ageMs / 60_000)}m`;
  }
  return hours < 48 ? `${hours}h` : `${Math.floor(hours / 24)}d`;
}

/** `+0s`, `-3m2s`. */
function clockText(aheadMs: number): string {
  const seconds = Math.round(aheadMs / 1_000);
  return `${seconds < 0 ? '-' : '+'}${formatDuration(Math.abs(seconds) * 1_000)}`;
}

/** One value if it is the same for all streams. */
function forStreams({ streams }: CustomerReport, text: (stream: StreamReport) => string): string {
  return [...new Set(streams.map(text))].join(' / ');
}

/** `iso`, `compact utc`, or the state of the detection. */
function keyFormat({ outcome }: StreamReport): string {
  if (outcome instanceof ServiceError) {
    return ABSENT;
  }
  const { status, formats } = outcome.keyFormat;
  const [format] = formats;
  if (status !== 'detected' || format === undefined) {
    return status;
  }
  return format.zone === 'written' ? format.form : `${format.form} ${format.zone}`;
}

function dayText({ outcome }: StreamReport): string {
  if (outcome instanceof ServiceError || outcome.day.agrees === undefined) {
    return ABSENT;
  }
  return outcome.day.agrees
    ? 'agrees'
    : `${grandTotal(outcome.day.byDay)} of ${grandTotal(outcome.day.byMinute)}`;
}

/** A baseline makes five requests instead of one (DESIGN.md, section 3). */
const EXTRA_REQUESTS_PER_BASELINE = 4;
/** A token is renewed when this share of its life is over. */
const TOKEN_RENEWAL_SHARE = 0.8;

interface RequestRates {
  readonly polls: number;
  readonly baselines: number;
  readonly tokens: number;
}

/** Requests per minute once all customers are polled. */
function requestRates(
  { polling, customers }: Config,
  reports: readonly CustomerReport[],
): RequestRates {
  const streams = customers.reduce((sum, customer) => sum + customer.streams.length, 0);
  return {
    polls: 60 * requestsPerSecond(polling, customers),
    baselines: (EXTRA_REQUESTS_PER_BASELINE * streams * 60_000) / polling.reconcileIntervalMs,
    tokens: reports.reduce(
      (sum, { tokenLifeMs = Infinity }) => sum + 60_000 / (tokenLifeMs * TOKEN_RENEWAL_SHARE),
      0,
    ),
  };
}

function requestRateText(
  { polling, service, customers }: Config,
  { polls, baselines, tokens }: RequestRates,
): string {
  const hasBreakdowns = customers.some(({ breakdowns }) => breakdowns.length > 0);
  const every = [
    `every ${formatDuration(polling.intervalMs)}`,
    ...(hasBreakdowns ? [`breakdowns every ${formatDuration(polling.breakdownIntervalMs)}`] : []),
  ];
  return (
    `requests per minute: ${rounded(polls + baselines + tokens)} = ${rounded(polls)} polls (${every.join(', ')})` +
    ` + ${rounded(baselines)} baselines (every ${formatDuration(polling.reconcileIntervalMs)})` +
    ` + ${rounded(tokens)} tokens\n` +
    `limits: ${service.maxRequestsPerSecond} per second (max_requests_per_second), ` +
    `${service.maxConcurrency} at once (max_concurrency)\n`
  );
}

function rounded(requests: number): string {
  return requests >= 100 ? String(Math.round(requests)) : String(Number(requests.toFixed(1)));
}
