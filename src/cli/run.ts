/** `run`: the exporter against the real service, until SIGTERM or SIGINT. */
import { Command, InvalidArgumentError, Option } from 'commander';
import { systemClock } from '../base/clock.ts';
import { parseDuration } from '../base/duration.ts';
import { UsageError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { systemRandom } from '../base/random.ts';
import { loadConfig } from '../config/load.ts';
import type { LoadedConfig } from '../config/load.ts';
import { loadWebConfig } from '../config/web.ts';
import type { WebConfig } from '../config/types.ts';
import { createDaemon } from '../daemon.ts';
import type { Daemon, DaemonOptions, Shard } from '../daemon.ts';
import { proxyEnvironmentFrom } from '../service/transport.ts';
import { configOption, helpNotes, loggerFor, logOptions, webConfigOption } from './flags.ts';
import type { LogFlags } from './flags.ts';
import { untilStopped } from './io.ts';
import type { Io } from './io.ts';
import { VERSION } from './version.ts';
import { createWatch } from './watch.ts';

interface RunFlags extends LogFlags {
  readonly 'config.file': string;
  readonly 'config.autoReloadInterval': number;
  readonly 'web.listenAddress': string;
  readonly 'web.telemetryPath': string;
  readonly 'web.config.file'?: string;
  readonly 'web.enableLifecycle': boolean;
  readonly 'web.openmetricsCreated'?: boolean;
  readonly 'storage.path': string;
  readonly shard: Shard;
}

const MIN_RELOAD_INTERVAL_MS = 1_000;
/** Certificates are renewed without a reload request. */
const WEB_CONFIG_INTERVAL_MS = 1_000;

export function runCommand(io: Io): Command {
  const command = new Command('run')
    .summary('run the exporter (the default command)')
    .description('Polls the service for every customer and serves the metrics.')
    .addOption(configOption())
    .addOption(
      new Option(
        '--config.auto-reload-interval <duration>',
        'how often to look for changed configuration files, at least 1s; 0 is off',
      )
        .argParser(parseReloadInterval)
        .default(0, '0'),
    )
    .option(
      '--web.listen-address <address>',
      'address to listen on; port 0 picks a free port',
      ':10096',
    )
    .option('--web.telemetry-path <path>', 'path of the metrics', '/metrics')
    .addOption(webConfigOption())
    .option('--web.enable-lifecycle', 'reload at POST or PUT to /-/reload', false)
    .option(
      '--web.openmetrics-created',
      "add _created to the customers' counters in OpenMetrics",
      false,
    )
    .option('--storage.path <folder>', 'folder of the state file; empty is off', 'data')
    .addOption(
      new Option(
        '--shard <number/count>',
        'poll only this part of the customers; auto/4 takes the number from the host name',
      )
        .argParser((text) => parseShard(text, io.hostname))
        .default({ shard: 0, shards: 1 }, '0/1'),
    )
    .addHelpText(
      'after',
      helpNotes('operations.md', [
        '--config.file=/etc/library-stats-exporter/config.yaml',
        'run --config.auto-reload-interval=30s',
      ]),
    );
  logOptions().forEach((option) => command.addOption(option));
  return command.action((flags: RunFlags) => run(flags, io));
}

async function run(flags: RunFlags, io: Io): Promise<void> {
  const log = loggerFor(flags, io);
  // SIGHUP would end the process while the configuration is loaded, so it is handled from here on.
  const started = Promise.withResolvers<Daemon>();
  io.onHangup(() => void started.promise.then((daemon) => reloadOnHangup(daemon, log)));
  const { 'config.file': path, 'web.config.file': webPath } = flags;
  function load(running?: WebConfig): Promise<LoadedConfig> {
    return loadConfig({ path, webPath, env: io.env, running });
  }
  // A large configuration takes seconds, and a network file system may not answer.
  const loaded = await Promise.race([load(), untilStopped(io)]);
  if (loaded === undefined) {
    return;
  }
  const daemon = createDaemon({
    ...daemonDefaults(io, log),
    loaded,
    load,
    loadWeb: async (running) =>
      webPath === undefined ? undefined : loadWebConfig({ path: webPath, env: io.env, running }),
    listenAddress: flags['web.listenAddress'],
    telemetryPath: flags['web.telemetryPath'],
    enableLifecycle: flags['web.enableLifecycle'],
    openMetricsCreated: flags['web.openmetricsCreated'] === true,
    storagePath: flags['storage.path'],
    shard: flags.shard,
  });
  const watches = await createWatches(daemon, flags, io.stop);
  await daemon.start();
  started.resolve(daemon);
  try {
    // The end of a watch is not waited for: a network file system may not answer.
    await Promise.race([untilStopped(io), watches().then(() => untilStopped(io))]);
  } finally {
    await daemon.stop();
  }
}

/** The options of a daemon that no flag changes. */
export function daemonDefaults(io: Io, log: Logger) {
  return {
    version: VERSION,
    revision: io.env['LIBRARY_STATS_EXPORTER_REVISION'] ?? 'unknown',
    nodeVersion: io.nodeVersion,
    proxyEnvironment: proxyEnvironmentFrom(io.env),
    clock: systemClock,
    random: systemRandom,
    log,
  } satisfies Partial<DaemonOptions>;
}

export function reloadOnHangup(daemon: Daemon, log: Logger): void {
  daemon.reload().catch((error: unknown) => log.error('reload failed', { error: String(error) }));
}

/** The files are looked at before the daemon listens, so that no change after that is missed. */
async function createWatches(
  daemon: Daemon,
  flags: RunFlags,
  signal: AbortSignal,
): Promise<() => Promise<unknown>> {
  const intervalMs = flags['config.autoReloadInterval'];
  const hasWebConfig = flags['web.config.file'] !== undefined;
  const watches = await Promise.all([
    ...(intervalMs > 0 ? [createWatch(daemon, 'all', intervalMs, systemClock, signal)] : []),
    ...(hasWebConfig
      ? [createWatch(daemon, 'web', WEB_CONFIG_INTERVAL_MS, systemClock, signal)]
      : []),
  ]);
  return () => Promise.all(watches.map((watch) => watch()));
}

/** Milliseconds. */
function parseReloadInterval(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined || (ms > 0 && ms < MIN_RELOAD_INTERVAL_MS)) {
    throw new InvalidArgumentError('expected 0, or a duration of at least 1s such as 30s or 5m');
  }
  return ms;
}

/** `0/4`, or `auto/4` for the number at the end of the host name. Counted from 0. */
export function parseShard(text: string, hostname: string): Shard {
  const [, number = '', count] = /^(\d+|auto)\/(\d+)$/.exec(text) ?? [];
  if (count === undefined) {
    throw new UsageError(
      `--shard: expected NUMBER/COUNT such as 0/4, or auto/4, got ${JSON.stringify(text)}`,
    );
  }
  const shard = number === 'auto' ? numberAtEnd(hostname) : Number(number);
  const shards = Number(count);
  if (shard >= shards) {
    throw new UsageError(
      `--shard: expected a number below ${shards}, got ${shard}: shards are counted from 0`,
    );
  }
  return { shard, shards };
}

function numberAtEnd(hostname: string): number {
  const [, number] = /-(\d+)$/.exec(hostname.split('.')[0] ?? '') ?? [];
  if (number === undefined) {
    throw new UsageError(
      `--shard: expected a host name that ends in a number, such as exporter-0, for auto, got ${JSON.stringify(hostname)}`,
    );
  }
  return Number(number);
}
