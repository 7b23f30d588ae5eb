import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { NO_BRANCHES } from '../../src/counting/branches/branch-state.ts';
import type { BranchState } from '../../src/counting/branches/branch-state.ts';
import { packSums, unknownDay, WINDOW_MS } from '../../src/counting/branches/branch-day.ts';
import { BranchFiles } from '../../src/storage/branch-files.ts';
import { captureLog } from '../support/captured-log.ts';
import type { Line } from '../support/captured-log.ts';
import { damagedBytes } from '../support/damage.ts';
import { CALENDAR, NOW_MS, OWNER } from '../support/owner.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const UNREADABLE = 'branch file unreadable, reading from the service';
const WRITE_FAILED = 'branch file write failed, retrying';

const STATE: BranchState = {
  ...NO_BRANCHES,
  keys: ['101'],
  today: { ...unknownDay(CALENDAR.dayAt(NOW_MS), WINDOW_MS), sums: [packSums([3, 1, 3, 1])] },
};

let folder: string;
let lines: Line[];
let isLocked: boolean;
let clock: VirtualClock;
let files: BranchFiles;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'branch-files-'));
  isLocked = true;
  files = filesIn(folder);
});
afterEach(() => rm(folder, { recursive: true }));

function filesIn(path: string): BranchFiles {
  clock = new VirtualClock(NOW_MS);
  const captured = captureLog(clock);
  ({ lines } = captured);
  return new BranchFiles({ path, isLocked: () => isLocked, clock, log: captured.log });
}

/** Branches that a test changes. */
class TestBranches {
  state: BranchState;

  constructor(state: BranchState = NO_BRANCHES) {
    this.state = state;
  }

  restore(state: BranchState): void {
    this.state = state;
  }
}

/** Returns what a new process restores. */
async function read(owner = OWNER): Promise<BranchState> {
  const branches = new TestBranches();
  await files.restore({ customer: 'riverside', owner, branches });
  return branches.state;
}

/** Writes branches as at a stop. */
async function write(branches = new TestBranches(STATE)): Promise<void> {
  files.start(() => [{ customer: 'riverside', owner: OWNER, branches }]);
  await files.stop();
}

async function fileNames(): Promise<string[]> {
  return (await readdir(folder, { recursive: true })).toSorted();
}

test('what was written is read, of each customer its own', async () => {
  await write();
  expect(await read()).toEqual(STATE);
  expect(await read('["s","other","other"]')).toBe(NO_BRANCHES);
  expect(await fileNames()).toEqual([
    'branches',
    expect.stringMatching(/^branches\/[0-9a-f]{32}\.json$/),
  ]);
  expect(lines).toEqual([]);
});

test('without a storage path nothing is written or read', async () => {
  files = filesIn('');
  await write();
  expect(await read()).toBe(NO_BRANCHES);
  expect(lines).toEqual([]);
});

test("without the lock nothing is written: the file may be another process's", async () => {
  isLocked = false;
  await write();
  expect(await fileNames()).toEqual([]);
});

test('a damaged file is a warning, and is replaced by the next one', async () => {
  await write();
  const [, name = ''] = await fileNames();
  const file = join(folder, name);
  await writeFile(file, (await readFile(file, 'utf8')).slice(0, -20));
  expect(await read()).toBe(NO_BRANCHES);
  expect(lines).toMatchObject([
    { msg: UNREADABLE, customer: 'riverside', file, error: 'not JSON' },
  ]);
  await write();
  expect(await read()).toEqual(STATE);
});

test('any bytes in its place are a state or one warning', async () => {
  await write();
  const [, name = ''] = await fileNames();
  const file = join(folder, name);
  await fc.assert(
    fc.asyncProperty(damagedBytes(await readFile(file, 'utf8')), async (bytes) => {
      lines.length = 0;
      await writeFile(file, bytes);
      const isUnread = (await read()) === NO_BRANCHES;
      expect(lines.map(({ msg }) => msg)).toEqual(isUnread ? [UNREADABLE] : []);
    }),
    { seed: 46, numRuns: 100 },
  );
});

test('a file that cannot be written is a warning once', async () => {
  await writeFile(join(folder, 'branches'), '');
  const branches = new TestBranches(STATE);
  files.start(() => [{ customer: 'riverside', owner: OWNER, branches }]);
  await clock.advance(30_000);
  await vi.waitFor(() => expect(lines).toHaveLength(1));
  expect(lines).toMatchObject([{ msg: WRITE_FAILED, customer: 'riverside' }]);
  await rm(join(folder, 'branches'));
  await files.stop();
  expect(await read()).toEqual(STATE);
});

/** Lets time pass until so many lines are logged. */
async function loggedLines(count: number): Promise<void> {
  await vi.waitFor(async () => {
    await clock.advance(10_000);
    expect(lines).toHaveLength(count);
  });
}

/** The file of another customer. */
const OTHER = `branches/${'a'.repeat(32)}.json`;

/** Creates files that were last written so many days ago. */
async function writeOld(days: Readonly<Record<string, number>>): Promise<void> {
  for (const [name, daysAgo] of Object.entries(days)) {
    const file = join(folder, name);
    await mkdir(join(file, '..'), { recursive: true });
    await writeFile(file, '{}');
    const atSeconds = NOW_MS / 1_000 - daysAgo * 86_400;
    await utimes(file, atSeconds, atSeconds);
  }
}

test('files without a write for thirty days are removed, but those of customers and other programs', async () => {
  await write();
  const [, own = ''] = await fileNames();
  const later = `branches/${'b'.repeat(32)}.json`;
  await writeOld({
    [own]: 40,
    [OTHER]: 30.1,
    [later]: 29.9,
    [`${OTHER}.0a-1b.new`]: 40,
    'branches/README': 40,
    [`${'d'.repeat(32)}.json`]: 40,
  });
  files = filesIn(folder);
  const branches = new TestBranches();
  files.start(() => [{ customer: 'riverside', owner: OWNER, branches }]);
  await loggedLines(1);
  const left = [own, later, 'branches', 'branches/README', `${'d'.repeat(32)}.json`];
  expect(await fileNames()).toEqual(left.toSorted());
  expect(lines).toMatchObject([{ msg: 'old branch files removed', files: 2 }]);
  // The other one a day later.
  await clock.advance(86_400_000);
  await loggedLines(2);
  await files.stop();
  expect(await fileNames()).toEqual(left.filter((name) => name !== later).toSorted());
});

test('no old file is removed without the lock', async () => {
  isLocked = false;
  await writeOld({ [OTHER]: 40 });
  files.start(() => []);
  await clock.advance(20_000);
  await files.stop();
  expect(await fileNames()).toEqual(['branches', OTHER]);
});

test('what did not change is not written again', async () => {
  await write();
  const branches = new TestBranches();
  await files.restore({ customer: 'riverside', owner: OWNER, branches });
  await rm(join(folder, 'branches'), { recursive: true });
  await write(branches);
  expect(await fileNames()).toEqual([]);
});
