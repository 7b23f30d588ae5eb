/** Which changes of files lead to a reload: real files, a virtual clock. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createWatch } from '../../src/cli/watch.ts';
import type { ReloadScope } from '../../src/daemon.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const INTERVAL_MS = 30_000;

let folder: string;
let files: string[];
let duringReload: () => void;
let stop: AbortController;
let watching: Promise<void>;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'watch-'));
  files = [write('config.yaml', 'one'), write('riverside.secret', 'first')];
  duringReload = () => {};
  stop = new AbortController();
});
afterEach(async () => {
  stop.abort();
  await watching;
  rmSync(folder, { recursive: true });
});

/** Watches the files; what it returns changes one and returns the number of reloads after the next look. */
async function watch(scope: ReloadScope) {
  const clock = new VirtualClock(0);
  let reloads = 0;
  const daemon = {
    files: () => files,
    reload() {
      reloads += 1;
      duringReload();
      duringReload = () => {};
      return Promise.resolve({ ok: true as const });
    },
  };
  const run = await createWatch(daemon, scope, INTERVAL_MS, clock, stop.signal);
  watching = run();
  async function asleep(): Promise<void> {
    await vi.waitUntil(() => clock.sleepers === 1, { interval: 5 });
  }
  await asleep();
  return async (name?: string, content = ''): Promise<number> => {
    if (name !== undefined) {
      write(name, content);
    }
    await clock.advance(INTERVAL_MS);
    await asleep();
    return reloads;
  };
}

function write(name: string, content: string): string {
  const file = join(folder, name);
  writeFileSync(file, content);
  return file;
}

test('a changed file is reloaded once, a written one that is the same never', async () => {
  const reloadsAfter = await watch('all');
  expect(await reloadsAfter('config.yaml', 'one')).toBe(0);
  expect(await reloadsAfter('config.yaml', 'two')).toBe(1);
  expect(await reloadsAfter()).toBe(1);
  expect(await reloadsAfter('riverside.secret', 'second')).toBe(2);
});

test('files that disappear, come back or are new with the same ending lead to a reload', async () => {
  const reloadsAfter = await watch('all');
  rmSync(join(folder, 'riverside.secret'));
  expect(await reloadsAfter()).toBe(1);
  expect(await reloadsAfter('riverside.secret', 'first')).toBe(2);
  expect(await reloadsAfter('notes.txt', 'not ours')).toBe(2);
  // A pattern may match it.
  expect(await reloadsAfter('hilltop.yaml', 'a customer')).toBe(3);
});

test('a change during a reload leads to another one', async () => {
  const reloadsAfter = await watch('all');
  duringReload = () => write('config.yaml', 'three');
  expect(await reloadsAfter('config.yaml', 'two')).toBe(1);
  expect(await reloadsAfter()).toBe(2);
  expect(await reloadsAfter()).toBe(2);
});

test('the files that the last reload read are watched', async () => {
  const reloadsAfter = await watch('all');
  duringReload = () => (files = [...files, write('new.pem', 'one')]);
  expect(await reloadsAfter('config.yaml', 'two')).toBe(1);
  expect(await reloadsAfter()).toBe(1);
  expect(await reloadsAfter('new.pem', 'two')).toBe(2);
});

test('the web configuration is reloaded when two looks in a row see the same change', async () => {
  const reloadsAfter = await watch('web');
  // Files that it does not name.
  expect(await reloadsAfter('other.yaml', 'not ours')).toBe(0);
  expect(await reloadsAfter()).toBe(0);
  expect(await reloadsAfter('config.yaml', 'half')).toBe(0);
  expect(await reloadsAfter('config.yaml', 'one')).toBe(0);
  expect(await reloadsAfter('config.yaml', 'half')).toBe(0);
  expect(await reloadsAfter('config.yaml', 'half and half')).toBe(0);
  expect(await reloadsAfter()).toBe(1);
  expect(await reloadsAfter()).toBe(1);
});
