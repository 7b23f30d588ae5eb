import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
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
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Logger } from '../../src/base/log.ts';
import { counterOwner, HighWaterMarks, counterOfKey } from '../../src/counting/high-water-marks.ts';
import type { MarkedCounter } from '../../src/counting/high-water-marks.ts';
import { StateFile, StorageInUseError } from '../../src/storage/state-file.ts';
import { captureLog } from '../support/captured-log.ts';
import type { Line } from '../support/captured-log.ts';
import { damagedBytes } from '../support/damage.ts';
import { NOVEMBER, NOW_MS, OCTOBER, OWNER } from '../support/owner.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const NOT_WRITABLE = 'storage not writable, state is kept in memory only';
const UNREADABLE = 'state file unreadable, starting empty';
const WRITE_FAILED = 'state file write failed, retrying';
const RECOVERED = 'state file write recovered';
const LOCK_LOST = 'storage lock lost, locking again';
const NOT_WRITTEN = 'state file not written at the stop';
const EMPTY = '{"format":"library-stats-exporter state","version":2,"customers":[]}';

let clock: VirtualClock;
let parent: string;
let folder: string;
let file: string;
let lines: Line[];
let log: Logger;
let started: StateFile[];
/** What `observe` was called with. */
let observed: (readonly [successful: boolean, writtenAtMs: number | undefined])[];

beforeEach(async () => {
  clock = new VirtualClock(NOW_MS);
  parent = await mkdtemp(join(tmpdir(), 'state-file-'));
  folder = join(parent, 'data');
  file = join(folder, 'state.json');
  await mkdir(folder);
  ({ log, lines } = captureLog(clock));
  started = [];
  observed = [];
});
afterEach(async () => {
  await stop();
  await rm(parent, { recursive: true });
});

async function start(path = folder): Promise<HighWaterMarks> {
  const marks = new HighWaterMarks();
  const stateFile = new StateFile({
    path,
    marks,
    clock,
    log,
    observe: (successful, writtenAtMs) => observed.push([successful, writtenAtMs]),
  });
  started.push(stateFile);
  await stateFile.start();
  return marks;
}

/** Whether everything was written. */
async function stop(): Promise<boolean> {
  const saved = await Promise.all(started.splice(0).map((stateFile) => stateFile.stop()));
  return !saved.includes(false);
}

function update(marks: HighWaterMarks, value: number): void {
  marks.update(OWNER, 'logins', NOVEMBER, value, NOW_MS);
}

async function store(value: number): Promise<void> {
  update(await start(), value);
  await stop();
}

/** The value that the next process starts with. */
async function restored(): Promise<number | undefined> {
  const marks = await start();
  await stop();
  return marks.get(OWNER, 'logins')?.value;
}

/** Longer than the default: other tests run at the same time. */
function until(condition: () => boolean | Promise<boolean>): Promise<boolean> {
  return vi.waitUntil(condition, { timeout: 30_000 });
}

function messages(): string[] {
  return lines.map(({ msg }) => msg);
}

const PROGRAM = join(import.meta.dirname, 'testdata', 'use-state-file.ts');

