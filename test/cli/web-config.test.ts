/** `run` with `--web.config.file`: TLS, passwords and reloads. */
import { hashSync } from '@node-rs/bcrypt';
import { rmSync } from 'node:fs';
import { connect as connectTls } from 'node:tls';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { flagsFor, launch, writeConfig, Workspace } from '../acceptance/daemon.ts';
import type { Daemon } from '../acceptance/daemon.ts';
import { LedgerService } from '../acceptance/ledger-service.ts';
import { partsIn } from '../support/disguises.ts';
import { makeAuthority, makeCertificate } from '../support/certificates.ts';
import { ask, basic } from '../web/protected.ts';

const authority = makeAuthority();
const [first, second] = (['first', 'second'] as const).map((name) =>
  makeCertificate({ name, hosts: ['localhost', '127.0.0.1'], issuer: authority }),
) as [Certificate, Certificate];
type Certificate = ReturnType<typeof makeCertificate>;
const TRUSTING = { ca: authority.cert };
const PASSWORDS = ['swift-lantern-orchard', 'quiet-copper-meadow'] as const;
const [HASH, NEW_HASH] = PASSWORDS.map((password) => hashSync(password, 10)) as [string, string];
const [WITH_PASSWORD, WITH_NEW_PASSWORD] = PASSWORDS.map((password) => ({
  headers: { authorization: basic('prometheus', password) },
})) as [object, object];

const TLS = 'tls_server_config:\n  cert_file: server.pem\n  key_file: server-key.pem\n';

function usersWith(hash: string): string {
  return `basic_auth_users:\n  prometheus: ${hash}\n`;
}

let service: LedgerService;
let workspace: Workspace;
let config: string;

beforeEach(async () => {
  service = new LedgerService();
  workspace = new Workspace();
  await service.start();
  config = writeConfig(workspace, service, [service.addCustomer('riverside', 'Europe/Oslo')]);
  writePair(first);
});
afterEach(async () => {
  await workspace.close();
  await service.stop();
});

function writePair({ cert, key }: Certificate): void {
  workspace.write('server.pem', cert);
  workspace.write('server-key.pem', key);
}

function launched(webConfig: string, ...flags: readonly string[]): Daemon {
  const web = `--web.config.file=${workspace.write('web.yaml', webConfig)}`;
  return launch(workspace, flagsFor(workspace, config, web, ...flags));
}

function expectNothingSecret(text: string): void {
  const keys = [first, second].map(({ key }) => key.split('\n')[1] ?? '');
  expect(partsIn(text, [...PASSWORDS, HASH.slice(7), NEW_HASH.slice(7), ...keys])).toEqual([]);
}

async function subjectOf(child: Daemon): Promise<string | undefined> {
  const { hostname, port } = new URL(child.url);
  return new Promise((resolve, reject) => {
    const socket = connectTls({ host: hostname, port: Number(port), ...TRUSTING }, () => {
      resolve(socket.getPeerX509Certificate()?.subject);
      socket.destroy();
    });
    socket.on('error', reject);
  });
}

async function statusOf(child: Daemon, options: object, path = '/metrics'): Promise<number> {
  return (await ask(child.url, path, { ...TRUSTING, ...options })).status;
}

/** Of the last reload, as the metrics have it. */
async function reloadSuccessful(child: Daemon): Promise<string | undefined> {
  const { body } = await ask(child.url, '/metrics', { ...TRUSTING, ...WITH_PASSWORD });
  return /^library_exporter_config_last_reload_successful (\d)$/m.exec(body)?.[1];
}

