/** What is made anew when the service or the pace changes: connections, limits and the poller. */
import type { Clock } from './base/clock.ts';
import type { Logger } from './base/log.ts';
import type { Random } from './base/random.ts';
import { accessOf } from './config/secret-file.ts';
import type { Config } from './config/types.ts';
import type { RegisteredCustomer } from './polling/customer-registry.ts';
import type { LogLimiter } from './polling/log-limiter.ts';
import type { PollObserver } from './polling/poll.ts';
import { Poller } from './polling/poller.ts';
import type { ProxyEnvironment } from './service/proxy.ts';
import { createService } from './service/service.ts';
import type { Transport } from './service/transport.ts';
import type { CustomerClient, Service, ServiceObserver } from './service/types.ts';

export interface Engine {
  readonly config: Config;
  readonly service: Service;
  readonly poller: Poller;
  readonly clients: WeakMap<RegisteredCustomer, CustomerClient>;
}

export interface EngineOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly lines: LogLimiter;
  readonly proxyEnvironment: ProxyEnvironment;
  readonly observer: ServiceObserver & PollObserver;
  /** In place of HTTP to the service, for a simulation. */
  readonly transport?: Transport;
}

/** Neither polls nor connects before its poller is started. */
export function createEngine(config: Config, options: EngineOptions): Engine {
  const { clock, random, log, lines, observer, transport } = options;
  const service = createService({
    config: config.service,
    environment: options.proxyEnvironment,
    clock,
    random,
    log,
    ...(transport === undefined ? {} : { transport }),
    observer,
  });
  const poller = new Poller({
    clock,
    log,
    lines,
    intervalMs: config.polling.intervalMs,
    reconcileIntervalMs: config.polling.reconcileIntervalMs,
    breakdownIntervalMs: config.polling.breakdownIntervalMs,
    maxConcurrency: config.service.maxConcurrency,
    maxRequestsPerSecond: config.service.maxRequestsPerSecond,
    serviceNowMs: () => service.nowMs(),
    observer,
  });
  return { config, service, poller, clients: new WeakMap() };
}

/** Whether an engine of the one is good for the other. */
export function isSameEngine(a: Config, b: Config): boolean {
  return JSON.stringify([a.service, a.polling]) === JSON.stringify([b.service, b.polling]);
}

/** The customer's access to the service, the same one for as long as the engine lasts. */
export function clientOf(engine: Engine, member: RegisteredCustomer): CustomerClient {
  const known = engine.clients.get(member);
  const client = known ?? engine.service.clientFor(accessOf(member.config));
  engine.clients.set(member, client);
  return client;
}