async function runUpdate(command: string, args: readonly string[]): Promise<unknown> {
  const child = spawn(command, [...args], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const [[report]] = (await Promise.all([once(child, 'message'), once(child, 'close')])) as [
    [unknown],
    unknown,
  ];
  return report;
}

describe('the state file', () => {
  test('is written at once, then every ten seconds at most, and only after changes', async () => {
    const marks = await start();
    update(marks, 1);
    await clock.advance(1_000);
    await until(async () => (await readdir(folder)).includes('state.json'));
    const first = await readFile(file, 'utf8');
    update(marks, 2);
    await clock.advance(9_000);
    expect(await readFile(file, 'utf8')).toBe(first);
    await clock.advance(1_000);
    await until(async () => (await readFile(file, 'utf8')) !== first);
    await rm(file);
    await clock.advance(60_000);
    await stop();
    expect(await readdir(folder)).toEqual(['lock']);
  });

  test('refuses a second process until the first one has ended', async () => {
    const holder = fork(PROGRAM, [folder, 'hold'], { execPath: process.execPath });
    try {
      await once(holder, 'message');
      await expect(start()).rejects.toThrow(StorageInUseError);
    } finally {
      holder.kill('SIGKILL');
      await once(holder, 'exit');
    }
    started = [];
    await start();
    await stop();
  });

  test('does not exist without a path', async () => {
    update(await start(''), 1);
    await clock.advance(60_000);
    await stop();
    expect(lines).toEqual([]);
  });
});

describe('a state file that cannot be read', () => {
  test.each<[string, () => Promise<unknown>]>([
    ['is empty', () => writeFile(file, '')],
    ['is not JSON', () => writeFile(file, 'horse-battery-staple')],
    ['is of another program', () => writeFile(file, '{"name":"left-pad"}')],
    ['is of another version', () => writeFile(file, EMPTY.replace('2', '3'))],
    ['is binary', () => writeFile(file, Uint8Array.from([0, 159, 146, 150, 255]))],
    ['is a folder', () => mkdir(file)],
    ['is a device', () => symlink('/dev/zero', file)],
    ['has more than 128 MiB', () => writeFile(file, EMPTY).then(() => truncate(file, 2 ** 27 + 1))],
  ])('because it %s is moved aside with one warning that does not quote it', async (_, plant) => {
    await plant();
    expect(await restored()).toBeUndefined();
    expect(messages()).toEqual([UNREADABLE]);
    expect(JSON.stringify(lines)).not.toContain('horse');
    expect(await readdir(folder)).toEqual(['lock', 'state.json.unreadable']);
    await store(5);
    expect(await restored()).toBe(5);
    expect(lines).toHaveLength(1);
  });

  test('only because of single entries keeps the others', async () => {
    await store(7);
    await writeFile(file, (await readFile(file, 'utf8')).replace('[\n', '[0,{},\n'));
    expect(await restored()).toBe(7);
    expect(lines).toMatchObject([{ msg: 'state file entries ignored', entries: 2 }]);
  });
});

test('any bytes in its place are a state or one warning, and the next state is kept', async () => {
  await store(412);
  const valid = await readFile(file, 'utf8');
  await fc.assert(
    fc.asyncProperty(damagedBytes(valid), fc.nat(1_000), async (bytes, value) => {
      lines.length = 0;
      await writeFile(file, bytes);
      const marks = await start();
      update(marks, value);
      expect(await stop()).toBe(true);
      const isCut =
        valid.startsWith(Buffer.from(bytes).toString()) && bytes.length < valid.length - 1;
      const ignored = ['state file entries ignored'];
      expect(isCut ? [[UNREADABLE]] : [[], [UNREADABLE], ignored]).toContainEqual(messages());
      const next = await start();
      await stop();
      expect(next.ofPeriod(OWNER, 'logins', NOVEMBER.startMs)?.value).toBeGreaterThanOrEqual(value);
    }),
    { seed: 46, numRuns: 60 },
  );
});

test(
  'the state of 10,000 customers with 20 branches is written and read',
  { timeout: 120_000 },
  async () => {
    const marks = await start();
    const branches = Array.from({ length: 20 }, (_, i) => String(101 + i));
    const kinds: readonly MarkedCounter[] = [
      ...(['people_entered', 'people_exited', 'logins'] as const),
      ...branches.map((branch) => counterOfKey('branch', 'people_entered', branch)),
      ...branches.map((branch) => counterOfKey('branch', 'people_exited', branch)),
    ];
    const owners = Array.from({ length: 10_000 }, (_, i) =>
      counterOwner('https://statistics.example.org', `library-${i}-api`, `library-${i}`),
    );
    for (const [i, owner] of owners.entries()) {
      for (const kind of kinds) {
        marks.update(owner, kind, OCTOBER, 20_000 + i, NOW_MS);
        marks.update(owner, kind, NOVEMBER, 10_000 + i, NOW_MS);
      }
    }
    // No piece is long enough to block the event loop.
    const pieces = Array.from(marks.serialize(), (piece) => piece.length);
    expect(Math.max(...pieces)).toBeLessThan(2 ** 18);
    expect(await stop()).toBe(true);
    const again = new HighWaterMarks();
    const next = new StateFile({ path: folder, marks: again, clock, log, observe() {} });
    started.push(next);
    await next.start();
    expect(again.size).toBe(10_000 * 43 * 2);
    expect(lines).toEqual([]);
    expect(again.ofPeriod(owners[9_999] ?? '', 'logins', NOVEMBER.startMs)?.value).toBe(19_999);
    expect(again.ofKeys(owners[9_999] ?? '', 'branch', 'people_exited', OCTOBER.startMs).size).toBe(
      20,
    );
  },
);

test('a state that a start could not read is not written', async () => {
  await store(7);
  const before = await readFile(file, 'utf8');
  const marks = await start();
  update(marks, 8);
  const mebibyte = ' '.repeat(2 ** 20);
  vi.spyOn(marks, 'serialize').mockImplementation(function* () {
    yield* Array.from({ length: 129 }, () => mebibyte);
  });
  expect(await stop()).toBe(false);
  expect(lines).toMatchObject([
    { msg: WRITE_FAILED, error: `${file} would be larger than 131072 KiB` },
    { msg: NOT_WRITTEN },
  ]);
  expect(await readFile(file, 'utf8')).toBe(before);
  expect((await readdir(folder)).toSorted()).toEqual(['lock', 'state.json']);
});

describe('a folder that cannot be written', () => {
  test.each([['with a lock file'], ['without a lock file']])('%s is read', async (lock) => {
    await store(412);
    if (lock === 'without a lock file') {
      await rm(join(folder, 'lock'));
    }
    await chmod(file, 0o644);
    await chmod(folder, 0o555);
    await chmod(parent, 0o755);
    const report = await runUpdate(process.execPath, [PROGRAM, folder, 'update', 'nobody']);
    await chmod(folder, 0o755);
    const error = expect.stringMatching(/^EACCES: permission denied/) as string;
    expect(report).toMatchObject({
      restored: 412,
      saved: false,
      lines: [
        { level: 'warn', msg: NOT_WRITABLE, error },
        { level: 'error', msg: NOT_WRITTEN, error },
      ],
    });
    expect(await restored()).toBe(412);
  });

  test.each<[string, string, () => Promise<unknown>]>([
    [
      'a file in its place',
      'EEXIST',
      () => rm(folder, { recursive: true }).then(() => writeFile(folder, '')),
    ],
    [
      'a folder in the place of the lock file',
      'lock is not a regular file',
      () => mkdir(join(folder, 'lock')),
    ],
    [
      'a lock that is a link to a device',
      'lock is not a regular file',
      () => symlink('/dev/null', join(folder, 'lock')),
    ],
  ])('because of %s is logged, observed, and tried again', async (_, error, plant) => {
    await plant();
    const marks = await start();
    expect(lines).toMatchObject([
      { msg: NOT_WRITABLE, error: expect.stringContaining(error) as string },
    ]);
    expect(started[0]?.failure).toMatchObject({ sinceMs: NOW_MS, error: lines[0]?.['error'] });
    expect(observed).toEqual([[false, undefined]]);
    update(marks, 5);
    await rm(error === 'EEXIST' ? folder : join(folder, 'lock'), { recursive: true });
    await until(async () => {
      await clock.advance(1_000);
      return lines.length > 1;
    });
    expect(messages()).toEqual([NOT_WRITABLE, RECOVERED]);
    expect(started[0]?.failure).toBeUndefined();
    expect(observed.at(-1)).toEqual([true, expect.any(Number)]);
    expect(await stop()).toBe(true);
    expect(await restored()).toBe(5);
  });

  test('only matters at the stop if something changed', async () => {
    await store(412);
    await rename(folder, `${folder}-away`);
    await writeFile(folder, 'a file');
    await start();
    expect(await stop()).toBe(true);
    update(await start(), 413);
    expect(await stop()).toBe(false);
    expect(messages()).toEqual([NOT_WRITABLE, NOT_WRITABLE, NOT_WRITTEN]);
  });

  test('for a while is logged once, and its recovery', async () => {
    const marks = await start();
    update(marks, 1);
    await mkdir(file);
    await clock.advance(1_000);
    await until(() => lines.length === 1);
    expect(lines[0]?.['error']).toMatch(/^EISDIR/);
    expect(observed).toEqual([
      [true, undefined],
      [false, undefined],
    ]);
    await until(async () => {
      await clock.advance(10_000);
      return observed.length > 3;
    });
    await rm(file, { recursive: true });
    await until(async () => {
      await clock.advance(10_000);
      return lines.length > 1;
    });
    expect(messages()).toEqual([WRITE_FAILED, RECOVERED]);
    expect(await stop()).toBe(true);
    expect(await restored()).toBe(1);
  });
});

describe('a lock that is lost', () => {
  async function untilLogged(message: string): Promise<void> {
    await until(async () => {
      await clock.advance(1_000);
      return messages().includes(message);
    });
  }

  test.each<[string, () => Promise<unknown>]>([
    ['the lock file was removed', () => rm(join(folder, 'lock'))],
    [
      'the lock file was replaced',
      () => writeFile(`${file}.x`, '').then(() => rename(`${file}.x`, join(folder, 'lock'))),
    ],
    ['the folder was removed', () => rm(folder, { recursive: true })],
    ['the folder was replaced', () => rename(folder, `${folder}-away`).then(() => mkdir(folder))],
  ])('because %s is a warning, and taken again after ten seconds', async (_, lose) => {
    await store(412);
    await start();
    await lose();
    await untilLogged(LOCK_LOST);
    const lostAtMs = clock.nowMs();
    expect(observed.at(-1)).toEqual([false, undefined]);
    expect(started[0]?.failure?.error).toBe('the lock file was removed or replaced');
    await untilLogged(RECOVERED);
    expect(messages()).toEqual([LOCK_LOST, RECOVERED]);
    expect(clock.nowMs() - lostAtMs).toBeGreaterThanOrEqual(10_000);
    expect(observed.at(-1)).toEqual([true, expect.any(Number)]);
    await expect(start()).rejects.toThrow(StorageInUseError);
    started.pop();
    expect(await stop()).toBe(true);
    expect(await restored()).toBe(412);
  });

  test('to another process leaves the file to that one, and its higher marks are kept', async () => {
    update(await start(), 412);
    await rm(join(folder, 'lock'));
    const [first] = started.splice(0);
    await untilLogged(LOCK_LOST);
    update(await start(), 500);
    await untilLogged(WRITE_FAILED);
    expect(lines.at(-1)?.['error']).toContain('in use by another process');
    expect(await stop()).toBe(true);
    started = first === undefined ? [] : [first];
    await untilLogged(RECOVERED);
    expect(await stop()).toBe(true);
    expect(await restored()).toBe(500);
  });
});

test('a full disk does not damage the state file', async () => {
  await store(412);
  const report = await runUpdate('/bin/sh', [
    '-c',
    'ulimit -f 2; exec "$0" "$@"',
    process.execPath,
    PROGRAM,
    folder,
    'update',
  ]);
  expect(report).toMatchObject({
    saved: false,
    lines: [
      { level: 'warn', msg: WRITE_FAILED },
      { level: 'error', msg: NOT_WRITTEN },
    ],
  });
  expect(await readdir(folder)).toEqual(['lock', 'state.json']);
  expect(await restored()).toBe(412);
  expect(lines).toEqual([]);
});

test('a process that is killed while it writes leaves a whole state file', async () => {
  let before = 0;
  for (let kill = 0; kill < 8; kill++) {
    const writer = fork(PROGRAM, [folder, 'write'], { execPath: process.execPath });
    let newest = 0;
    writer.on('message', (value) => (newest = Number(value)));
    // After a different number of writes each time.
    while (newest < before + 2 + (kill % 3)) {
      await once(writer, 'message');
    }
    writer.kill('SIGKILL');
    await once(writer, 'exit');
    const text = await readFile(file, 'utf8');
    expect(JSON.parse(text)).toMatchObject({ customers: { length: 2_000 } });
    const values = new Set(text.match(/(?<="logins":\[)\d+/g)?.map(Number));
    expect(values.size).toBe(1);
    const [value = 0] = values;
    expect(value).toBeGreaterThan(before);
    before = value;
  }
  const others = (await readdir(folder)).filter(
    (name) => !/^(lock|state\.json(\.[0-9a-f-]+\.new)?)$/.test(name),
  );
  expect(others).toEqual([]);
  await start();
  expect(await readdir(folder)).toEqual(['lock', 'state.json']);
});

test('others cannot write the folder, and not read the files, with any umask', async () => {
  const umask = process.umask(0o000);
  onTestFinished(() => void process.umask(umask));
  await rm(folder, { recursive: true });
  await store(412);
  const modes = [folder, join(folder, 'lock'), file].map((path) => statSync(path).mode & 0o777);
  expect(modes).toEqual([0o750, 0o600, 0o600]);
});
