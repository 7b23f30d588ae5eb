/** The file of marks between one process and the next, while all is well with the machine. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { StorageInUseError } from '../../src/polling/storage.ts';
import { NOVEMBER, NOW_MS, OWNER } from '../support/owner.ts';
import { CANNOT_USE, StorageRig } from './storage-rig.ts';

let rig: StorageRig;
beforeEach(async () => {
  rig = await StorageRig.create();
});
afterEach(() => rig[Symbol.asyncDispose]());

describe('the storage', () => {
  test('gives the marks back to the next process', async () => {
    await rig.store(412);
    expect(await rig.restored()).toBe(412);
    expect(rig.lines).toEqual([]);
  });

  test('writes at most every ten seconds, and only what is new', async () => {
    const marks = await rig.start();
    marks.update(OWNER, 'logins', NOVEMBER, 1, NOW_MS);
    await rig.clock.advance(9_999);
    expect(await readdir(rig.folder)).toEqual(['lock']);
    await rig.clock.advance(1);
    await expect.poll(() => readdir(rig.folder)).toEqual(['lock', 'state.json']);
    await rm(rig.file);
    await rig.clock.advance(60_000);
    await rig.stop();
    expect(await readdir(rig.folder)).toEqual(['lock']);
  });

  test('refuses a second process, and lets one in after the first was killed', async () => {
    const holder = fork(join(import.meta.dirname, 'testdata', 'hold-storage.ts'), [rig.folder], {
      execPath: process.execPath,
    });
    try {
      await once(holder, 'message');
      await expect(rig.start()).rejects.toThrow(StorageInUseError);
    } finally {
      holder.kill('SIGKILL');
      await once(holder, 'exit');
    }
    await rig.start();
    await rig.stop();
  });

  test('leaves out single marks that make no sense', async () => {
    const good: (string | number | null)[] = [
      'https://s.example.org',
      'riverside-api',
      'riverside',
      'logins',
      NOVEMBER.startMs,
      24322,
      7,
      NOW_MS,
    ];
    const bad = [
      good.with(6, -1),
      good.with(6, 1e300),
      good.with(0, null),
      good.slice(1),
      'x',
      good.with(4, 0),
    ];
    await writeFile(
      rig.file,
      JSON.stringify({ format: 'library-stats-exporter marks', version: 1, marks: [...bad, good] }),
    );
    expect(await rig.restored()).toBe(7);
    expect(rig.lines).toMatchObject([{ level: 'warn', marks: bad.length }]);
  });

  test('warns of a folder that cannot be made, and keeps the marks in memory', async () => {
    await writeFile(join(rig.folder, 'file'), '');
    await rig.start(join(rig.folder, 'file', 'data'));
    await rig.stop();
    expect(rig.messages()).toEqual([`warn: ${CANNOT_USE}`]);
  });

  test('is off without a path', async () => {
    await rig.start('');
    await rig.stop();
    expect(rig.lines).toEqual([]);
  });
});
