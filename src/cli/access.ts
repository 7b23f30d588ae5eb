/** Access to the service for one-off commands: without log and metrics. */
import { systemClock } from '../base/clock.ts';
import { UsageError } from '../base/errors.ts';
import { silentLogger } from '../base/log.ts';
import { systemRandom } from '../base/random.ts';
import type { ServiceSettings } from '../base/service-settings.ts';
import type { Config, CustomerConfig } from '../config/types.ts';
import { createService } from '../service/client.ts';
import type { Service, ServiceObserver } from '../service/types.ts';
import type { Io } from './io.ts';

/** Returns the service, without a connection yet. Throws a ConfigError if the proxy's URL is invalid. */
export function serviceOf(
  config: Config,
  io: Pick<Io, 'env'>,
  observer: Partial<ServiceObserver> = {},
): Service {
  return createService({
    config: config.service,
    environment: io.env,
    clock: systemClock,
    random: systemRandom,
    observer: { request() {}, credentials() {}, ...observer },
    log: silentLogger,
  });
}

/** Returns a customer by name. Throws a UsageError if the configuration has none of this name. */
export function findCustomer({ customers }: Config, name: string): CustomerConfig {
  const found = customers.find((customer) => customer.name === name);
  if (found === undefined) {
    throw new UsageError(`--customer: no customer ${JSON.stringify(name)} in the configuration`);
  }
  return found;
}

/**
 * Returns the number of customers to read in parallel, each with two requests at a time. With more,
 * requests would time out while they wait for the limits.
 */
export function customersAtOnce(service: ServiceSettings): number {
  const { maxConcurrency, maxRequestsPerSecond, timeoutMs } = service;
  const requests = Math.min(maxConcurrency, (maxRequestsPerSecond * timeoutMs) / 1_000);
  return Math.max(1, Math.floor(requests / 2));
}
