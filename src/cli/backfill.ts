/** `backfill`: the past from before the exporter was installed, as OpenMetrics for promtool. */
import { Command } from 'commander';
import { systemClock } from '../base/clock.ts';
import { codeOf, UsageError } from '../base/errors.ts';
import { createFolder } from '../base/files.ts';
import type { Logger } from '../base/log.ts';
import { loadConfig } from '../config/load.ts';
import { chooseCustomers, customersAtOnce, serviceOf } from './access.ts';
import { createReader } from '../backfill/reading.ts';
import { summaryOf } from '../backfill/summary.ts';
import { createTargets, infoLabelNames, splitIntoMonths } from '../backfill/targets.ts';
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
    .summary('write the past from before the exporter was installed')
    .description(
      'Writes what the exporter would have exported in the past: one OpenMetrics file per month. Run the same command again to continue after an interruption.',
    )
    .addOption(configOption())
    .requiredOption(
      '--from <time>',
      `start of what is written; required; ${TIME_FORMATS}`,
      parseTimeFlag,
    )
    .requiredOption(
      '--to <time>',
      'its end: when Prometheus began to scrape the exporter; required',
      parseTimeFlag,
    )
    .addOption(customerOption())
    .option('--instance <value>', 'instance label of the series', 'localhost:10096')
    .option('--job <value>', 'job label of the series', 'library')
    .requiredOption('--output <folder>', 'folder for the files; required', parsePath)
    .addHelpText(
      'after',
      helpNotes(
        'backfill.md',
        'backfill --from=2026-01-01 --to=-1m --output=past',
        'backfill --from=-90d --to=2026-11-02 --output=past',
      ),
    );
  return addLogOptions(command).action((flags: BackfillFlags & LogFlags) => backfill(flags, io));
}

/** Throws a UsageError or ConfigError before the service is queried, and an Error after that. */
async function backfill(flags: BackfillFlags & LogFlags, io: Io): Promise<void> {
  const line = new ProgressLine(io);
  const log = loggerFor(flags, { ...io, writeError: (text) => line.write(text) });
  try {
    const summary = await writePast(flags, io, new BackfillProgress(line), log);
    line.clear();
    io.writeOut(summary);
  } catch (error) {
    line.clear();
    throw io.stop.aborted
      ? new InterruptedError('stopped; run the same command again to continue', { cause: error })
      : error;
  }
}

async function writePast(
  flags: BackfillFlags,
  io: Io,
  progress: BackfillProgress,
  log: Logger,
): Promise<string> {
  const { config, warnings } = await loadConfig({ path: flags['config.file'], env: io.env });
  warnings.forEach((warning) => log.warn('config warning', { warning }));
  const customers = chooseCustomers(config, flags.customer);
  const months = splitIntoMonths(createTargets(customers, flags, systemClock.nowMs()));
  await createOutput(flags.output);
  const service = serviceOf(config, io, {
    request() {
      progress.requests += 1;
    },
  });
  try {
    const written = await writeMonths(months, {
      folder: flags.output,
      scrapeLabels: [
        ['instance', flags.instance],
        ['job', flags.job],
      ],
      infoLabelNames: infoLabelNames(config),
      read: createReader(service, config.service.keyTimes, log, io.stop),
      workers: customersAtOnce(config.service),
      progress,
      log,
      stop: io.stop,
    });
    return summaryOf(written, flags.output);
  } finally {
    service.close();
  }
}

/** Throws a UsageError if there is a file of this name. */
async function createOutput(folder: string): Promise<void> {
  try {
    await createFolder(folder);
  } catch (error) {
    throw ['EEXIST', 'ENOTDIR'].includes(codeOf(error) ?? '')
      ? new UsageError(`--output: expected a folder, ${folder} is a file`)
      : error;
  }
}
