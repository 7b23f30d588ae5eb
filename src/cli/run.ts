/** `run`: the exporter against the real service, until SIGTERM or SIGINT. */
import { Command, InvalidArgumentError, Option } from 'commander';
import { systemClock } from '../base/clock.ts';
import type { Clock } from '../base/clock.ts';
import { parseDuration } from '../base/duration.ts';
import { ConfigError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { systemRandom } from '../base/random.ts';
import { loadConfig } from '../config/load.ts';
import type { LoadedConfig } from '../config/load.ts';
import { loadWebConfig } from '../config/web.ts';
import { createDaemon } from '../daemon.ts';
import type { Daemon, DaemonOptions, ReloadScope } from '../daemon.ts';
import type { Shard } from '../metrics/exporter-metrics.ts';
import {
  addLogOptions,
  configOption,
  helpNotes,
  listenAddressOption,
  loggerFor,
  webConfigOption,
} from './flags.ts';
import type { LogFlags } from './flags.ts';
import { buildOf, untilStopped } from './io.ts';
import type { Io } from './io.ts';

interface RunFlags extends LogFlags {
  readonly 'config.file': string;
  readonly 'config.autoReloadInterval': number;
  readonly 'web.listenAddress': string;
  readonly 'web.telemetryPath': string;
  readonly 'web.externalUrl'?: string;
  readonly 'web.routePrefix'?: string;
  readonly 'web.config.file'?: string;
  readonly 'web.enableLifecycle': boolean;
  readonly 'storage.path': string;
  readonly shard: Shard;
}

/** A reload of more takes longer than a tenth of a second, in which nobody is answered. */
const MAX_CUSTOMERS_WITHOUT_THREAD = 500;
/** Certificates are renewed without a reload request. */
const WEB_INTERVAL_MS = 1_000;
/** A changed configuration counts when it is the same after this time: half-written files may be valid. */
const SETTLE_MS = 1_000;

/** Returns the command `run`. */
export function runCommand(io: Io): Command {
  const command = new Command('run')
    .summary('run the exporter (the default command)')
    .description('Polls the service for every customer and serves the metrics.')
    .addOption(configOption())
    .option(
      '--config.auto-reload-interval <duration>',
      'how often to load the configuration and apply changes, at least 1s; 0 is off',
      parseReloadInterval,
      0,
    )
    .addOption(listenAddressOption('address to listen on; port 0 picks a free port', ':10096'))
    .option('--web.telemetry-path <path>', 'path of the metrics', '/metrics')
    .option(
      '--web.external-url <url>',
      'URL or path at which clients reach the exporter, such as through a reverse proxy; for links and redirects',
    )
    .option(
      '--web.route-prefix <path>',
      'path that begins every path of the exporter; by default the path of --web.external-url',
    )
    .addOption(webConfigOption())
    .option('--web.enable-lifecycle', 'reload at POST or PUT to /-/reload', false)
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
      helpNotes(
        'operations.md',
        '--config.file=/etc/library-stats-exporter/config.yaml',
        'run --config.auto-reload-interval=30s',
      ),
    );
  return addLogOptions(command).action((flags: RunFlags) => run(flags, io));
}

