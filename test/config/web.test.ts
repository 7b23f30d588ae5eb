/**
 * The web configuration: bad files, one mistake each, with all that the program says to them,
 * exactly, and what good ones give. A case is `testdata/web/NAME.yaml` and `NAME.txt`; the
 * certificates beside them are made here. To write the texts anew: `… test/config/web.test.ts --update`.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ConfigError } from '../../src/base/errors.ts';
import { webKeyNames } from '../../src/config/web-keys.ts';
import { loadWebConfig } from '../../src/config/web.ts';
import type { LoadedWebConfig } from '../../src/config/web.ts';
import type { WebConfig } from '../../src/config/web-types.ts';
import { makeAuthority, makeCertificate } from '../support/certificates.ts';
import { folderOf } from './folder.ts';

const CORPUS = fileURLToPath(new URL('testdata/web', import.meta.url));
const CASES = readdirSync(CORPUS)
  .filter((name) => name.endsWith('.yaml'))
  .map((name) => name.slice(0, -'.yaml'.length));

/** Every secret of the corpus is of these words, and every hash has one of these parts. */
const SECRETS = /correct|horse|battery|X0h1gDs|EsimhC7zG|MII/;
const HASH = '$2y$10$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zG';
const ENVIRONMENT = { HASH };
const NOW_MS = Date.now();

const authority = makeAuthority();
const server = makeCertificate({ name: 'server', hosts: ['localhost'], issuer: authority });
const other = makeCertificate({ name: 'other' });
const TLS = 'tls_server_config:\n  cert_file: server.pem\n  key_file: server-key.pem\n';

const CERTIFICATES = {
  'server.pem': server.cert,
  'server-key.pem': server.key,
  'other-key.pem': other.key,
  'ca.pem': authority.cert,
  'broken.pem': server.cert.replace(/\n.*\n/, '\nAAAA\n'),
  'encrypted-key.pem': '-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n',
};

async function load(
  text: string,
  more: { readonly files?: Record<string, string>; readonly running?: WebConfig } = {},
): Promise<LoadedWebConfig & { readonly folder: string }> {
  const folder = await folderOf({ ...CERTIFICATES, 'web.yaml': text, ...more.files });
  const path = join(folder, 'web.yaml');
  const { running } = more;
  return { ...(await loadWebConfig({ path, env: ENVIRONMENT, nowMs: NOW_MS, running })), folder };
}

async function problemsOf(text: string, running?: WebConfig): Promise<string> {
  try {
    await load(text, running && { running });
  } catch (error) {
    if (error instanceof ConfigError) {
      return error.message.replaceAll(/\S*\/(?=web\.yaml)/g, '');
    }
    throw error;
  }
  return 'no problem';
}

/** The first line of each, without the folder. */
function headlines({ warnings }: LoadedWebConfig): readonly string[] {
  return warnings.map(
    (warning) => warning.split('\n', 1)[0]?.replaceAll(/\S*\/(?=web\.)/g, '') ?? '',
  );
}

describe('the corpus', () => {
  test.each(CASES)('%s', async (name) => {
    const problems = await problemsOf(readFileSync(join(CORPUS, `${name}.yaml`), 'utf8'));
    expect(problems).not.toMatch(SECRETS);
    expect(problems).toMatch(/^web\.yaml:\d+:\d+: .+: .+/);
    await expect(`${problems}\n`).toMatchFileSnapshot(join(CORPUS, `${name}.txt`));
  });

  test('has both halves of every case, and a mistake of every key', () => {
    const texts = readdirSync(CORPUS).filter((name) => name.endsWith('.txt'));
    expect(texts.map((name) => name.slice(0, -'.txt'.length))).toEqual(CASES);
    const told = texts.map((name) => readFileSync(join(CORPUS, name), 'utf8')).join('');
    const headers = /^(Content-Security-Policy|X-XSS-Protection)$/;
    const missing = [...webKeyNames()].filter((key) => !told.includes(key) && !headers.test(key));
    expect(missing).toEqual([]);
  });
});

