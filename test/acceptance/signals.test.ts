/** SIGTERM at any moment ends the daemon with status 0, and the high-water marks are written. */
import { readFileSync, rmSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import { flagsFor, launch } from './daemon.ts';
import type { Daemon } from './daemon.ts';
import { exact } from './expected.ts';
import { Harness } from './harness.ts';

const harness = new Harness();
const { workspace } = harness;
const riverside = harness.addCustomer('riverside');

afterEach(() => rmSync(`${workspace.folder}/data`, { recursive: true, force: true }));

function start(environment: Record<string, string> = {}): Daemon {
  const flags = flagsFor(workspace, harness.configure([riverside]));
  return launch(workspace, flags, environment);
}

test.each(['SIGTERM', 'SIGINT'] as const)('%s, also repeated, ends a daemon', async (signal) => {
  const daemon = await start().listening();
  await exact(daemon, riverside);
  daemon.signal(signal);
  daemon.signal('SIGINT');
  expect(await daemon.stop(signal)).toBe(0);
  expect(daemon.logged('stopped')).toHaveLength(1);
  // The regular write comes after ten seconds only.
  const text = readFileSync(`${workspace.folder}/data/state.json`, 'utf8');
  const counters = Array.from(text.matchAll(/^"(\w+)":/gm), ([, counter = '']) => counter);
  expect(counters.toSorted()).toEqual(['logins', 'people_entered', 'people_exited']);
});

/** The environment of a process that gets a signal while it loads its modules. */
function signalled(signal: NodeJS.Signals): Record<string, string> {
  const file = workspace.write(
    `${signal}.mjs`,
    `import { registerHooks } from 'node:module';
    registerHooks({
      load(url, context, nextLoad) {
        if (url.endsWith('/src/cli/program.ts')) {
          process.kill(process.pid, '${signal}');
        }
        return nextLoad(url, context);
      },
    });`,
  );
  return { NODE_OPTIONS: `--import=${file}` };
}

test('SIGTERM at the start, while modules are loaded', async () => {
  expect(await start(signalled('SIGTERM')).exited).toBe(0);
});

test('SIGHUP at the start, while modules are loaded, leads to a reload after it', async () => {
  const daemon = start(signalled('SIGHUP'));
  await daemon.until(() => daemon.logged('config reloaded').length === 1);
  expect(daemon.logLines().map(({ msg }) => msg)).toContain('listening');
  expect(await daemon.stop()).toBe(0);
});

test('SIGHUP ends a command that has nothing to reload', async () => {
  const flag = `--config.file=${harness.configure([riverside])}`;
  const check = launch(workspace, ['check', flag, '--connect'], signalled('SIGHUP'));
  expect(await check.exited).toBe('SIGHUP');
});
