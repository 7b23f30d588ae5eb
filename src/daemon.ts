/** The composition root: configuration, clock and log in, a running exporter out. */
import { resolve } from 'node:path';
import type { Clock } from './base/clock.ts';
import { ConfigError } from './base/errors.ts';
import type { LogFields, Logger } from './base/log.ts';
import type { Random } from './base/random.ts';
import type { WebConfig } from './base/web-config.ts';
import type { LoadedConfig } from './config/load.ts';
import type { LoadResult } from './config/reader.ts';
import type { Config } from './config/types.ts';
import type { Customer } from './counting/customer.ts';
import { HighWaterMarks } from './counting/high-water-marks.ts';
import { shardOf } from './customers.ts';
import { Exporter } from './exporter.ts';
import { createExporterMetrics } from './metrics/exporter-metrics.ts';
import type { Build, Shard } from './metrics/exporter-metrics.ts';
import { renderCustomers, renderScrape } from './metrics/exposition.ts';
import { createService } from './service/client.ts';
import type { Transport } from './service/transport.ts';
import { DailyRows } from './storage/daily-rows.ts';
import { DEVICE_PLACES } from './storage/device-places.ts';
import { LASTING_PROBLEMS } from './storage/lasting-problems.ts';
import { Pasts } from './storage/pasts.ts';
import { Store } from './storage/store.ts';
import { createWebServer } from './web/server.ts';
import type { ReloadResult, WebServerOptions } from './web/server.ts';
import type { PathOptions } from './web/paths.ts';
import type { FailedReload } from './web/status-page.ts';

export interface DaemonOptions {
  readonly config: ConfigSource;
  readonly web: WebFlags;
  readonly storagePath: string;
  readonly shard: Shard;
  readonly build: Build;
  readonly system: System;
}

export interface ConfigSource {
  readonly loaded: LoadedConfig;
  /** Reads all files again. Throws a ConfigError. */
  readonly load: () => Promise<LoadedConfig>;
  /** Reads the web configuration alone. Throws a ConfigError. */
  readonly loadWeb?: (() => Promise<LoadResult<WebConfig>>) | undefined;
}

export interface WebFlags
  extends PathOptions, Pick<WebServerOptions, 'listenAddress' | 'enableLifecycle'> {}

/** What reaches outside the process, and the time. */
export interface System {
  readonly environment: NodeJS.ProcessEnv;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Replaces HTTP to the service in simulations. */
  readonly transport?: Transport;
}

export type Daemon = ReturnType<typeof createDaemon>;

/** What a reload reads: every file, or the web configuration and its certificates alone. */
export type ReloadScope = 'all' | 'web';

/** A polling loop that is later than this is stuck. */
const MAX_LATE_MS = 30_000;

