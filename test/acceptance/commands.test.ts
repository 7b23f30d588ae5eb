/** Commands, exit statuses, output, problems of the configuration, signals. */
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { eventually, flagsFor, launch } from './daemon.ts';
import type { Daemon } from './daemon.ts';
import { exact } from './expected.ts';
import { Harness } from './harness.ts';
import { readStoredMarks } from './stored-marks.ts';

const harness = new Harness();
const { service, workspace } = harness;
const riverside = harness.addCustomer('riverside');

test.concurrent.each([
  [['--version'], 0, packageJson.version],
  [['help', 'run'], 0, '--config.auto-reload-interval'],
  [['--config.file=absent.yaml'], 2, 'absent.yaml'],
])('%j ends with status %i and prints %s', async (args, status, text) => {
  const { ended, stdout, stderr } = await harness.run(...args);
  const [printed, nothing] = status === 0 ? [stdout, stderr] : [stderr, stdout];
  expect([ended, nothing]).toEqual([status, '']);
  expect(printed).toContain(text);
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
  - name: riverside
    client_id: hilltop-api
    client_secret: "\${NO_SUCH_VARIABLE}obvious-staple"
    timezone: Europe/Copenhagen
`;
const badFile = workspace.write('bad.yaml', BAD);
const PROBLEMS = [
  '2 service.base_url',
  '4 service.scopes',
  '6 polling.interval',
  '10 customers[0].client_secret',
  '11 customers[0].timezone',
  '12 customers[1].name',
  '14 customers[1].client_secret',
];

test.concurrent.each([['run'], ['check'], ['query', 'login', '--customer=riverside']])(
  '%s reports all problems of a configuration at once, with their places, without a secret',
  async (...command) => {
    const { ended, stdout, stderr } = await harness.run(...command, `--config.file=${badFile}`);
    expect(ended).toBe(2);
    const output = stdout + stderr;
    const found = Array.from(output.matchAll(/^\S*bad\.yaml:(\d+):\d+: ([^:]+)/gm));
    expect(found.map(([, line, path]) => `${line} ${path}`)).toEqual(PROBLEMS);
    expect(output).not.toMatch(/horse|battery|obvious|staple/);
  },
);

test('check --connect, query and backfill read from the service', async () => {
  const config = `--config.file=${harness.configure([riverside])}`;
  const check = await harness.run('check', '--connect', config);
  expect([check.ended, check.stderr]).toEqual([0, '']);
  expect(check.stdout).toMatch(/^riverside +good /m);

  const query = ['query', 'peoplecount', '--customer=riverside', config];
  const day = await harness.run(...query, '--aggregation=day', '--from=-3d', '--format=ndjson');
  expect(day.ended).toBe(0);
  expect(day.stdout).toMatch(/^(\{"key":"[^"]+","in":\d+,"out":\d+\}\n){3,}$/);

  const output = `${workspace.folder}/history`;
  const from = new Date(Date.now() - 5 * 86_400_000).toISOString();
  const backfill = await harness.run(
    'backfill',
    `--from=${from}`,
    '--to=-1m',
    `--output=${output}`,
    config,
  );
  expect(backfill.ended).toBe(0);
  const history = readdirSync(output).map((name) => readFileSync(`${output}/${name}`, 'utf8'));
  for (const family of ['people_entered_total', 'occupancy_people', 'occupancy_estimate_people']) {
    expect(history.join('')).toContain(`\nlibrary_${family}{customer="riverside",`);
  }
});

test.concurrent.each([
  ['SIGINT', 130, ['check', '--connect']],
  ['SIGTERM', 143, ['query', 'login', '--customer=hanging-query']],
  ['SIGINT', 130, ['backfill', '--from=2026-01-01', '--to=-1m', '--output=stopped']],
] as const)('%s ends with status %i: %s', async (signal, status, command) => {
  const customer = service.addCustomer(`hanging-${command[0]}`, 'UTC');
  service.fail(customer, 'hang', { endpoint: 'token' });
  const config = harness.configure([customer], { file: `${customer.name}.yaml` });
  const running = launch(workspace, [...command, `--config.file=${config}`]);
  await eventually(() => expect(service.requestsOf(customer, 'token')).not.toEqual([]));
  expect(await running.stop(signal)).toBe(status);
});

test.each([['service'], ['demo', '--web.listen-address=127.0.0.1:0']])(
  '%s prints its customers and their credentials, and is stopped with 0',
  async (...command) => {
    const simulated = launch(workspace, command);
    await simulated.until(() => simulated.stdout.includes('Customers:'));
    expect(simulated.stdout.match(/client_id \S+, client_secret \S+/g)).toHaveLength(5);
    expect(await simulated.stop('SIGINT')).toBe(0);
  },
);

afterEach(() => rmSync(`${workspace.folder}/data`, { recursive: true, force: true }));

function start(environment: Record<string, string> = {}): Daemon {
  const flags = flagsFor(workspace, harness.configure([riverside]));
  return launch(workspace, flags, environment);
}

test.each(['SIGTERM', 'SIGINT'] as const)('%s, also repeated, ends a daemon', async (signal) => {
  const daemon = await start().listening();
  await exact(daemon, riverside);
  daemon.signal(signal);
  daemon.signal('SIGINT');
  expect(await daemon.stop(signal)).toBe(0);
  expect(daemon.logged('stopped')).toHaveLength(1);
  // The regular write comes after ten seconds only.
  const counters = readStoredMarks(`${workspace.folder}/data`).map(({ counter }) => counter);
  expect(counters).toEqual(['logins', 'people_entered', 'people_exited']);
});

/** The environment of a process that gets a signal while it loads its modules. */
function signalled(signal: NodeJS.Signals): Record<string, string> {
  const file = workspace.write(
    `${signal}.mjs`,
    `import { registerHooks } from 'node:module';
    registerHooks({
      load(url, context, nextLoad) {
        if (url.endsWith('/src/cli/program.ts')) {
          process.kill(process.pid, '${signal}');
        }
        return nextLoad(url, context);
      },
    });`,
  );
  return { NODE_OPTIONS: `--import=${file}` };
}

test('SIGTERM at the start, while modules are loaded', async () => {
  expect(await start(signalled('SIGTERM')).exited).toBe(0);
});

test('SIGHUP at the start, while modules are loaded, leads to a reload after it', async () => {
  const daemon = start(signalled('SIGHUP'));
  await daemon.until(() => daemon.logged('config reloaded').length === 1);
  expect(daemon.logLines().map(({ msg }) => msg)).toContain('listening');
  expect(await daemon.stop()).toBe(0);
});

test('SIGHUP ends a command that has nothing to reload', async () => {
  const flag = `--config.file=${harness.configure([riverside])}`;
  const check = launch(workspace, ['check', flag, '--connect'], signalled('SIGHUP'));
  expect(await check.exited).toBe('SIGHUP');
});
