import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createLogger } from '../../src/base/log.ts';
import { Marks } from '../../src/counting/marks.ts';
import { Storage, StorageInUseError } from '../../src/polling/storage.ts';
import { NOVEMBER, NOW_MS, OWNER } from '../support/owner.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

let folder: string;
let clock: VirtualClock;
let lines: { level: string; msg: string }[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'storage-'));
  clock = new VirtualClock(NOW_MS);
  lines = [];
});
afterEach(() => rm(folder, { recursive: true }));

function storageOf(marks: Marks, path = folder): Storage {
  const log = createLogger({
    level: 'info',
    format: 'json',
    write: (line) => lines.push(JSON.parse(line) as (typeof lines)[number]),
    nowMs: () => clock.nowMs(),
  });
  return new Storage({ path, marks, clock, log });
}

async function restored(): Promise<number | undefined> {
  const marks = new Marks();
  const storage = storageOf(marks);
  await storage.start();
  await storage.stop();
  return marks.get(OWNER, 'logins')?.value;
}

describe('the storage', () => {
  test('gives the marks back to the next process', async () => {
    const marks = new Marks();
    const storage = storageOf(marks);
    await storage.start();
    marks.raise(OWNER, 'logins', NOVEMBER, 412, NOW_MS);
    await storage.stop();
    expect(await restored()).toBe(412);
    expect(lines).toEqual([]);
  });

  test('writes at most every ten seconds, and only what is new', async () => {
    const marks = new Marks();
    const storage = storageOf(marks);
    await storage.start();
    marks.raise(OWNER, 'logins', NOVEMBER, 1, NOW_MS);
    await clock.advance(9_999);
    expect(await readdir(folder)).toEqual(['lock']);
    await clock.advance(1);
    await expect.poll(() => readdir(folder)).toEqual(['lock', 'marks.json']);
    await rm(join(folder, 'marks.json'));
    await clock.advance(60_000);
    await storage.stop();
    expect(await readdir(folder)).toEqual(['lock']);
  });

  test('refuses a second process, and lets one in after the first was killed', async () => {
    const holder = fork(join(import.meta.dirname, 'testdata', 'hold-storage.ts'), [folder], {
      execPath: process.execPath,
    });
    try {
      await once(holder, 'message');
      await expect(storageOf(new Marks()).start()).rejects.toThrow(StorageInUseError);
    } finally {
      holder.kill('SIGKILL');
      await once(holder, 'exit');
    }
    const storage = storageOf(new Marks());
    await storage.start();
    await storage.stop();
  });

  test.each([
    ['torn', '{"format":"library-stats-exporter marks","version":1,"ma'],
    ['empty', ''],
    ['of something else', '{"name":"left-pad"}'],
    ['of a future version', '{"format":"library-stats-exporter marks","version":2,"marks":[]}'],
    ['no object', '[]'],
  ])('goes on without a file that is %s, and keeps it beside', async (_, text) => {
    await writeFile(join(folder, 'marks.json'), text);
    expect(await restored()).toBeUndefined();
    expect(lines).toMatchObject([
      { level: 'warn', msg: 'the marks cannot be understood, going on without' },
    ]);
    expect(await readFile(join(folder, 'marks.json.unreadable'), 'utf8')).toBe(text);
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
      join(folder, 'marks.json'),
      JSON.stringify({ format: 'library-stats-exporter marks', version: 1, marks: [...bad, good] }),
    );
    expect(await restored()).toBe(7);
    expect(lines).toMatchObject([{ level: 'warn', marks: bad.length }]);
  });

  test('warns of a folder that cannot be made, and keeps the marks in memory', async () => {
    await writeFile(join(folder, 'file'), '');
    const storage = storageOf(new Marks(), join(folder, 'file', 'data'));
    await storage.start();
    await storage.stop();
    expect(lines).toMatchObject([
      { level: 'warn', msg: 'the storage cannot be used, marks are kept in memory only' },
    ]);
  });

  test('is off without a path', async () => {
    const storage = storageOf(new Marks(), '');
    await storage.start();
    await storage.stop();
    expect(lines).toEqual([]);
  });
});
