import { execFile, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createLogger } from '../../src/base/log.ts';
import { Marks } from '../../src/counting/marks.ts';
import { Storage } from '../../src/polling/storage.ts';
import { NOVEMBER, NOW_MS, OWNER } from '../support/owner.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const WRITE_EVERY_MS = 10_000;

const CANNOT_USE = 'the storage cannot be used, marks are kept in memory only';
const CANNOT_UNDERSTAND = 'the marks cannot be understood, going on without';
const CANNOT_WRITE = 'the marks cannot be written, trying again';
const CAN_WRITE = 'the marks can be written again';

interface Line {
  readonly level: string;
  readonly msg: string;
  readonly error?: string;
}

let parent: string;
let folder: string;
let file: string;
let clock: VirtualClock;
let lines: Line[];
let storages: Storage[];

beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'storage-'));
  folder = join(parent, 'data');
  file = join(folder, 'marks.json');
  await mkdir(folder);
  clock = new VirtualClock(NOW_MS);
  lines = [];
  storages = [];
});
afterEach(async () => {
  await Promise.all(storages.map((storage) => storage.stop()));
  await rm(parent, { recursive: true });
});

async function startStorage(marks = new Marks(), path = folder): Promise<Marks> {
  const log = createLogger({
    level: 'info',
    format: 'json',
    write: (line) => lines.push(JSON.parse(line) as Line),
    nowMs: () => clock.nowMs(),
  });
  const storage = new Storage({ path, marks, clock, log });
  storages.push(storage);
  await storage.start();
  return marks;
}

async function stopStorages(): Promise<void> {
  await Promise.all(storages.splice(0).map((storage) => storage.stop()));
}

/** What the next process finds. */
async function restored(): Promise<number | undefined> {
  const marks = await startStorage();
  await stopStorages();
  return marks.get(OWNER, 'logins')?.value;
}

async function storeMark(value: number): Promise<void> {
  const marks = await startStorage();
  marks.raise(OWNER, 'logins', NOVEMBER, value, NOW_MS);
  await stopStorages();
}

function messages(): string[] {
  return lines.map(({ level, msg }) => `${level}: ${msg}`);
}

/** Lets the storage write once, in real time as the file system needs it. */
async function untilTold(count: number): Promise<void> {
  await clock.advance(WRITE_EVERY_MS);
  await expect.poll(() => lines.length).toBe(count);
}

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
    await storeMark(412);
    if (lock === 'without a lock') {
      await rm(join(folder, 'lock'));
    }
    await chmod(file, 0o644);
    await chmod(folder, 0o555);
    await chmod(parent, 0o755);
    const told = await useStorage(process.execPath, [
      programOf('use-storage.ts'),
      folder,
      String(NOW_MS),
      'nobody',
    ]);
    await chmod(folder, 0o755);
    expect(told.restored).toBe(412);
    expect(told.lines).toMatchObject([{ level: 'warn', msg: warning }]);
    expect(JSON.stringify(told.lines)).toContain(folder);
    expect(await restored()).toBe(412);
  });

  test('as on a file system for reading only costs a warning', async () => {
    const marks = await startStorage(new Marks(), '/proc/self');
    marks.raise(OWNER, 'logins', NOVEMBER, 1, NOW_MS);
    await clock.advance(WRITE_EVERY_MS);
    expect(messages()).toEqual([`warn: ${CANNOT_USE}`]);
  });

  test.each([['lock'], ['data/lock']])(
    'with a folder in place of %s costs a warning',
    async (name) => {
      await mkdir(join(folder, name), { recursive: true });
      await startStorage(new Marks(), join(folder, name, '..'));
      expect(messages()).toEqual([`warn: ${CANNOT_USE}`]);
    },
  );

  test('because a file has taken its place is told once, and used again when it is back', async () => {
    const marks = await startStorage();
    marks.raise(OWNER, 'logins', NOVEMBER, 1, NOW_MS);
    await rename(folder, `${folder}-away`);
    await writeFile(folder, 'a file');
    await untilTold(1);
    await clock.advance(10 * WRITE_EVERY_MS);
    await rm(folder);
    await rename(`${folder}-away`, folder);
    await untilTold(2);
    expect(messages()).toEqual([`warn: ${CANNOT_WRITE}`, `info: ${CAN_WRITE}`]);
    expect(lines[0]?.error).toContain('ENOTDIR');
    await stopStorages();
    expect(await restored()).toBe(1);
  });
});

