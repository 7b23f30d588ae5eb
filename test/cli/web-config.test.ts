/** `run` with `--web.config.file`: TLS, passwords and reloads. */
import { hashSync } from '@node-rs/bcrypt';
import { rmSync } from 'node:fs';
import { expect, test } from 'vitest';
import { eventually, flagsFor, launch } from '../acceptance/daemon.ts';
import { Harness } from '../acceptance/harness.ts';
import { makeCertificate } from '../support/certificates.ts';
import { partsIn } from '../support/disguises.ts';
import { ask, basic } from '../web/protected.ts';
import { ran } from './terminal.ts';

const harness = new Harness();
const { workspace } = harness;
const riverside = harness.addCustomer('riverside');
const [PASSWORD, NEW_PASSWORD] = ['swift-lantern-orchard', 'quiet-copper-meadow'];
const [HASH, NEW_HASH] = [hashSync(PASSWORD, 10), hashSync(NEW_PASSWORD, 10)];
const SUCCESSFUL = 'library_exporter_config_last_reload_successful';
const FAILED = 'config reload failed, keeping previous config';

/** Each is its own authority, and other clients refuse it. */
const hosts = ['127.0.0.1'];
const first = await makeCertificate({ name: 'first', hosts });
const second = await makeCertificate({ name: 'second', hosts });

function webConfig(hash: string, tls = ''): string {
  return workspace.write('web.yaml', `${tls}basic_auth_users:\n  prometheus: ${hash}\n`);
}

test('requires TLS and a password, applies changed files at once, and keeps them while others are bad', async () => {
  async function get({ cert: ca }: typeof first, password?: string, path = '/metrics') {
    const headers = password === undefined ? {} : { authorization: basic('prometheus', password) };
    return ask(child.url, path, { ca, headers });
  }
  const tls = 'tls_server_config:\n  cert_file: server.pem\n  key_file: server-key.pem\n';
  workspace.write('server.pem', first.cert);
  workspace.write('server-key.pem', first.key);
  const web = `--web.config.file=${webConfig(HASH, tls)}`;
  const flags = flagsFor(workspace, harness.configure([riverside]), web, '--log.level=debug');
  const child = await launch(workspace, flags).listening();
  expect(child.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
  expect(await get(first)).toMatchObject({ status: 401 });
  expect(await get(first, NEW_PASSWORD)).toMatchObject({ status: 401 });
  expect(await get(first, PASSWORD)).toMatchObject({ status: 200 });
  expect(await get(first, undefined, '/-/ready')).toMatchObject({ status: 200 });
  // A key without its certificate.
  workspace.write('server-key.pem', second.key);
  await child.until(() => child.logged(FAILED).length === 1);
  expect((await get(first, PASSWORD)).body).toContain(`\n${SUCCESSFUL} 0\n`);
  workspace.write('server.pem', second.cert);
  await eventually(async () =>
    expect((await get(second, PASSWORD)).body).toContain(`\n${SUCCESSFUL} 1\n`),
  );
  webConfig(NEW_HASH, tls);
  await eventually(async () =>
    expect(await get(second, NEW_PASSWORD)).toMatchObject({ status: 200 }),
  );
  expect(await get(second, PASSWORD)).toMatchObject({ status: 401 });
  // Neither an empty nor a missing file removes the protection.
  workspace.write('web.yaml', '');
  await child.until(() => child.logged(FAILED).length === 2);
  rmSync(`${workspace.folder}/web.yaml`);
  await child.until(() => child.logged(FAILED).length === 3);
  expect(await get(second)).toMatchObject({ status: 401 });
  expect(await get(second, NEW_PASSWORD)).toMatchObject({ status: 200 });
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