describe('a good file', () => {
  test('with everything in it is taken as it is', async () => {
    const { config, files, warnings, folder } = await load(
      `${TLS}  client_auth_type: RequireAndVerifyClientCert
  client_ca_file: ca.pem
  min_version: TLS12
  max_version: TLS13
  cipher_suites: [TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, TLS_AES_128_GCM_SHA256]
  prefer_server_cipher_suites: false
  curve_preferences: [CurveP256, X25519]
http_server_config:
  http2: false
  headers:
    Strict-Transport-Security: max-age=31536000
    X-Frame-Options: deny
    X-XSS-Protection: ""
basic_auth_users:
  prometheus: ${HASH}
  __proto__: \${HASH}
`,
    );
    expect({ ...config, tls: { ...config.tls, cert: '', key: config.tls?.key.reveal() } }).toEqual({
      tls: {
        cert: '',
        key: server.key,
        clientAuth: 'RequireAndVerifyClientCert',
        clientCa: authority.cert,
        minVersion: 'TLSv1.2',
        maxVersion: 'TLSv1.3',
        ciphers:
          'TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:ECDHE-RSA-AES128-GCM-SHA256',
        curves: 'prime256v1:X25519',
        preferServerCiphers: false,
      },
      headers: { 'Strict-Transport-Security': 'max-age=31536000', 'X-Frame-Options': 'deny' },
      users: config.users,
    });
    expect([...config.users].map(([user, hash]) => [user, hash.reveal()])).toEqual([
      ['prometheus', HASH],
      ['__proto__', HASH],
    ]);
    expect(files).toEqual(
      ['web.yaml', 'server.pem', 'server-key.pem', 'ca.pem'].map((name) => join(folder, name)),
    );
    expect(warnings).toEqual([]);
    expect(JSON.stringify([...config.users, config])).not.toMatch(/X0h1gDs|PRIVATE KEY/);
  });

  test('may say no more than who gets in, or how it is encrypted', async () => {
    expect((await load(`basic_auth_users: { a: ${HASH} }`)).config.tls).toBeUndefined();
    const { config } = await load(TLS);
    expect(config).toMatchObject({ headers: {}, tls: { clientAuth: 'NoClientCert' } });
    expect(config.users.size).toBe(0);
  });

  test.each(['$2a', '$2b', '$2y'])('may have hashes that begin with %s', async (kind) => {
    const { config } = await load(`basic_auth_users: { a: ${HASH.replace('$2y', kind)} }`);
    expect(config.users.size).toBe(1);
  });
});

describe('a warning', () => {
  test('is said of a hash that is tried out quickly, and of HTTP/2', async () => {
    const loaded = await load(
      `basic_auth_users:\n  a: ${HASH.replace('$10', '$05')}\nhttp_server_config: { http2: true }\n`,
    );
    expect(headlines(loaded)).toEqual([
      'web.yaml:3:30: http_server_config.http2: has no effect: HTTP/1.1 is spoken, which Prometheus speaks as well',
      'web.yaml:2:3: basic_auth_users.a: has a cost below 10: hash the password anew with htpasswd -nBC 10',
    ]);
    expect(loaded.warnings.join()).not.toMatch(SECRETS);
  });

  test('is said of a key, and of hashes, that others can read', async () => {
    const { folder } = await load(`${TLS}basic_auth_users: { a: ${HASH} }\n`);
    await chmod(join(folder, 'server-key.pem'), 0o640);
    await chmod(join(folder, 'web.yaml'), 0o644);
    const path = join(folder, 'web.yaml');
    const loaded = await loadWebConfig({ path, env: {}, nowMs: NOW_MS });
    expect(headlines(loaded)).toEqual([
      'web.yaml:3:13: tls_server_config.key_file: the file can be read by its group or by others: chmod it to 600 or 400',
      'web.yaml:4:19: basic_auth_users: holds hashes of passwords, and web.yaml can be read by its group or by others: chmod it to 600 or 400',
    ]);
    expect(loaded.warnings.join()).not.toMatch(SECRETS);
  });

  test.each([
    ['expired', { validTo: new Date(NOW_MS - 60_000) }, 'has expired: renew it'],
    ['early', { validFrom: new Date(NOW_MS + 60_000) }, 'is not valid yet: check the clock'],
  ])('is said of a certificate that is %s', async (name, times, words) => {
    const { cert, key } = makeCertificate({ name, ...times });
    const loaded = await load(TLS, { files: { 'server.pem': cert, 'server-key.pem': key } });
    expect(headlines(loaded)).toEqual([
      `web.yaml:2:14: tls_server_config.cert_file: the file holds a certificate that ${words}`,
    ]);
  });
});

describe('while the server runs', () => {
  const plain = `basic_auth_users: { a: ${HASH} }\n`;
  const asking = `${TLS}  client_auth_type: RequireAnyClientCert\n`;

  test.each([
    ['https', plain, TLS, '2:3: tls_server_config: comes or goes only with a new start'],
    ['http', TLS, plain, '1:1: tls_server_config: comes or goes only with a new start'],
    [
      'asking for certificates',
      TLS,
      asking,
      '2:3: tls_server_config.client_auth_type: changes only with a new start',
    ],
    [
      'asking for none',
      asking,
      TLS,
      '2:3: tls_server_config.client_auth_type: changes only with a new start',
    ],
  ])('it does not begin with %s', async (_what, running, next, words) => {
    const problems = await problemsOf(next, (await load(running)).config);
    expect(problems).toContain(`web.yaml:${words}: start the exporter anew`);
  });

  test('everything else can change', async () => {
    const next = `${TLS}  min_version: TLS13\n${plain}`;
    expect(await problemsOf(next, (await load(TLS)).config)).toBe('no problem');
  });
});

test('paths are those of the folder of the file that names them', async () => {
  const folder = await folderOf({ 'web/web.yaml': TLS });
  await mkdir(join(folder, 'elsewhere'));
  const before = process.cwd();
  process.chdir(join(folder, 'elsewhere'));
  onTestFinished(() => process.chdir(before));
  const path = '../web/web.yaml';
  await expect(loadWebConfig({ path, env: {}, nowMs: NOW_MS })).rejects.toThrow(
    /^\.\.\/web\/web\.yaml:2:14: .* the file does not exist/,
  );
});
