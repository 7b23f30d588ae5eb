/**
 * The daemon with a clock of its own: web server and everything from the bytes of a response
 * on are those of src; time passes when the bench says so, and the service is a function in this
 * process. What got and its sockets hold is not in it.
 *
 * `simulated-daemon.ts CONFIG`; then `advance MS`, `jump MS` for a machine that has slept so long, or
 * `live` for the MiB that are in use after a collection.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { silentLogger } from '../../src/base/log.ts';
import { seededRandom } from '../../src/base/random.ts';
import { loadConfig } from '../../src/config/load.ts';
import { createDaemon } from '../../src/daemon.ts';
import { limitHeap } from '../../src/v8-flags.ts';
import type { ExchangeResponse, ExchangeRequest } from '../../src/service/transport.ts';
import { Zone } from '../../src/counting/calendar/zone.ts';
import { VirtualClock } from '../../test/support/virtual-clock.ts';
import { Responses, HISTORIES } from '../service/responses.ts';

limitHeap();
const [configFile = ''] = process.argv.slice(2);

/** Two in the afternoon in Copenhagen, in the middle of a month. */
const START_MS = Date.UTC(2026, 2, 10, 13);
const virtual = new VirtualClock(START_MS);
const clock = virtual.process();
const responses = new Responses(new Zone('Europe/Copenhagen'));

const loaded = await loadConfig({ path: configFile, env: {} });

const daemon = createDaemon({
  config: { loaded, load: () => Promise.resolve(loaded) },
  web: { listenAddress: '127.0.0.1:0', telemetryPath: '/metrics', enableLifecycle: false },
  storagePath: '',
  shard: { shard: 0, shards: 1 },
  build: { version: '0', revision: 'bench', nodeVersion: process.version },
  system: {
    environment: {},
    clock,
    random: seededRandom(1),
    log: silentLogger,
    transport: { exchange: (request) => Promise.resolve(responseTo(request)), close() {} },
  },
});
const { url } = await daemon.start();
process.stdout.write(`${url}\n`);
process.on('message', (message) => {
  void obey(String(message).split(' '));
});
process.on('disconnect', () => process.exit(0));
process.on('SIGTERM', () => process.exit(0));

async function obey([order, ms]: readonly string[]): Promise<void> {
  if (order === 'jump') {
    clock.aheadMs += Number(ms);
  } else if (order === 'advance') {
    await virtual.advance(Number(ms));
  }
  process.send?.(order === 'live' ? liveMiB() : 'done');
}

function liveMiB(): number {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as NodeJS.GCFunction;
  collect({ type: 'major', execution: 'sync' });
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 2 ** 20;
}

function responseTo({ url: asked, bearer, form }: ExchangeRequest): ExchangeResponse {
  const nowMs = clock.nowMs();
  const head = {
    status: 200,
    contentType: 'application/json',
    retryAfter: undefined,
    date: new Date(nowMs).toUTCString(),
  };
  if (form !== undefined) {
    const clientId = new URLSearchParams(form.reveal()).get('client_id') ?? '';
    const access_token = `token-${clientId.replace(/\D/g, '')}`;
    const granted = { access_token, expires_in: 3_600, token_type: 'Bearer' };
    return { ...head, body: Buffer.from(JSON.stringify(granted)) };
  }
  const { pathname, searchParams } = new URL(asked);
  const history = Number(bearer?.reveal().slice('token-'.length)) % HISTORIES;
  const endpoint = pathname === '/v1/login' ? 'login' : 'peoplecount';
  const body = responses.body(history, endpoint, searchParams, nowMs);
  // A copy, as every response has bytes of its own.
  return { ...head, body: Buffer.from(body) };
}
