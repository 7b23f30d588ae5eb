/**
 * Puts the parts together: configuration, clock and log in, a running exporter out. The only place
 * that knows all rooms but the simulator.
 */
import type { Clock } from './base/clock.ts';
import type { Logger } from './base/log.ts';
import type { Stream } from './base/model.ts';
import type { Random } from './base/random.ts';
import type { LoadedAll } from './config/load-all.ts';
import type { Config, CustomerConfig } from './config/types.ts';
import type { LoadedWebConfig } from './config/web.ts';
import type { WebConfig } from './config/web-types.ts';
import { clientOf, createEngine, isSameEngine } from './engine.ts';
import type { Engine } from './engine.ts';
import { CustomerRegistry } from './polling/customer-registry.ts';
import { LogLimiter } from './polling/log-limiter.ts';
import { statusOf } from './polling/status.ts';
import { shardOf } from './polling/shards.ts';
import { Storage } from './polling/storage.ts';
import { HighWaterMarks } from './counting/high-water-marks.ts';
import { createExporterMetrics } from './metrics/exporter-metrics.ts';
import { createExposition, renderScrape } from './metrics/exposition.ts';
import { createReloading } from './reloading.ts';
import type { ProxyEnvironment } from './service/proxy.ts';
import type { Transport } from './service/transport.ts';
import { createWebServer } from './web/server.ts';
import type { ReloadResult } from './web/server.ts';

export interface DaemonOptions {
  readonly loaded: LoadedAll;
  /**
   * Read the configuration again, or that of the web server alone where there is one. `running` is
   * the web server's, of which not all can change. Both throw a ConfigError.
   */
  readonly load: (running: WebConfig | undefined) => Promise<LoadedAll>;
  readonly loadWeb?: (running: WebConfig | undefined) => Promise<LoadedWebConfig | undefined>;
  readonly listenAddress: string;
  readonly telemetryPath: string;
  readonly enableLifecycle: boolean;
  /** Whether counters have `_created` in OpenMetrics. */
  readonly openMetricsCreated?: boolean;
  readonly storagePath: string;
  readonly shard: Shard;
  readonly version: string;
  readonly revision: string;
  readonly nodeVersion: string;
  readonly proxyEnvironment: ProxyEnvironment;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Collects what reading and applying a configuration has left. */
  readonly settleHeap: () => void;
  /** In place of HTTP to the service, for a simulation. */
  readonly transport?: Transport;
}

/** Which part of the customers is polled: number `shard` of `shards`, counted from 0. */
export interface Shard {
  readonly shard: number;
  readonly shards: number;
}

export interface Daemon {
  /** Takes the storage, listens and begins to poll. Throws an Error that says what is in the way. */
  start(): Promise<{ readonly url: string }>;
  /** Ends polls and connections and writes the marks. */
  stop(): Promise<void>;
  reload(): Promise<ReloadResult>;
  /** As above, but of the web server's configuration, certificates included, alone. */
  reloadWeb(): Promise<ReloadResult>;
  /** The files that the configuration in force was read from. */
  configFiles(): readonly string[];
  webFiles(): readonly string[];
}

/** A loop that is so late is stuck. */
const LATEST_MS = 30_000;

