/** The service of a configuration, as a command asks it once: without a log, and without metrics. */
import { systemClock } from '../base/clock.ts';
import { UsageError } from '../base/errors.ts';
import { silentLogger } from '../base/log.ts';
import { systemRandom } from '../base/random.ts';
import type { Config, ServiceConfig } from '../config/types.ts';
import { proxyEnvironmentFrom } from '../service/transport.ts';
import { createService } from '../service/service.ts';
import type { Service, ServiceObserver } from '../service/types.ts';
import type { Io } from './io.ts';

/**
 * Opens no connection yet. Throws a ConfigError for a proxy that cannot be one. `observer` is told
 * of each request, and whose credentials the service took or refused.
 */
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

const MOST_NAMES = 10;

/** The error of a flag --customer that names none of the configuration, or is missing. */
export function noSuchCustomer({ customers }: Config, name: string | undefined): UsageError {
  const names = customers.slice(0, MOST_NAMES).map((customer) => customer.name);
  const more = customers.length > MOST_NAMES ? ', …' : '';
  const wrong =
    name === undefined
      ? '--customer is missing'
      : `there is no customer ${JSON.stringify(name)} in the configuration`;
  return new UsageError(`${wrong}; it must be one of ${names.join(', ')}${more}`);
}

/**
 * How many customers to ask for together. Each has a request of every stream under way. More at once
 * than the limits let through within one timeout would spend their time in waiting for them.
 */
export function customersAtOnce(service: ServiceConfig): number {
  const { maxConcurrency, maxRequestsPerSecond, timeoutMs } = service;
  const requests = Math.min(maxConcurrency, (maxRequestsPerSecond * timeoutMs) / 1_000);
  return Math.max(1, Math.floor(requests / 2));
}
