/** `check`: problems and warnings of a configuration, and limits of `--connect`. */
import { chmodSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Workspace, writeConfig } from '../acceptance/daemon.ts';
import { LedgerService } from '../acceptance/ledger-service.ts';
import { ran } from './terminal.ts';

const service = new LedgerService();
const workspace = new Workspace();
const customers = Array.from({ length: 4 }, (_, i) => service.addCustomer(`library-${i}`, 'UTC'));

beforeAll(() => service.start());
afterAll(async () => {
  await workspace.close();
  await service.stop();
});

function config(settings: object = {}): string {
  return `--config.file=${writeConfig(workspace, service, customers, { service: settings })}`;
}

test('good files are reported with warnings, and without a request', async () => {
  const hash = `$2y$10$${'x'.repeat(53)}`;
  const web = workspace.write('web.yaml', `basic_auth_users: { prometheus: ${hash} }\n`);
  const flags = [config(), `--web.config.file=${web}`];
  const { folder } = workspace;
  const good = `${folder}/config.yaml: good, 4 customers\n${web}: good\n`;
  expect(await ran('check', ...flags)).toEqual({ status: 0, out: good, err: '' });
  chmodSync(`${folder}/library-0.secret`, 0o644);
  const { status, out } = await ran('check', ...flags);
  expect(status).toBe(0);
  expect(out).toMatch(/^warning: \S*config\.yaml:\d+:\d+: customers\[0\]\.client_secret_file: /);
  const json = await ran('check', ...flags, '--format=json');
  expect(JSON.parse(json.out)).toEqual({
    config: `${folder}/config.yaml`,
    customers: 4,
    warnings: [out.slice('warning: '.length, out.indexOf('\n'))],
  });
  expect(service.requests).toEqual([]);
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

test('--connect reads every customer even if the limits allow few requests', async () => {
  // At 24 a second, all requests take longer than two timeouts.
  const limits = { max_requests_per_second: 24, max_concurrency: 2, timeout: '2s' };
  const { status, out } = await ran('check', '--connect', config(limits));
  expect(out.match(/^library-\d +good +none +none /gm)).toHaveLength(4);
  expect(status).toBe(0);
});
