/** SIGTERM at any moment ends the daemon with status 0, and the high-water marks are written. */
import { readFileSync, rmSync } from 'node:fs';
import { afterEach, expect, test, vi } from 'vitest';
import { flagsFor, launch } from './daemon.ts';
import type { Daemon, Settings } from './daemon.ts';
import { exact } from './expected.ts';
import { Harness } from './harness.ts';

const harness = new Harness();
const { service, workspace } = harness;
const riverside = harness.addCustomer('riverside');

afterEach(() => {
  service.heal(riverside);
  rmSync(`${workspace.folder}/data`, { recursive: true, force: true });
});

function start(settings: Settings = {}, environment: Record<string, string> = {}): Daemon {
  const flags = flagsFor(workspace, harness.configure([riverside], settings));
  return launch(workspace, [...flags, '--web.enable-lifecycle'], environment);
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
  expect(await start({}, { NODE_OPTIONS: `--import=${file}` }).exited).toBe(0);
});

test.each(['hang', 'drip', 'unavailable, Retry-After: 20'] as const)(
  'SIGTERM during a request: %s',
  async (fault) => {
    service.fail(riverside, fault);
    const before = service.requests.length;
    const daemon = await start({ service: { timeout: '60s' } }).listening();
    await vi.waitUntil(() => service.requests.length > before + 1, { timeout: 30_000 });
    expect(await daemon.stop()).toBe(0);
    expect(daemon.logged('poll failed')).toEqual([]);
  },
);

test('SIGTERM during reloads', async () => {
  const daemon = await counting();
  harness.configure([riverside], { service: { timeout: '9s' } });
  const answers = Promise.allSettled([daemon.reload(), daemon.reload(), daemon.reload()]);
  daemon.signal('SIGHUP');
  expect(await daemon.stop()).toBe(0);
  await answers;
  expectMarksWritten();
});
