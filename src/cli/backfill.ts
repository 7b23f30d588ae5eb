/** `backfill`: history from before the exporter was installed, as OpenMetrics for promtool. */
import { Command, InvalidArgumentError, Option } from 'commander';
import { systemClock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { loadConfig } from '../config/load.ts';
import type { LabelPair } from '../metrics/family.ts';
import { customersAtOnce, serviceOf } from './access.ts';
import { findLiveStarts } from './backfill/live-start.ts';
import { OutputFolder, settingsDigest } from './backfill/output-folder.ts';
import { createReader } from './backfill/reading.ts';
import {
  createTargets,
  infoLabelNames,
  scrapeLabels,
  selectCustomers,
  splitIntoMonths,
} from './backfill/targets.ts';
import type { BackfillFlags } from './backfill/targets.ts';
import { writeMonths } from './backfill/writing.ts';
import { configOption, helpNotes, loggerFor, logOptions, parseTimeFlag } from './flags.ts';
import { InterruptedError } from './io.ts';
import type { Io } from './io.ts';
import { ProgressLine } from './output.ts';

/** Longer steps would leave gaps: Prometheus ignores samples that are older than five minutes. */
const STEPS_MS = new Map([
  ['1m', 60_000],
  ['5m', 300_000],
]);

/** Labels that the series have already. Prometheus would rename a scrape's label of the same name. */
const USED_LABELS = 'job instance customer timezone branch client device name counter stream'.split(
  ' ',
);

const NOTES = `Times are ISO 8601 (2026-11-01T04:00:00+01:00), in each customer's time zone if
they have no offset; dates (2026-11-01), which mean midnight; or durations
before now (-35d).

The output is one file per month. Run the same command again to continue after
an interruption.`;

export function backfillCommand(io: Io): Command {
  const command = new Command('backfill')
    .summary('write history from before the exporter was installed')
    .description('Writes what the exporter would have exported in the past, as OpenMetrics.')
    .addOption(configOption())
    .requiredOption('--from <time>', 'start of the history; required', checkTime)
    .option('--to <time>', 'its end (default: the first live sample, or 3 hours ago)', checkTime)
    .option('--customer <name>', 'customer name, repeatable (default: all)', addCustomer)
    .addOption(
      new Option('--step <duration>', 'between two samples: 1m or 5m')
        .argParser(parseStep)
        .default(60_000, '1m'),
    )
    .option('--instance <value>', 'instance label of the series', nonEmpty, 'localhost:10096')
    .option('--job <value>', 'job label of the series', nonEmpty, 'library')
    .option('--label <name=value>', 'another label of the series, repeatable', addLabel)
    .option(
      '--prometheus.url <url>',
      'a Prometheus that scrapes the exporter: the history ends at its first sample',
      parsePrometheusUrl,
    )
    .requiredOption('--output <folder>', 'folder for the files; required')
    .addHelpText(
      'after',
      helpNotes(
        'backfill.md',
        [
          'backfill --from=2026-01-01 --output=history',
          'backfill --from=-90d --step=5m --output=history',
        ],
        NOTES,
      ),
    );
  logOptions().forEach((option) => command.addOption(option));
  return command.action((flags: BackfillFlags) => backfill(flags, io));
}

/** Throws a UsageError or ConfigError before the service is queried, and an Error after that. */
async function backfill(flags: BackfillFlags, io: Io): Promise<void> {
  const progress = new ProgressLine(io);
  const log = loggerFor(flags, { ...io, writeError: (text) => progress.write(text) });
  try {
    const summary = await writeHistory(flags, io, progress, log);
    progress.clear();
    io.writeOut(summary);
  } catch (error) {
    progress.clear();
    throw io.stop.aborted
      ? new InterruptedError('stopped; run the same command again to continue', { cause: error })
      : error;
  }
}

async function writeHistory(
  flags: BackfillFlags,
  io: Io,
  progress: ProgressLine,
  log: Logger,
): Promise<string> {
  const { config, warnings } = await loadConfig({ path: flags['config.file'], env: io.env });
  warnings.forEach((warning) => log.warn('config warning', { warning }));
  const customers = selectCustomers(config, flags.customer);
  const labels = scrapeLabels(flags, config);
  const folder = await OutputFolder.read(flags.output, settingsDigest(flags, config, customers));
  const nowMs = systemClock.nowMs();
  const liveStarts = await findLiveStarts(flags, customers, labels, nowMs, log, io.stop);
  const months = splitIntoMonths(createTargets(customers, liveStarts, flags, nowMs));
  await folder.lock();
  const service = serviceOf(config, io);
  try {
    await writeMonths(months, {
      folder,
      breakdowns: new Set(customers.flatMap(({ breakdowns }) => breakdowns)),
      stepMs: flags.step,
      scrapeLabels: labels,
      infoLabelNames: infoLabelNames(config),
      read: createReader(service, log, io.stop),
      workers: customersAtOnce(config.service),
      progress,
      log,
      stop: io.stop,
    });
    return folder.summary(months, customers);
  } finally {
    service.close();
    folder.unlock();
  }
}

/** The time itself depends on the customer's zone. */
function checkTime(text: string): string {
  parseTimeFlag(text);
  return text;
}

function parseStep(text: string): number {
  const stepMs = STEPS_MS.get(text);
  if (stepMs === undefined) {
    throw new InvalidArgumentError(`Expected ${[...STEPS_MS.keys()].join(' or ')}.`);
  }
  return stepMs;
}

function addCustomer(name: string, before: readonly string[] = []): readonly string[] {
  return [...before, name];
}

/** Prometheus drops labels without a value. */
function nonEmpty(text: string): string {
  if (text === '') {
    throw new InvalidArgumentError('Expected a value.');
  }
  return text;
}

function addLabel(text: string, before: readonly LabelPair[] = []): readonly LabelPair[] {
  const [, name, value] = /^((?!__)[a-zA-Z_][a-zA-Z0-9_]*)=(.+)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined) {
    throw new InvalidArgumentError('Expected NAME=VALUE such as datacenter=north.');
  }
  if (USED_LABELS.includes(name) || before.some(([other]) => other === name)) {
    throw new InvalidArgumentError(`Expected another name than ${name}, which is already used.`);
  }
  return [...before, [name, value]];
}

function parsePrometheusUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw new InvalidArgumentError('Expected a URL such as http://localhost:9090.');
  }
  return url;
}
