/** `backfill`: history from before the exporter was there, as OpenMetrics for Prometheus's promtool. */
import { Command, Option } from 'commander';
import {
  addCustomer,
  addLabel,
  datedFlag,
  labelValue,
  prometheusUrl,
  STEPS,
  stepFlag,
} from './backfill/flags.ts';
import type { BackfillFlags } from './backfill/flags.ts';
import { configOption, loggerFor, logOptions } from './flags.ts';
import type { Io } from './io.ts';

const NOTES = `
Times are ISO 8601 (2026-11-01T04:00:00+01:00), in each customer's time zone where they have no offset;
dates (2026-11-01), which mean their midnight; or durations before now (-35d).

There is one file for each month, written whole or not at all. Run again with the same flags, it goes
on where it was stopped. docs/backfill.md says how the files get into Prometheus and other stores.

Examples:
  library-stats-exporter backfill --from=2026-01-01 --to=2026-11-01 --output=history
  library-stats-exporter backfill --from=-90d --prometheus.url=http://localhost:9090 --output=history
  for m in history/*.om; do promtool tsdb create-blocks-from --max-block-duration=162h openmetrics $m blocks; done
`;

export function backfillCommand(io: Io): Command {
  const command = new Command('backfill')
    .summary('history for Prometheus, from before the exporter was there')
    .description(
      'Writes what the exporter would have shown in the past, as OpenMetrics for promtool.',
    )
    .addOption(configOption())
    .requiredOption('--from <time>', 'the first instant to be written', datedFlag)
    .option(
      '--to <time>',
      'the instant before which it ends (default: three hours ago, or the first live sample)',
      datedFlag,
    )
    .option('--customer <name>', 'whose; may be repeated (default: of all)', addCustomer)
    .addOption(
      new Option('--step <duration>', `between two samples: ${STEPS.join(' or ')}`)
        .argParser(stepFlag)
        .default(60_000, '1m'),
    )
    .option('--instance <value>', 'the label that Prometheus gives', labelValue, 'localhost:10096')
    .option('--job <value>', 'the label that Prometheus gives', labelValue, 'library')
    .option('--label <name=value>', 'another one that it adds; may be repeated', addLabel)
    .option(
      '--prometheus.url <url>',
      'a Prometheus that scrapes the exporter: ends at its first samples, and never above them',
      prometheusUrl,
    )
    .requiredOption('--output <folder>', 'where the files go')
    .addHelpText('after', NOTES);
  logOptions().forEach((option) => command.addOption(option));
  return command.action(async (flags: BackfillFlags) => {
    const { backfill } = await import('./backfill/run.ts');
    await backfill(flags, io, loggerFor(flags, io));
  });
}
