/**
 * A daemon that polls more often than a configuration allows. It answers each message with its
 * descriptors, resources, and heap after a collection. Started with --expose-gc.
 */
import { strict as assert } from 'node:assert';
import { readdirSync } from 'node:fs';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { systemRandom } from '../../../src/base/random.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { createDaemon } from '../../../src/daemon.ts';

export interface Held {
  readonly descriptors: number;
  readonly resources: number;
  readonly heapBytes: number;
}

const [path = '', intervalMs = ''] = process.argv.slice(2);
const { gc } = globalThis;
assert(gc !== undefined && process.send !== undefined);

const loaded = await loadConfig({ path, env: {} });
const polling = { ...loaded.config.polling, intervalMs: Number(intervalMs) };
const daemon = createDaemon({
  loaded: { ...loaded, config: { ...loaded.config, polling } },
  load: () => Promise.reject(new Error('no reload expected')),
  listenAddress: '127.0.0.1:0',
  telemetryPath: '/metrics',
  enableLifecycle: false,
  storagePath: '',
  shard: { shard: 0, shards: 1 },
  version: 'test',
  revision: 'test',
  nodeVersion: process.version,
  proxyEnvironment: {},
  clock: systemClock,
  random: systemRandom,
  log: silentLogger,
});
const { url } = await daemon.start();
process.send({ url });

process.on('message', () => {
  gc();
  process.send?.({
    descriptors: readdirSync('/dev/fd').length,
    resources: process.getActiveResourcesInfo().length,
    heapBytes: process.memoryUsage().heapUsed,
  } satisfies Held);
});
