/** `run` with `--web.config.file`: TLS, passwords and reloads. */
import { hashSync } from '@node-rs/bcrypt';
import { rmSync } from 'node:fs';
import { expect, test } from 'vitest';
import { eventually, flagsFor, launch } from '../acceptance/daemon.ts';
import type { Daemon } from '../acceptance/daemon.ts';
import { Harness } from '../acceptance/harness.ts';
import { makeAuthority, makeCertificate } from '../support/certificates.ts';
import { partsIn } from '../support/disguises.ts';
import { ask, basic } from '../web/protected.ts';
import { ran } from './terminal.ts';

const harness = new Harness();
const { workspace } = harness;
const riverside = harness.addCustomer('riverside');
const [PASSWORD, NEW_PASSWORD] = ['swift-lantern-orchard', 'quiet-copper-meadow'];
const [HASH, NEW_HASH] = [hashSync(PASSWORD, 10), hashSync(NEW_PASSWORD, 10)];
const FAILED = 'config reload failed, keeping previous config';

/** A certificate with its key, and the authority to trust. Other clients refuse it. */
async function createIdentity(name: string) {
  const issuer = await makeAuthority();
  const certified = await makeCertificate({ name, hosts: ['localhost', '127.0.0.1'], issuer });
  return { ...certified, ca: issuer.cert };
}
const first = await createIdentity('first');
const second = await createIdentity('second');

function webConfig(hash: string, tls = ''): string {
  return workspace.write('web.yaml', `${tls}basic_auth_users:\n  prometheus: ${hash}\n`);
}

function withPassword(password: string): { readonly headers: Record<string, string> } {
  return { headers: { authorization: basic('prometheus', password) } };
}

/** Of the last reload, as the metrics have it. */
async function reloadSuccessful({ url }: Daemon, ca: string): Promise<string | undefined> {
  const { body } = await ask(url, '/metrics', { ca, ...withPassword(PASSWORD) });
  return /^library_exporter_config_last_reload_successful (\d)$/m.exec(body)?.[1];
}

test('requires TLS and a password, applies changed files at once, and keeps them while others are bad', async () => {
  async function statusOf(ca: string, options: object, path = '/metrics'): Promise<number> {
    return (await ask(child.url, path, { ca, ...options })).status;
  }
  const tls = 'tls_server_config:\n  cert_file: server.pem\n  key_file: server-key.pem\n';
  workspace.write('server.pem', first.cert);
  workspace.write('server-key.pem', first.key);
  const web = `--web.config.file=${webConfig(HASH, tls)}`;
  const flags = flagsFor(workspace, harness.configure([riverside]), web, '--log.level=debug');
  const child = await launch(workspace, flags).listening();
  expect(child.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
  expect(await statusOf(first.ca, {})).toBe(401);
  expect(await statusOf(first.ca, withPassword(NEW_PASSWORD))).toBe(401);
  expect(await statusOf(first.ca, withPassword(PASSWORD))).toBe(200);
  expect(await statusOf(first.ca, {}, '/-/ready')).toBe(200);
  // A key without its certificate.
  workspace.write('server-key.pem', second.key);
  await child.until(() => child.logged(FAILED).length === 1);
  expect(await reloadSuccessful(child, first.ca)).toBe('0');
  workspace.write('server.pem', second.cert);
  await eventually(async () => expect(await reloadSuccessful(child, second.ca)).toBe('1'));
  webConfig(NEW_HASH, tls);
  await eventually(async () =>
    expect(await statusOf(second.ca, withPassword(NEW_PASSWORD))).toBe(200),
  );
  expect(await statusOf(second.ca, withPassword(PASSWORD))).toBe(401);
  // Neither an empty nor a missing file removes the protection.
  workspace.write('web.yaml', '');
  await child.until(() => child.logged(FAILED).length === 2);
  rmSync(`${workspace.folder}/web.yaml`);
  await child.until(() => child.logged(FAILED).length === 3);
  expect(await statusOf(second.ca, {})).toBe(401);
  expect(await statusOf(second.ca, withPassword(NEW_PASSWORD))).toBe(200);
  await child.stop();
  const keys = [first, second].map(({ key }) => key.split('\n')[1] ?? '');
  const secrets = [PASSWORD, NEW_PASSWORD, HASH.slice(7), NEW_HASH.slice(7), ...keys];
  expect(partsIn(child.stdout + child.stderr, secrets)).toEqual([]);
});

test('no start without the web configuration', async () => {
  const config = harness.configure([riverside]);
  const flags = flagsFor(workspace, config, '--web.config.file=absent.yaml');
  const err = expect.stringContaining('absent.yaml does not exist');
  expect(await ran(...flags)).toEqual({ status: 2, out: '', err });
});