describe('a full disk', () => {
  test('keeps the old marks whole, is told once, and its end too', async () => {
    await storeMark(412);
    const marks = await startStorage();
    for (let value = 413; value < 416; value++) {
      marks.raise(OWNER, 'logins', NOVEMBER, value, NOW_MS);
      // A device that is always full, in place of the file that is about to be written.
      await symlink('/dev/full', `${file}.new`);
      await clock.advance(WRITE_EVERY_MS);
      await expect.poll(() => readdir(folder)).toEqual(['lock', 'marks.json']);
    }
    expect(messages()).toEqual([`warn: ${CANNOT_WRITE}`]);
    expect(lines[0]?.error).toContain('ENOSPC');
    expect(await readFile(file, 'utf8')).toContain(',412,');
    await untilTold(2);
    expect(messages()[1]).toBe(`info: ${CAN_WRITE}`);
    expect(await readFile(file, 'utf8')).toContain(',415,');
  });

  test('in the middle of a write does not replace good marks by a part of the new ones', async () => {
    await storeMark(412);
    const told = await useStorage('/bin/sh', [
      '-c',
      'ulimit -f 2; exec "$0" "$@"',
      process.execPath,
      programOf('use-storage.ts'),
      folder,
      String(NOW_MS),
    ]);
    expect(told.lines).toMatchObject([{ level: 'warn', msg: CANNOT_WRITE }]);
    expect(await readdir(folder)).toEqual(['lock', 'marks.json']);
    expect(await restored()).toBe(412);
    expect(lines).toEqual([]);
  });
});

describe('a file of marks that cannot be understood', () => {
  async function planted(text: string | Uint8Array): Promise<void> {
    await writeFile(file, text);
  }
  const good = '{"format":"library-stats-exporter marks","version":1,"marks":[]}';
  const plants: [string, () => Promise<void>][] = [
    ['null', () => planted('null')],
    ['a number', () => planted('7')],
    ['binary', () => planted(Uint8Array.from([0, 159, 146, 150, 255]))],
    ['torn in a character', () => planted(Buffer.from(`${good}æ`).subarray(0, -1))],
    ['in UTF-16', () => planted(Buffer.from(`\ufeff${good}`, 'utf16le'))],
    ['hand-edited to NaN', () => planted(good.replace('[]', '[["a","b","c","logins",NaN]]'))],
    ['hand-edited to a trailing comma', () => planted(good.replace('[]', '[[],]'))],
    ['without marks', () => planted(good.replace(',"marks":[]', ''))],
    ['with marks that are an object', () => planted(good.replace('[]', '{}'))],
    ['with a version in words', () => planted(good.replace('1', '"1"'))],
    ['of prototypes', () => planted('{"__proto__":{"format":"library-stats-exporter marks"}}')],
    ['nested a hundred thousand deep', () => planted('['.repeat(100_000))],
    ['a folder', () => mkdir(file)],
    ['a device without an end', () => symlink('/dev/zero', file)],
    ['a link to itself', () => symlink('marks.json', file)],
    ['a gigabyte', () => writeFile(file, good).then(() => truncate(file, 2 ** 30))],
  ];

  test.each(plants)(
    '%s: is kept aside with one warning, and the marks are written',
    async (_, plant) => {
      await plant();
      expect(await restored()).toBeUndefined();
      expect(messages()).toEqual([`warn: ${CANNOT_UNDERSTAND}`]);
      expect(await readdir(folder)).toEqual(['lock', 'marks.json.unreadable']);
      await storeMark(5);
      expect(await restored()).toBe(5);
      expect(lines).toHaveLength(1);
    },
  );

  test('of more than 64 MiB is not read', async () => {
    await planted(good);
    await truncate(file, 64 * 2 ** 20 + 1);
    await restored();
    expect(lines[0]?.error).toBe('is larger than 64 MiB: give a smaller file');
  });

  test('never shows what is in it', async () => {
    await planted('horse-battery-staple');
    await restored();
    expect(JSON.stringify(lines)).not.toContain('horse');
  });

  test('with a byte-order mark of an editor is understood', async () => {
    await storeMark(5);
    await writeFile(file, `\ufeff${await readFile(file, 'utf8')}`);
    expect(await restored()).toBe(5);
    expect(lines).toEqual([]);
  });

  test('with millions of entries that are no marks costs one warning', async () => {
    await planted(good.replace('[]', `[0${',0'.repeat(3_000_000)}]`));
    expect(await restored()).toBeUndefined();
    expect(lines).toMatchObject([{ level: 'warn', marks: 3_000_001 }]);
  });
});

