/** Which changes of files lead to a reload: real files, a virtual clock. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createWatch } from '../../src/cli/watch.ts';
import type { ReloadScope } from '../../src/daemon.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const INTERVAL_MS = 30_000;

let folder: string;
let files: string[];
let reloads: number;
let duringReload: () => void;
let clock: VirtualClock;
let stop: AbortController;
let watching: Promise<void>;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'watch-'));
  files = [write('config.yaml', 'one'), write('riverside.secret', 'first')];
  reloads = 0;
  duringReload = () => {};
  clock = new VirtualClock(0);
  stop = new AbortController();
});
afterEach(async () => {
  stop.abort();
  await watching;
  rmSync(folder, { recursive: true });
});

async function watch(scope: ReloadScope): Promise<void> {
  const daemon = {
    files: () => files,
    reload() {
      reloads += 1;
      const once = duringReload;
      duringReload = () => {};
      once();
      return Promise.resolve({ ok: true as const });
    },
  };
  const run = await createWatch(daemon, scope, INTERVAL_MS, clock, stop.signal);
  watching = run();
  await asleep();
}

function write(name: string, content: string): string {
  const file = join(folder, name);
  writeFileSync(file, content);
  return file;
}

async function asleep(): Promise<void> {
  await vi.waitUntil(() => clock.sleepers === 1, { interval: 5 });
}

async function reloadsAfterNextLook(): Promise<number> {
  await clock.advance(INTERVAL_MS);
  await asleep();
  return reloads;
}

describe('the configuration', () => {
  beforeEach(() => watch('all'));

  test('is not reloaded while its content stays, even if a file is written', async () => {
    write('config.yaml', 'one');
    expect(await reloadsAfterNextLook()).toBe(0);
  });

  test.each(['config.yaml', 'riverside.secret'])('is reloaded once if %s changes', async (name) => {
    write(name, 'two');
    expect(await reloadsAfterNextLook()).toBe(1);
    expect(await reloadsAfterNextLook()).toBe(1);
    write(name, 'three');
    expect(await reloadsAfterNextLook()).toBe(2);
  });

  test('is reloaded if a file disappears or comes back', async () => {
    rmSync(join(folder, 'riverside.secret'));
    expect(await reloadsAfterNextLook()).toBe(1);
    write('riverside.secret', 'first');
    expect(await reloadsAfterNextLook()).toBe(2);
  });

  test('is reloaded if a file with the same ending is added, because a pattern may match it', async () => {
    write('notes.txt', 'not ours');
    expect(await reloadsAfterNextLook()).toBe(0);
    write('hilltop.yaml', 'a customer');
    expect(await reloadsAfterNextLook()).toBe(1);
  });

  test('is reloaded again if it changes during a reload', async () => {
    duringReload = () => write('config.yaml', 'three');
    write('config.yaml', 'two');
    expect(await reloadsAfterNextLook()).toBe(1);
    expect(await reloadsAfterNextLook()).toBe(2);
    expect(await reloadsAfterNextLook()).toBe(2);
  });

  test('is watched in the files that the last reload read', async () => {
    duringReload = () => (files = [...files, write('new.pem', 'one')]);
    write('config.yaml', 'two');
    expect(await reloadsAfterNextLook()).toBe(1);
    expect(await reloadsAfterNextLook()).toBe(1);
    write('new.pem', 'two');
    expect(await reloadsAfterNextLook()).toBe(2);
  });
});

describe('the web configuration', () => {
  beforeEach(() => watch('web'));

  test('is reloaded when two looks in a row see the same change', async () => {
    write('config.yaml', 'half');
    expect(await reloadsAfterNextLook()).toBe(0);
    write('config.yaml', 'half and half');
    expect(await reloadsAfterNextLook()).toBe(0);
    expect(await reloadsAfterNextLook()).toBe(1);
    expect(await reloadsAfterNextLook()).toBe(1);
  });

  test('is not reloaded if a change is undone before the second look', async () => {
    write('config.yaml', 'half');
    expect(await reloadsAfterNextLook()).toBe(0);
    write('config.yaml', 'one');
    expect(await reloadsAfterNextLook()).toBe(0);
    expect(await reloadsAfterNextLook()).toBe(0);
  });

  test('is not reloaded if a file that it does not name is added', async () => {
    write('other.yaml', 'not ours');
    write('other.secret', 'not ours');
    expect(await reloadsAfterNextLook()).toBe(0);
    expect(await reloadsAfterNextLook()).toBe(0);
  });
});
