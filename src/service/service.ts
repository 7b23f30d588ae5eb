/**
 * The service for all customers together: one pool of connections, one set of limits, a client for
 * each customer.
 */
import type { Clock } from '../base/clock.ts';
import { ServiceError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import { Client } from './client.ts';
import { createPace, Gate } from './limits.ts';
import type { ProxyEnvironment } from './proxy.ts';
import { final } from './retry.ts';
import { createServiceClock } from './service-clock.ts';
import { createTransport } from './transport.ts';
import type { Transport } from './transport.ts';
import type { Service, ServiceObserver } from './types.ts';

/** The part of the configuration that this room needs. */
export interface ServiceSettings {
  /** Without a slash at the end. */
  readonly baseUrl: string;
  /** Without a slash at the end. */
  readonly authUrl: string;
  readonly scope: string;
  /** For one request, all of it. */
  readonly timeoutMs: number;
  readonly maxConcurrency: number;
  readonly maxRequestsPerSecond: number;
  readonly proxyUrl: string | undefined;
  /** PEM text of the certificate authorities to trust beside the system's own. */
  readonly ca: string | undefined;
}

export interface ServiceOptions {
  readonly config: ServiceSettings;
  /** HTTPS_PROXY and NO_PROXY as the environment has them; without, there is no proxy but `proxyUrl`. */
  readonly environment?: ProxyEnvironment;
  readonly clock: Clock;
  readonly random: Random;
  readonly observer: ServiceObserver;
  readonly log: Logger;
  /** In place of HTTP, for a simulation. */
  readonly transport?: Transport;
}

/** Opens no connection yet. Throws a ConfigError for a proxy that cannot be one. */
export function createService(options: ServiceOptions): Service {
  const { config, clock } = options;
  const transport =
    options.transport ?? createTransport({ ...config, environment: options.environment ?? {} });
  const pace = createPace(config.maxRequestsPerSecond, clock);
  const gate = new Gate(config.maxConcurrency, { pace, clock });
  const serviceClock = createServiceClock(options);
  return {
    clientFor(access) {
      return new Client({
        access,
        baseUrl: config.baseUrl,
        authUrl: config.authUrl,
        scope: config.scope,
        maxConcurrency: config.maxConcurrency,
        exchange: transport.exchange,
        gate,
        serviceClock,
        clock,
        random: options.random,
        observer: options.observer,
        log: options.log,
      });
    },
    nowMs: () => serviceClock.nowMs(),
    clockReading: () => serviceClock.reading(),
    close() {
      gate.close(
        final(new ServiceError('unreachable', 'the connections to the service were closed')),
      );
      transport.close();
    },
  };
}
