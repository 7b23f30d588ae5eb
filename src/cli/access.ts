/** The service as one-off commands use it: without log and metrics. */
import { systemClock } from '../base/clock.ts';
import { UsageError } from '../base/errors.ts';
import { silentLogger } from '../base/log.ts';
import { systemRandom } from '../base/random.ts';
import type { Config, ServiceConfig } from '../config/types.ts';
import { proxyEnvironmentFrom } from '../service/transport.ts';
import { createService } from '../service/client.ts';
import type { Service, ServiceObserver } from '../service/types.ts';
import type { Io } from './io.ts';
import { listed } from './output.ts';

/** Opens no connection yet. Throws a ConfigError if the proxy is not a valid address. */
export function serviceOf(
  config: Config,
  io: Pick<Io, 'env'>,
  observer: Partial<ServiceObserver> = {},
): Service {
  return createService({
    config: config.service,
    environment: proxyEnvironmentFrom(io.env),
    clock: systemClock,
    random: systemRandom,
    observer: { request() {}, credentials() {}, ...observer },
    log: silentLogger,
  });
}

/** The error for a --customer that the configuration does not have, or that is missing. */
export function noSuchCustomer({ customers }: Config, name: string | undefined): UsageError {
  const names = listed(customers.map((customer) => customer.name));
  const found = name === undefined ? 'nothing' : JSON.stringify(name);
  return new UsageError(`--customer: expected one of ${names}, got ${found}`);
}

/**
 * The number of customers to read in parallel, each with two requests at a time. With more, requests
 * would time out while they wait for the limits.
 */
export function customersAtOnce(service: ServiceConfig): number {
  const { maxConcurrency, maxRequestsPerSecond, timeoutMs } = service;
  const requests = Math.min(maxConcurrency, (maxRequestsPerSecond * timeoutMs) / 1_000);
  return Math.max(1, Math.floor(requests / 2));
}
