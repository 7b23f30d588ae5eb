/** CONTRACT.md, sections 1 and 2: commands, exit statuses, output, problems of the configuration. */
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { eventually, launch, Workspace, writeConfig } from './daemon.ts';
import { fillHistory } from './expected.ts';
import { Harness } from './harness.ts';
import { afternoonZone } from './local-time.ts';

const harness = new Harness();
const { service, workspace } = harness;
const riverside = service.addCustomer('riverside', afternoonZone(Date.now()));
fillHistory(riverside.ledger);

const { version } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
) as { version: string };

test.concurrent.each([
  [['--version'], version],
  [['--help'], 'backfill'],
  [['help', 'run'], '--config.auto-reload-interval'],
  [['query', '--help'], '--aggregation'],
])('%s prints to standard output and ends with 0', async (args, text) => {
  const { ended, stdout, stderr } = await harness.run(...args);
  expect([ended, stderr]).toEqual([0, '']);
  expect(stdout).toContain(text);
});

test.concurrent.each([
  [['--no.such-flag=1'], '--no.such-flag'],
  [['dance'], 'dance'],
  [['--config.file=absent.yaml'], 'absent.yaml'],
  [['query', 'people'], 'peoplecount'],
  [['backfill', '--from=2026-01-01'], '--output'],
])('%s is bad usage: status 2, and the reason on standard error', async (args, text) => {
  const { ended, stdout, stderr } = await harness.run(...args);
  expect([ended, stdout]).toEqual([2, '']);
  expect(stderr).toContain(text);
});

const BAD = `service:
  base_url: http://statistics.example.org
  auth_url: https://identity.example.org
  scopes: ServiceAPI
polling:
  interval: 10ms
customers:
  - name: riverside
    client_id: riverside-api
    client_secret: [correct-horse-battery]
    timezone: Europe/Copenhaguen
    colour: red
    opening_hours: "PH off"
    labels: { job: x }
  - name: riverside
    client_id: hilltop-api
    client_secret: "\${NO_SUCH_VARIABLE}obvious-staple"
    timezone: Europe/Copenhagen
    capacity: plenty
`;
const PROBLEMS = [
  [2, 'service.base_url'],
  [4, 'service.scopes'],
  [6, 'polling.interval'],
  [10, 'customers[0].client_secret'],
  [11, 'customers[0].timezone'],
  [12, 'customers[0].colour'],
  [14, 'customers[0].labels.job'],
  [17, 'customers[1].client_secret'],
  [19, 'customers[1].capacity'],
] as const;

test.concurrent.each([['run'], ['check'], ['query', 'login', '--customer=riverside']])(
  '%s reports all problems of a configuration at once, with their places, without a secret',
  async (...command) => {
    const file = workspace.write('bad.yaml', BAD);
    const { ended, stdout, stderr } = await harness.run(...command, `--config.file=${file}`);
    expect(ended).toBe(2);
    const found = (stdout + stderr).match(/bad\.yaml:\d+:\d+: [^:]+/g) ?? [];
    expect(found.map((problem) => problem.replace(/:\d+: /, ' '))).toEqual(
      expect.arrayContaining(PROBLEMS.map(([line, path]) => `bad.yaml:${line} ${path}`)),
    );
    expect(stdout + stderr).not.toMatch(/horse|battery|obvious|staple/);
  },
);

test('check --connect, query and backfill read from the service', async () => {
  const config = `--config.file=${writeConfig(workspace, service, [riverside])}`;
  const check = await harness.run('check', '--connect', config);
  expect([check.ended, check.stderr]).toEqual([0, '']);
  expect(check.stdout).toMatch(/^riverside +good /m);

  const query = ['query', 'peoplecount', '--customer=riverside', config];
  const day = await harness.run(...query, '--aggregation=day', '--from=-3d', '--format=ndjson');
  expect(day.ended).toBe(0);
  const rows = day.stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as object);
  expect(rows.length).toBeGreaterThanOrEqual(3);
  expect(Object.keys(rows[0] ?? {})).toEqual(['key', 'in', 'out']);

  const output = `${workspace.folder}/history`;
  const from = new Date(Date.now() - 5 * 86_400_000).toISOString();
  const backfill = await harness.run('backfill', `--from=${from}`, `--output=${output}`, config);
  expect(backfill.ended).toBe(0);
  const months = readdirSync(output).filter((name) => name.endsWith('.om'));
  const history = months.map((name) => readFileSync(`${output}/${name}`, 'utf8')).join('');
  for (const family of ['people_entered_total', 'occupancy_people', 'occupancy_estimate_people']) {
    expect(history).toContain(`\nlibrary_${family}{customer="riverside",`);
  }
});

test.concurrent.for([
  ['SIGINT', 130, ['check', '--connect']],
  ['SIGTERM', 143, ['query', 'login', '--customer=hanging-query']],
  ['SIGINT', 130, ['backfill', '--from=2026-01-01', '--output=stopped']],
] as const)('%s ends with status %i: %s', async ([signal, status, command], context) => {
  const name = `hanging-${command[0]}`;
  const customer = service.addCustomer(name, 'UTC');
  service.fail(customer, 'hang', { endpoint: 'token' });
  const own = new Workspace();
  // The imported onTestFinished may belong to another test that runs at the same time.
  context.onTestFinished(() => own.close());
  const config = `--config.file=${writeConfig(own, service, [customer])}`;
  const before = service.requestsOf(customer, 'token').length;
  const running = launch(workspace, [...command, config]);
  await eventually(() => {
    const hasAsked = service.requestsOf(customer, 'token').length > before;
    expect({ hasAsked, output: running.stderr }).toMatchObject({ hasAsked: true });
  });
  expect(await running.stop(signal)).toBe(status);
});

test('demo counts five customers, service prints its credentials, both are stopped with 0', async () => {
  const demo = await launch(workspace, ['demo', '--web.listen-address=127.0.0.1:0']).listening();
  await eventually(async () => {
    expect((await demo.scrape()).all('library_people_entered_total')).toHaveLength(5);
  });
  expect(await demo.stop('SIGINT')).toBe(0);
  const simulated = launch(workspace, ['service', '--customers=2']);
  await simulated.until(() => simulated.stdout.includes('Customers:'));
  expect(simulated.stdout).toMatch(/http:\/\/127\.0\.0\.1:\d+/);
  expect(await simulated.stop()).toBe(0);
});
