/** The composition root: configuration, clock and log in, a running exporter out. */
import { resolve } from 'node:path';
import type { Clock } from './base/clock.ts';
import { ConfigError } from './base/errors.ts';
import type { LogFields, Logger } from './base/log.ts';
import type { Random } from './base/random.ts';
import type { LoadedConfig } from './config/load.ts';
import { accessOf } from './config/credentials.ts';
import type { WebConfig } from './base/web-config.ts';
import type { Config, CustomerConfig } from './config/types.ts';
import type { LoadResult } from './config/reader.ts';
import { HighWaterMarks } from './counting/high-water-marks.ts';
import { createExporterMetrics } from './metrics/exporter-metrics.ts';
import { createExposition, renderCustomers, renderScrape } from './metrics/exposition.ts';
import { changedNames, CustomerRegistry, shardOf } from './customers.ts';
import type { RegisteredCustomer } from './customers.ts';
import { LogLimiter } from './base/log-limiter.ts';
import type { PollObserver } from './polling/scheduler.ts';
import { Scheduler } from './polling/scheduler.ts';
import { StateFile } from './storage/state-file.ts';
import { createService } from './service/client.ts';
import type { ProxyEnvironment, Transport } from './service/transport.ts';
import type { CustomerClient, Service, ServiceObserver } from './service/types.ts';
import { createWebServer } from './web/server.ts';
import type { ReloadResult } from './web/server.ts';
import type { FailedReload } from './web/status-page.ts';

export interface DaemonOptions {
  readonly loaded: LoadedConfig;
  /** Reads all files again. Throws a ConfigError. */
  readonly load: () => Promise<LoadedConfig>;
  /** Reads the web configuration alone. Throws a ConfigError. */
  readonly loadWeb?: (() => Promise<LoadResult<WebConfig>>) | undefined;
  readonly listenAddress: string;
  readonly telemetryPath: string;
  readonly externalUrl?: string | undefined;
  readonly routePrefix?: string | undefined;
  readonly enableLifecycle: boolean;
  /** Whether counters have `_created` in OpenMetrics. */
  readonly openMetricsCreated?: boolean;
  readonly storagePath: string;
  readonly shard: Shard;
  readonly version: string;
  readonly revision: string;
  readonly nodeVersion: string;
  readonly environment: ProxyEnvironment;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Replaces HTTP to the service in simulations. */
  readonly transport?: Transport;
}

/** The part of the customers that is polled: number `shard`, counted from 0, of `shards`. */
export interface Shard {
  readonly shard: number;
  readonly shards: number;
}

export interface Daemon {
  /** Locks the storage, listens and starts to poll. Throws an Error that names the obstacle. */
  start(): Promise<{ readonly url: string }>;
  /** Ends polls and connections, then writes the state file. Returns false if that failed. */
  stop(): Promise<boolean>;
  reload(scope?: ReloadScope): Promise<ReloadResult>;
}

/** What a reload reads: every file, or the web configuration and its certificates alone. */
export type ReloadScope = 'all' | 'web';

/** What a new service address or polling interval replaces. */
interface Runtime {
  readonly config: Config;
  readonly service: Service;
  readonly scheduler: Scheduler;
  readonly clients: WeakMap<RegisteredCustomer, CustomerClient>;
}

/** A polling loop that is later than this is stuck. */
const MAX_LATE_MS = 30_000;

