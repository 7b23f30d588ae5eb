import { statSync } from 'node:fs';
import {
  chmod,
  copyFile,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { DAY_MS } from '../../src/base/duration.ts';
import type { Logger } from '../../src/base/log.ts';
import { counterOwner, HighWaterMarks } from '../../src/counting/high-water-marks.ts';
import { Database, StoreInUseError } from '../../src/storage/database.ts';
import type { StoredDay } from '../../src/storage/database.ts';
import { Store } from '../../src/storage/store.ts';
import { captureLog } from '../support/captured-log.ts';
import type { Line } from '../support/captured-log.ts';
import { NOVEMBER, NOW_MS, OCTOBER, OWNER } from '../support/owner.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const NOT_WRITABLE = 'storage not writable, state is kept in memory only';
const UNREADABLE = 'state file unreadable, starting empty';
const WRITE_FAILED = 'state write failed, retrying';
const RECOVERED = 'state write recovered';
const LOST = 'state file lost, writing another one';

let clock: VirtualClock;
let parent: string;
let folder: string;
let file: string;
let lines: Line[];
let log: Logger;
let started: Store[];
/** What `observe` was called with. */
let observed: (readonly [successful: boolean, writtenAtMs: number | undefined])[];

beforeEach(async () => {
  clock = new VirtualClock(NOW_MS);
  parent = await mkdtemp(join(tmpdir(), 'store-'));
  folder = join(parent, 'data');
  file = join(folder, 'state.db');
  await mkdir(folder);
  ({ log, lines } = captureLog(clock));
  started = [];
  observed = [];
});
afterEach(async () => {
  vi.restoreAllMocks();
  await stop();
  await rm(parent, { recursive: true });
});

async function start(path = folder, marks = new HighWaterMarks()): Promise<HighWaterMarks> {
  const store = new Store({
    path,
    marks,
    clock,
    log,
    observe: (successful, writtenAtMs) => observed.push([successful, writtenAtMs]),
  });
  started.push(store);
  await store.start();
  return marks;
}

async function stop(): Promise<boolean> {
  const saved = await Promise.all(started.splice(0).map((store) => store.stop()));
  return !saved.includes(false);
}

function update(marks: HighWaterMarks, value: number): void {
  marks.update(OWNER, 'logins', NOVEMBER, value, NOW_MS);
}

function dayOf(stream: string, dayStartMs: number): StoredDay {
  return { owner: OWNER, stream, dayStartMs, content: '{}' };
}

async function write(value: number): Promise<void> {
  update(await start(), value);
  await stop();
}

/** Starts, and has this value in the file. */
async function startWith(value: number): Promise<HighWaterMarks> {
  const marks = await start();
  update(marks, value);
  await clock.advance(1_000);
  await until(() => observed.length > 1);
  return marks;
}

async function stopsWith(value: number): Promise<void> {
  expect(await stop()).toBe(true);
  expect(await restored()).toBe(value);
}

async function restored(): Promise<number | undefined> {
  const marks = await start();
  await stop();
  return marks.get(OWNER, 'logins')?.value;
}

/** The value in a copy of the files, made at this moment. */
async function copied(): Promise<number | undefined> {
  const copy = join(parent, 'copy.db');
  await copyFile(file, copy);
  await copyFile(`${file}-wal`, `${copy}-wal`);
  const [mark] = Database.marksOf(copy);
  await rm(copy);
  return mark?.value;
}

/** Longer than the default: other tests run at the same time. */
function until(condition: () => boolean | Promise<boolean>): Promise<boolean> {
  return vi.waitUntil(condition, { interval: 5, timeout: 30_000 });
}

function messages(): string[] {
  return lines.map(({ msg }) => msg);
}

async function untilLogged(message: string): Promise<void> {
  await until(async () => {
    await clock.advance(1_000);
    return messages().includes(message);
  });
}

describe('the store', () => {
  test('writes at once, then every ten seconds at most, and only after changes', async () => {
    const marks = await start();
    update(marks, 1);
    await clock.advance(1_000);
    await until(async () => (await copied()) === 1);
    update(marks, 2);
    await clock.advance(9_000);
    expect(await copied()).toBe(1);
    await clock.advance(1_000);
    await until(async () => (await copied()) === 2);
    const written = observed.length;
    await clock.advance(60_000);
    expect(observed).toHaveLength(written);
    await stop();
    expect(await readdir(folder)).toEqual(['state.db']);
  });

  test('keeps the marks of the newest 70 days, and days of a month, whatever the clock says', async () => {
    const marks = await start();
    const [store] = started;
    update(marks, 9);
    const owner = counterOwner('s', 'c', 'gone');
    const august = { ...OCTOBER, startMs: Date.UTC(2026, 7, 1, 2) };
    marks.update(owner, 'logins', august, 7, NOW_MS);
    const days = [NOW_MS, NOW_MS - 31 * DAY_MS].map((dayStartMs) => dayOf('branch', dayStartMs));
    const changed = [...days];
    store?.setSources({ changedDays: () => changed.splice(0) });
    clock.step(-365 * DAY_MS);
    await clock.advance(1_000);
    await until(() => observed.length > 1);
    await clock.advance(60_000);
    expect(store?.daysOf(OWNER, 'branch')).toEqual(days);
    clock.step(2 * 365 * DAY_MS);
    clock.freeze(DAY_MS);
    await clock.advance(10_000);
    expect(store?.daysOf(OWNER, 'branch')).toEqual(days.slice(0, 1));
    expect(store?.daysOf(owner, 'branch')).toEqual([]);
    await stop();
    expect(Database.marksOf(file).map(({ value }) => value)).toEqual([9]);
  });

  test('keeps the newest past of a stream alone', async () => {
    await start();
    const [store] = started;
    const past = [1, 2].map((dayStartMs) => dayOf('people', dayStartMs));
    const branch = dayOf('branch', 1);
    let changed: readonly StoredDay[] = [];
    store?.setSources({ changedDays: () => changed }, { changedDays: () => [branch] });
    for (const day of past) {
      changed = [{ ...day, replaces: 'all days' }];
      await clock.advance(60_000);
    }
    expect(store?.daysOf(OWNER, 'people')).toMatchObject([{ dayStartMs: 2 }]);
    expect(store?.daysOf(OWNER, 'branch')).toEqual([branch]);
  });
});

describe('a file that cannot be used', () => {
  test.each<[string, () => unknown]>([
    ['is no database', () => writeFile(file, 'horse-battery-staple'.repeat(100))],
    ['says another program', () => makeDatabase('PRAGMA application_id = 7')],
    [
      'has bytes of others',
      async () => {
        await write(7);
        await writeFile(file, (await readFile(file)).fill(0xff, 4_096, 4_196));
      },
    ],
  ])('because it %s is moved aside with one warning that does not quote it', async (_, plant) => {
    await plant();
    expect(await restored()).toBeUndefined();
    expect(lines).toMatchObject([{ msg: UNREADABLE, moved_to: `${file}.unreadable` }]);
    expect(JSON.stringify(lines)).not.toContain('horse');
    await write(5);
    expect(await restored()).toBe(5);
    expect(lines).toHaveLength(1);
  });

  test('because it is of a newer version is left alone, with what to do', async () => {
    await write(7);
    makeDatabase('PRAGMA user_version = 2');
    const before = await readFile(file);
    await expect(start()).rejects.toThrow(/use the newer program again, or move the file away/);
    started = [];
    expect(await readFile(file)).toEqual(before);
  });

  test.each([
    ['is damaged', 11, [WRITE_FAILED, UNREADABLE, RECOVERED]],
    ['has no room', 13, [WRITE_FAILED, RECOVERED]],
  ])('because it %s while it is open: nothing is lost', async (_, errcode, logged) => {
    const marks = await startWith(7);
    vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementationOnce(() => {
      throw Object.assign(new Error('an error of SQLite'), { errcode });
    });
    update(marks, 8);
    await untilLogged(RECOVERED);
    expect(messages()).toEqual(logged);
    await stopsWith(8);
  });
});

function makeDatabase(sql: string): void {
  const database = new DatabaseSync(file);
  database.exec(sql);
  database.close();
}

describe('a folder that cannot be written', () => {
  test('only matters at the stop if something changed', async () => {
    await write(412);
    await rename(folder, `${folder}-away`);
    await writeFile(folder, 'a file');
    await start();
    expect(await stop()).toBe(true);
    update(await start(), 413);
    expect(await stop()).toBe(false);
    expect(messages()).toEqual([NOT_WRITABLE, NOT_WRITABLE, 'state not written at the stop']);
  });

  test('because of a file in its place is logged, observed, and tried again', async () => {
    await rm(folder, { recursive: true });
    await writeFile(folder, '');
    const marks = await start();
    expect(lines).toMatchObject([{ msg: NOT_WRITABLE, error: expect.stringContaining('EEXIST') }]);
    expect(started[0]?.failure).toMatchObject({ sinceMs: NOW_MS, error: lines[0]?.['error'] });
    expect(observed).toEqual([[false, undefined]]);
    update(marks, 5);
    await rm(folder);
    await untilLogged(RECOVERED);
    expect(started[0]?.failure).toBeUndefined();
    expect(observed.at(-1)).toEqual([true, expect.any(Number)]);
    await stopsWith(5);
  });

  test('because of a link in the place of the file is named, and at the stop it is known', async () => {
    await symlink('/dev/null', file);
    update(await start(), 5);
    expect(lines).toMatchObject([{ msg: NOT_WRITABLE, error: `${file} is not a regular file` }]);
    expect(await stop()).toBe(false);
  });

  test('because its file system has no locks is named, and the exporter runs', async () => {
    vi.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(() => {
      throw Object.assign(new Error('database is locked'), { errcode: 5 });
    });
    const marks = await start();
    expect(messages()).toEqual([NOT_WRITABLE, UNREADABLE]);
    expect(lines[0]?.['error']).toContain('set --storage.path to a local disk');
    update(marks, 5);
    vi.restoreAllMocks();
    await untilLogged(RECOVERED);
    expect(await stop()).toBe(true);
    expect(await readdir(folder)).toEqual(['state.db']);
    expect(await restored()).toBe(5);
  });

  test('is read, also what a killed process left beside its file', async () => {
    await startWith(412);
    const left = join(parent, 'left');
    await mkdir(left);
    for (const name of ['state.db', 'state.db-wal']) {
      await copyFile(join(folder, name), join(left, name));
      await chmod(join(left, name), 0o644);
    }
    await chmod(left, 0o555);
    await chmod(parent, 0o755);
    // Root may write everywhere.
    const isRoot = process.geteuid?.() === 0;
    if (isRoot) {
      process.seteuid?.(65_534);
    }
    const marks = await start(left).finally(() => isRoot && process.seteuid?.(0));
    expect(marks.get(OWNER, 'logins')?.value).toBe(412);
    expect(messages()).toEqual([NOT_WRITABLE]);
    expect(lines[0]?.['error']).toMatch(/^EACCES: /);
    await chmod(left, 0o755);
  });
});

describe('a file that is lost', () => {
  test.each<[string, () => Promise<unknown>]>([
    ['it was removed', () => rm(file)],
    ['the folder was removed', () => rm(folder, { recursive: true })],
    ['the folder was replaced', () => rename(folder, `${folder}-away`).then(() => mkdir(folder))],
  ])('because %s is a warning, and written again after ten seconds', async (_, lose) => {
    await write(412);
    await start();
    await lose();
    await untilLogged(LOST);
    const lostAtMs = clock.nowMs();
    expect(observed.at(-1)).toEqual([false, undefined]);
    expect(started[0]?.failure?.error).toBe('the state file was removed or replaced');
    await untilLogged(RECOVERED);
    expect(messages()).toEqual([LOST, RECOVERED]);
    expect(clock.nowMs() - lostAtMs).toBeGreaterThanOrEqual(10_000);
    expect(observed.at(-1)).toEqual([true, expect.any(Number)]);
    await expect(start()).rejects.toThrow(StoreInUseError);
    started.pop();
    await stopsWith(412);
  });

  test('to another process is left to that one, and its higher marks are kept', async () => {
    update(await start(), 412);
    await rm(file);
    const [first] = started.splice(0);
    await untilLogged(LOST);
    update(await start(), 500);
    await untilLogged(WRITE_FAILED);
    expect(lines.at(-1)?.['error']).toContain('in use by another process');
    expect(await stop()).toBe(true);
    started = first === undefined ? [] : [first];
    await untilLogged(RECOVERED);
    await stopsWith(500);
  });
});

test('others cannot write the folder, and not read the files, with any umask', async () => {
  const umask = process.umask(0o000);
  onTestFinished(() => void process.umask(umask));
  await rm(folder, { recursive: true });
  await start();
  const modes = [folder, file, `${file}-wal`].map((path) => statSync(path).mode & 0o777);
  expect(modes).toEqual([0o750, 0o600, 0o600]);
});
