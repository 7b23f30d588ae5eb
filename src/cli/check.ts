/** `check`: says every problem of a configuration, and with `--connect` what the service answers. */
import { Command } from 'commander';
import { systemClock } from '../base/clock.ts';
import { ConfigError, ServiceError } from '../base/errors.ts';
import { silentLogger } from '../base/log.ts';
import { KINDS } from '../base/nouns.ts';
import type { MinuteStream } from '../base/nouns.ts';
import { systemRandom } from '../base/random.ts';
import { loadConfig } from '../config/load.ts';
import type { Config, CustomerConfig } from '../config/types.ts';
import { readSecretFile } from '../config/secret-file.ts';
import { Calendar } from '../counting/calendar.ts';
import { sumRows } from '../counting/counts.ts';
import { ENDPOINTS } from '../counting/stream.ts';
import { Zone } from '../counting/zone.ts';
import { createService } from '../service/service.ts';
import type { CustomerClient, Service } from '../service/types.ts';
import type { Io } from './io.ts';

interface CheckFlags {
  readonly 'config.file': string;
  readonly connect: boolean;
}

/** An error to be thrown when the configuration is good and a customer's service is not. */
class ConnectError extends Error {
  override readonly name = 'ConnectError';
}

export function checkCommand(io: Io): Command {
  return new Command('check')
    .summary('every problem of a configuration, and whether the service answers')
    .description('Reads the configuration and says every problem with its place.')
    .option('--config.file <file>', 'the configuration', 'config.yaml')
    .option('--connect', 'also ask the service for each customer', false)
    .action(async (flags: CheckFlags) => {
      const { config, warnings } = await loadAloud(flags['config.file'], io);
      warnings.forEach((warning) => io.writeOut(`warning: ${warning}\n`));
      const customers = config.customers.length;
      io.writeOut(
        `${flags['config.file']}: good, ${customers} customer${customers > 1 ? 's' : ''}\n`,
      );
      if (flags.connect) {
        await connect(config, io);
      }
    });
}

/** Problems are the result of this command, so they go to standard output. */
async function loadAloud(path: string, io: Io): Promise<Awaited<ReturnType<typeof loadConfig>>> {
  try {
    return await loadConfig({ path, env: io.env });
  } catch (error) {
    if (error instanceof ConfigError) {
      io.writeOut(`${error.message.trimEnd()}\n`);
      throw new ConfigError('the configuration has problems');
    }
    throw error;
  }
}

/** Asks for every stream of every customer, as many at once as the service is asked later on. */
async function connect(config: Config, io: Io): Promise<void> {
  const service = createService({
    config: config.service,
    environment: { HTTPS_PROXY: io.env['HTTPS_PROXY'], NO_PROXY: io.env['NO_PROXY'] },
    clock: systemClock,
    random: systemRandom,
    observer: { request() {}, credentials() {} },
    log: silentLogger,
  });
  const asks = asksOf(config, service, io).values();
  const found: boolean[] = [];
  async function askInTurn(): Promise<void> {
    for (const ask of asks) {
      if (io.stop.aborted) {
        return;
      }
      found.push(await ask());
    }
  }
  try {
    await Promise.all(Array.from({ length: config.service.maxConcurrency }, askInTurn));
  } finally {
    service.close();
  }
  if (io.stop.aborted) {
    io.writeOut('stopped before every customer was asked\n');
    return;
  }
  const bad = found.filter((good) => !good).length;
  if (bad > 0) {
    throw new ConnectError(`${bad} of ${found.length} streams did not answer well`);
  }
}

type Ask = () => Promise<boolean>;

function asksOf(config: Config, service: Service, io: Io): readonly Ask[] {
  return config.customers.flatMap((customer) => {
    const { path, secret } = customer.clientSecret;
    const client = service.clientFor({
      name: customer.name,
      clientId: customer.clientId,
      readSecret: () => (path === undefined ? Promise.resolve(secret) : readSecretFile(path)),
    });
    return customer.streams.map((stream) => () => askOnce(customer, stream, client, config, io));
  });
}

async function askOnce(
  customer: CustomerConfig,
  stream: MinuteStream,
  client: CustomerClient,
  config: Config,
  io: Io,
): Promise<boolean> {
  const zone = new Zone(customer.timezone);
  const { startMs } = new Calendar(zone, customer.dayStartsAt).epochAt(systemClock.nowMs());
  const from = zone.format(startMs);
  try {
    const { rows } = await client.ask(
      { endpoint: ENDPOINTS[stream], aggregation: 'day', from },
      // From here on, for whoever is asked late must not have waited for the others.
      AbortSignal.any([io.stop, AbortSignal.timeout(2 * config.service.timeoutMs)]),
    );
    const sums = sumRows(rows, KINDS[stream].length);
    const counts = KINDS[stream].map((kind, i) => `${kind} ${sums[i] ?? 0}`).join(', ');
    io.writeOut(`${customer.name}: ${stream}: good, since ${from}: ${counts}\n`);
    return true;
  } catch (error) {
    if (!(error instanceof ServiceError)) {
      throw error;
    }
    if (!io.stop.aborted) {
      io.writeOut(`${customer.name}: ${stream}: ${error.reason}: ${error.message}\n`);
    }
    return false;
  }
}