export function createDaemon(options: DaemonOptions): Daemon {
  const { clock, log, shard } = options;
  const lines = new LogLimiter({ log, clock });
  const marks = new HighWaterMarks();
  const storage = new Storage({ path: options.storagePath, marks, clock, log });
  const registry = new CustomerRegistry(marks);
  /** Customers whose credentials were refused last. */
  const refused = new Set<string>();
  const exposition = createExposition({
    clock,
    openMetricsCreated: options.openMetricsCreated === true,
  });
  const exporterMetrics = createExporterMetrics({
    version: options.version,
    revision: options.revision,
    nodeVersion: options.nodeVersion,
  });
  let engine = engineOf(options.loaded.config);
  let { files, web: protection } = options.loaded;
  let state: 'starting' | 'running' | 'stopping' = 'starting';
  const stopping = new AbortController();
  let rendering = Promise.resolve();
  const reloading = createReloading({
    clock,
    log,
    ended: (successful, atMs) => exporterMetrics.configReloaded(successful, atMs / 1000),
  });

  const web = createWebServer({
    listenAddress: options.listenAddress,
    telemetryPath: options.telemetryPath,
    enableLifecycle: options.enableLifecycle,
    version: options.version,
    clock,
    log,
    exposition: (format, gzip) => renderScrape(exposition, exporterMetrics, format, gzip),
    healthy: () => engine.poller.lateMs() < LATEST_MS,
    ready: () => ({ ready: state === 'running', why: `the exporter is ${state}` }),
    status: () => statusOf({ customers: registry.customers, poller: engine.poller, clock }),
    reload,
    protection: protection?.config,
  });

  /** That credentials are good is news only after they were not. */
  function tellOfCredentials(customer: string, valid: boolean): void {
    if (!valid) {
      refused.add(customer);
      lines.tell('warn', 'the service refused the credentials', { customer });
    } else if (refused.delete(customer)) {
      lines.tell('info', 'the service takes the credentials again', { customer });
    } else {
      lines.debug('the service took the credentials', { customer });
    }
  }

  function engineOf(config: Config): Engine {
    return createEngine(config, {
      ...options,
      lines,
      observer: {
        request: (event) => exporterMetrics.requestEnded(event),
        credentials(customer, valid) {
          registry.get(customer)?.credentialsJudged(valid);
          exposition.changed(customer);
          tellOfCredentials(customer, valid);
        },
        pollEnded: (stream, seconds, reason) => exporterMetrics.pollEnded(stream, seconds, reason),
        changed: (customer) => exposition.changed(customer),
      },
    });
  }

  /** Hands the customers of a configuration to everything that deals with them. */
  function apply(config: Config): void {
    const ours = config.customers.filter(({ name }) => shardOf(name, shard.shards) === shard.shard);
    const members = registry.update({ ...config, customers: ours });
    exposition.setCustomers(members.map(({ customer }) => customer));
    exporterMetrics.setCustomers(members.length);
    exporterMetrics.setShard(shard.shard, shard.shards);
    exporterMetrics.setStreams(streamsOf(ours));
    engine.poller.setCustomers(
      members.map((member) => ({ customer: member.customer, client: clientOf(engine, member) })),
    );
  }

  function reload(): Promise<ReloadResult> {
    return reloading.reload('all', async () => {
      const loaded = await options.load(protection?.config);
      const { config, warnings } = loaded;
      if (state !== 'running') {
        return { ok: false, problems: `the exporter is ${state}` };
      }
      tellOf([...warnings, ...(loaded.web?.warnings ?? [])]);
      if (!isSameEngine(engine.config, config)) {
        const before = engine;
        engine = engineOf(config);
        await before.poller.stop();
        before.service.close();
        engine.poller.start();
      }
      protect(loaded.web);
      apply(config);
      ({ files } = loaded);
      log.info('the configuration was read again', { customers: config.customers.length });
      options.settleHeap();
      return { ok: true };
    });
  }

  function reloadWeb(): Promise<ReloadResult> {
    return reloading.reload('web', async () => {
      const loaded = await options.loadWeb?.(protection?.config);
      tellOf(loaded?.warnings ?? []);
      protect(loaded);
      log.info('the web configuration was read again', { users: loaded?.config.users.size ?? 0 });
      return { ok: true };
    });
  }

  function protect(loaded: LoadedWebConfig | undefined): void {
    if (loaded !== undefined) {
      web.protect(loaded.config);
      protection = loaded;
    }
  }

  function tellOf(warnings: readonly string[]): void {
    warnings.forEach((warning) => log.warn('the configuration is good but for this', { warning }));
  }

  return {
    async start() {
      await storage.start();
      const { url } = await web.start();
      log.info('listening', { url });
      exporterMetrics.configReloaded(true, clock.nowMs() / 1000);
      engine.poller.start();
      apply(options.loaded.config);
      rendering = exposition.keepRendered(stopping.signal);
      state = 'running';
      options.settleHeap();
      return { url };
    },
    async stop() {
      state = 'stopping';
      await engine.poller.stop();
      engine.service.close();
      stopping.abort();
      await Promise.all([web.stop(), storage.stop(), rendering]);
    },
    reload,
    reloadWeb,
    configFiles: () => files,
    webFiles: () => protection?.files ?? [],
  };
}

/** Every stream that any of them is polled for. */
function streamsOf(customers: readonly CustomerConfig[]): readonly Stream[] {
  return [...new Set(customers.flatMap(({ streams, breakdowns }) => [...streams, ...breakdowns]))];
}
