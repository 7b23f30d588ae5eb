import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readSecretFile } from '../../src/config/secret-file.ts';
import { folderOf } from './folder.ts';

test.each([
  ['hunter2', 'hunter2'],
  ['hunter2\n', 'hunter2'],
  ['hunter2\r\n', 'hunter2'],
  ['hunter2\n\n', 'hunter2\n'],
  [' hunter2 \n', ' hunter2 '],
  ['\uFEFFhunter2', 'hunter2'],
])('of %j the secret is %j', async (content, secret) => {
  const folder = await folderOf({ secret: content });
  expect((await readSecretFile(join(folder, 'secret'))).reveal()).toBe(secret);
});

test.each([
  ['', 'is empty: write the secret into it'],
  ['\n', 'is empty: write the secret into it'],
  ['x'.repeat(65_537), 'is larger than 64 KiB: give a smaller file'],
  [Uint8Array.of(0xc3), 'is not text in UTF-8: save it as UTF-8'],
])('a file with %j holds none', async (content, message) => {
  const folder = await folderOf({ secret: content });
  await expect(readSecretFile(join(folder, 'secret'))).rejects.toThrow(message);
});

test('what is no file holds none', async () => {
  const folder = await folderOf({});
  await mkdir(join(folder, 'directory'));
  await expect(readSecretFile(join(folder, 'none'))).rejects.toThrow('does not exist');
  await expect(readSecretFile(join(folder, 'directory'))).rejects.toThrow('is a directory');
  await expect(readSecretFile('/dev/zero')).rejects.toThrow('is not a regular file');
});
