/** `run` with `--web.config.file`: TLS, passwords and reloads. */
import { rmSync } from 'node:fs';
import { connect as connectTls } from 'node:tls';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { writeConfig } from '../acceptance/daemon.ts';
import { flagsFor, launch } from '../acceptance/daemon.ts';
import type { Daemon } from '../acceptance/daemon.ts';
import { ask, basic } from '../web/protected.ts';
import {
  expectNothingSecret,
  first,
  hash,
  newHash,
  PASSWORDS,
  second,
  TLS,
  TRUSTING,
  usersWith,
  WebFiles,
} from './web-files.ts';

const AUTHORIZATION = { headers: { authorization: basic('prometheus', PASSWORDS[0]) } };
const NEW_AUTHORIZATION = { headers: { authorization: basic('prometheus', PASSWORDS[1]) } };

let files: WebFiles;
beforeEach(async () => {
  files = await WebFiles.create();
});
afterEach(() => files.close());

async function started(webConfig: string, ...flags: readonly string[]): Promise<Daemon> {
  const web = files.workspace.write('web.yaml', webConfig);
  return launch(
    files.workspace,
    flagsFor(files.workspace, files.configFile, `--web.config.file=${web}`, ...flags),
  ).listening();
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
async function reloadSuccessful(child: Daemon, options: object): Promise<string | undefined> {
  const { body } = await ask(child.url, '/metrics', { ...TRUSTING, ...options });
  return /^library_exporter_config_last_reload_successful (\d)$/m.exec(body)?.[1];
}

describe('run', { timeout: 180_000 }, () => {
  test('requires TLS and a password, but no password for healthy and ready', async () => {
    files.writePair(first);
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

  test('applies changed users and certificates without a reload request', async () => {
    files.writePair(first);
    const child = await started(TLS + usersWith(hash));
    expect(await subjectOf(child)).toBe('CN=first');
    files.writePair(second);
    await vi.waitUntil(async () => (await subjectOf(child)) === 'CN=second', { timeout: 60_000 });
    files.workspace.write('web.yaml', TLS + usersWith(newHash));
    await vi.waitUntil(async () => (await statusOf(child, NEW_AUTHORIZATION)) === 200, {
      timeout: 60_000,
    });
    expect(await statusOf(child, AUTHORIZATION)).toBe(401);
  });

  test('keeps the previous web configuration while the files are bad', async () => {
    files.writePair(first);
    const child = await started(TLS + usersWith(hash));
    function failures(): number {
      return child
        .logLines()
        .filter(({ msg }) => msg === 'config reload failed, keeping previous config').length;
    }
    // A key without its certificate.
    files.workspace.write('server-key.pem', second.key);
    await child.until(() => failures() === 1);
    const failed = child.logLines().find(({ problems }) => problems !== undefined);
    expect(String(failed?.['problems'])).toMatch(
      /web\.yaml:3:13: tls_server_config\.key_file: expected the key of the certificate in cert_file, /,
    );
    expect(await subjectOf(child)).toBe('CN=first');
    expect(await statusOf(child, AUTHORIZATION)).toBe(200);
    expect(await reloadSuccessful(child, AUTHORIZATION)).toBe('0');
    files.workspace.write('server.pem', second.cert);
    await vi.waitUntil(async () => (await subjectOf(child)) === 'CN=second', { timeout: 60_000 });
    expect(await reloadSuccessful(child, AUTHORIZATION)).toBe('1');
    // Neither an empty nor a missing file removes the protection.
    files.workspace.write('web.yaml', '');
    await child.until(() => failures() === 2);
    rmSync(`${files.workspace.folder}/web.yaml`);
    await child.until(() => failures() === 3);
    expect(await statusOf(child, {})).toBe(401);
    expect(await statusOf(child, AUTHORIZATION)).toBe(200);
    expect(failures()).toBe(3);
    expectNothingSecret(child.stdout + child.stderr);
  });

  test('a reload applies neither file if one is bad', async () => {
    const child = await started(usersWith(hash), '--web.enable-lifecycle');
    const reload = { ...AUTHORIZATION, method: 'PUT' };
    expect((await ask(child.url, '/-/reload', { method: 'PUT' })).status).toBe(401);
    const hilltop = files.service.addCustomer('hilltop', 'Europe/Oslo');
    writeConfig(files.workspace, files.service, [hilltop]);
    files.workspace.write('web.yaml', usersWith('quiet-copper-meadow'));
    const { status, body: problems } = await ask(child.url, '/-/reload', reload);
    expect(status).toBe(400);
    expect(problems).toMatch(/^\S*web\.yaml:2:15: basic_auth_users\.\w+: expected a bcrypt hash/);
    const { body } = await ask(child.url, '/metrics', AUTHORIZATION);
    expect(body).toContain('customer="riverside"');
    expect(body).not.toContain('customer="hilltop"');
    expectNothingSecret(child.stdout + child.stderr + problems);
  });

  test('ends with status 2 and all problems of both files before it listens', async () => {
    files.workspace.write('config.yaml', 'service: {}\n');
    const web = files.workspace.write('web.yaml', `${TLS}${usersWith(PASSWORDS[0])}`);
    const child = launch(
      files.workspace,
      flagsFor(files.workspace, files.configFile, `--web.config.file=${web}`),
    );
    expect(await child.exited).toBe(2);
    for (const pattern of [
      /config\.yaml:1:\d+: service\.base_url: expected an http\(s\) URL .+, got nothing/,
      /web\.yaml:2:14: tls_server_config\.cert_file: \S+\/server\.pem does not exist/,
      /web\.yaml:3:13: tls_server_config\.key_file: \S+\/server-key\.pem does not exist/,
      /web\.yaml:5:15: basic_auth_users\.\w+: expected a bcrypt hash/,
    ]) {
      expect(child.stderr).toMatch(pattern);
    }
    expect(child.stderr).not.toContain('listening');
    expectNothingSecret(child.stderr);
  });
});