describe('the marks of others in the same file', () => {
  test.each([
    ['service', { ...OWNER, service: 'https://other.example.org' }],
    ['client id', { ...OWNER, clientId: 'other-api' }],
    ['customer', { ...OWNER, customer: 'hilltop' }],
  ])('of another %s count for nobody else, and are kept', async (_, other) => {
    const marks = await startStorage();
    marks.raise(other, 'logins', NOVEMBER, 9000, NOW_MS);
    await stopStorages();
    expect(await restored()).toBeUndefined();
    await storeMark(5);
    await storeMark(6);
    const after = await startStorage();
    expect(after.get(OWNER, 'logins')?.value).toBe(6);
    expect(after.get(other, 'logins')?.value).toBe(9000);
  });
});

describe('a process that is killed', () => {
  test('while it writes leaves whole marks and at most one unfinished file, however often', async () => {
    const kills = 12;
    let before = 0;
    for (let i = 0; i < kills; i++) {
      const writer = fork(programOf('write-marks.ts'), [folder], { execPath: process.execPath });
      let newest = 0;
      writer.on('message', (value) => (newest = Number(value)));
      // A different number of writes each time, so that the kills meet different moments.
      while (newest < before + 2 + (i % 3)) {
        await once(writer, 'message');
      }
      writer.kill('SIGKILL');
      await once(writer, 'exit');
      const { marks } = JSON.parse(await readFile(file, 'utf8')) as { marks: unknown[][] };
      expect(marks).toHaveLength(2001);
      const [value] = new Set(marks.map((mark) => mark[6]));
      expect(value).toBeGreaterThan(before);
      before = Number(value);
    }
    const left = (await readdir(folder)).filter((name) => !['lock', 'marks.json'].includes(name));
    expect(left.filter((name) => name !== 'marks.json.new')).toEqual([]);
  });

  test('leaves nothing that the next one stumbles over', async () => {
    await storeMark(412);
    await writeFile(`${file}.new`, '{"format":"library-stats-exp');
    expect(await restored()).toBe(412);
    await storeMark(413);
    expect(await restored()).toBe(413);
    expect(await readdir(folder)).toEqual(['lock', 'marks.json']);
    expect(lines).toEqual([]);
  });
});

describe('a second process on the same path', () => {
  test('ends with status 1 and the reason, and does not touch the first', async () => {
    const marks = await startStorage();
    await writeFile(
      join(parent, 'config.yaml'),
      `
service: { base_url: 'http://127.0.0.1:9', auth_url: 'http://127.0.0.1:9' }
customers:
  - { name: a, client_id: a, client_secret: correct-horse, timezone: Europe/Copenhagen }
`,
    );
    const second = promisify(execFile)(process.execPath, [
      join(import.meta.dirname, '..', '..', 'src', 'main.ts'),
      `--config.file=${join(parent, 'config.yaml')}`,
      `--storage.path=${folder}`,
      '--web.listen-address=127.0.0.1:0',
    ]);
    await expect(second).rejects.toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining(
        `the storage ${folder} is in use by another process`,
      ) as string,
    });
    marks.raise(OWNER, 'logins', NOVEMBER, 7, NOW_MS);
    await stopStorages();
    expect(await restored()).toBe(7);
  });
});
