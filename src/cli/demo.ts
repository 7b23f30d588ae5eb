/** `demo`: the exporter against the simulated service, in one process, with nothing to set up. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { systemClock } from '../base/clock.ts';
import { BREAKDOWNS } from '../base/model.ts';
import { loadConfig } from '../config/load.ts';
import { createDaemon } from '../daemon.ts';
import { exporterConfigYaml } from '../simulator/demo-service.ts';
import {
  addLogOptions,
  addSimulationOptions,
  helpNotes,
  listenAddressOption,
  loggerFor,
} from './flags.ts';
import type { LogFlags } from './flags.ts';
import { PROGRAM, untilStopped } from './io.ts';
import type { Io } from './io.ts';
import { daemonDefaults, reloadOnHangup } from './run.ts';
import { describeSimulation, startSimulation } from './service.ts';
import type { SimulationFlags } from './service.ts';

interface DemoFlags extends SimulationFlags, LogFlags {
  readonly 'web.listenAddress': string;
}

/** Intervals that are shorter than the defaults, so that the first values are there at once. */
const SHORT_INTERVALS = {
  service: { max_requests_per_second: 200 },
  polling: { interval: '5s', reconcile_interval: '15s', breakdown_interval: '15s' },
  breakdowns: BREAKDOWNS,
};
/** Limit above which the demo shows the load, with the default intervals. */
const MAX_CUSTOMERS_WITH_SHORT_INTERVALS = 100;

/** Returns the command `demo`. */
export function demoCommand(io: Io): Command {
  const command = new Command('demo')
    .summary('run the exporter with simulated libraries')
    .description('Runs the exporter with simulated libraries, without configuration or network.');
  addSimulationOptions(command)
    .addOption(listenAddressOption('address to listen on', '127.0.0.1:10096'))
    .addHelpText(
      'after',
      helpNotes('commands.md', 'demo', 'demo --customers=200 --web.listen-address=127.0.0.1:0'),
    );
  return addLogOptions(command).action((flags: DemoFlags) => demo(flags, io));
}

async function demo(flags: DemoFlags, io: Io): Promise<void> {
  const log = loggerFor(flags, io);
  const simulation = await startSimulation(flags, '127.0.0.1:0');
  const folder = await mkdtemp(join(tmpdir(), 'library-stats-exporter-demo-'));
  try {
    const { service, simulator } = simulation;
    const path = join(folder, 'config.yaml');
    const isSmall = flags.customers <= MAX_CUSTOMERS_WITH_SHORT_INTERVALS;
    const config = exporterConfigYaml(service, simulator.url, isSmall ? SHORT_INTERVALS : {});
    await writeFile(path, config, { mode: 0o600 });
    const loaded = await loadConfig({ path, env: {} });
    const daemon = createDaemon({
      ...daemonDefaults(io, log),
      config: { loaded, load: () => Promise.resolve(loaded) },
      web: {
        listenAddress: flags['web.listenAddress'],
        telemetryPath: '/metrics',
        enableLifecycle: false,
      },
      storagePath: '',
      shard: { shard: 0, shards: 1 },
    });
    io.writeOut(`${describeSimulation(simulation)}\n`);
    io.onHangup(() => reloadOnHangup(daemon, log));
    const { url } = await daemon.start();
    const address = new URL(url).host.replace('127.0.0.1', 'localhost');
    const names = service.customers.map(({ library }) => library.name);
    io.writeOut(`${recipes(path, address)}
${describeAlerts(names)}
Status page: http://${address}/\n`);
    await untilStopped(io);
    await daemon.stop();
  } finally {
    await simulation.simulator.close();
    await rm(folder, { recursive: true, force: true });
  }
}

function recipes(config: string, address: string): string {
  const year = new Date(systemClock.nowMs()).getUTCFullYear();
  return `For a table of last year's visits while this runs (docs/commands.md#report):
  ${PROGRAM} report --config.file=${config} --from=${year - 1}-01-01 --to=${year}-01-01

To load the last five weeks into a new Prometheus while this runs (docs/backfill.md):
  ${PROGRAM} backfill --config.file=${config} --from=-35d --to=-1m --instance=${address} --output=demo-past
  for month in demo-past/*.om; do promtool tsdb create-blocks-from --max-block-duration=162h openmetrics $month demo-prometheus; done
  prometheus --config.file=prometheus/prometheus.yml --storage.tsdb.path=demo-prometheus --storage.tsdb.retention.time=1y
`;
}

/** By customer: the alert of the shipped rules about its dead door, and when it fires. */
const ALERTS: Readonly<Record<string, string>> = {
  riverside: `LibraryDoorSilent after 40 minutes: one of three doors counts nobody
                (from 09:00 to 04:00 in Copenhagen)`,
  'harbour-point': `LibraryZeroTraffic after 20 minutes: the only door of the branch Lighthouse (203)
                counts nobody`,
  'old-town': 'LibraryZeroTraffic after 10 minutes: the only door counts nobody',
};

function describeAlerts(customers: readonly string[]): string {
  const lines = Object.entries(ALERTS)
    .filter(([customer]) => customers.includes(customer))
    .map(([customer, alert]) => `  ${customer.padEnd(13)} ${alert}\n`);
  return `Alerts in this Prometheus, with the past or without it (the last command alone):
${lines.join('')}`;
}
