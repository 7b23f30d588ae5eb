/** `demo`: the daemon against the simulated service, in one process, with nothing to set up. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command } from 'commander';
import { BREAKDOWNS } from '../base/model.ts';
import { loadConfig } from '../config/load.ts';
import { exporterConfigYaml } from '../simulator/world.ts';
import { customersOption, loggerFor, logOptions, seedOption } from './flags.ts';
import type { LogFlags } from './flags.ts';
import type { Io } from './io.ts';
import { serve } from './run.ts';
import { PROGRAM } from './version.ts';
import { describeWorld, startWorld } from './world.ts';
import type { RunningWorld, WorldFlags } from './world.ts';

interface DemoFlags extends WorldFlags, LogFlags {
  readonly 'web.listenAddress': string;
}

/** Quicker than against the real service, so that there is something to see at once. */
const QUICK = {
  service: { max_requests_per_second: 200 },
  polling: { interval: '5s', reconcile_interval: '5m', breakdown_interval: '15s' },
  breakdowns: BREAKDOWNS,
};
/** Above so many customers the interval is the real one: it is about load then, not about looking. */
const MOST_QUICK_CUSTOMERS = 100;

export function demoCommand(io: Io): Command {
  const command = new Command('demo')
    .summary('the exporter against a simulated service, nothing to set up')
    .description('Simulates libraries that fill and empty, and exports them. No network is used.')
    .addOption(customersOption())
    .addOption(seedOption())
    .option('--web.listen-address <address>', 'where to serve', '127.0.0.1:10096');
  logOptions().forEach((option) => command.addOption(option));
  return command.action(async (flags: DemoFlags) => {
    const running = await startWorld(flags, '127.0.0.1:0');
    const folder = await mkdtemp(join(tmpdir(), 'library-stats-exporter-demo-'));
    try {
      // The configuration takes the way of every other one: through a file and all checks.
      const path = join(folder, 'config.yaml');
      await writeFile(path, configFor(running, flags), { mode: 0o600 });
      const loaded = await loadConfig({ path, env: {} });
      io.writeOut(`${describeWorld(running)}\n${historyText(path)}`);
      await serve(
        {
          ...flags,
          'config.autoReloadInterval': 0,
          'web.telemetryPath': '/metrics',
          'web.enableLifecycle': false,
          'storage.path': '',
          shard: { shard: 0, shards: 1 },
        },
        { loaded, load: () => Promise.resolve(loaded), io, log: loggerFor(flags, io) },
      );
    } finally {
      await running.simulator.close();
      await rm(folder, { recursive: true, force: true });
    }
  });
}

function configFor({ world, simulator }: RunningWorld, { customers }: DemoFlags): string {
  const settings = customers <= MOST_QUICK_CUSTOMERS ? QUICK : {};
  return exporterConfigYaml(world, simulator.url, settings);
}

/** What to copy, while the demo runs, to have its five weeks in a Prometheus. */
function historyText(config: string): string {
  const example = new URL('../../prometheus/prometheus.yml', import.meta.url);
  const prometheus = relative('.', fileURLToPath(example));
  return [
    'Its last five weeks for a new Prometheus, while this runs (docs/backfill.md):',
    `  ${PROGRAM} backfill --config.file=${config} --from=-35d --to=-1m --step=5m --output=demo-history`,
    '  for month in demo-history/*.om; do promtool tsdb create-blocks-from --max-block-duration=162h openmetrics $month demo-prometheus; done',
    `  prometheus --config.file=${prometheus} --storage.tsdb.path=demo-prometheus --storage.tsdb.retention.time=1y`,
    '',
  ].join('\n');
}
