/** The web configuration: invalid files with their problems, valid ones, warnings, and what cannot change. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { loadWebConfig } from '../../src/config/web.ts';
import type { WebConfig } from '../../src/base/web-config.ts';
import { makeAuthority, makeCertificate } from '../support/certificates.ts';
import { folderOf, problemsIn } from './folder.ts';

/** Parts of every secret of the cases. */
const SECRETS = /battery|X0h1gDs|EsimhC7zG|MII/;
const HASH = '$2y$10$X0h1gDsPszWURQaxFh.zoubFi6DXncSjhoQNJgRrnGs7EsimhC7zG';

const authority = await makeAuthority();
const server = await makeCertificate({ name: 'server', hosts: ['localhost'], issuer: authority });
const TLS = 'tls_server_config:\n  cert_file: server.pem\n  key_file: server-key.pem\n';

const USERS = `basic_auth_users: { a: ${HASH} }\n`;
const REQUIRING = `${TLS}  client_auth_type: RequireAnyClientCert\n`;

const CERTIFICATES = {
  'server.pem': server.cert,
  'server-key.pem': server.key,
  'ca.pem': authority.cert,
  'encrypted-key.pem': '-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n',
};

async function load(text: string, running?: WebConfig) {
  const folder = await folderOf({ ...CERTIFICATES, 'web.yaml': text });
  const path = join(folder, 'web.yaml');
  return loadWebConfig({ path, env: { HASH }, running });
}

const AUTH_TYPES =
  'one of NoClientCert, RequestClientCert, RequireClientCert, RequireAnyClientCert, VerifyClientCertIfGiven, RequireAndVerifyClientCert';
const TLS_KEYS = 'cert_file, key_file, client_auth_type, client_ca_file, min_version';
const WRONG_KEY = 'is not the unencrypted PEM key of the certificate in cert_file';
const WRONG_HASH =
  'basic_auth_users.a: expected a bcrypt hash with a cost from 4 to 16, as of htpasswd -nBC 10 USER, got another value';

// prettier-ignore
test.each([
  ['[]', '1:1: (file): expected a mapping with tls_server_config or basic_auth_users, got a list'],
  ['tls_server_confg: {}', '1:1: tls_server_confg: unknown key, did you mean tls_server_config?'],
  [`${TLS}  key: battery`, `4:3: tls_server_config.key: unknown key, expected one of ${TLS_KEYS}`],
  [TLS.replace('server.pem', 'gone.pem'), '2:14: tls_server_config.cert_file: gone.pem does not exist'],
  [TLS.replace('server.pem', 'server-key.pem'), '2:14: tls_server_config.cert_file: server-key.pem holds no certificate or an invalid one, expected PEM'],
  [TLS.replace('server-key.pem', 'encrypted-key.pem'), `3:13: tls_server_config.key_file: encrypted-key.pem ${WRONG_KEY}`],
  [TLS.replace('server-key.pem', '"-----BEGIN PRIVATE KEY-----battery"'), '3:13: tls_server_config.key_file: expected a file with the key, got another value'],
  [`${TLS}  client_auth_type: Verify\n  client_ca_file: ca.pem`, `4:21: tls_server_config.client_auth_type: expected ${AUTH_TYPES}, got Verify ^`],
  [`${TLS}  client_auth_type: RequireAndVerifyClientCert`, '2:3: tls_server_config.client_ca_file: expected a file, which RequireAndVerifyClientCert needs, got nothing'],
  [`${TLS}  client_ca_file: ca.pem`, '4:19: tls_server_config.client_ca_file: has no effect with NoClientCert: set client_auth_type'],
  ['basic_auth_users: {}', '1:19: basic_auth_users: expected users with bcrypt hashes such as { prometheus: $2y$10$… }, got a mapping'],
  [`basic_auth_users: { a: ${HASH.replace('$10', '$03')} }`, `1:24: ${WRONG_HASH}`],
  [`basic_auth_users: { a: ${HASH}x }`, `1:24: ${WRONG_HASH}`],
  [`basic_auth_users: { a: x${HASH} }`, `1:24: ${WRONG_HASH}`],
  [`basic_auth_users: { 'a:b': '${HASH}' }`, '1:21: basic_auth_users: expected a user name without a colon, got another key'],
])('%j is a problem', async (text, expected) => {
  const [, headline = '', caret] = /^(.*?)( \^)?$/.exec(expected) ?? [];
  const [first, ...others] = (await problemsIn(load(text))).split('\n');
  expect(first).toBe(`web.yaml:${headline}`);
  expect(others).toHaveLength(caret === undefined ? 0 : 2);
  expect(others.join('')).not.toMatch(SECRETS);
});

test('a file of a comment is no protection', async () => {
  expect((await load('# Nothing yet.')).config).toEqual({ tls: undefined, users: new Map() });
});

test('a file with every key is loaded', async () => {
  const { config, warnings } = await load(
    `${TLS}  client_auth_type: RequireAndVerifyClientCert
  client_ca_file: ca.pem
  min_version: TLS13
basic_auth_users:
  prometheus: ${HASH}
  grafana: ${HASH.replace('$2y', '$2a')}
  old: \${HASH}
`,
  );
  const { tls, users } = config;
  expect(tls).toMatchObject({
    cert: server.cert,
    clientAuth: 'RequireAndVerifyClientCert',
    clientCa: authority.cert,
    minVersion: 'TLSv1.3',
  });
  expect(tls?.key.reveal()).toBe(server.key);
  expect(Object.fromEntries(Array.from(users, ([user, hash]) => [user, hash.reveal()]))).toEqual({
    prometheus: HASH,
    grafana: HASH.replace('$2y', '$2a'),
    old: HASH,
  });
  expect(warnings).toEqual([]);
  expect(JSON.stringify([...users, config])).not.toMatch(/X0h1gDs|PRIVATE KEY/);
});

test('a key and hashes that others can read are warnings, certificates are not', async () => {
  const files = { ...CERTIFICATES, 'web.yaml': `${TLS}${USERS}` };
  const modes = { 'server.pem': 0o644, 'server-key.pem': 0o644, 'web.yaml': 0o644 };
  const folder = await folderOf({ ...files, 'tls.yaml': TLS }, { ...modes, 'tls.yaml': 0o644 });
  const { warnings } = await loadWebConfig({ path: join(folder, 'web.yaml'), env: {} });
  expect(warnings.map((warning) => warning.replace(`${folder}/`, ''))).toEqual([
    'web.yaml:3:13: tls_server_config.key_file: the file can be read by others: expected mode 640 or 600',
    'web.yaml:4:19: basic_auth_users: hashes in a file that can be read by others: expected mode 640 or 600',
  ]);
  const tls = await loadWebConfig({ path: join(folder, 'tls.yaml'), env: {} });
  expect(tls.warnings).toHaveLength(1);
});

test.each([
  ['https cannot be removed', TLS, USERS, '1:1: tls_server_config'],
  ['https cannot be added', USERS, TLS, '2:3: tls_server_config'],
  ['clients cannot be required', TLS, REQUIRING, '4:21: tls_server_config.client_auth_type'],
])('while the server runs, %s', async (_what, running, next, place) => {
  const problems = await problemsIn(load(next, (await load(running)).config));
  const [first] = problems.split('\n');
  expect(first).toBe(`web.yaml:${place}: cannot change while running: restart the exporter`);
});

test('while the server runs, users and the version of TLS can change', async () => {
  const { config } = await load(`${TLS}${USERS}`);
  const next = `${TLS}  min_version: TLS13\n${USERS.replace('a:', 'b:')}`;
  expect(await problemsIn(load(next, config))).toBe('no problem');
});