/** Returns a daemon that does nothing before `start`. Throws a UsageError for an invalid address or path. */
export function createDaemon(options: DaemonOptions) {
  const { shard, system } = options;
  const { loaded, load, loadWeb } = options.config;
  const { clock, log } = system;
  const marks = new HighWaterMarks();
  const exporterMetrics = createExporterMetrics({ ...options.build, shard });
  const store = new Store({
    path: options.storagePath,
    marks,
    clock,
    log,
    observe: (successful, writtenAtMs) => exporterMetrics.stateSaved(successful, writtenAtMs),
  });
  function customers(): readonly Customer[] {
    return exporter.customers.map(({ customer }) => customer);
  }
  const pasts = new Pasts(store, customers);
  const problems = new DailyRows(LASTING_PROBLEMS, store, customers, () => clock.nowMs());
  const places = new DailyRows(DEVICE_PLACES, store, customers, () => clock.nowMs());
  store.setSources(pasts, problems, places);
  const exporter = new Exporter(loaded.config, {
    clock,
    log,
    marks,
    connect: (config, observer) => createService({ ...system, config, observer }),
    observer: exporterMetrics,
    restore: (customer) => {
      pasts.restore(customer);
      // After its branches, which have problems, too.
      problems.restore(customer);
      places.restore(customer);
    },
  });
  const { exposition } = exporter;
  let state: 'starting' | 'running' | 'stopping' = 'starting';
  const stopping = new AbortController();
  let rendering = Promise.resolve();
  let lastReload: Promise<unknown> = Promise.resolve();
  let shownConfig = loaded.shown;
  const failedReloads = new Map<ReloadScope, FailedReload>();

  const web = createWebServer({
    ...options.web,
    version: options.build.version,
    clock,
    log,
    exposition: async (format, gzip, customers) =>
      customers.length === 0
        ? renderScrape(exposition, exporterMetrics, format, gzip)
        : renderCustomers(exposition, customers, format, gzip),
    customers: () => exporter.customers.map(({ config }) => config),
    healthy: () => exporter.scheduler.lateMs() < MAX_LATE_MS,
    ready: () => ({ ready: state === 'running', why: `the exporter is ${state}` }),
    status: () => ({
      nowMs: clock.nowMs(),
      customers: exporter.customers.map(({ customer }) => customer),
      failedReload: [...failedReloads.values()].at(-1),
      stateFailure: store.failure,
    }),
    config: () => shownConfig,
    reload: () => reload(),
    protection: loaded.web?.config,
  });

  function ownPart(config: Config): Config {
    const { shards } = shard;
    const customers = config.customers.filter(({ name }) => shardOf(name, shards) === shard.shard);
    return { ...config, customers };
  }

  /** Loads and applies the configuration. Calls during a reload wait until that has ended. */
  function reload(scope: ReloadScope = 'all'): Promise<ReloadResult> {
    const result = lastReload.then(() => reloadNow(scope));
    lastReload = result.catch(() => {});
    return result;
  }

  async function reloadNow(scope: ReloadScope): Promise<ReloadResult> {
    const startMs = clock.nowMs();
    let changes: LogFields = {};
    try {
      if (scope === 'all') {
        const next = await load();
        if (state !== 'running') {
          return { ok: false, problems: `the exporter is ${state}` };
        }
        changes = await apply(next);
        failedReloads.clear();
      } else {
        applyWeb(await loadWeb?.());
        failedReloads.delete(scope);
      }
      exporterMetrics.configReloaded(failedReloads.size === 0, startMs / 1000);
      log.info('config reloaded', { scope, customers: exporter.customers.length, ...changes });
      return { ok: true };
    } catch (error) {
      if (!(error instanceof ConfigError)) {
        throw error;
      }
      // Deleted first, so that the newest one is the last.
      failedReloads.delete(scope);
      failedReloads.set(scope, { atMs: startMs, problems: error.problems });
      exporterMetrics.configReloaded(false, startMs / 1000);
      log.error('config reload failed, keeping previous config', { problems: error.message });
      return { ok: false, problems: error.message };
    }
  }

  /** Returns the names of the customers that changed. */
  async function apply({ config, shown, ...next }: LoadedConfig): Promise<LogFields> {
    logWarnings(next.warnings);
    shownConfig = shown;
    applyWeb(next.web);
    const own = ownPart(config);
    const changes = await exporter.apply(own);
    exporterMetrics.setCustomers(own.customers.length);
    exporterMetrics.setStreams([
      ...new Set(own.customers.flatMap(({ streams, breakdowns }) => [...streams, ...breakdowns])),
    ]);
    return changes;
  }

  function applyWeb(next: LoadResult<WebConfig> | undefined): void {
    if (next !== undefined) {
      logWarnings(next.warnings);
      web.protect(next.config);
    }
  }

  function logWarnings(warnings: readonly string[]): void {
    warnings.forEach((warning) => log.warn('config warning', { warning }));
  }

  return {
    /** Opens the storage, listens and starts to poll. Throws an Error that names the obstacle. */
    async start(): Promise<{ readonly url: string }> {
      // First, so that a start without an address leaves no files.
      const { url } = await web.start();
      try {
        await store.start();
      } catch (error) {
        await web.stop();
        throw error;
      }
      const { build, storagePath } = options;
      log.info('starting', {
        version: build.version,
        config_file: loaded.path,
        storage_path: storagePath === '' ? '' : resolve(storagePath),
        shard: `${shard.shard ?? 'none'}/${shard.shards}`,
        customers: ownPart(loaded.config).customers.length,
        high_water_marks: marks.size,
      });
      if (shard.shard === undefined) {
        log.error('no shard for the number in the host name, polling nobody', {
          shards: shard.shards,
        });
      }
      log.info('listening', { url });
      exporter.start();
      await apply(loaded);
      exporterMetrics.configReloaded(true, clock.nowMs() / 1000);
      rendering = exposition.keepRendered(stopping.signal);
      state = 'running';
      return { url };
    },
    /** Ends polls and connections, then writes the state. Returns false if that failed. */
    async stop(): Promise<boolean> {
      log.info('stopping');
      state = 'stopping';
      await exporter.stop();
      stopping.abort();
      const [isSaved] = await Promise.all([store.stop(), web.stop(), rendering]);
      log.info('stopped');
      return isSaved;
    },
    reload,
  };
}
