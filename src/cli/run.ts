/** `run`: the daemon against the real service, until it is told to stop. */
import { Command, Option } from 'commander';
import { systemClock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { systemRandom } from '../base/random.ts';
import { loadAll } from '../config/load-all.ts';
import type { LoadedAll } from '../config/load-all.ts';
import { loadWebConfig } from '../config/web.ts';
import type { LoadedWebConfig } from '../config/web.ts';
import type { WebConfig } from '../config/web-types.ts';
import { createDaemon } from '../daemon.ts';
import type { Daemon, Shard } from '../daemon.ts';
import { proxyEnvironmentFrom } from '../service/proxy.ts';
import { digestsOf, watchConfig } from './auto-reload.ts';
import { configOption, intervalOrNever, loggerFor, logOptions, webConfigOption } from './flags.ts';
import type { LogFlags } from './flags.ts';
import { untilStopped } from './io.ts';
import type { Io } from './io.ts';
import { parseShard } from './shard.ts';
import { VERSION } from './version.ts';

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

/** Certificates are renewed, and users come and go, without anybody asking for a reload. */
const WEB_INTERVAL_MS = 1_000;

export function runCommand(io: Io): Command {
  const command = new Command('run')
    .summary('the exporter (the default)')
    .description('Polls the service for every customer of the configuration and serves /metrics.')
    .addOption(configOption())
    .addOption(
      new Option(
        '--config.auto-reload-interval <duration>',
        'how often to look for changes of the configuration; 0 for never',
      )
        .argParser(intervalOrNever)
        .default(0, '0'),
    )
    .option(
      '--web.listen-address <address>',
      'where to serve; 127.0.0.1:0 picks a free port',
      ':10096',
    )
    .option('--web.telemetry-path <path>', 'the path of the metrics', '/metrics')
    .addOption(webConfigOption())
    .option('--web.enable-lifecycle', 'let POST or PUT to /-/reload read the configuration', false)
    .option(
      '--web.openmetrics-created',
      'add _created to the counters of the customers in OpenMetrics',
      false,
    )
    .option(
      '--storage.path <folder>',
      'where the highest values shown are kept over restarts; empty for nowhere',
      'data',
    )
    .addOption(
      new Option(
        '--shard <number/of>',
        'poll only this part of the customers, such as 0/4 or auto/4',
      )
        .argParser((text) => parseShard(text, io.hostname))
        .default({ shard: 0, shards: 1 }, '0/1'),
    );
  logOptions().forEach((option) => command.addOption(option));
  return command.action(async (flags: RunFlags) => {
    const log = loggerFor(flags, io);
    const onHangup = collectHangups(io);
    const { 'config.file': path, 'web.config.file': webPath } = flags;
    function load(running?: WebConfig): Promise<LoadedAll> {
      return loadAll({ path, webPath, env: io.env, nowMs: systemClock.nowMs(), running });
    }
    async function loadWeb(running?: WebConfig): Promise<LoadedWebConfig | undefined> {
      const options = { env: io.env, nowMs: systemClock.nowMs(), running };
      return webPath === undefined ? undefined : loadWebConfig({ path: webPath, ...options });
    }
    // A large configuration takes seconds, and its files may be on a disk that does not answer.
    const loaded = await Promise.race([load(), untilStopped(io)]);
    if (loaded !== undefined) {
      await serve(flags, { load, loadWeb, loaded, io, log, onHangup });
    }
  });
}

export interface Serving {
  readonly loaded: LoadedAll;
  readonly load: (running: WebConfig | undefined) => Promise<LoadedAll>;
  readonly loadWeb?: (running: WebConfig | undefined) => Promise<LoadedWebConfig | undefined>;
  readonly io: Io;
  readonly log: Logger;
  /** In place of that of `io`, which may have had hangups already. */
  readonly onHangup?: Io['onHangup'];
}

/** Runs a daemon until the process is told to stop. */
export async function serve(
  flags: Omit<RunFlags, 'config.file' | 'web.config.file' | keyof LogFlags>,
  { loaded, load, loadWeb, io, log, onHangup = io.onHangup }: Serving,
): Promise<void> {
  log.info('starting', { version: VERSION, customers: loaded.config.customers.length });
  [...loaded.warnings, ...(loaded.web?.warnings ?? [])].forEach((warning) =>
    log.warn('the configuration is good but for this', { warning }),
  );
  const daemon = createDaemon({
    loaded,
    load,
    ...(loadWeb === undefined ? {} : { loadWeb }),
    listenAddress: flags['web.listenAddress'],
    telemetryPath: flags['web.telemetryPath'],
    enableLifecycle: flags['web.enableLifecycle'],
    openMetricsCreated: flags['web.openmetricsCreated'] === true,
    storagePath: flags['storage.path'],
    shard: flags.shard,
    version: VERSION,
    revision: io.env['LIBRARY_STATS_EXPORTER_REVISION'] ?? 'unknown',
    nodeVersion: io.nodeVersion,
    proxyEnvironment: proxyEnvironmentFrom(io.env),
    clock: systemClock,
    random: systemRandom,
    log,
    settleHeap: io.settleHeap,
  });
  // Before anybody can know that it runs, and change a file: nothing is missed in between.
  const watch = await createWatch(daemon, loaded, flags['config.autoReloadInterval'], io.stop);
  await daemon.start();
  onHangup(() => {
    daemon.reload().catch((error: unknown) => {
      log.error('the configuration could not be read again', { error: String(error) });
    });
  });
  try {
    // The watch's end is not waited for: files may be on a disk that does not answer.
    await Promise.race([untilStopped(io), watch().then(() => untilStopped(io))]);
  } finally {
    log.info('stopping');
    await daemon.stop();
    log.info('stopped');
  }
}

/** Takes hangups from now on, as one would end the process else; whoever listens later is told then. */
function collectHangups(io: Io): Io['onHangup'] {
  const { promise: listening, resolve } = Promise.withResolvers<() => void>();
  io.onHangup(() => void listening.then((listener) => listener()));
  return resolve;
}

/** A watch over the files as they are now, to be begun later, which ends with the signal. */
async function createWatch(
  daemon: Daemon,
  loaded: LoadedAll,
  intervalMs: number,
  signal: AbortSignal,
): Promise<() => Promise<unknown>> {
  const seen = intervalMs === 0 ? new Map<string, string>() : await digestsOf(loaded.files);
  const seenOfWeb = await digestsOf(loaded.web?.files ?? []);
  const common = { clock: systemClock, signal };
  return () =>
    Promise.all([
      watchConfig({
        ...common,
        intervalMs,
        seen,
        files: () => daemon.configFiles(),
        reload: () => daemon.reload(),
      }),
      watchConfig({
        ...common,
        intervalMs: loaded.web === undefined ? 0 : WEB_INTERVAL_MS,
        settles: true,
        seen: seenOfWeb,
        files: () => daemon.webFiles(),
        reload: () => daemon.reloadWeb(),
      }),
    ]);
}
