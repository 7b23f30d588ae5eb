/** Files that git cannot hold, and what is no file: each is refused with its reason, and at once. */
import { execFile } from 'node:child_process';
import { chmod, mkdir, symlink, truncate, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ConfigError } from '../../src/base/errors.ts';
import { loadConfig } from '../../src/config/load.ts';
import { configWith, folderOf, problemsOf } from './folder.ts';

const GIGABYTE = 2 ** 30;

describe.each([
  ['nothing in it', '', '1:1: (file): is empty: see config.example.yaml for what it can hold'],
  [
    'a byte-order mark alone',
    '\uFEFF',
    '1:1: (file): is empty: see config.example.yaml for what it can hold',
  ],
  ['UTF-16', utf16(configWith({}), 'little'), '1:1: (file): is in UTF-16: save it as UTF-8'],
  [
    'UTF-16, big endian',
    utf16(configWith({}), 'big'),
    '1:1: (file): is in UTF-16: save it as UTF-8',
  ],
  [
    'UTF-16 without a mark',
    utf16(configWith({}), 'little').subarray(2),
    '1:2: (text): holds the control character U+0000: remove it',
  ],
  [
    'Latin-1',
    Buffer.from(configWith({ customer: 'branches: { 1: Nørrebro }' }), 'latin1'),
    '1:1: (file): is not text in UTF-8: save it as UTF-8',
  ],
  [
    'a character cut off',
    Buffer.from(configWith({ customer: 'branches: { 1: N\u00F8' })).subarray(0, -2),
    '1:1: (file): is not text in UTF-8: save it as UTF-8',
  ],
  [
    'something compressed',
    Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3),
    '1:1: (file): is not text in UTF-8: save it as UTF-8',
  ],
  [
    'a program',
    '\x7FELF\x02\x01\x01\0',
    '1:1: (text): holds the control character U+007F: remove it',
  ],
  [
    'old line ends',
    configWith({}).replaceAll('\n', '\r'),
    '1:9: (text): holds the control character U+000D: remove it',
  ],
])('a configuration with %s', (_what, content, message) => {
  test('is refused', async () => {
    const [headline] = (await problemsOf({ 'config.yaml': content })).split('\n');
    expect(headline).toBe(`config.yaml:${message}`);
  });
});

function utf16(text: string, endian: 'little' | 'big'): Buffer {
  const bytes = Buffer.from(`\uFEFF${text}`, 'utf16le');
  return endian === 'little' ? bytes : bytes.swap16();
}

test('a mistake in a file with a byte-order mark and CRLF is shown where it is', async () => {
  const text = configWith({ customer: 'capacity: many' }).replaceAll('\n', '\r\n');
  expect(await problemsOf({ 'config.yaml': `\uFEFF${text}` })).toBe(
    [
      'config.yaml:9:15: customers[0].capacity: is text: give a whole number from 1 to 10000000 without quotes, as in 250',
      '      capacity: many',
      '                ^^^^',
    ].join('\n'),
  );
});

/** What is at a path, and what is said of it there. */
const THINGS = {
  'a gigabyte': {
    reason: /^is larger than (4 MiB|64 KiB): give a smaller file/,
    async put(path: string) {
      await writeFile(path, '');
      // It has no blocks, so that it takes no room.
      await truncate(path, GIGABYTE);
    },
  },
  'a directory': { reason: /^is a directory: name a file/, put: async (path) => mkdir(path) },
  'a file without permission': {
    reason: /^may not be read by this process: change its owner or its permissions/,
    async put(path: string) {
      await writeFile(path, configWith({}), { mode: 0o000 });
      becomeNobody();
    },
  },
  'a pipe that nobody writes to': {
    reason: /^is not a regular file: name a file/,
    put: async (path) => promisify(execFile)('mkfifo', [path]),
  },
  'a socket': {
    reason: /^cannot be read \(ENXIO\): name a file that can/,
    async put(path: string) {
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(path, resolve));
      onTestFinished(() => void server.close());
    },
  },
  'a link to itself': {
    reason: /^is a symbolic link that leads back to itself: name a file/,
    put: async (path) => symlink(path, path),
  },
  'a link to nothing': {
    reason: /^does not exist: create it, or name another file/,
    put: async (path) => symlink('nothing', path),
  },
} satisfies Record<string, Thing>;

interface Thing {
  readonly reason: RegExp;
  readonly put: (path: string) => Promise<unknown>;
}

/** Root may read everything, so the rest of the test is somebody else. */
function becomeNobody(): void {
  if (process.geteuid?.() === 0) {
    process.seteuid?.(65_534);
    onTestFinished(() => process.seteuid?.(0));
  }
}

/** Everything that reads a file, with the path of what is said about it. */
const READERS = [
  ['the configuration', 'config.yaml', undefined, 'config.yaml:1:1: (file): '],
  [
    'a file of customers',
    'more',
    configWith({ more: 'customer_files: [more]' }),
    'more:1:1: (file): ',
  ],
  [
    'a secret',
    'secret',
    configWith({}).replace('client_secret: hunter2hunter2', 'client_secret_file: secret'),
    'config.yaml:7:25: customers[0].client_secret_file: the file ',
  ],
  [
    'certificates',
    'ca',
    configWith({ service: 'ca_file: ca' }),
    'config.yaml:4:12: service.ca_file: the file ',
  ],
] as const;

describe.each(READERS)('where %s should be', (_what, name, config, place) => {
  test.each(Object.entries<Thing>(THINGS))('%s is refused', async (_thing, thing) => {
    const folder = await folderOf(config === undefined ? {} : { 'config.yaml': config });
    await chmod(folder, 0o755);
    if (config !== undefined) {
      await chmod(join(folder, 'config.yaml'), 0o644);
    }
    await thing.put(join(folder, name));
    const error: unknown = await loadConfig({ path: join(folder, 'config.yaml'), env: {} }).catch(
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(ConfigError);
    const told = String(error).replaceAll(`${folder}/`, '').replace('ConfigError: ', '');
    expect(told.slice(0, place.length)).toBe(place);
    expect(told.slice(place.length)).toMatch(thing.reason);
  });
});

test.each([
  ['a device', '/dev/zero', 'is not a regular file: name a file'],
  [
    'a name that is too long',
    `/${'x'.repeat(300)}`,
    'cannot be read (ENAMETOOLONG): name a file that can',
  ],
  [
    'a file in a file',
    `${import.meta.filename}/x`,
    'does not exist: create it, or name another file',
  ],
])('%s is no configuration', async (_what, path, message) => {
  await expect(loadConfig({ path, env: {} })).rejects.toThrow(`${path}:1:1: (file): ${message}`);
});
