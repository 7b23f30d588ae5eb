/** The service for all customers: one connection pool, one set of limits, a client per customer. */
import type { Clock } from '../base/clock.ts';
import { ServiceError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import { Client } from './client.ts';
import { RateLimiter, Semaphore } from './limits.ts';
import { permanent, POLL_RETRIES } from './retry.ts';
import { ServerClock } from './server-clock.ts';
import { createTransport } from './transport.ts';
import type { ProxyEnvironment, Transport } from './transport.ts';
import type { Service, ServiceObserver } from './types.ts';

/** The part of the configuration that this module needs. */
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
  /** PEM text of certificate authorities that are trusted beside the system's. */
  readonly ca: string | undefined;
}

export interface ServiceOptions {
  readonly config: ServiceSettings;
  /** Without it, only `proxyUrl` names a proxy. */
  readonly environment?: ProxyEnvironment;
  readonly clock: Clock;
  readonly random: Random;
  readonly observer: ServiceObserver;
  readonly log: Logger;
  /** In place of HTTP, for a simulation. */
  readonly transport?: Transport;
}

/** Opens no connection yet. Throws a ConfigError for an invalid proxy URL. */
export function createService(options: ServiceOptions): Service {
  const { config, environment = {}, clock, log } = options;
  const transport = options.transport ?? createTransport(config, environment);
  const limiter = new RateLimiter(config.maxRequestsPerSecond, clock);
  const semaphore = new Semaphore(config.maxConcurrency, limiter);
  const serverClock = new ServerClock(clock, log);
  const shared = { ...options, transport, semaphore, serverClock };
  return {
    clientFor: (access, retries = POLL_RETRIES) => new Client(shared, access, retries),
    nowMs: () => serverClock.nowMs(),
    clockReading: () => serverClock.reading(),
    close() {
      semaphore.close(permanent(new ServiceError('unreachable', 'connections closed')));
      transport.close();
    },
  };
}
