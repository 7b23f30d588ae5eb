/**
 * Nothing that leaves the process contains a secret, a token or the password of a proxy, in part or
 * encoded: debug logs in both formats, pages, metrics, files, the output of `check`, while the service
 * repeats what it was sent in every part of its answers.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { oddSecret, partsIn } from '../support/disguises.ts';
import { eventually, flagsFor, launch } from './daemon.ts';
import type { Daemon } from './daemon.ts';
import { exact } from './expected.ts';
import { Harness } from './harness.ts';
import type { Fault } from './ledger-service.ts';

const ECHOES: readonly Fault[] = [
  'echo in html',
  'echo in the error',
  'echo in a redirect',
  'echo in the rows',
  'echo in the aggregation',
  'echo in the headers',
  'echo in the status',
];
const PAGES = ['/metrics', '/', '/-/ready', '/-/healthy', '/nowhere', '/-/reload'];

const harness = new Harness();
const { service, workspace } = harness;
const riverside = harness.addCustomer('riverside');
riverside.secret = oddSecret();

async function pagesOf(daemon: Daemon): Promise<string> {
  const answers = await Promise.all(PAGES.map(async (path) => daemon.get(path)));
  const texts = answers.map(
    async (answer) => JSON.stringify([...answer.headers]) + (await answer.text()),
  );
  return (await Promise.all(texts)).join('\n');
}

function filesUnder(folder: string): string {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
    .join('\n');
}

test('no output contains a secret or a token, whatever the service repeats', async () => {
  const file = harness.configure([riverside]);
  const daemons = await Promise.all(
    ['json', 'pretty'].map(async (format) => {
      const storage = `--storage.path=${workspace.folder}/${format}`;
      const flags = [storage, `--log.format=${format}`, '--log.level=debug'];
      const args = flagsFor(workspace, file, '--web.enable-lifecycle', ...flags);
      return launch(workspace, args).listening();
    }),
  );
  await Promise.all(daemons.map(async (daemon) => exact(daemon, riverside)));
  let shown = '';
  for (const endpoint of ['data', 'token'] as const) {
    for (const echo of ECHOES) {
      service.heal(riverside);
      service.fail(riverside, echo, { endpoint, times: 1000 });
      service.revokeTokens(riverside);
      // A reload forgets tokens and waits of the failed attempts before.
      harness.configure([riverside], { service: { timeout: `${9 + ECHOES.indexOf(echo)}s` } });
      await Promise.all(daemons.map(async (daemon) => daemon.reload()));
      await eventually(() => {
        expect(riverside.faults[endpoint]?.left).toBeLessThanOrEqual(998);
      });
      shown += (await Promise.all(daemons.map(pagesOf))).join('\n');
    }
  }
  const misplaced = { client_secret: [riverside.secret], [riverside.secret]: riverside.secret };
  const bad = { customers: [{ name: riverside.secret, ...misplaced }] };
  workspace.write('config.yaml', JSON.stringify(bad));
  for (const daemon of daemons) {
    const answer = await daemon.reload();
    expect(answer.status).toBe(400);
    shown += await answer.text();
    await daemon.stop();
  }
  const output = daemons.map(({ stdout, stderr }) => stdout + stderr);
  const files = ['json', 'pretty'].map((format) => filesUnder(join(workspace.folder, format)));
  expect(daemons[0]?.logged('poll failed').length).toBeGreaterThan(0);
  expect(partsIn([shown, ...output, ...files].join('\n'), service.secrets())).toEqual([]);
});

test('the password of a proxy is sent to the proxy and shown nowhere', async () => {
  const password = 'pass+0a1b2c3d4e5f6a7b8c9d';
  const received = new Set<string>();
  const proxy = createServer().on('connect', (request, socket) => {
    const credentials = request.headers['proxy-authorization'] ?? '';
    received.add(Buffer.from(credentials.replace('Basic ', ''), 'base64').toString());
    socket.on('error', () => {});
    socket.end(`HTTP/1.1 407 ${credentials}\r\nX-Echo: ${credentials}\r\n\r\n${credentials}`);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const { port } = proxy.address() as AddressInfo;
  const file = harness.configure([riverside], {
    service: {
      base_url: 'https://statistics.example.org',
      auth_url: 'https://identity.example.org',
      proxy_url: `http://operator:${password}@127.0.0.1:${port}`,
    },
  });
  const flags = flagsFor(workspace, file, '--log.level=debug');
  const daemon = await launch(workspace, flags).listening();
  await daemon.until(() => daemon.logged('poll failed').length > 0);
  const shown = await pagesOf(daemon);
  await daemon.stop();
  proxy.close();
  expect([...received]).toEqual([`operator:${password}`]);
  expect(partsIn(daemon.stderr + shown, [password, `operator:${password}`])).toEqual([]);
});
