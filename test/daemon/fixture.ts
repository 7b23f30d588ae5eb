/** A daemon in this process, on a free port. Its service does not exist, unless a test replaces the transport. */
import { onTestFinished } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import type { LoadedConfig } from '../../src/config/load.ts';
import { createDaemon } from '../../src/daemon.ts';
import type { ConfigSource, DaemonOptions, System } from '../../src/daemon.ts';
import { load } from '../config/folder.ts';

/** Nobody listens there. */
const SERVICE_URL = 'http://127.0.0.1:9';

/** Loads a configuration of customers with these names. */
export function configured(names = ['riverside'], authUrl = SERVICE_URL): Promise<LoadedConfig> {
  const service = { base_url: SERVICE_URL, auth_url: authUrl };
  const keys = { client_secret: 'otter-quay', timezone: 'Europe/Copenhagen' };
  const customers = names.map((name) => ({ name, client_id: `${name}-api`, ...keys }));
  const config = { service, polling: { interval: '1s' }, customers };
  return load({ 'config.yaml': JSON.stringify(config) });
}

/** A started daemon, what it logged, and the values of its own metrics. */
export async function started({
  loaded,
  load: reload = () => configured(),
  loadWeb,
  storagePath = '',
  transport,
}: Partial<ConfigSource & Pick<DaemonOptions, 'storagePath'> & Pick<System, 'transport'>>) {
  const logged: string[] = [];
  function log(message: string, fields?: object): void {
    logged.push(`${message} ${JSON.stringify(fields)}`);
  }
  const daemon = createDaemon({
    config: { loaded: loaded ?? (await configured()), load: reload, loadWeb },
    web: { listenAddress: '127.0.0.1:0', telemetryPath: '/metrics', enableLifecycle: false },
    storagePath,
    shard: { shard: 0, shards: 1 },
    build: { version: '0', revision: 'test', nodeVersion: process.version },
    system: {
      environment: {},
      clock: systemClock,
      random: { next: () => 0 },
      log: { ...silentLogger, info: log, warn: log, error: log },
      ...(transport && { transport }),
    },
  });
  const { url } = await daemon.start();
  onTestFinished(async () => {
    await daemon.stop();
  });
  async function metric(name: string): Promise<number> {
    const text = await (await fetch(new URL('/metrics', url))).text();
    return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1]);
  }
  return { daemon, url, logged, metric };
}
