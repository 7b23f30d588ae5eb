/** Folders that cannot be used, full disks, processes that are killed: marks on a machine that is not well. */
import { execFile, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { NOVEMBER, NOW_MS, OWNER } from '../support/owner.ts';
import { CANNOT_USE, CANNOT_WRITE, CAN_WRITE, StorageRig, WRITE_EVERY_MS } from './storage-rig.ts';
import type { Line } from './storage-rig.ts';

let rig: StorageRig;
beforeEach(async () => {
  rig = await StorageRig.create();
});
afterEach(() => rig[Symbol.asyncDispose]());

function programOf(name: string): string {
  return join(import.meta.dirname, 'testdata', name);
}

interface Told {
  readonly lines: readonly Line[];
  readonly restored?: number;
}

async function useStorage(command: string, args: readonly string[]): Promise<Told> {
  const child = spawn(command, [...args], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  let told: Told | undefined;
  child.on('message', (message) => (told = message as Told));
  const [status] = (await once(child, 'close')) as [number | null];
  if (told === undefined) {
    throw new Error(`the process ended with ${status} and told nothing`);
  }
  return told;
}

describe('a folder that cannot be used', () => {
  test.each([
    ['with a lock', CANNOT_WRITE],
    ['without a lock', CANNOT_USE],
  ])('by this user, %s, is read, and is not a reason to stop', async (lock, warning) => {
    await rig.store(412);
    if (lock === 'without a lock') {
      await rm(join(rig.folder, 'lock'));
    }
    await chmod(rig.file, 0o644);
    await chmod(rig.folder, 0o555);
    await chmod(rig.parent, 0o755);
    const told = await useStorage(process.execPath, [
      programOf('use-storage.ts'),
      rig.folder,
      String(NOW_MS),
      'nobody',
    ]);
    await chmod(rig.folder, 0o755);
    expect(told.restored).toBe(412);
    expect(told.lines).toMatchObject([{ level: 'warn', msg: warning }]);
    expect(JSON.stringify(told.lines)).toContain(rig.folder);
    expect(await rig.restored()).toBe(412);
  });

  test('as on a file system for reading only costs a warning', async () => {
    const marks = await rig.start('/proc/self');
    marks.update(OWNER, 'logins', NOVEMBER, 1, NOW_MS);
    await rig.clock.advance(WRITE_EVERY_MS);
    expect(rig.messages()).toEqual([`warn: ${CANNOT_USE}`]);
  });

  test.each([['lock'], ['data/lock']])(
    'with a folder in place of %s costs a warning',
    async (name) => {
      await mkdir(join(rig.folder, name), { recursive: true });
      await rig.start(join(rig.folder, name, '..'));
      expect(rig.messages()).toEqual([`warn: ${CANNOT_USE}`]);
    },
  );

  test('because a file has taken its place is told once, and used again when it is back', async () => {
    const marks = await rig.start();
    marks.update(OWNER, 'logins', NOVEMBER, 1, NOW_MS);
    await rename(rig.folder, `${rig.folder}-away`);
    await writeFile(rig.folder, 'a file');
    await rig.untilTold(1);
    await rig.clock.advance(10 * WRITE_EVERY_MS);
    await rm(rig.folder);
    await rename(`${rig.folder}-away`, rig.folder);
    await rig.untilTold(2);
    expect(rig.messages()).toEqual([`warn: ${CANNOT_WRITE}`, `info: ${CAN_WRITE}`]);
    expect(rig.lines[0]?.error).toContain('ENOTDIR');
    await rig.stop();
    expect(await rig.restored()).toBe(1);
  });
});

describe('a full disk', () => {
  test('keeps the old marks whole, is told once, and its end too', async () => {
    await rig.store(412);
    const marks = await rig.start();
    for (let value = 413; value < 416; value++) {
      marks.update(OWNER, 'logins', NOVEMBER, value, NOW_MS);
      // A device that is always full, in place of the file that is about to be written.
      await symlink('/dev/full', `${rig.file}.new`);
      await rig.clock.advance(WRITE_EVERY_MS);
      await expect.poll(() => readdir(rig.folder)).toEqual(['lock', 'state.json']);
    }
    expect(rig.messages()).toEqual([`warn: ${CANNOT_WRITE}`]);
    expect(rig.lines[0]?.error).toContain('ENOSPC');
    expect(await readFile(rig.file, 'utf8')).toContain(',412,');
    await rig.untilTold(2);
    expect(rig.messages()[1]).toBe(`info: ${CAN_WRITE}`);
    expect(await readFile(rig.file, 'utf8')).toContain(',415,');
  });

  test('in the middle of a write does not replace good marks by a part of the new ones', async () => {
    await rig.store(412);
    const told = await useStorage('/bin/sh', [
      '-c',
      'ulimit -f 2; exec "$0" "$@"',
      process.execPath,
      programOf('use-storage.ts'),
      rig.folder,
      String(NOW_MS),
    ]);
    expect(told.lines).toMatchObject([{ level: 'warn', msg: CANNOT_WRITE }]);
    expect(await readdir(rig.folder)).toEqual(['lock', 'state.json']);
    expect(await rig.restored()).toBe(412);
    expect(rig.lines).toEqual([]);
  });
});

describe('a process that is killed', () => {
  test('while it writes leaves whole marks and at most one unfinished file, however often', async () => {
    const kills = 12;
    let before = 0;
    for (let i = 0; i < kills; i++) {
      const writer = fork(programOf('write-marks.ts'), [rig.folder], {
        execPath: process.execPath,
      });
      let newest = 0;
      writer.on('message', (value) => (newest = Number(value)));
      // A different number of writes each time, so that the kills meet different moments.
      while (newest < before + 2 + (i % 3)) {
        await once(writer, 'message');
      }
      writer.kill('SIGKILL');
      await once(writer, 'exit');
      const { marks } = JSON.parse(await readFile(rig.file, 'utf8')) as { marks: unknown[][] };
      expect(marks).toHaveLength(2001);
      const [value] = new Set(marks.map((mark) => mark[6]));
      expect(value).toBeGreaterThan(before);
      before = Number(value);
    }
    const left = (await readdir(rig.folder)).filter(
      (name) => !['lock', 'state.json'].includes(name),
    );
    expect(left.filter((name) => name !== 'state.json.new')).toEqual([]);
  });

  test('leaves nothing that the next one stumbles over', async () => {
    await rig.store(412);
    await writeFile(`${rig.file}.new`, '{"format":"library-stats-exp');
    expect(await rig.restored()).toBe(412);
    await rig.store(413);
    expect(await rig.restored()).toBe(413);
    expect(await readdir(rig.folder)).toEqual(['lock', 'state.json']);
    expect(rig.lines).toEqual([]);
  });
});

describe('a second process on the same path', () => {
  test('ends with status 1 and the reason, and does not touch the first', async () => {
    const marks = await rig.start();
    await writeFile(
      join(rig.parent, 'config.yaml'),
      `
service: { base_url: 'http://127.0.0.1:9', auth_url: 'http://127.0.0.1:9' }
customers:
  - { name: a, client_id: a, client_secret: correct-horse, timezone: Europe/Copenhagen }
`,
    );
    const second = promisify(execFile)(process.execPath, [
      join(import.meta.dirname, '..', '..', 'src', 'main.ts'),
      `--config.file=${join(rig.parent, 'config.yaml')}`,
      `--storage.path=${rig.folder}`,
      '--web.listen-address=127.0.0.1:0',
    ]);
    await expect(second).rejects.toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining(
        `the storage ${rig.folder} is in use by another process`,
      ) as string,
    });
    marks.update(OWNER, 'logins', NOVEMBER, 7, NOW_MS);
    await rig.stop();
    expect(await rig.restored()).toBe(7);
  });
});
