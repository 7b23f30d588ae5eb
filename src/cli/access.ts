/** The service of a configuration, as a command asks it once: without a log, and without metrics. */
import { systemClock } from '../base/clock.ts';
import { silentLogger } from '../base/log.ts';
import { systemRandom } from '../base/random.ts';
import { readSecretFile } from '../config/secret-file.ts';
import type { Config, CustomerConfig } from '../config/types.ts';
import { createService } from '../service/service.ts';
import type { CustomerAccess, Service } from '../service/types.ts';
import type { Io } from './io.ts';

/**
 * Opens no connection yet. Throws a ConfigError for a proxy that cannot be one. `judged` is told
 * whose credentials the service took or refused.
 */
export function serviceOf(
  config: Config,
  io: Pick<Io, 'env'>,
  judged: (customer: string, valid: boolean) => void = () => {},
): Service {
  return createService({
    config: config.service,
    environment: { HTTPS_PROXY: io.env['HTTPS_PROXY'], NO_PROXY: io.env['NO_PROXY'] },
    clock: systemClock,
    random: systemRandom,
    observer: { request() {}, credentials: judged },
    log: silentLogger,
  });
}

export function accessOf({ name, clientId, clientSecret }: CustomerConfig): CustomerAccess {
  const { path, secret } = clientSecret;
  return {
    name,
    clientId,
    readSecret: () => (path === undefined ? Promise.resolve(secret) : readSecretFile(path)),
  };
}
