/** Files that cannot be read, secret files, warnings about modes, and patterns of customer files. */
import { execFile } from 'node:child_process';
import { chmod, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { ServiceError } from '../../src/base/errors.ts';
import { Secret } from '../../src/base/secret.ts';
import type { CustomerConfig } from '../../src/config/types.ts';
import { accessOf, haveSameCredentials } from '../../src/config/credentials.ts';
import { makeAuthority } from '../support/certificates.ts';
import { configWith, folderOf, load, problemsOf } from './folder.ts';

const exec = promisify(execFile);
const { cert: CA } = await makeAuthority();
const WITH_SECRET_FILE = configWith().replace(
  'client_secret: hunter2hunter2',
  'client_secret_file: secrets/riverside',
);

test.each([
  ['UTF-16', Buffer.from(`\uFEFF${configWith()}`, 'utf16le'), 'is not text in UTF-8'],
  ['Latin-1', Buffer.from('branches: { 1: Nørrebro }', 'latin1'), 'is not text in UTF-8'],
  ['5 MiB', Buffer.alloc(5 * 1_048_576), 'is larger than 4096 KiB'],
  ['nothing', undefined, 'does not exist'],
])('in place of a configuration, %s is refused', async (_what, content, message) => {
  const problems = await problemsOf(content === undefined ? {} : { 'config.yaml': content });
  expect(problems).toBe(`config.yaml:1:1: (file): config.yaml ${message}`);
});

async function writeUnreadable(path: string): Promise<void> {
  await writeFile(path, 'hunter2hunter2', { mode: 0o000 });
  if (process.geteuid?.() === 0) {
    // Root may read everything.
    process.seteuid?.(65_534);
    onTestFinished(() => process.seteuid?.(0));
  }
}

/** What is where the file should be, and what is reported of its absolute path. */
test.each<[string, string, (path: string) => Promise<unknown>]>([
  ['nothing', 'does not exist', async () => {}],
  ['a directory', 'is not a regular file', (path) => mkdir(path)],
  ['a link to itself', 'cannot be read: ELOOP', (path) => symlink(path, path)],
  ['a pipe without a writer', 'is not a regular file', (path) => exec('mkfifo', [path])],
  // It has no blocks and takes no room.
  ['a gigabyte', 'is larger than 64 KiB', (path) => exec('truncate', ['-s', '1G', path])],
  ['an empty file', 'is empty, expected the secret', (path) => writeFile(path, '\n')],
  ["others' file", 'cannot be read by this process: permission denied', writeUnreadable],
])('in place of a secret file, %s is reported with its path', async (_what, message, create) => {
  const files = { 'config.yaml': WITH_SECRET_FILE, 'secrets/other': '' };
  const folder = await folderOf(files, { 'config.yaml': 0o644 });
  await chmod(folder, 0o755);
  const secret = join(folder, 'secrets/riverside');
  await create(secret);
  const path = join(folder, 'config.yaml');
  await expect(loadConfig({ path, env: {} })).rejects.toThrow(
    `${path}:7:25: customers[0].client_secret_file: ${secret} ${message}`,
  );
  // Also while the exporter runs.
  const clientSecret = { path: secret, secret: new Secret('old') };
  const customer = { name: 'riverside', clientId: 'riverside-api', clientSecret };
  await expect(accessOf(customer as CustomerConfig).readSecret()).rejects.toThrow(
    new ServiceError('auth', `client_secret_file: ${secret} ${message}`),
  );
});

test.each([
  ['hunter2\r\n', 'hunter2'],
  ['hunter2\n\n', 'hunter2\n'],
  ['\uFEFF hunter2 \n', ' hunter2 '],
])('of a file with %j the secret is %j', async (content, secret) => {
  const { config } = await load({ 'config.yaml': WITH_SECRET_FILE, 'secrets/riverside': content });
  expect(config.customers[0]?.clientSecret.secret.reveal()).toBe(secret);
});

// prettier-ignore
test.each<readonly [string, string | undefined]>([
  ['hunter2\n\n', 'ends with a line end'], ['\thunter2', 'begins with a tab'], ['\u00A0hunter2', 'begins with a no-break space'],
  [' hunter2\u200B', 'begins with a blank and ends with a zero-width space'], ['hunter2\u2003', 'ends with an invisible character'],
  ["'hunter2' \n", 'ends with a blank and is in quotes'], ['\u201Chunter2\u201D', 'is in quotes'], ['export S="hunter2"', 'begins with a name and ='],
  ...['hunter2\n', 'aHVudGVyMg==', 'aHVudGVyM=', 'a "b" c', 'a=', 'p#ss w=rd', '\u{1F600}'].map((one) => [one, undefined] as const),
])('of a file with %j a warning says that the secret %s', async (content, words) => {
  const { warnings } = await load({ 'config.yaml': WITH_SECRET_FILE, 'secrets/riverside': content });
  const warning = `customers[0].client_secret_file: the secret ${words}, which is probably no part of it`;
  expect(warnings.map((one) => one.replace(/^.*config\.yaml:7:25: /, ''))).toEqual(words === undefined ? [] : [warning]);
});

test.each([
  ['hunter2 #hunter3', 'ends before #, which begins a comment: write it in quotes'],
  ['hunter2 # of May', undefined],
  ['hunter2#hunter3', undefined],
  ['"hunter2" #hunter3', undefined],
  ['" hunter2"', 'begins with a blank, which is probably no part of it'],
])('of client_secret: %s the warning is %s', async (secret, words) => {
  const text = configWith().replace('hunter2hunter2', secret);
  const { warnings } = await load(text);
  const places = warnings.map((warning) => /config\.yaml:(.*)/.exec(warning)?.[1]);
  const at = '7:20: customers[0].client_secret: the secret';
  expect(places).toEqual(words === undefined ? [] : [`${at} ${words}`]);
  expect(warnings.join('')).not.toMatch(/hunter[23]/);
});

test('a secret file is read again when the secret is needed, an inline secret is not', async () => {
  const more = '  - { name: b, client_id: b, client_secret: inline, timezone: UTC }';
  const text = WITH_SECRET_FILE + more;
  const folder = await folderOf({ 'config.yaml': text, 'secrets/riverside': 'old' });
  const { config } = await loadConfig({ path: join(folder, 'config.yaml'), env: {} });
  await writeFile(join(folder, 'secrets/riverside'), 'new');
  const read = await Promise.all(config.customers.map((one) => accessOf(one).readSecret()));
  expect(read.map((secret) => secret.reveal())).toEqual(['new', 'inline']);
});

test('credentials are the same only with the same id, secret and file', async () => {
  const { config } = await load({ 'config.yaml': WITH_SECRET_FILE, 'secrets/riverside': 'old' });
  const same = config.customers.flatMap((customer) => {
    const { clientSecret } = customer;
    const others = [
      { clientSecret: { ...clientSecret, secret: new Secret('old') } },
      { clientId: 'hillside-api' },
      { clientSecret: { ...clientSecret, secret: new Secret('new') } },
      { clientSecret: { ...clientSecret, path: '/run/secrets/riverside' } },
    ];
    return others.map((other) => haveSameCredentials(customer, { ...customer, ...other }));
  });
  expect(same).toEqual([true, false, false, false]);
});

test('the digest changes with each file that is read, and with no other', async () => {
  const more = 'customer_files: ["more/*.yaml"]';
  const folder = await folderOf({
    'config.yaml': WITH_SECRET_FILE.replace('customers:', '  ca_file: ca.pem\ncustomers:') + more,
    'ca.pem': CA,
    'secrets/riverside': 'first',
    'more/a.yaml': '[]',
  });
  async function digest(): Promise<string> {
    return (await loadConfig({ path: join(folder, 'config.yaml'), env: {} })).digest;
  }
  const digests = new Set([await digest()]);
  for (const [name, text] of [
    ['secrets/riverside', 'second'],
    ['more/a.yaml', '[] # nobody yet'],
    ['more/b.yaml', '[]'],
    ['ca.pem', `# Ours.\n${await readFile(join(folder, 'ca.pem'), 'utf8')}`],
    ['config.yaml', `${await readFile(join(folder, 'config.yaml'), 'utf8')}\n`],
  ] as const) {
    await writeFile(join(folder, name), text);
    digests.add(await digest());
  }
  expect(digests.size).toBe(6);
  await writeFile(join(folder, 'more/notes.txt'), 'not ours');
  expect(digests.has(await digest())).toBe(true);
});

const SECRET = 'hunter2hunter2';

test.each([
  [configWith(), 0o644, ['7:20: customers[0].client_secret']],
  [configWith(), 0o640, []],
  [configWith().replace(SECRET, '${SECRET}'), 0o644, []],
  [configWith({ service: 'proxy_url: http://a:b@proxy' }), 0o644, ['4:14: service.proxy_url']],
  [WITH_SECRET_FILE, 0o644, ['7:25: customers[0].client_secret_file']],
])('%j with the mode %o has the warnings %j', async (text, mode, places) => {
  const files = { 'config.yaml': text, 'secrets/riverside': SECRET };
  const modes = { 'config.yaml': mode, 'secrets/riverside': 0o644 };
  const { warnings } = await load(files, { SECRET }, modes);
  expect(warnings.map((warning) => /config\.yaml:(\S+ \S+): /.exec(warning)?.[1])).toEqual(places);
});

test('customer_files must be found, after a search of at most 100,000 files', async () => {
  function config(pattern: string): string {
    return configWith({ more: `customer_files: ["${pattern}"]` });
  }
  const place = 'config.yaml:9:18: customer_files[0]: expected 1 to 100000 files';
  expect(await problemsOf(config('none/*.yaml'))).toContain(`${place}, got none`);
  const patterns = Array<string>(100).fill('many/**/0').join('", "');
  const folder = await folderOf({ 'config.yaml': config(patterns), 'many/0': '[]' });
  // A pattern may be absolute.
  expect(await problemsOf(config(`${folder}/many/*`))).toBe('no problem');
  await Promise.all(
    Array.from({ length: 1_001 }, (_, i) => symlink('0', join(folder, 'many', `x${i}`))),
  );
  await expect(loadConfig({ path: join(folder, 'config.yaml'), env: {} })).rejects.toThrow(
    'customer_files[99]: expected 1 to 100000 files, got more',
  );
});
