/** Access to the service for one-off commands: without log and metrics. */
import { systemClock } from '../base/clock.ts';
import { formatDuration, HOUR_MS, SECOND_MS } from '../base/duration.ts';
import { UsageError } from '../base/errors.ts';
import { silentLogger } from '../base/log.ts';
import type { ProgressLine } from '../base/output.ts';
import { systemRandom } from '../base/random.ts';
import type { ServiceSettings } from '../base/service-settings.ts';
import type { Config, CustomerConfig } from '../config/types.ts';
import { createService } from '../service/client.ts';
import type { RetryPolicy } from '../service/retry.ts';
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
 * Returns the customers with these names, in the order of the configuration; by default all. Throws a
 * UsageError if it has none of a name.
 */
export function chooseCustomers(
  config: Config,
  names?: readonly string[],
): readonly CustomerConfig[] {
  const chosen = names?.map((name) => findCustomer(config, name));
  return config.customers.filter((customer) => chosen?.includes(customer) ?? true);
}

/** Returns the retries of a user, who can wait longer than a poll. Each wait is shown, after `prefix`. */
export function patientRetries(progress: ProgressLine, prefix = ''): RetryPolicy {
  return {
    maxAttempts: 6,
    maxWaitMs: HOUR_MS,
    onWait(error, waitMs) {
      const wait = formatDuration(Math.ceil(waitMs / SECOND_MS) * SECOND_MS);
      progress.write(`${prefix}${error.message}: retrying in ${wait}\n`);
    },
  };
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
