/** State over a kill, without permission and on a full disk: what one process leaves, and the next one restores. */
import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { Database } from '../../src/storage/database.ts';

const PROGRAM = join(import.meta.dirname, 'testdata', 'use-store.ts');
const NOT_WRITTEN = { level: 'error', msg: 'state not written at the stop' };

let folder: string;
let file: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'state-'));
  file = join(folder, 'state.db');
});
afterEach(() => rm(folder, { recursive: true }));

/** Starts a process that kills itself so many turns of its event loop after its second write began. */
async function killed(turns: number): Promise<void> {
  const args = [folder, 'die', `${turns}`];
  await once(fork(PROGRAM, args, { execPath: process.execPath }), 'exit');
}

/** Returns what a process reports that a command starts, and that adds 1 to each mark. */
async function reportOf(command: string, ...args: readonly string[]): Promise<unknown> {
  const program = [process.execPath, PROGRAM, folder, 'update'];
  const child = spawn(command, [...args, ...program], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const ended = once(child, 'close');
  const [report] = (await once(child, 'message')) as [unknown];
  await ended;
  return report;
}

/** Returns the value of all marks, which must be the same. */
function storedValue(): number | undefined {
  const values = Database.marksOf(file).map(({ value }) => value);
  expect([values.length, new Set(values).size]).toEqual([2_000, 1]);
  return values[0];
}

test('a process that is killed while it writes leaves whole marks', async () => {
  for (const turns of [1, 2, 3, 4, 5]) {
    await killed(turns);
    expect(storedValue()).toBeGreaterThan(0);
  }
});

test('what a killed process wrote is read where nothing can be written', async () => {
  await killed(100);
  await chmod(`${file}-wal`, 0o644);
  await chmod(file, 0o644);
  await chmod(folder, 0o555);
  const report = await reportOf('/usr/bin/env', 'STORE_USER=nobody');
  await chmod(folder, 0o755);
  const error = expect.stringMatching(/^EACCES: permission denied/) as string;
  expect(report).toMatchObject({
    restored: storedValue(),
    saved: false,
    lines: [
      { level: 'warn', msg: 'storage not writable, state is kept in memory only', error },
      { ...NOT_WRITTEN, error },
    ],
  });
});

test('a full disk damages nothing', async () => {
  await killed(100);
  const before = storedValue();
  const report = await reportOf('/bin/sh', '-c', 'ulimit -f 100; exec "$0" "$@"');
  expect(report).toMatchObject({
    restored: before,
    saved: false,
    lines: [{ level: 'warn', msg: 'state write failed, retrying' }, NOT_WRITTEN],
  });
  expect(storedValue()).toBe(before);
});
