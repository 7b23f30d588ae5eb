/** SIGTERM at any moment ends the daemon with status 0, and the high-water marks are written. */
import { readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { flagsFor, launch, Workspace, writeConfig } from '../acceptance/daemon.ts';
import type { Daemon, Settings } from '../acceptance/daemon.ts';
import { exact, fillHistory } from '../acceptance/expected.ts';
import { LedgerService } from '../acceptance/ledger-service.ts';
import { afternoonZone } from '../acceptance/local-time.ts';

vi.setConfig({ testTimeout: 120_000 });

const service = new LedgerService();
const workspace = new Workspace();
const riverside = service.addCustomer('riverside', afternoonZone(Date.now()));

beforeAll(async () => {
  await service.start();
  fillHistory(riverside.ledger);
});
afterEach(() => {
  service.heal(riverside);
  rmSync(`${workspace.folder}/data`, { recursive: true, force: true });
});
afterAll(async () => {
  await workspace.close();
  await service.stop();
});

function start(settings: Settings = {}, environment: Record<string, string> = {}): Daemon {
  const file = writeConfig(workspace, service, [riverside], settings);
  return launch(workspace, flagsFor(workspace, file, '--web.enable-lifecycle'), environment);
}

async function counting(): Promise<Daemon> {
  const daemon = await start().listening();
  await exact(daemon, riverside);
  return daemon;
}

/** The regular write comes after ten seconds only. */
function expectMarksWritten(): void {
  const text = readFileSync(`${workspace.folder}/data/state.json`, 'utf8');
  const { marks } = JSON.parse(text) as { marks: unknown[][] };
  const counters = marks.map((mark) => String(mark[3]));
  expect(counters.toSorted()).toEqual(['logins', 'people_entered', 'people_exited']);
}

/** A connection that is not read until the test resumes it. */
async function connectTo(daemon: Daemon): Promise<Socket> {
  const { hostname, port } = new URL(daemon.url);
  const socket = connect(Number(port), hostname).pause();
  socket.on('error', () => {});
  onTestFinished(() => void socket.destroy());
  await new Promise((resolve) => socket.once('connect', resolve));
  return socket;
}

test.each(['SIGTERM', 'SIGINT'] as const)('%s, also repeated, ends a daemon', async (signal) => {
  const daemon = await counting();
  daemon.signal(signal);
  daemon.signal('SIGINT');
  expect(await daemon.stop(signal)).toBe(0);
  expect(daemon.logged('stopped')).toHaveLength(1);
  expectMarksWritten();
});

/** Sends SIGTERM when the module is loaded, or as soon as the process listens to the signal. */
const AT_MODULE = `
  import { registerHooks } from 'node:module';
  registerHooks({
    load(url, context, nextLoad) {
      if (url.endsWith('/src/cli/program.ts')) {
        process.kill(process.pid, 'SIGTERM');
      }
      return nextLoad(url, context);
    },
  });
`;
const WHEN_LISTENED_TO = `
  const watch = setInterval(() => {
    if (process.listenerCount('SIGTERM') > 0) {
      clearInterval(watch);
      process.kill(process.pid, 'SIGTERM');
    }
  }, 1);
`;

test.each([
  ['while modules are loaded', AT_MODULE],
  ['as soon as it is listened to', WHEN_LISTENED_TO],
])('SIGTERM at the start: %s', async (_, preload) => {
  const file = workspace.write('preload.mjs', preload);
  const daemon = start({}, { NODE_OPTIONS: `--import=${file}` });
  expect(await daemon.exited).toBe(0);
});

test('SIGTERM at the start: before and when it listens', async () => {
  const starting = start();
  await starting.until(() => starting.logged('starting').length > 0);
  expect(await starting.stop()).toBe(0);
  const listening = await start().listening();
  expect(await listening.stop()).toBe(0);
});

test.each([
  ['hang', 'data'],
  ['hang', 'token'],
  ['drip', 'data'],
  ['unavailable, Retry-After: 20', 'data'],
] as const)('SIGTERM during a request: %s of the %s endpoint', async (fault, endpoint) => {
  service.fail(riverside, fault, { endpoint });
  const before = service.requests.length;
  const daemon = await start({ service: { timeout: '60s' } }).listening();
  await vi.waitUntil(() => service.requests.length > before + (endpoint === 'data' ? 1 : 0), {
    timeout: 30_000,
  });
  expect(await daemon.stop()).toBe(0);
  expect(daemon.logged('poll failed')).toEqual([]);
});

test('SIGTERM during reloads', async () => {
  const daemon = await counting();
  writeConfig(workspace, service, [riverside], { service: { timeout: '9s' } });
  const answers = Promise.allSettled([daemon.reload(), daemon.reload(), daemon.reload()]);
  daemon.signal('SIGHUP');
  expect(await daemon.stop()).toBe(0);
  await answers;
  expectMarksWritten();
});

test('SIGTERM with idle, unfinished and unread connections', async () => {
  const daemon = await counting();
  const idle = await Promise.all(Array.from({ length: 100 }, async () => connectTo(daemon)));
  for (const socket of idle) {
    socket.resume().write('GET /-/ready HTTP/1.1\r\nHost: a\r\n\r\n');
  }
  await vi.waitUntil(() => idle.every(({ bytesRead }) => bytesRead > 0), { timeout: 30_000 });
  for (let number = 0; number < 50; number += 1) {
    (await connectTo(daemon)).write(number % 2 === 0 ? '' : 'POST /-/reload HTTP/1.1\r\nHo');
  }
  // More answers than fit into the buffers of a connection.
  const unread = await connectTo(daemon);
  unread.write('GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(500));
  expect((await daemon.get('/-/ready')).status).toBe(200);
  expect(await daemon.stop()).toBe(0);
  expectMarksWritten();
});
