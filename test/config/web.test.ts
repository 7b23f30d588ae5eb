/** The web configuration: invalid files with their problems, valid ones, warnings, and reloads. */
import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ConfigError } from '../../src/base/errors.ts';
import { loadWebConfig } from '../../src/config/web.ts';
import type { LoadedWebConfig } from '../../src/config/web.ts';
import type { WebConfig } from '../../src/config/types.ts';
import { makeAuthority, makeCertificate } from '../support/certificates.ts';
import { folderOf } from './folder.ts';

/** Parts of every secret of the cases. */
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
      return error.message.replaceAll(/\/\S*config-test-[^/]*\//g, '');
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

const AUTH_TYPES =
  'one of NoClientCert, RequestClientCert, RequireClientCert, RequireAnyClientCert, VerifyClientCertIfGiven, RequireAndVerifyClientCert';
const WRONG_HASH =
  'expected a bcrypt hash, as htpasswd -nBC 10 USER prints it after the colon, got another value';

describe('a problem is', () => {
  // prettier-ignore
  test.each([
    ['', '1:1: (file): empty'],
    ['prometheus:$2y$10$X0h1gDs', '1:1: (top level): expected a mapping with tls_server_config or basic_auth_users, got a string'],
    ['cert_file: server.pem', '1:1: cert_file: unknown key here, it belongs to tls_server_config'],
    ['tls_server_confg: {}', '1:1: tls_server_confg: unknown key, did you mean tls_server_config?'],
    ['rate_limit: { burst: 1 }', '1:1: rate_limit: not supported: remove it; connections and requests are limited otherwise'],
    [TLS.replace('server.pem', 'gone.pem'), '2:14: tls_server_config.cert_file: gone.pem does not exist'],
    [TLS.replace('server.pem', 'broken.pem'), '2:14: tls_server_config.cert_file: broken.pem holds an invalid certificate'],
    [TLS.replace('server.pem', 'server-key.pem'), '2:14: tls_server_config.cert_file: server-key.pem holds no certificate, expected PEM, as in -----BEGIN CERTIFICATE-----'],
    [TLS.replace('server-key.pem', 'server.pem'), '3:13: tls_server_config.key_file: server.pem holds no private key, expected PEM, as in -----BEGIN PRIVATE KEY-----'],
    [TLS.replace('server-key.pem', 'other-key.pem'), '3:13: tls_server_config.key_file: expected the key of the certificate in cert_file, got another'],
    [TLS.replace('server-key.pem', 'encrypted-key.pem'), '3:13: tls_server_config.key_file: encrypted-key.pem is encrypted, expected a key without a password'],
    [TLS.replace('server-key.pem', '"-----BEGIN PRIVATE KEY-----battery"'), '3:13: tls_server_config.key_file: expected a file with the key, got the content of one'],
    ['tls_server_config: { cert_file: server.pem }', '1:20: tls_server_config.key_file: expected a file with the key, got nothing'],
    [`${TLS}  key: battery`, '4:3: tls_server_config.key: not supported: use key_file'],
    [`${TLS}  client_allowed_sans: [a]`, '4:3: tls_server_config.client_allowed_sans: not supported: restrict clients by client_ca_file'],
    [`${TLS}  client_auth_type: Verify`, `4:21: tls_server_config.client_auth_type: expected ${AUTH_TYPES}, got Verify ^`],
    [`${TLS}  client_auth_type: RequireAndVerifyClientCert`, '2:3: tls_server_config.client_ca_file: expected a file, which RequireAndVerifyClientCert needs, got nothing'],
    [`${TLS}  client_ca_file: ca.pem`, '4:19: tls_server_config.client_ca_file: has no effect with NoClientCert: set client_auth_type'],
    [`${TLS}  min_version: TLS10`, '4:16: tls_server_config.min_version: expected one of TLS12, TLS13, got TLS10 ^'],
    [`${TLS}  min_version: TLS13\n  max_version: TLS12`, '4:16: tls_server_config.min_version: expected at most max_version, got a newer one ^'],
    [`${TLS}  cipher_suites: [RC4]`, "4:19: tls_server_config.cipher_suites[0]: expected one of Go's cipher names such as TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, got another value"],
    [`${TLS}  curve_preferences: P256`, '4:22: tls_server_config.curve_preferences: expected a list of any of X25519, CurveP256, CurveP384, CurveP521, got a string'],
    ['http_server_config: { http2: 2 }', '1:30: http_server_config.http2: expected true or false, got another number'],
    ['http_server_config:\n  headers:\n    X-Frame-Options: maybe', '3:22: http_server_config.headers.X-Frame-Options: expected one of deny, sameorigin, got maybe ^'],
    ['http_server_config:\n  headers:\n    X-XSS-Protection: "a\\r\\nb"', '3:23: http_server_config.headers.X-XSS-Protection: expected at most 2048 printable ASCII characters, got another value'],
    ['basic_auth_users: {}', '1:19: basic_auth_users: expected users with bcrypt hashes such as { prometheus: $2y$10$… }, got no user'],
    ['basic_auth_users: [battery]', '1:19: basic_auth_users: expected users with bcrypt hashes such as { prometheus: $2y$10$… }, got a list'],
    ['basic_auth_users: { a: battery }', `1:24: basic_auth_users.a: ${WRONG_HASH}`],
    [`basic_auth_users: { a: ${HASH.replace('$10', '$03')} }`, `1:24: basic_auth_users.a: ${WRONG_HASH}`],
    [`basic_auth_users: { a: ${HASH.replace('$10', '$17')} }`, '1:24: basic_auth_users.a: expected a bcrypt hash, as htpasswd -nBC 10 USER prints it after the colon, got a cost above 16'],
    [`basic_auth_users: { a: '${HASH.slice(0, -1)}' }`, `1:24: basic_auth_users.a: ${WRONG_HASH}`],
    [`basic_auth_users: { 'a:b': '${HASH}' }`, '1:21: basic_auth_users: expected a user name without a colon, got another key'],
    [`basic_auth_users: { __proto__: battery, b: '${HASH}' }`, '1:32: basic_auth_users: unsupported key'],
    ['basic_auth_users:\n\ta: battery', '2:1: (YAML): Tabs are not allowed as indentation'],
  ])('%j', async (text, expected) => {
    const [, headline = '', caret] = /^(.*?)( \^)?$/.exec(expected) ?? [];
    const [first, ...others] = (await problemsOf(text)).split('\n');
    expect(first).toBe(`web.yaml:${headline}`);
    expect(others).toHaveLength(caret === undefined ? 0 : 2);
    expect(others.join('')).not.toMatch(SECRETS);
  });
});

describe('a valid file', () => {
  test('with every key is loaded', async () => {
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
  grafana: \${HASH}
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
      ['grafana', HASH],
    ]);
    expect(files).toEqual(
      ['web.yaml', 'server.pem', 'server-key.pem', 'ca.pem'].map((name) => join(folder, name)),
    );
    expect(warnings).toEqual([]);
    expect(JSON.stringify([...config.users, config])).not.toMatch(/X0h1gDs|PRIVATE KEY/);
  });

  test('may have only users, or only TLS', async () => {
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
  test('is given of a low cost, and of HTTP/2', async () => {
    const loaded = await load(
      `basic_auth_users:\n  a: ${HASH.replace('$10', '$05')}\nhttp_server_config: { http2: true }\n`,
    );
    expect(headlines(loaded)).toEqual([
      'web.yaml:2:6: basic_auth_users.a: expected a cost of at least 10, as of htpasswd -nBC 10',
      'web.yaml:3:30: http_server_config.http2: has no effect: the server uses HTTP/1.1',
    ]);
    expect(loaded.warnings.join()).not.toMatch(SECRETS);
  });

  test('is given of a key and of hashes that others can read', async () => {
    const { folder } = await load(`${TLS}basic_auth_users: { a: ${HASH} }\n`);
    await chmod(join(folder, 'server-key.pem'), 0o640);
    await chmod(join(folder, 'web.yaml'), 0o644);
    const path = join(folder, 'web.yaml');
    const loaded = await loadWebConfig({ path, env: {}, nowMs: NOW_MS });
    expect(headlines(loaded)).toEqual([
      'web.yaml:3:13: tls_server_config.key_file: the file can be read by its group or by others: expected mode 600 or 400',
      'web.yaml:4:19: basic_auth_users: hashes in a file that can be read by its group or by others: expected mode 600 or 400',
    ]);
    expect(loaded.warnings.join()).not.toMatch(SECRETS);
  });

  test.each([
    ['has expired', { validTo: new Date(NOW_MS - 60_000) }, 'has expired'],
    ['is not valid yet', { validFrom: new Date(NOW_MS + 60_000) }, 'is not valid yet'],
  ])('is given of a certificate that %s', async (name, times, words) => {
    const { cert, key } = makeCertificate({ name, ...times });
    const loaded = await load(TLS, { files: { 'server.pem': cert, 'server-key.pem': key } });
    expect(headlines(loaded)).toEqual([
      `web.yaml:2:14: tls_server_config.cert_file: the certificate ${words}`,
    ]);
  });
});

describe('while the server runs', () => {
  const plain = `basic_auth_users: { a: ${HASH} }\n`;
  const requiring = `${TLS}  client_auth_type: RequireAnyClientCert\n`;

  test.each([
    ['https cannot be added', plain, TLS, '2:3: tls_server_config: cannot be added or removed'],
    ['https cannot be removed', TLS, plain, '1:1: tls_server_config: cannot be added or removed'],
    [
      'client certificates cannot become required',
      TLS,
      requiring,
      '4:21: tls_server_config.client_auth_type: cannot change',
    ],
    [
      'client certificates cannot become optional',
      requiring,
      TLS,
      '2:3: tls_server_config.client_auth_type: cannot change',
    ],
  ])('%s', async (_what, running, next, message) => {
    const problems = await problemsOf(next, (await load(running)).config);
    expect(problems).toContain(`web.yaml:${message} while running: restart the exporter`);
  });

  test('everything else can change', async () => {
    const next = `${TLS}  min_version: TLS13\n${plain}`;
    expect(await problemsOf(next, (await load(TLS)).config)).toBe('no problem');
  });
});

test('paths are relative to the file that names them', async () => {
  const folder = await folderOf({ 'web/web.yaml': TLS });
  await mkdir(join(folder, 'elsewhere'));
  const before = process.cwd();
  process.chdir(join(folder, 'elsewhere'));
  onTestFinished(() => process.chdir(before));
  await expect(loadWebConfig({ path: '../web/web.yaml', env: {}, nowMs: NOW_MS })).rejects.toThrow(
    `../web/web.yaml:2:14: tls_server_config.cert_file: ${folder}/web/server.pem`,
  );
});
