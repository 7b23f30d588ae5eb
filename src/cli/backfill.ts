/** `backfill`: history from before the exporter was installed, as OpenMetrics for promtool. */
import { mkdir } from 'node:fs/promises';
import { Command, InvalidArgumentError, Option } from 'commander';
import { systemClock } from '../base/clock.ts';
import { UsageError } from '../base/errors.ts';
import { isLocked, lockFolder } from '../base/files.ts';
import type { FolderLock } from '../base/files.ts';
import type { Logger } from '../base/log.ts';
import { loadConfig } from '../config/load.ts';
import type { LabelPair } from '../metrics/family.ts';
import { chooseCustomers, customersAtOnce, serviceOf } from './access.ts';
import { findLiveStarts } from '../backfill/live-start.ts';
import { createReader } from '../backfill/reading.ts';
import { BackfillState } from '../backfill/state.ts';
import {
  createTargets,
  infoLabelNames,
  scrapeLabels,
  splitIntoMonths,
  STEPS_MS,
} from '../backfill/targets.ts';
import type { BackfillFlags } from '../backfill/targets.ts';
import { BackfillProgress, writeMonths } from '../backfill/writing.ts';
import {
  configOption,
  customerOption,
  helpNotes,
  loggerFor,
  addLogOptions,
  parsePath,
  parseTimeFlag,
  TIME_FORMATS,
} from './flags.ts';
import type { LogFlags } from './flags.ts';
import { InterruptedError } from './io.ts';
import type { Io } from './io.ts';
import { ProgressLine } from '../base/output.ts';

/** Returns the command `backfill`. */
export function backfillCommand(io: Io): Command {
  const command = new Command('backfill')
    .summary('write history from before the exporter was installed')
    .description(
      'Writes what the exporter would have exported in the past: one OpenMetrics file per month. Run the same command again to continue after an interruption.',
    )
    .addOption(configOption())
    .requiredOption(
      '--from <time>',
      `start of the history; required; ${TIME_FORMATS}`,
      parseTimeFlag,
    )
    .option(
      '--to <time>',
      'its end (default: the first live sample, or 3 hours ago)',
      parseTimeFlag,
    )
    .addOption(customerOption())
    .addOption(
      new Option('--step <duration>', 'between two samples')
        .choices(Object.keys(STEPS_MS))
        .default('1m'),
    )
    .option('--instance <value>', 'instance label of the series', 'localhost:10096')
    .option('--job <value>', 'job label of the series', 'library')
    .option('--label <name=value>', 'another label of the series, repeatable', addLabel)
    .option(
      '--prometheus.url <url>',
      'a Prometheus that scrapes the exporter: the history ends at its first sample',
      parsePrometheusUrl,
    )
    .requiredOption('--output <folder>', 'folder for the files; required', parsePath)
    .addHelpText(
      'after',
      helpNotes(
        'backfill.md',
        'backfill --from=2026-01-01 --output=history',
        'backfill --from=-90d --step=5m --output=history',
      ),
    );
  return addLogOptions(command).action((flags: BackfillFlags & LogFlags) => backfill(flags, io));
}

/** Throws a UsageError or ConfigError before the service is queried, and an Error after that. */
async function backfill(flags: BackfillFlags & LogFlags, io: Io): Promise<void> {
  const line = new ProgressLine(io);
  const log = loggerFor(flags, { ...io, writeError: (text) => line.write(text) });
  try {
    const summary = await writeHistory(flags, io, new BackfillProgress(line), log);
    line.clear();
    io.writeOut(summary);
  } catch (error) {
    line.clear();
    throw io.stop.aborted
      ? new InterruptedError('stopped; run the same command again to continue', { cause: error })
      : error;
  }
}

async function writeHistory(
  flags: BackfillFlags,
  io: Io,
  progress: BackfillProgress,
  log: Logger,
): Promise<string> {
  const { config, warnings } = await loadConfig({ path: flags['config.file'], env: io.env });
  warnings.forEach((warning) => log.warn('config warning', { warning }));
  const customers = chooseCustomers(config, flags.customer);
  const labels = scrapeLabels(flags, config);
  const state = await BackfillState.read(flags, config, customers);
  const nowMs = systemClock.nowMs();
  const liveStarts = await findLiveStarts(flags, customers, labels, nowMs, log, io.stop);
  const months = splitIntoMonths(createTargets(customers, liveStarts, flags, nowMs));
  await mkdir(flags.output, { recursive: true, mode: 0o750 });
  const lock = lockOutput(flags.output);
  const service = serviceOf(config, io, {
    request() {
      progress.requests += 1;
    },
  });
  try {
    await writeMonths(months, {
      folder: flags.output,
      state,
      breakdowns: new Set(customers.flatMap(({ breakdowns }) => breakdowns)),
      stepMs: STEPS_MS[flags.step],
      scrapeLabels: labels,
      infoLabelNames: infoLabelNames(config),
      read: createReader(service, config.service.keyTimes, log, io.stop),
      workers: customersAtOnce(config.service),
      progress,
      log,
      stop: io.stop,
    });
    return state.summary(months);
  } finally {
    service.close();
    lock.close();
  }
}

function lockOutput(folder: string): FolderLock {
  try {
    return lockFolder(folder);
  } catch (error) {
    throw isLocked(error)
      ? new UsageError(`--output: another backfill is writing to ${folder}`)
      : error;
  }
}

function addLabel(text: string, before: readonly LabelPair[] = []): readonly LabelPair[] {
  const [, name, value] = /^((?!__)[a-zA-Z_][a-zA-Z0-9_]*)=(.+)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined) {
    throw new InvalidArgumentError('Expected NAME=VALUE such as datacenter=north.');
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
