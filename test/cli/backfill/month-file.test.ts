import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';

test('a disk that is full in the middle of a part is a failure, not the end of the part', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'month-file-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const program = join(import.meta.dirname, 'testdata/write-part.ts');
  const limited = ['-c', 'ulimit -f 2; exec "$0" "$@"', process.execPath, program, folder];
  const { stdout } = await promisify(execFile)('/bin/sh', limited);
  expect(stdout).toContain('EFBIG');
});
