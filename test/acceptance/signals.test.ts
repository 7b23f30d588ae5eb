/** SIGTERM at any moment ends the daemon with status 0, and the high-water marks are written. */
import { readFileSync, rmSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { flagsFor, launch, Workspace, writeConfig } from './daemon.ts';
import type { Daemon, Settings } from './daemon.ts';
import { exact, fillHistory } from './expected.ts';
import { LedgerService } from './ledger-service.ts';
import { afternoonZone } from './local-time.ts';

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

test.each([
  ['hang', 'data'],
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
