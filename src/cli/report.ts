/** `report`: visits and logins by period, for statistics, read from the service. */
import { Command, InvalidArgumentError, Option } from 'commander';
import { systemClock } from '../base/clock.ts';
import { DAY_MS } from '../base/duration.ts';
import { codeOf, messageOf, ServiceError, UsageError } from '../base/errors.ts';
import { replaceFile, requireWritable } from '../base/files.ts';
import { counted, ProgressLine, SEPARATORS } from '../base/output.ts';
import { inParallel } from '../base/parallel.ts';
import { accessOf } from '../config/credentials.ts';
import { loadConfig } from '../config/load.ts';
import type { Config, CustomerConfig } from '../config/types.ts';
import { createOpeningHoursParser } from '../counting/calendar/opening-hours.ts';
import { csvReport, jsonReport, tableReport } from '../report/columns.ts';
import { htmlReport } from '../report/page.ts';
import { PERIODS } from '../report/periods.ts';
import type { LocalDate, PeriodName } from '../report/periods.ts';
import { countPeriods, planCustomer, SUBJECTS } from '../report/plan.ts';
import type { ReportOptions } from '../report/plan.ts';
import { readCustomer } from '../report/reading.ts';
import { sectionsOf } from '../report/rows.ts';
import { MORE_REQUESTS } from '../report/windows.ts';
import { chooseCustomers, customersAtOnce, patientRetries, serviceOf } from './access.ts';
import { configOption, customerOption, helpNotes, parsePath } from './flags.ts';
import { InterruptedError } from './io.ts';
import type { Io } from './io.ts';

/** 27 years of days, 13 months of hours. */
const MAX_PERIODS = 10_000;
const RENDERERS = { table: tableReport, csv: csvReport, json: jsonReport, html: htmlReport };

interface ReportFlags {
  readonly 'config.file': string;
  readonly from: LocalDate;
  readonly to: LocalDate;
  /** All customers if undefined. */
  readonly customer?: readonly string[];
  readonly by: ReportOptions['by'];
  readonly period: PeriodName;
  readonly hours: 'all' | 'staffed';
  readonly visits: ReportOptions['visits'];
  readonly format: keyof typeof RENDERERS;
  readonly separator: ReportOptions['separator'];
  readonly output?: string;
}

/** Returns the command `report`. */
export function reportCommand(io: Io): Command {
  return new Command('report')
    .summary('make a table of visits and logins for statistics')
    .description(
      'Reads visits and logins of past periods from the service, with late records and corrections.',
    )
    .addOption(configOption())
    .requiredOption('--from <date>', 'first local day, as 2025-01-01; required', parseDate)
    .requiredOption('--to <date>', 'local day after the last one; required', parseDate)
    .addOption(customerOption())
    .addOption(new Option('--by <what>', 'what has rows').choices(SUBJECTS).default('customer'))
    .addOption(new Option('--period <length>', 'of a row').choices(PERIODS).default('month'))
    .addOption(
      new Option('--hours <which>', 'staffed: visits while staff is there, and self-service')
        .choices(['all', 'staffed'])
        .default('all'),
    )
    .addOption(
      new Option('--visits <what>', 'entries, or half of entries and exits')
        .choices(['entered', 'mean'])
        .default('entered'),
    )
    .addOption(
      new Option('--format <format>', 'output format')
        .choices(Object.keys(RENDERERS))
        .default('table'),
    )
    .addOption(
      new Option('--separator <character>', 'of CSV; with ; numbers have decimal commas')
        .choices(SEPARATORS)
        .default(','),
    )
    .option('--output <file>', 'file to write in place of standard output', parsePath)
    .addHelpText(
      'after',
      helpNotes(
        'commands.md',
        'report --from=2025-01-01 --to=2026-01-01',
        'report --from=2025-01-01 --to=2026-01-01 --by=branch',
      ),
    )
    .action((flags: ReportFlags) => report(flags, io));
}