describe('run', { timeout: 180_000 }, () => {
  test('requires TLS and a password, and applies changed ones without a reload request', async () => {
    const child = await launched(TLS + usersWith(HASH), '--log.level=debug').listening();
    expect(child.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    expect(await statusOf(child, {})).toBe(401);
    expect(await statusOf(child, WITH_NEW_PASSWORD)).toBe(401);
    expect(await statusOf(child, WITH_PASSWORD)).toBe(200);
    expect(await statusOf(child, {}, '/-/healthy')).toBe(200);
    expect(await statusOf(child, {}, '/-/ready')).toBe(200);
    expect(await subjectOf(child)).toBe('CN=first');
    writePair(second);
    await vi.waitUntil(async () => (await subjectOf(child)) === 'CN=second', { timeout: 60_000 });
    workspace.write('web.yaml', TLS + usersWith(NEW_HASH));
    await vi.waitUntil(async () => (await statusOf(child, WITH_NEW_PASSWORD)) === 200, {
      timeout: 60_000,
    });
    expect(await statusOf(child, WITH_PASSWORD)).toBe(401);
    await child.stop();
    expectNothingSecret(child.stdout + child.stderr);
  });

  test('keeps the previous web configuration while the files are bad', async () => {
    const child = await launched(TLS + usersWith(HASH)).listening();
    const FAILED = 'config reload failed, keeping previous config';
    // A key without its certificate.
    workspace.write('server-key.pem', second.key);
    await child.until(() => child.logged(FAILED).length === 1);
    expect(String(child.logged(FAILED)[0]?.['problems'])).toMatch(
      /web\.yaml:3:13: tls_server_config\.key_file: expected the key of the certificate in cert_file, /,
    );
    expect(await subjectOf(child)).toBe('CN=first');
    expect(await reloadSuccessful(child)).toBe('0');
    workspace.write('server.pem', second.cert);
    await vi.waitUntil(async () => (await subjectOf(child)) === 'CN=second', { timeout: 60_000 });
    expect(await reloadSuccessful(child)).toBe('1');
    // Neither an empty nor a missing file removes the protection.
    workspace.write('web.yaml', '');
    await child.until(() => child.logged(FAILED).length === 2);
    rmSync(`${workspace.folder}/web.yaml`);
    await child.until(() => child.logged(FAILED).length === 3);
    expect(await statusOf(child, {})).toBe(401);
    expect(await statusOf(child, WITH_PASSWORD)).toBe(200);
    expectNothingSecret(child.stdout + child.stderr);
  });

  test('applies neither file at a reload if one is bad', async () => {
    const child = await launched(usersWith(HASH), '--web.enable-lifecycle').listening();
    expect((await ask(child.url, '/-/reload', { method: 'PUT' })).status).toBe(401);
    writeConfig(workspace, service, [service.addCustomer('hilltop', 'Europe/Oslo')]);
    workspace.write('web.yaml', usersWith('quiet-copper-meadow'));
    const reload = { ...WITH_PASSWORD, method: 'PUT' };
    const { status, body: problems } = await ask(child.url, '/-/reload', reload);
    expect(status).toBe(400);
    expect(problems).toMatch(/^\S*web\.yaml:2:15: basic_auth_users\.\w+: expected a bcrypt hash/);
    const { body } = await ask(child.url, '/metrics', WITH_PASSWORD);
    expect(body).toContain('customer="riverside"');
    expect(body).not.toContain('customer="hilltop"');
    expectNothingSecret(child.stdout + child.stderr + problems);
  });

  test('ends with status 2 and all problems of both files before it listens', async () => {
    config = workspace.write('config.yaml', 'service: {}\n');
    rmSync(`${workspace.folder}/server.pem`);
    const child = launched(TLS + usersWith(PASSWORDS[0]));
    expect(await child.exited).toBe(2);
    for (const pattern of [
      /config\.yaml:1:\d+: service\.base_url: expected an http\(s\) URL .+, got nothing/,
      /web\.yaml:2:14: tls_server_config\.cert_file: \S+\/server\.pem does not exist/,
      /web\.yaml:5:15: basic_auth_users\.\w+: expected a bcrypt hash/,
    ]) {
      expect(child.stderr).toMatch(pattern);
    }
    expect(child.stderr).not.toContain('listening');
    expectNothingSecret(child.stderr);
  });
});
