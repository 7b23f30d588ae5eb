import { fork, spawn } from 'node:child_process';
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
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Logger } from '../../src/base/log.ts';
import { HighWaterMarks } from '../../src/counting/high-water-marks.ts';
import { StateFile, StorageInUseError } from '../../src/polling/state-file.ts';
import { captureLog } from '../support/captured-log.ts';
import type { Line } from '../support/captured-log.ts';
import { NOVEMBER, NOW_MS, OWNER } from '../support/owner.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const NOT_WRITABLE = 'storage not writable, state is kept in memory only';
const UNREADABLE = 'state file unreadable, starting empty';
const WRITE_FAILED = 'state file write failed, retrying';
const RECOVERED = 'state file write recovered';
const EMPTY = '{"format":"library-stats-exporter state","version":1,"marks":[]}';

let clock: VirtualClock;
let parent: string;
let folder: string;
let file: string;
let lines: Line[];
let log: Logger;
let started: StateFile[];

beforeEach(async () => {
  clock = new VirtualClock(NOW_MS);
  parent = await mkdtemp(join(tmpdir(), 'state-file-'));
  folder = join(parent, 'data');
  file = join(folder, 'state.json');
  await mkdir(folder);
  ({ log, lines } = captureLog(clock));
  started = [];
});
afterEach(async () => {
  await stop();
  await rm(parent, { recursive: true });
});

async function start(path = folder): Promise<HighWaterMarks> {
  const marks = new HighWaterMarks();
  const stateFile = new StateFile({ path, marks, clock, log });
  started.push(stateFile);
  await stateFile.start();
  return marks;
}

async function stop(): Promise<void> {
  await Promise.all(started.splice(0).map((stateFile) => stateFile.stop()));
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
    await vi.waitUntil(async () => (await readdir(folder)).includes('state.json'));
    const first = await readFile(file, 'utf8');
    update(marks, 2);
    await clock.advance(9_000);
    expect(await readFile(file, 'utf8')).toBe(first);
    await clock.advance(1_000);
    await vi.waitUntil(async () => (await readFile(file, 'utf8')) !== first);
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
    ['is of another version', () => writeFile(file, EMPTY.replace('1', '2'))],
    ['is binary', () => writeFile(file, Uint8Array.from([0, 159, 146, 150, 255]))],
    ['is a folder', () => mkdir(file)],
    ['is a device', () => symlink('/dev/zero', file)],
    ['has more than 64 MiB', () => writeFile(file, EMPTY).then(() => truncate(file, 2 ** 26 + 1))],
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
    await writeFile(file, (await readFile(file, 'utf8')).replace('[\n', '[0,[],\n'));
    expect(await restored()).toBe(7);
    expect(lines).toMatchObject([{ msg: 'state file entries ignored', entries: 2 }]);
  });
});

describe('a folder that cannot be written', () => {
  test.each([
    ['with a lock file', WRITE_FAILED],
    ['without a lock file', NOT_WRITABLE],
  ])('%s is read', async (lock, warning) => {
    await store(412);
    if (lock === 'without a lock file') {
      await rm(join(folder, 'lock'));
    }
    await chmod(file, 0o644);
    await chmod(folder, 0o555);
    await chmod(parent, 0o755);
    const report = await runUpdate(process.execPath, [PROGRAM, folder, 'update', 'nobody']);
    await chmod(folder, 0o755);
    expect(report).toMatchObject({ restored: 412, lines: [{ level: 'warn', msg: warning }] });
    expect(await restored()).toBe(412);
  });

  test('because a file is in its place is a warning', async () => {
    await writeFile(join(folder, 'file'), '');
    await start(join(folder, 'file', 'data'));
    expect(messages()).toEqual([NOT_WRITABLE]);
  });

  test('for a while is logged once, and its recovery', async () => {
    const marks = await start();
    update(marks, 1);
    await rename(folder, `${folder}-away`);
    await writeFile(folder, 'a file');
    await clock.advance(1_000);
    await vi.waitUntil(() => lines.length === 1);
    await clock.advance(100_000);
    await rm(folder);
    await rename(`${folder}-away`, folder);
    await vi.waitUntil(async () => {
      await clock.advance(10_000);
      return lines.length > 1;
    });
    expect(messages()).toEqual([WRITE_FAILED, RECOVERED]);
    await stop();
    expect(await restored()).toBe(1);
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
  expect(report).toMatchObject({ lines: [{ level: 'warn', msg: WRITE_FAILED }] });
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
    const { marks } = JSON.parse(await readFile(file, 'utf8')) as { marks: unknown[][] };
    const values = new Set(marks.map((mark) => Number(mark[6])));
    expect(marks).toHaveLength(2_000);
    expect(values.size).toBe(1);
    const [value = 0] = values;
    expect(value).toBeGreaterThan(before);
    before = value;
  }
  const others = (await readdir(folder)).filter(
    (name) => !/^(lock|state\.json(\.new)?)$/.test(name),
  );
  expect(others).toEqual([]);
});