/** Throws a UsageError or ConfigError before the first request, and an Error after it. */
async function report(flags: ReportFlags, io: Io): Promise<void> {
  const { from, to, output } = flags;
  const nowMs = systemClock.nowMs();
  if (from >= to) {
    throw new UsageError('--to: expected a day after --from');
  }
  // In some zone it may be the day after that of UTC.
  if (from > nowMs + DAY_MS) {
    throw new UsageError('--from must not be in the future');
  }
  const periods = countPeriods(flags.period, flags, nowMs);
  if (periods > MAX_PERIODS) {
    throw new UsageError(
      `--from: expected at most ${MAX_PERIODS} periods, got ${periods}: choose a later day or a longer --period`,
    );
  }
  if (output !== undefined) {
    try {
      requireWritable(output);
    } catch (error) {
      throw new UsageError(`--output: ${messageOf(error)}`);
    }
  }
  const { config, warnings } = await loadConfig({ path: flags['config.file'], env: io.env });
  warnings.forEach((warning) => io.writeError(`warning: ${warning}\n`));
  const note = hoursNote(flags, chooseCustomers(config, flags.customer));
  const options: ReportOptions = {
    note,
    range: { from, to },
    by: flags.by,
    period: flags.period,
    staffed: flags.hours === 'staffed',
    visits: flags.visits,
    separator: flags.separator,
  };
  const customers = reportedCustomers(flags, config);
  const { sections, failures } = await readAll(customers, options, config, io);
  if (sections.length > 0 || failures.length === 0) {
    const text = RENDERERS[flags.format](sections, options, systemClock.nowMs());
    // Excel reads UTF-8 only with a byte-order mark.
    const mark = flags.format === 'csv' ? '\uFEFF' : '';
    await (output === undefined ? deliver(text, io) : replaceFile(output, mark + text, 0o640));
    if (note !== '' && ['csv', 'json'].includes(flags.format)) {
      io.writeError(`note: ${note}\n`);
    }
    if (output !== undefined && io.errorIsTerminal) {
      io.writeError(`written to ${output}\n`);
    }
  }
  if (failures.length > 0) {
    throw new Error(
      `${counted(failures.length, 'customer')} could not be read, so the report is incomplete:\n${failures.join('\n')}`,
    );
  }
}

/** Returns what readers of past years must know; an empty text where hours are not configured. */
function hoursNote({ from }: ReportFlags, customers: readonly CustomerConfig[]): string {
  const hasHours = customers.some((one) =>
    [one, ...Object.values(one.branches)].some(
      ({ openingHours, staffedHours }) => openingHours !== undefined || staffedHours !== undefined,
    ),
  );
  const years = [from, systemClock.nowMs()].map((ms) => new Date(ms).getUTCFullYear());
  return hasHours && (years[0] ?? 0) < (years[1] ?? 0)
    ? 'Opening hours, staffed hours and holidays are those of today, also for past years.'
    : '';
}

function reportedCustomers(
  { customer, by }: ReportFlags,
  config: Config,
): readonly CustomerConfig[] {
  const customers = chooseCustomers(config, customer);
  const withoutPeople = customers.find(({ streams }) => !streams.includes('people'));
  if (withoutPeople !== undefined && by !== 'customer') {
    throw new UsageError(
      `--by=${by}: ${JSON.stringify(withoutPeople.name)} has no people in streams`,
    );
  }
  return customers;
}

/** Returns also a line for each customer that failed. */
async function readAll(
  customers: readonly CustomerConfig[],
  options: ReportOptions,
  config: Config,
  io: Io,
) {
  const progress = new ProgressLine(io);
  const nowMs = systemClock.nowMs();
  if (options.by !== 'customer' && io.errorIsTerminal) {
    const window = options.period === 'hour' ? 'hour' : 'day';
    const windows = countPeriods(window, options.range, nowMs);
    const requests = customers.length * (windows + MORE_REQUESTS);
    io.writeError(`sending at least ${counted(requests, 'request')}\n`);
  }
  const done = { requests: 0, customers: 0 };
  const service = serviceOf(config, io, {
    request() {
      done.requests += 1;
      progress.show(
        `${done.customers} of ${counted(customers.length, 'customer')}, ${counted(done.requests, 'request')}`,
      );
    },
  });
  const parse = createOpeningHoursParser();
  const failures: string[] = [];
  try {
    const sections = await inParallel(customers, customersAtOnce(config.service), async (one) => {
      const { name } = one;
      const retries = patientRetries(progress, `${name}: `);
      const client = service.clientFor(accessOf(one), retries);
      try {
        const plan = await planCustomer(one, options, parse, nowMs, io.stop);
        const reading = await readCustomer(plan, config.service.keyTimes, (question) =>
          client.query(question, io.stop),
        );
        return await sectionsOf(plan, reading);
      } catch (error) {
        io.stop.throwIfAborted();
        if (!(error instanceof ServiceError)) {
          throw error;
        }
        failures.push(`  ${name}: ${error.reason}: ${error.message}`);
        return [];
      } finally {
        done.customers += 1;
      }
    });
    return { sections: sections.flat(), failures };
  } catch (error) {
    throw io.stop.aborted
      ? new InterruptedError('stopped, nothing was written', { cause: error })
      : error;
  } finally {
    progress.clear();
    service.close();
  }
}

async function deliver(text: string, io: Io): Promise<void> {
  try {
    await io.deliverOut(text);
  } catch (error) {
    if (codeOf(error) !== 'EPIPE') {
      throw error;
    }
    // Nobody reads the report any more, as in `report … | head -1`.
  }
}

function parseDate(text: string): LocalDate {
  const date = /^(19|2\d)\d\d-\d\d-\d\d$/.test(text) ? Date.parse(text) : NaN;
  // Date.parse refuses 2025-02-30, but not every month and day.
  if (Number.isNaN(date) || new Date(date).toISOString().slice(0, 10) !== text) {
    throw new InvalidArgumentError('Expected a date such as 2025-01-01, from 1900 on.');
  }
  return date;
}
