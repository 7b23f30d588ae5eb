/**
 * Everything that leaves the process while the service echoes what it was sent in every possible place:
 * debug logs in both formats, pages, metrics, files, exit messages and the output of `check`. None of it
 * contains a secret, a token or the proxy's password, in part or encoded.
 */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { Workspace } from '../acceptance/daemon.ts';
import { Terminal } from '../cli/terminal.ts';
import { flagsFor, launch } from './child.ts';
import type { Child } from './child.ts';
import { partsIn, oddSecret } from './disguises.ts';
import { ECHOES, HostileService } from './hostile-service.ts';
import type { Behaviour } from './hostile-service.ts';
import { filesUnder, pagesOf } from './shown.ts';

const service = new HostileService();
const workspace = new Workspace();

const inFile = oddSecret();
const inline = oddSecret();
const inEnvironment = oddSecret();
const proxyPassword = `pass+${randomUUID()}`;
const environment = { RIVERSIDE_SECRET: inEnvironment };
const secrets = [inFile, inline, inEnvironment, proxyPassword];

function customersWith(secretsOfBad: readonly unknown[] = []): readonly object[] {
  const common = { timezone: 'Europe/Copenhagen' };
  return [
    {
      ...common,
      name: 'in-file',
      client_id: 'a',
      client_secret_file: workspace.write('file.secret', `${inFile}\n`),
    },
    { ...common, name: 'inline', client_id: 'b', client_secret: inline },
    { ...common, name: 'in-environment', client_id: 'c', client_secret: '${RIVERSIDE_SECRET}' },
    ...secretsOfBad.map((secret) => ({
      ...common,
      name: 1,
      client_secret: secret,
      colour: secret,
    })),
  ];
}

function write(name: string, settings: object, customers = customersWith()): string {
  const config = {
    service: {
      base_url: service.url,
      auth_url: service.url,
      timeout: '2s',
      max_requests_per_second: 500,
      ...settings,
    },
    polling: { interval: '1s' },
    customers,
  };
  return workspace.write(name, JSON.stringify(config, undefined, 2));
}

function expectNone(said: string): void {
  expect(partsIn(said, [...secrets, ...service.tokens])).toEqual([]);
}

/** Waits until requests were answered in this way. */
async function meet(endpoint: 'token' | 'data', behaviour: Behaviour): Promise<void> {
  service.behaviour =
    endpoint === 'data'
      ? { token: 'good', data: behaviour }
      : // A 401 makes every poll request a token.
        { token: behaviour, data: 'status 401' };
  await service.asked(endpoint, 3);
}

beforeAll(async () => {
  await service.start();
});
afterAll(async () => {
  await workspace.close();
  await service.stop();
});

/** Waits until the daemon has counters, and so a state file. */
async function counting(child: Child): Promise<void> {
  await child.listening();
  await vi.waitUntil(
    async () => (await (await child.get('/metrics')).text()).includes('\nlibrary_logins_total{'),
    { timeout: 20_000 },
  );
}

/** Runs the daemons through all behaviours and returns everything that each of them showed. */
async function outputsAfterAllBehaviours(
  children: readonly Child[],
  configFile: string,
): Promise<readonly string[]> {
  const good = readFileSync(configFile, 'utf8');
  const pages = children.map(() => '');
  async function readAll(): Promise<void> {
    const read = await Promise.all(children.map(pagesOf));
    read.forEach((text, i) => (pages[i] += text));
  }
  await Promise.all(children.map(counting));
  for (const endpoint of ['data', 'token'] as const) {
    for (const behaviour of ['good', 'status 500', ...ECHOES] as const) {
      await meet(endpoint, behaviour);
      await readAll();
    }
  }
  for (const text of [JSON.stringify({ customers: customersWith([[inFile], inline]) }), good]) {
    workspace.write(basename(configFile), text);
    const answers = await Promise.all(children.map(async (child) => child.reload()));
    const said = await Promise.all(answers.map(async (answer) => answer.text()));
    said.forEach((answer, i) => (pages[i] += answer));
    await readAll();
  }
  await Promise.all(children.map(async (child) => child.stop()));
  return children.map(({ stdout, stderr }, i) => [stdout, stderr, pages[i]].join('\n'));
}

