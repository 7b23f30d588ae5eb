/** `check`: problems and warnings of a configuration, and how `--connect` ends. */
import { chmodSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Workspace, writeConfig } from '../acceptance/daemon.ts';
import { LedgerService } from '../acceptance/ledger-service.ts';
import { afternoonZone } from '../acceptance/local-time.ts';
import { ran, Terminal } from './terminal.ts';
import { expectNothingSecret, first, hash, TLS, usersWith, WebFiles } from './web-files.ts';

const service = new LedgerService();
const workspace = new Workspace();
const zone = afternoonZone(Date.now());
const customers = [
  service.addCustomer('riverside', zone),
  service.addCustomer('hilltop', zone),
] as const;

beforeAll(() => service.start());
afterAll(async () => {
  await workspace.close();
  await service.stop();
});

function config(settings: object = {}): string {
  return `--config.file=${writeConfig(workspace, service, customers, { service: settings })}`;
}

test('a good configuration is reported with its customers, without a request', async () => {
  const before = service.requests.length;
  expect(await ran('check', config())).toEqual({
    status: 0,
    out: `${workspace.folder}/config.yaml: good, 2 customers\n`,
    err: '',
  });
  expect(service.requests).toHaveLength(before);
  const { out } = await ran('check', config(), '--format=json');
  expect(JSON.parse(out)).toEqual({
    config: `${workspace.folder}/config.yaml`,
    customers: 2,
    warnings: [],
  });
});

test('problems of both files are the result, with status 2', async () => {
  const bad = workspace.write('bad.yaml', 'service: {}\n');
  const web = workspace.write('bad-web.yaml', 'rate_limit: {}\n');
  const flags = [`--config.file=${bad}`, `--web.config.file=${web}`];
  const { status, out, err } = await ran('check', ...flags);
  expect({ status, err }).toEqual({ status: 2, err: 'the configuration has problems\n' });
  expect(out).toMatch(/^\S*bad\.yaml:1:\d+: service\.base_url: /m);
  expect(out).toMatch(/^\S*bad-web\.yaml:1:\d+: .*unknown key/m);
  const json = await ran('check', ...flags, '--format=json');
  expect(json.status).toBe(2);
  expect(JSON.parse(json.out)).toEqual({ config: bad, problems: out.trimEnd().split('\n') });
});

test('the protection of the web server is reported, and files that others can read', async () => {
  const files = await WebFiles.create();
  files.writePair(first);
  const web = files.workspace.write('web.yaml', TLS + usersWith(hash));
  const flags = [`--config.file=${files.configFile}`, `--web.config.file=${web}`];
  expect(await ran('check', ...flags)).toEqual({
    status: 0,
    out: `${files.configFile}: good, 1 customer\n${web}: good, https, NoClientCert, 1 user\n`,
    err: '',
  });
  chmodSync(`${files.workspace.folder}/server-key.pem`, 0o640);
  const { status, out } = await ran('check', ...flags);
  expect(status).toBe(0);
  expect(out).toMatch(/^warning: \S*web\.yaml:3:13: tls_server_config\.key_file: /);
  expectNothingSecret(out);
  files.workspace.write('web.yaml', usersWith(hash));
  expect((await ran('check', ...flags)).out).toContain('web.yaml: good, http, 1 user\n');
  await files.close();
});

test('--connect reads every customer even if the limits allow few requests', async () => {
  const slow = new LedgerService();
  await slow.start();
  const names = Array.from({ length: 4 }, (_, i) => slow.addCustomer(`library-${i}`, zone));
  const file = writeConfig(workspace, slow, names, {
    service: { max_requests_per_second: 24, max_concurrency: 2, timeout: '2s' },
  });
  // At 24 a second, all requests take longer than two timeouts.
  const { status, out } = await ran('check', '--connect', `--config.file=${file}`);
  await slow.stop();
  expect(out.match(/^library-\d +good +none +none /gm)).toHaveLength(4);
  expect(status).toBe(0);
});

test('--connect ends at once with status 143 at SIGTERM', async () => {
  service.fail(customers[0], 'hang');
  const terminal = new Terminal();
  const before = service.requests.length;
  // The timeout is longer than this test may take.
  const running = terminal.run('check', '--connect', config({ timeout: '60s' }));
  await expect.poll(() => service.requests.length, { timeout: 20_000 }).toBeGreaterThan(before + 1);
  terminal.terminate();
  const { status, out, err } = await running;
  service.heal(customers[0]);
  expect(status).toBe(143);
  expect(err).toMatch(/^stopped, \d of 2 customers read\n$/);
  expect(out).not.toContain('timeout');
});