/** Returns a daemon that does nothing before `start`. Throws a UsageError for an invalid address or path. */
export function createDaemon(options: DaemonOptions): Daemon {
  const { clock, log, shard } = options;
  const limiter = new LogLimiter({ log, clock });
  const marks = new HighWaterMarks();
  const registry = new CustomerRegistry(marks);
  const exposition = createExposition(options);
  const exporterMetrics = createExporterMetrics(options);
  const stateFile = new StateFile({
    path: options.storagePath,
    marks,
    clock,
    log,
    observe: (successful, writtenAtMs) => exporterMetrics.stateSaved(successful, writtenAtMs),
  });
  let runtime = createRuntime(options.loaded.config);
  let registered: readonly RegisteredCustomer[] = [];
  let state: 'starting' | 'running' | 'stopping' = 'starting';
  const stopping = new AbortController();
  let rendering = Promise.resolve();
  let lastReload: Promise<unknown> = Promise.resolve();
  const failedReloads = new Map<ReloadScope, FailedReload>();

  const web = createWebServer({
    ...options,
    exposition: async (format, gzip, customers) =>
      customers.length === 0
        ? renderScrape(exposition, exporterMetrics, format, gzip)
        : renderCustomers(exposition, customers, format, gzip),
    customers: () => registered.map(({ config }) => config),
    healthy: () => runtime.scheduler.lateMs() < MAX_LATE_MS,
    ready: () => ({ ready: state === 'running', why: `the exporter is ${state}` }),
    status: () => ({
      nowMs: clock.nowMs(),
      customers: registry.customers,
      failedReload: [...failedReloads.values()].at(-1),
      stateFailure: stateFile.failure,
      nextPollInMs: (customer, stream) => runtime.scheduler.nextPollInMs(customer, stream),
    }),
    reload: () => reload(),
    protection: options.loaded.web?.config,
  });

  function createRuntime(config: Config): Runtime {
    const observer = {
      request: (event) => exporterMetrics.requestEnded(event),
      credentials: credentialsChecked,
      pollEnded: (stream, seconds, reason) => exporterMetrics.pollEnded(stream, seconds, reason),
      changed: (customer) => exposition.changed(customer),
    } satisfies ServiceObserver & PollObserver;
    const service = createService({ ...options, config: config.service, observer });
    const scheduler = new Scheduler({
      clock,
      log,
      limiter,
      ...config.polling,
      maxConcurrency: config.service.maxConcurrency,
      maxRequestsPerSecond: config.service.maxRequestsPerSecond,
      serviceNowMs: () => service.serverClock.nowMs(),
      observer,
    });
    return { config, service, scheduler, clients: new WeakMap() };
  }

  function credentialsChecked(name: string, valid: boolean): void {
    const customer = registry.get(name);
    const wereRefused = customer?.credentialsValid === false;
    customer?.credentialsChecked(valid);
    exposition.changed(name);
    if (!valid) {
      limiter.tryLog('warn', 'credentials refused', { customer: name });
    } else if (wereRefused) {
      limiter.tryLog('info', 'credentials accepted again', { customer: name });
    } else {
      log.debug('credentials accepted', { customer: name });
    }
  }

  function ownCustomers(config: Config): readonly CustomerConfig[] {
    return config.customers.filter(({ name }) => shardOf(name, shard.shards) === shard.shard);
  }

  function clientFor(registered: RegisteredCustomer): CustomerClient {
    const { clients, service } = runtime;
    const client = clients.get(registered) ?? service.clientFor(accessOf(registered.config));
    clients.set(registered, client);
    return client;
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
        const loaded = await options.load();
        if (state !== 'running') {
          return { ok: false, problems: `the exporter is ${state}` };
        }
        changes = await apply(loaded);
        failedReloads.clear();
      } else {
        applyWeb(await options.loadWeb?.());
        failedReloads.delete(scope);
      }
      exporterMetrics.configReloaded(failedReloads.size === 0, startMs / 1000);
      log.info('config reloaded', { scope, customers: registered.length, ...changes });
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

  /** Customers that did not change keep their state. Returns the names of the others. */
  async function apply(loaded: LoadedConfig): Promise<LogFields> {
    const { config } = loaded;
    logWarnings(loaded.warnings);
    applyWeb(loaded.web);
    const before = runtime;
    if (settingsOf(before.config) !== settingsOf(config)) {
      runtime = createRuntime(config);
      await before.scheduler.stop();
      before.service.close();
      runtime.scheduler.start();
    }
    const customers = ownCustomers(config);
    const previous = registered;
    registered = registry.update({ ...config, customers });
    exposition.setCustomers(
      registered.map(({ customer }) => customer),
      customers,
    );
    exporterMetrics.setCustomers(registered.length);
    exporterMetrics.setStreams([
      ...new Set(customers.flatMap(({ streams, breakdowns }) => [...streams, ...breakdowns])),
    ]);
    runtime.scheduler.setCustomers(
      registered.map((one) => ({ customer: one.customer, client: clientFor(one) })),
    );
    return changedNames(previous, registered);
  }

  function applyWeb(loaded: LoadResult<WebConfig> | undefined): void {
    if (loaded !== undefined) {
      logWarnings(loaded.warnings);
      web.protect(loaded.config);
    }
  }

  function logWarnings(warnings: readonly string[]): void {
    warnings.forEach((warning) => log.warn('config warning', { warning }));
  }

  return {
    async start() {
      await stateFile.start();
      const { version, storagePath } = options;
      log.info('starting', {
        version,
        config_file: options.loaded.path,
        storage_path: storagePath === '' ? '' : resolve(storagePath),
        shard: `${shard.shard}/${shard.shards}`,
        customers: ownCustomers(options.loaded.config).length,
        high_water_marks: marks.size,
      });
      const { url } = await web.start();
      log.info('listening', { url });
      runtime.scheduler.start();
      await apply(options.loaded);
      exporterMetrics.configReloaded(true, clock.nowMs() / 1000);
      rendering = exposition.keepRendered(stopping.signal);
      state = 'running';
      return { url };
    },
    async stop() {
      log.info('stopping');
      state = 'stopping';
      await runtime.scheduler.stop();
      runtime.service.close();
      stopping.abort();
      const [isSaved] = await Promise.all([stateFile.stop(), web.stop(), rendering]);
      log.info('stopped');
      return isSaved;
    },
    reload,
  };
}

/** What changes the runtime. */
function settingsOf({ service, polling }: Config): string {
  return JSON.stringify([service, polling]);
}
