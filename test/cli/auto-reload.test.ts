/** When the configuration is read again by itself: real files, a clock of the test's own. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { digestsOf, watchConfig } from '../../src/cli/auto-reload.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const INTERVAL_MS = 30_000;

let folder: string;
let files: string[];
let reloads: number;
let duringReload: () => void;
let clock: VirtualClock;
let stop: AbortController;
let watching: Promise<void>;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'auto-reload-'));
  files = [write('config.yaml', 'one'), write('riverside.secret', 'first')];
  reloads = 0;
  duringReload = () => {};
  clock = new VirtualClock(0);
  stop = new AbortController();
  watching = watch(INTERVAL_MS);
  await asleep();
});
afterEach(async () => {
  stop.abort();
  await watching;
  rmSync(folder, { recursive: true });
});

async function watch(intervalMs: number, settles = false): Promise<void> {
  return watchConfig({
    settles,
    intervalMs,
    seen: await digestsOf(files),
    files: () => files,
    clock,
    signal: stop.signal,
    reload() {
      reloads += 1;
      duringReload();
      return Promise.resolve();
    },
  });
}

function write(name: string, content: string): string {
  const file = join(folder, name);
  writeFileSync(file, content);
  return file;
}

/** Until it has looked and waits for the next time. */
async function asleep(): Promise<void> {
  await vi.waitUntil(() => clock.sleepers === 1, { interval: 5 });
}

/** How often it has reloaded after the next look. */
async function afterNextLook(): Promise<number> {
  await clock.advance(INTERVAL_MS);
  await asleep();
  return reloads;
}

test('reads nothing again while nothing changes, not even a file that is written anew', async () => {
  expect(await afterNextLook()).toBe(0);
  write('config.yaml', 'one');
  expect(await afterNextLook()).toBe(0);
});

test.each([['config.yaml'], ['riverside.secret']])('a change of %s is tried once', async (name) => {
  write(name, 'two');
  expect(reloads).toBe(0);
  expect(await afterNextLook()).toBe(1);
  expect(await afterNextLook()).toBe(1);
  write(name, 'three');
  expect(await afterNextLook()).toBe(2);
});

test('a file that goes away, or comes back, is a change', async () => {
  rmSync(join(folder, 'riverside.secret'));
  expect(await afterNextLook()).toBe(1);
  expect(await afterNextLook()).toBe(1);
  write('riverside.secret', 'first');
  expect(await afterNextLook()).toBe(2);
});

test('a new file that a pattern may mean is a change, another one is not', async () => {
  write('notes.txt', 'nothing of ours');
  expect(await afterNextLook()).toBe(0);
  write('hilltop.yaml', 'a customer');
  expect(await afterNextLook()).toBe(1);
  expect(await afterNextLook()).toBe(1);
});

test('a change during the reading is one for the next time', async () => {
  duringReload = () => {
    duringReload = () => {};
    write('config.yaml', 'three');
  };
  write('config.yaml', 'two');
  expect(await afterNextLook()).toBe(1);
  expect(await afterNextLook()).toBe(2);
  expect(await afterNextLook()).toBe(2);
});

test('files that the new configuration names are watched from then on', async () => {
  duringReload = () => {
    files = [...files, write('new.secret', 'one')];
    duringReload = () => {};
  };
  write('config.yaml', 'two');
  expect(await afterNextLook()).toBe(1);
  // The secrets have the same ending, so the new one is a sibling of the old one too.
  await afterNextLook();
  const before = reloads;
  write('new.secret', 'two');
  expect(await afterNextLook()).toBe(before + 1);
});

test('a file that became a pipe nobody writes to holds nothing up', async () => {
  const pipe = join(folder, 'riverside.secret');
  rmSync(pipe);
  execFileSync('mkfifo', [pipe]);
  expect(await afterNextLook()).toBe(1);
  expect(await afterNextLook()).toBe(1);
});

describe('where a change has to settle', () => {
  beforeEach(async () => {
    stop.abort();
    await watching;
    stop = new AbortController();
    watching = watch(INTERVAL_MS, true);
    await asleep();
  });

  test('it is tried once two looks have found the same', async () => {
    write('config.yaml', 'half');
    expect(await afterNextLook()).toBe(0);
    write('config.yaml', 'half and half');
    expect(await afterNextLook()).toBe(0);
    expect(await afterNextLook()).toBe(1);
    expect(await afterNextLook()).toBe(1);
  });

  test('what was taken back before anybody looked twice is none', async () => {
    write('config.yaml', 'half');
    expect(await afterNextLook()).toBe(0);
    write('config.yaml', 'one');
    expect(await afterNextLook()).toBe(0);
    expect(await afterNextLook()).toBe(0);
  });

  test('a change during the reading settles as well', async () => {
    duringReload = () => {
      duringReload = () => {};
      write('config.yaml', 'three');
    };
    write('config.yaml', 'two');
    await afterNextLook();
    expect(await afterNextLook()).toBe(1);
    expect(await afterNextLook()).toBe(1);
    expect(await afterNextLook()).toBe(2);
    expect(await afterNextLook()).toBe(2);
  });
});

test('an interval of 0 watches nothing and ends at once', async () => {
  await watch(0);
  expect(clock.sleepers).toBe(1);
});
