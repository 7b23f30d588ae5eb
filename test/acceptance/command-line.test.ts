/** Exit statuses and what is said where (CONTRACT, sections 1 and 2), without any service. */
import { readFileSync } from 'node:fs';
import { afterAll, expect, test } from 'vitest';
import { runToEnd, Workspace } from './daemon.ts';

const workspace = new Workspace();
afterAll(async () => {
  await workspace.close();
});

const storage = '--storage.path=';
const listen = '--web.listen-address=127.0.0.1:0';

const good = `
service:
  base_url: https://statistics.example.org
  auth_url: https://identity.example.org
customers:
  - name: riverside
    client_id: riverside-api
    client_secret: correct-horse
    timezone: Europe/Copenhagen
`;

test('an unknown flag is bad usage, and is named', async () => {
  const { exit, stdout, stderr } = await runToEnd(workspace, ['--no.such-flag=1']);
  expect(exit).toBe(2);
  expect(stderr).toContain('--no.such-flag');
  expect(stdout).toBe('');
});

test('an unknown command is bad usage', async () => {
  expect((await runToEnd(workspace, ['dance'])).exit).toBe(2);
});

test('a configuration file that is not there is named', async () => {
  const { exit, stderr } = await runToEnd(workspace, [
    '--config.file=absent.yaml',
    listen,
    storage,
  ]);
  expect(exit).toBe(2);
  expect(stderr).toContain('absent.yaml');
});

test('all problems of a configuration are told at once, each with its place, none with a secret', async () => {
  const bad = `service:
  base_url: https://statistics.example.org
  auth_url: https://identity.example.org
customers:
  - name: riverside
    client_id: riverside-api
    client_secret: [correct-horse-battery]
    timezone: Europe/Copenhaguen
    colour: red
  - name: hilltop
    client_id: hilltop-api
    client_secret: obvious-staple-kettle
    timezone: Europe/Copenhagen
    capacity: plenty
`;
  workspace.write('bad.yaml', bad);
  const { exit, stdout, stderr } = await runToEnd(workspace, [
    '--config.file=bad.yaml',
    listen,
    storage,
  ]);
  expect(exit).toBe(2);
  const said = stdout + stderr;
  for (const [line, word] of [
    [7, 'client_secret'],
    [8, 'timezone'],
    [9, 'colour'],
    [14, 'capacity'],
  ] as const) {
    expect(said).toMatch(new RegExp(String.raw`bad\.yaml:${line}:\d+: .*${word}`));
  }
  expect(said).toMatch(/bad\.yaml:9:5: /);
  for (const part of ['correct', 'horse', 'battery', 'obvious', 'staple', 'kettle']) {
    expect(said).not.toContain(part);
  }
});

test.concurrent.each([
  ['an unknown key', good.replace('  base_url', '  base_urll'), 3],
  ['a duplicate key', good.replace('customers:', 'service: {}\ncustomers:'), 5],
  ['an interval below a second', `${good}polling:\n  interval: 10ms\n`, 11],
  ['http to another machine', good.replace('https://stat', 'http://stat'), 3],
  ['a secret from an unset variable', good.replace('correct-horse', '${NO_SUCH_VARIABLE}'), 8],
  ['PH without holidays', `${good}    opening_hours: "PH off"\n`, 10],
  ['a reserved label', `${good}    labels: { job: x }\n`, 10],
  ['broken YAML', `${good}    labels: { job\n`, 10],
])('%s is a problem of the configuration', async (what, text, line) => {
  const file = `${what.replaceAll(' ', '-')}.yaml`;
  workspace.write(file, text);
  const { exit, stderr, stdout } = await runToEnd(workspace, [
    `--config.file=${file}`,
    listen,
    storage,
  ]);
  expect(exit).toBe(2);
  // Broken YAML may be found at the end of the line or at the line after.
  expect(stdout + stderr).toMatch(new RegExp(String.raw`${file}:(${line}|${line + 1}):\d+: `));
  expect(stdout + stderr).not.toContain('horse');
});

test('--help tells of the commands, on standard output', async () => {
  const { exit, stdout, stderr } = await runToEnd(workspace, ['--help']);
  expect([exit, stderr]).toEqual([0, '']);
  expect(stdout).toContain('run');
  expect(stdout).toContain('demo');
});

test('run --help tells of every flag', async () => {
  const { exit, stdout, stderr } = await runToEnd(workspace, ['run', '--help']);
  expect([exit, stderr]).toEqual([0, '']);
  for (const flag of [
    '--config.file',
    '--config.auto-reload-interval',
    '--web.listen-address',
    '--web.telemetry-path',
    '--web.enable-lifecycle',
    '--storage.path',
    '--shard',
    '--log.level',
    '--log.format',
  ]) {
    expect(stdout).toContain(flag);
  }
});

test.each([[['--version']], [['run', '--version']]])(
  '%s tells the version on standard output',
  async (args) => {
    const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
    const { version } = JSON.parse(manifest) as { version: string };
    const { exit, stdout, stderr } = await runToEnd(workspace, args);
    expect([exit, stderr]).toEqual([0, '']);
    expect(stdout).toContain(version);
  },
);