async function run(flags: RunFlags, io: Io): Promise<void> {
  const log = loggerFor(flags, io);
  const { 'config.file': path, 'web.config.file': webPath } = flags;
  const { env, stop } = io;
  // During the start, a SIGHUP leads to a reload after it.
  const started = Promise.withResolvers<Daemon>();
  io.onHangup(() => void started.promise.then((daemon) => reloadOnHangup(daemon, log)));
  // A large configuration takes seconds, and a network file system may not answer.
  const loaded = await Promise.race([loadConfig({ path, webPath, env }), untilStopped(io)]);
  if (loaded === undefined) {
    return;
  }
  const running = loaded.web?.config;
  let customers = loaded.config.customers.length;
  async function load(): Promise<LoadedConfig> {
    const inThread = customers > MAX_CUSTOMERS_WITHOUT_THREAD;
    const result = await loadConfig({ path, webPath, env, running, inThread });
    customers = result.config.customers.length;
    return result;
  }
  const loadWeb =
    webPath === undefined ? undefined : () => loadWebConfig({ path: webPath, env, running });
  const daemon = createDaemon({
    ...daemonDefaults(io, log),
    config: { loaded, load, loadWeb },
    web: {
      listenAddress: flags['web.listenAddress'],
      telemetryPath: flags['web.telemetryPath'],
      externalUrl: flags['web.externalUrl'],
      routePrefix: flags['web.routePrefix'],
      enableLifecycle: flags['web.enableLifecycle'],
    },
    storagePath: flags['storage.path'],
    shard: flags.shard,
  });
  await daemon.start();
  started.resolve(daemon);
  let isSaved = false;
  const intervalMs = flags['config.autoReloadInterval'];
  // A watch ends before that only by an error. At the end, a network file system may not answer it.
  const ends = [untilStopped(io)];
  function watch(scope: ReloadScope, options: Omit<WatchOptions, 'reload'>): void {
    const reload = { reload: () => daemon.reload(scope) };
    ends.push(reloadOnChange({ ...options, ...reload }, systemClock, stop));
  }
  if (intervalMs > 0) {
    watch('all', { load, loadedDigest: loaded.digest, intervalMs });
  }
  if (loadWeb !== undefined && loaded.web !== undefined) {
    watch('web', { load: loadWeb, loadedDigest: loaded.web.digest, intervalMs: WEB_INTERVAL_MS });
  }
  try {
    await Promise.race(ends);
  } finally {
    isSaved = await daemon.stop();
  }
  if (!isSaved) {
    throw new Error(`the state file in ${flags['storage.path']} could not be written`);
  }
}

interface WatchOptions {
  /** Throws a ConfigError if the configuration is bad. */
  readonly load: () => Promise<{ readonly digest: string }>;
  readonly reload: () => Promise<unknown>;
  /** Digest of the configuration that is in force at first. */
  readonly loadedDigest: string;
  readonly intervalMs: number;
}

/**
 * Loads once per interval and reloads once for each change, until the signal aborts. A load takes as much
 * processor time as a reload. A bad configuration is a change, and so are other problems of it. Throws
 * what is not a ConfigError.
 */
export async function reloadOnChange(
  { load, reload, loadedDigest, intervalMs }: WatchOptions,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  let reloaded = loadedDigest;
  let previous = loadedDigest;
  while (!signal.aborted) {
    await clock.sleep(previous === reloaded ? intervalMs : SETTLE_MS, signal).catch(() => {});
    const current = await load().then(({ digest }) => digest, problemsIn);
    if (current !== reloaded && current === previous && !signal.aborted) {
      reloaded = current;
      await reload();
    }
    previous = current;
  }
}

function problemsIn(error: unknown): string {
  if (error instanceof ConfigError) {
    return error.message;
  }
  throw error;
}

/** Returns the options of a daemon that no flag changes. */
export function daemonDefaults(io: Io, log: Logger) {
  return {
    build: buildOf(io),
    system: { environment: io.env, clock: systemClock, random: systemRandom, log },
  } satisfies Partial<DaemonOptions>;
}

/** Starts a reload; the result is in the log. */
export function reloadOnHangup(daemon: Daemon, log: Logger): void {
  daemon.reload().catch((error: unknown) => log.error('reload failed', { error: String(error) }));
}

/** Returns milliseconds. */
function parseReloadInterval(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined || (ms > 0 && ms < 1_000)) {
    throw new InvalidArgumentError('Expected 0, or a duration of at least 1s such as 30s or 5m.');
  }
  return ms;
}

/** Matches a StatefulSet's host names, such as `exporter-0`, with the number at their end. */
const NUMBERED_HOST = /^[^.]*-(\d+)(?:\.|$)/;

/**
 * Parses `0/4`, or `auto/4` for the number at the end of the host name, counted from 0. A host with a number
 * that is too high has no shard: it would end again and again, and no alert could find it. Throws an
 * InvalidArgumentError.
 */
export function parseShard(text: string, hostname: string): Shard {
  const [, number = '', count = ''] = /^(\d+|auto)\/(\d+)$/.exec(text) ?? [];
  const isAuto = number === 'auto';
  const shard = Number(isAuto ? NUMBERED_HOST.exec(hostname)?.[1] : number);
  const shards = Number(count);
  if (isAuto && shards > 0 && shard >= shards) {
    return { shard: undefined, shards };
  }
  if (!(shard < shards)) {
    throw new InvalidArgumentError(
      'Expected NUMBER/COUNT such as 0/4, with a number below the count; or auto/4 on a host with ' +
        `a number at the end of its name, such as exporter-0, got the host ${hostname}.`,
    );
  }
  return { shard, shards };
}
