/** `run` and `check` with `--web.config.file`: the whole program, over TLS and with passwords. */
import { chmodSync, mkdirSync, rmSync } from 'node:fs';
import { connect as connectTls } from 'node:tls';
import { hashSync } from '@node-rs/bcrypt';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Workspace, writeConfig } from '../acceptance/daemon.ts';
import { LedgerService } from '../acceptance/ledger-service.ts';
import { flagsFor, launch } from '../limits/child.ts';
import type { Child } from '../limits/child.ts';
import { partsIn } from '../limits/disguises.ts';
import { makeAuthority, makeCertificate } from '../support/certificates.ts';
import { ask, basic } from '../web/protected.ts';
import { ran } from './terminal.ts';

const authority = makeAuthority();
const hosts = ['localhost', '127.0.0.1'];
const [first, second] = ['first', 'second'].map((name) =>
  makeCertificate({ name, hosts, issuer: authority }),
) as [ReturnType<typeof makeCertificate>, ReturnType<typeof makeCertificate>];
const TRUSTING = { ca: authority.cert };
const PASSWORDS = ['swift-lantern-orchard', 'quiet-copper-meadow'] as const;
const [hash, newHash] = PASSWORDS.map((password) => hashSync(password, 10)) as [string, string];
const AUTHORIZATION = { headers: { authorization: basic('prometheus', PASSWORDS[0]) } };
const NEW_AUTHORIZATION = { headers: { authorization: basic('prometheus', PASSWORDS[1]) } };

let service: LedgerService;
let workspace: Workspace;
let configFile: string;

beforeEach(async () => {
  service = new LedgerService();
  await service.start();
  workspace = new Workspace();
  configFile = writeConfig(workspace, service, [service.addCustomer('riverside', 'Europe/Oslo')]);
});
afterEach(async () => {
  await workspace.close();
  await service.stop();
});

const TLS = 'tls_server_config:\n  cert_file: server.pem\n  key_file: server-key.pem\n';

function usersWith(text: string): string {
  return `basic_auth_users:\n  prometheus: ${text}\n`;
}

function writePair({ cert, key }: ReturnType<typeof makeCertificate>): void {
  workspace.write('server.pem', cert);
  workspace.write('server-key.pem', key);
}

async function started(webConfig: string, ...flags: readonly string[]): Promise<Child> {
  const web = workspace.write('web.yaml', webConfig);
  return launch(
    workspace,
    flagsFor(workspace, configFile, `--web.config.file=${web}`, ...flags),
  ).listening();
}

async function nameServed(child: Child): Promise<string | undefined> {
  const { hostname, port } = new URL(child.url);
  return new Promise((resolve, reject) => {
    const socket = connectTls({ host: hostname, port: Number(port), ...TRUSTING }, () => {
      resolve(socket.getPeerX509Certificate()?.subject);
      socket.destroy();
    });
    socket.on('error', reject);
  });
}

async function statusOf(child: Child, options: object, path = '/metrics'): Promise<number> {
  return (await ask(child.url, path, { ...TRUSTING, ...options })).status;
}

/** Of the last reload, as the metrics have it. */
async function reloadSuccessful(child: Child, options: object): Promise<string | undefined> {
  const { body } = await ask(child.url, '/metrics', { ...TRUSTING, ...options });
  return /^library_exporter_config_last_reload_successful (\d)$/m.exec(body)?.[1];
}

function expectNothingSecret(said: string): void {
  expect(partsIn(said, [...PASSWORDS, hash.slice(7), newHash.slice(7)])).toEqual([]);
  const keys = [first, second].map(({ key }) => key.split('\n')[1] ?? '');
  expect(partsIn(said, keys)).toEqual([]);
}

