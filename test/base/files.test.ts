/** Replacement of files, and folders for them. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createFolder, replaceFile, requireWritable } from '../../src/base/files.ts';
import { folderOf } from '../config/folder.ts';

let folder: string;
let file: string;
const umask = process.umask();

beforeEach(async () => {
  folder = await folderOf({});
  file = join(folder, 'file');
});
afterEach(() => void process.umask(umask));

function modeOf(path: string): number {
  return statSync(path).mode & 0o777;
}

test.each([
  [undefined, 0o640],
  [0o664, 0o664],
  // Others cannot write it.
  [0o666, 0o664],
])('a file of mode %o has mode %o afterwards, with any umask', async (before, after) => {
  for (const mask of [0o000, 0o027]) {
    process.umask(mask);
    if (before !== undefined) {
      writeFileSync(file, 'old');
      chmodSync(file, before);
    }
    expect(await replaceFile(file, ['né', 'w'], 0o640)).toBe(4);
    expect(readFileSync(file, 'utf8')).toBe('néw');
    expect(modeOf(file)).toBe(after);
    expect(readdirSync(folder)).toEqual(['file']);
  }
});

test('links are followed, also to what does not exist yet', async () => {
  mkdirSync(join(folder, 'there/deep'), { recursive: true });
  symlinkSync('there/deep', join(folder, 'here'));
  symlinkSync('../target', join(folder, 'there/deep/link'));
  symlinkSync('here/link', file);
  for (const text of ['first', 'second']) {
    requireWritable(file);
    await replaceFile(file, text);
    expect(readFileSync(join(folder, 'there/target'), 'utf8')).toBe(text);
    expect(lstatSync(file).isSymbolicLink()).toBe(true);
  }
});

test('a link with the name of a temporary file is not followed', async () => {
  writeFileSync(join(folder, 'victim'), 'mine');
  symlinkSync('victim', `${file}.new`);
  await replaceFile(file, 'text');
  expect(readFileSync(join(folder, 'victim'), 'utf8')).toBe('mine');
});

test('a pipe is written to, and remains one', async () => {
  execFileSync('mkfifo', [join(folder, 'pipe')]);
  symlinkSync('pipe', file);
  requireWritable(file);
  const [text] = await Promise.all([readFile(file, 'utf8'), replaceFile(file, 'text')]);
  expect(text).toBe('text');
  expect(statSync(file).isFIFO()).toBe(true);
});

test('what cannot be written is an error before and after, and leaves nothing', async () => {
  expect(() => requireWritable(folder)).toThrow(`${folder} is a folder`);
  await expect(replaceFile(folder, 'text')).rejects.toThrow('EISDIR');
  expect(() => requireWritable(join(folder, 'no/file'))).toThrow('ENOENT');
  symlinkSync('file', file);
  expect(() => requireWritable(file)).toThrow('ELOOP');
  rmSync(file);
  writeFileSync(file, 'old');
  await expect(replaceFile(file, 'x'.repeat(1_025), 0o600, 1_024)).rejects.toThrow(
    `${file} would be larger than 1 KiB`,
  );
  expect(readFileSync(file, 'utf8')).toBe('old');
  expect(readdirSync(folder)).toEqual(['file']);
});

test('a folder is created with those that it is in, and may exist', async () => {
  for (const path of ['a/b/c', 'a', 'a/b/c', 'a/b/d/']) {
    await createFolder(join(folder, path));
  }
  expect(readdirSync(join(folder, 'a/b'))).toEqual(['c', 'd']);
  expect(statSync(join(folder, 'a')).mode & 0o027).toBe(0);
  writeFileSync(file, 'text');
  await expect(createFolder(file)).rejects.toThrow('EEXIST');
  await expect(createFolder(join(file, 'below'))).rejects.toThrow('ENOTDIR');
  await expect(createFolder('/proc/no/folder')).rejects.toThrow('ENOENT');
});