test('a daemon shows no secret and no token, whatever the service echoes', async () => {
  const file = write('echoed.yaml', {});
  const tokensBefore = service.tokens.length;
  const children = ['json', 'pretty'].map((format) =>
    launch(
      workspace,
      flagsFor(
        workspace,
        file,
        `--storage.path=${workspace.folder}/${format}`,
        `--log.format=${format}`,
        '--log.level=debug',
        '--web.enable-lifecycle',
      ),
      environment,
    ),
  );
  for (const said of await outputsAfterAllBehaviours(children, file)) {
    // It really met the behaviours.
    const told = [
      'service request finished',
      'content type application/json',
      'redirects are not followed',
      'refused the',
      'client_id: expected the id from the API module tab, got nothing',
    ];
    expect(told.filter((text) => !said.includes(text))).toEqual([]);
    expectNone(said);
  }
  expect(service.tokens.length).toBeGreaterThan(tokensBefore + 6);
  for (const format of ['json', 'pretty']) {
    const files = filesUnder(join(workspace.folder, format));
    expect(files).toContain('library-stats-exporter state');
    expectNone(files);
  }
}, 90_000);

test('the password of a proxy is sent to the proxy and shown nowhere', async () => {
  service.behaviour = { token: 'good', data: 'type echo' };
  const proxy = new URL(service.url);
  proxy.username = 'operator';
  proxy.password = proxyPassword;
  const file = write('proxied.yaml', { proxy_url: proxy.href });
  const tunnelled = write('tunnelled.yaml', {
    base_url: 'https://statistics.example.org',
    auth_url: 'https://identity.example.org',
    proxy_url: proxy.href,
  });
  let said = '';
  for (const config of [file, tunnelled]) {
    const child = launch(
      workspace,
      flagsFor(workspace, config, '--log.level=debug', '--log.format=pretty'),
      environment,
    );
    await child.listening();
    await vi.waitUntil(() => child.stderr.includes('poll failed'), { timeout: 20_000 });
    said += await pagesOf(child);
    await child.stop();
    said += child.stderr + child.stdout;
  }
  expect(said).toContain('the proxy refused the connection');
  const seen = [...service.proxyCredentials].map((header) =>
    Buffer.from(header.replace('Basic ', ''), 'base64').toString(),
  );
  expect(seen).toEqual([`operator:${proxyPassword}`]);
  expectNone(said);
});

test('a process that cannot start gives the reason without a secret', async () => {
  service.behaviour = { token: 'good', data: 'good' };
  const file = write('started.yaml', {});
  const first = await launch(workspace, flagsFor(workspace, file), environment).listening();
  const { host } = new URL(first.url);
  const children = [
    launch(workspace, flagsFor(workspace, file), environment),
    launch(
      workspace,
      [`--config.file=${file}`, `--web.listen-address=${host}`, '--storage.path='],
      environment,
    ),
    launch(workspace, flagsFor(workspace, file), {}),
    launch(workspace, flagsFor(workspace, write('bad.yaml', { scope: inline }, []))),
    launch(
      workspace,
      flagsFor(workspace, write('worse.yaml', {}, customersWith([inFile, [inline]]))),
    ),
  ];
  const exits = await Promise.all(children.map(async ({ exited }) => exited));
  await first.stop();
  expect(exits).toEqual([1, 1, 2, 2, 2]);
  const said = children.map(({ stdout, stderr }) => stdout + stderr);
  expect(said[0]).toContain('in use by another process');
  expect(said[1]).toContain('the port is in use');
  expectNone(said.join('\n'));
});

test.concurrent.each(ECHOES)(
  'check --connect shows none: %s of the data or of the token',
  async (behaviour) => {
    // One stream each: some echoes are valid answers and lead to many requests.
    const customers = customersWith().map((customer) => ({ ...customer, streams: ['people'] }));
    for (const echoing of ['base_url', 'auth_url']) {
      const settings = { [echoing]: service.urlOf(behaviour) };
      const file = write(`${behaviour}, ${echoing}.yaml`, settings, customers);
      const terminal = new Terminal();
      Object.assign(terminal.env, environment);
      const { status, out, err } = await terminal.run(
        'check',
        '--connect',
        `--config.file=${file}`,
      );
      expect(status).toBe(1);
      const said = out + err;
      // Some echoes are valid answers.
      expect(said).toMatch(
        /^in-environment +(none|good|refused) +(none|unreadable|timeout|malformed|rejected|server|auth) /m,
      );
      expectNone(said);
    }
  },
  60_000,
);