describe('run', { timeout: 180_000 }, () => {
  test('serves by TLS to who has the password, and says https in its listening line', async () => {
    writePair(first);
    const child = await started(TLS + usersWith(hash), '--log.level=debug');
    expect(child.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    expect(await statusOf(child, {})).toBe(401);
    expect(await statusOf(child, NEW_AUTHORIZATION)).toBe(401);
    expect(await statusOf(child, AUTHORIZATION)).toBe(200);
    expect(await statusOf(child, {}, '/-/healthy')).toBe(200);
    expect(await statusOf(child, {}, '/-/ready')).toBe(200);
    await child.stop();
    expectNothingSecret(child.stdout + child.stderr);
  });

  test('takes users, certificates and keys from changed files by itself', async () => {
    writePair(first);
    const child = await started(TLS + usersWith(hash));
    expect(await nameServed(child)).toBe('CN=first');
    writePair(second);
    await vi.waitUntil(async () => (await nameServed(child)) === 'CN=second', { timeout: 60_000 });
    workspace.write('web.yaml', TLS + usersWith(newHash));
    await vi.waitUntil(async () => (await statusOf(child, NEW_AUTHORIZATION)) === 200, {
      timeout: 60_000,
    });
    expect(await statusOf(child, AUTHORIZATION)).toBe(401);
  });

  test('keeps what it had while the new files are bad, and says so', async () => {
    writePair(first);
    const child = await started(TLS + usersWith(hash));
    function timesBad(): number {
      return child
        .logLines()
        .filter(({ msg }) => String(msg).startsWith('the web configuration is bad')).length;
    }
    // One half of a pair alone.
    workspace.write('server-key.pem', second.key);
    await child.until(() => timesBad() === 1);
    const [told] = child.logLines().filter(({ problems }) => problems !== undefined);
    expect(String(told?.['problems'])).toMatch(
      /web\.yaml:3:13: tls_server_config\.key_file: the file holds the key of another certificate/,
    );
    expect(await nameServed(child)).toBe('CN=first');
    expect(await statusOf(child, AUTHORIZATION)).toBe(200);
    expect(await reloadSuccessful(child, AUTHORIZATION)).toBe('0');
    workspace.write('server.pem', second.cert);
    await vi.waitUntil(async () => (await nameServed(child)) === 'CN=second', { timeout: 60_000 });
    expect(await reloadSuccessful(child, AUTHORIZATION)).toBe('1');
    // Nobody gets in by an empty file, nor by one that is gone.
    workspace.write('web.yaml', '');
    await child.until(() => timesBad() === 2);
    rmSync(`${workspace.folder}/web.yaml`);
    await child.until(() => timesBad() === 3);
    expect(await statusOf(child, {})).toBe(401);
    expect(await statusOf(child, AUTHORIZATION)).toBe(200);
    expect(timesBad()).toBe(3);
    expectNothingSecret(child.stdout + child.stderr);
  });

  test('reads both files at a reload, and applies neither where one is bad', async () => {
    const child = await started(usersWith(hash), '--web.enable-lifecycle');
    const reload = { ...AUTHORIZATION, method: 'PUT' };
    expect((await ask(child.url, '/-/reload', { method: 'PUT' })).status).toBe(401);
    const good = { service: service, customers: [service.addCustomer('hilltop', 'Europe/Oslo')] };
    writeConfig(workspace, good.service, good.customers);
    workspace.write('web.yaml', usersWith('quiet-copper-meadow'));
    const answer = await ask(child.url, '/-/reload', reload);
    expect(answer.status).toBe(400);
    expect(answer.body).toMatch(
      /^\S*web\.yaml:2:15: basic_auth_users\.prometheus: is not a bcrypt hash/,
    );
    const { body } = await ask(child.url, '/metrics', AUTHORIZATION);
    expect(body).toContain('customer="riverside"');
    expect(body).not.toContain('customer="hilltop"');
    workspace.write('web.yaml', usersWith(newHash));
    workspace.write('config.yaml', 'service: 1\n');
    const other = await ask(child.url, '/-/reload', reload);
    // It may have been taken by itself meanwhile.
    expect([400, 401]).toContain(other.status);
    writeConfig(workspace, good.service, good.customers);
    await vi.waitUntil(
      async () =>
        (await ask(child.url, '/-/reload', { ...NEW_AUTHORIZATION, method: 'POST' })).status ===
        200,
      { timeout: 60_000 },
    );
    expect((await ask(child.url, '/metrics', NEW_AUTHORIZATION)).body).toContain(
      'customer="hilltop"',
    );
    expectNothingSecret(child.stdout + child.stderr + answer.body + other.body);
  });

  test('ends with status 2 and all problems of both files, before it listens', async () => {
    workspace.write('config.yaml', 'service: {}\n');
    const web = workspace.write('web.yaml', `${TLS}${usersWith(PASSWORDS[0])}`);
    const child = launch(workspace, flagsFor(workspace, configFile, `--web.config.file=${web}`));
    expect(await child.exited).toBe(2);
    for (const pattern of [
      /config\.yaml:1:\d+: service\.base_url: is missing/,
      /web\.yaml:2:14: tls_server_config\.cert_file: the file does not exist/,
      /web\.yaml:3:13: tls_server_config\.key_file: the file does not exist/,
      /web\.yaml:5:15: basic_auth_users\.prometheus: is not a bcrypt hash/,
    ]) {
      expect(child.stderr).toMatch(pattern);
    }
    expect(child.stderr).not.toContain('listening');
    expectNothingSecret(child.stderr);
  });
});

describe('check', { timeout: 120_000 }, () => {
  function checked(...flags: readonly string[]) {
    return ran(
      'check',
      `--config.file=${configFile}`,
      `--web.config.file=${workspace.folder}/web.yaml`,
      `--storage.path=${workspace.folder}/data`,
      ...flags,
    );
  }

  test('says how the web server would be protected', async () => {
    writePair(first);
    workspace.write('web.yaml', TLS + usersWith(hash));
    const { status, out } = await checked();
    expect([status, out]).toEqual([
      0,
      `${configFile}: good, 1 customer\n${workspace.folder}/web.yaml: good, https, NoClientCert, 1 user\n`,
    ]);
    workspace.write('web.yaml', 'http_server_config: {}\n');
    expect((await checked()).out).toContain('web.yaml: good, http, no passwords\n');
  });

  test('says the problems of both files', async () => {
    workspace.write('config.yaml', 'service: {}\n');
    workspace.write('web.yaml', 'rate_limit: {}\n');
    const { status, out } = await checked();
    expect(status).toBe(2);
    expect(out).toMatch(/config\.yaml:1:\d+: service\.base_url: /);
    expect(out).toMatch(/web\.yaml:1:13: rate_limit: is not supported here/);
  });

  test('warns of every file with a secret that others can read', async () => {
    writePair(first);
    workspace.write('web.yaml', TLS + usersWith(hash));
    workspace.write(
      'config.yaml',
      `service:
  base_url: ${service.url}
  auth_url: ${service.url}
  proxy_url: http://user:amber-violet-river@proxy.example.org:3128
customers:
  - { name: a, client_id: a, client_secret: amber-violet-river, timezone: Europe/Oslo }
  - { name: b, client_id: b, client_secret_file: riverside.secret, timezone: Europe/Oslo }
`,
    );
    expect((await checked()).out).not.toContain('warning');
    for (const name of ['web.yaml', 'server-key.pem', 'config.yaml', 'riverside.secret']) {
      chmodSync(`${workspace.folder}/${name}`, 0o640);
    }
    const { status, out } = await checked();
    expect(status).toBe(0);
    const warnings = out.split('\n').filter((line) => line.startsWith('warning: '));
    expect(warnings).toEqual([
      expect.stringMatching(
        /config\.yaml:7:50: customers\[1\]\.client_secret_file: the file can be read by/,
      ),
      expect.stringMatching(
        /config\.yaml:4:14: service\.proxy_url: is a secret, and \S*config\.yaml can be read by/,
      ),
      expect.stringMatching(/web\.yaml:3:13: tls_server_config\.key_file: the file can be read by/),
      expect.stringMatching(
        /web\.yaml:5:3: basic_auth_users: holds hashes of passwords, and \S*web\.yaml can be/,
      ),
    ]);
    expect(warnings.every((line) => line.endsWith(': chmod it to 600 or 400'))).toBe(true);
    expect(out).not.toMatch(/amber|violet|river@/);
    expectNothingSecret(out);
  });

  test('says nothing of a file whose secrets are only references', async () => {
    workspace.write('web.yaml', 'http_server_config: {}\n');
    workspace.write(
      'config.yaml',
      `service: { base_url: "${service.url}", auth_url: "${service.url}" }
customers: [{ name: a, client_id: a, client_secret: "\${PATH}", timezone: Europe/Oslo }]
`,
    );
    chmodSync(configFile, 0o644);
    const { Terminal } = await import('./terminal.ts');
    const terminal = new Terminal();
    terminal.env['PATH'] = 'amber';
    const { out } = await terminal.run('check', `--config.file=${configFile}`, '--storage.path=');
    expect(out).toBe(`${configFile}: good, 1 customer\n`);
  });

  test('warns of a folder for the marks that cannot be one', async () => {
    workspace.write('web.yaml', 'http_server_config: {}\n');
    const inFile = await checked(`--storage.path=${configFile}/data`);
    expect(inFile.status).toBe(0);
    expect(inFile.out).toContain(
      `warning: ${configFile}/data: ${configFile} is not a folder: name another one with --storage.path\n`,
    );
    const closed = `${workspace.folder}/closed`;
    mkdirSync(closed, { mode: 0o500 });
    const { out } = await checked(`--storage.path=${closed}/data`);
    // Nothing is closed to root.
    expect(out.includes(`${closed} cannot be written by this user: chown it`)).toBe(
      process.getuid?.() !== 0,
    );
    expect((await checked('--storage.path=')).out).not.toContain('warning');
  });
});
