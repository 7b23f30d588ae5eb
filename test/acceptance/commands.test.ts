/** Commands, exit statuses, output, problems of the configuration, signals. */
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import { eventually, flagsFor, launch } from './daemon.ts';
import type { Daemon } from './daemon.ts';
import { exact } from './expected.ts';
import { Harness } from './harness.ts';
import { readStoredMarks } from './stored-marks.ts';

const harness = new Harness();
const { service, workspace } = harness;
const riverside = harness.addCustomer('riverside');

const BAD = `service:
  base_url: http://statistics.example.org
  auth_url: https://identity.example.org
  scopes: ServiceAPI
customers:
  - name: riverside
    client_id: riverside-api
    client_secret: [correct-horse-battery]
    timezone: Europe/Copenhaguen
  - name: riverside
    client_id: hilltop-api
    client_secret: "\${NO_SUCH_VARIABLE}obvious-staple"
    timezone: Europe/Copenhagen
`;
const PROBLEMS = [
  '2 service.base_url',
  '4 service.scopes',
  '8 customers[0].client_secret',
  '9 customers[0].timezone',
  '10 customers[1].name',
  '12 customers[1].client_secret',
];

test('all problems of a configuration are reported at once, with their places, without a secret', async () => {
  const file = workspace.write('bad.yaml', BAD);
  const { ended, stdout, stderr } = await harness.run(`--config.file=${file}`);
  expect([ended, stdout]).toEqual([2, '']);
  const found = Array.from(stderr.matchAll(/^\S*bad\.yaml:(\d+):\d+: ([^:]+)/gm));
  expect(found.map(([, line, path]) => `${line} ${path}`)).toEqual(PROBLEMS);
  expect(stderr).not.toMatch(/horse|battery|obvious|staple/);
});

test('check --connect, query and backfill read from the service', async () => {
  const config = `--config.file=${harness.configure([riverside])}`;
  const output = `${workspace.folder}/history`;
  const from = new Date(Date.now() - 5 * 86_400_000).toISOString();
  const query = ['peoplecount', '--customer=riverside', '--aggregation=day', '--from=-3d'];
  const [check, day, backfill] = await Promise.all([
    harness.run('check', '--connect', config),
    harness.run('query', ...query, '--format=ndjson', config),
    harness.run('backfill', `--from=${from}`, '--to=-1m', `--output=${output}`, config),
  ]);
  expect([check.ended, check.stderr]).toEqual([0, '']);
  expect(check.stdout).toMatch(/^riverside +good /m);
  expect(day.ended).toBe(0);
  expect(day.stdout).toMatch(/^(\{"key":"[^"]+","in":\d+,"out":\d+\}\n){3,}$/);
  expect(backfill.ended).toBe(0);
  const history = readdirSync(output).map((name) => readFileSync(`${output}/${name}`, 'utf8'));
  for (const family of ['people_entered_total', 'occupancy_people', 'occupancy_estimate_people']) {
    expect(history.join('')).toContain(`\nlibrary_${family}{customer="riverside",`);
  }
});

test.concurrent.each([
  ['SIGINT', 130, ['check', '--connect']],
  ['SIGTERM', 143, ['query', 'login', '--customer=hanging-query']],
] as const)('%s ends with status %i: %s', async (signal, status, command) => {
  const customer = service.addCustomer(`hanging-${command[0]}`, 'UTC');
  customer.faults.token = 'hang';
  const config = harness.configure([customer], { file: `${customer.name}.yaml` });
  const running = launch(workspace, [...command, `--config.file=${config}`]);
  await eventually(() => expect(service.requestsOf(customer, 'token')).not.toEqual([]));
  expect(await running.stop(signal)).toBe(status);
});

test('demo prints its customers and their credentials, and is stopped with 0', async () => {
  const demo = launch(workspace, ['demo', '--web.listen-address=127.0.0.1:0']);
  await demo.until(() => demo.stdout.includes('Customers:'));
  expect(demo.stdout.match(/client_id \S+, client_secret \S+/g)).toHaveLength(5);
  expect(await demo.stop('SIGINT')).toBe(0);
});

afterEach(() => rmSync(`${workspace.folder}/data`, { recursive: true, force: true }));

function start(environment: Record<string, string> = {}): Daemon {
  const flags = flagsFor(workspace, harness.configure([riverside]));
  return launch(workspace, flags, environment);
}

test('a daemon is ended by a signal, also a repeated one, and saves its state', async () => {
  const daemon = await start().listening();
  await exact(daemon, riverside);
  daemon.signal('SIGTERM');
  daemon.signal('SIGINT');
  expect(await daemon.stop('SIGTERM')).toBe(0);
  expect(daemon.logged('stopped')).toHaveLength(1);
  // The regular write comes after ten seconds only.
  const counters = readStoredMarks(`${workspace.folder}/data`).map(({ counter }) => counter);
  expect(counters).toEqual(['logins', 'people_entered', 'people_exited']);
});

/** Starts a daemon that gets a signal while it loads its modules. */
function startSignalled(signal: NodeJS.Signals): Daemon {
  const file = workspace.write(
    `${signal}.mjs`,
    `import { registerHooks } from 'node:module';
    registerHooks({
      load(url, context, nextLoad) {
        if (url.endsWith('/src/v8-flags.ts')) {
          process.kill(process.pid, '${signal}');
        }
        return nextLoad(url, context);
      },
    });`,
  );
  return start({ NODE_OPTIONS: `--import=${file}` });
}

test('while modules are loaded, SIGTERM ends the process, and SIGHUP leads to a reload after the start', async () => {
  expect(await startSignalled('SIGTERM').exited).toBe(0);
  const daemon = await startSignalled('SIGHUP').listening();
  await daemon.until(() => daemon.logged('config reloaded').length === 1);
  expect(await daemon.stop()).toBe(0);
});
