/** `run`: what a reload reads again, and a pod without a shard. */
import { expect, onTestFinished, test, vi } from 'vitest';
import { Workspace } from '../acceptance/daemon.ts';
import { makeAuthority, makeCertificate } from '../support/certificates.ts';
import { startScriptedServer } from '../support/scripted-server.ts';
import { configFlag } from './simulated-environment.ts';
import { Terminal } from './terminal.ts';

const FLAGS = ['--web.listen-address=127.0.0.1:0', '--storage.path=', '--web.enable-lifecycle'];
const ZONES = { riverside: 'Europe/Copenhagen' };
const WAIT = { timeout: 30_000 };

test('a reload applies a changed ca_file', async () => {
  const issuer = makeAuthority();
  const service = await startScriptedServer(
    makeCertificate({ name: 'service', hosts: ['127.0.0.1'], issuer }),
  );
  const workspace = new Workspace();
  onTestFinished(() => workspace.close());
  const settings = { service: { ca_file: 'ca.pem' }, polling: { interval: '1s' } };
  const config = configFlag(workspace, service.url, ZONES, settings);
  workspace.write('ca.pem', makeAuthority().cert);
  const terminal = new Terminal();
  const running = terminal.run('run', config, '--log.level=debug', ...FLAGS);
  const url = await vi.waitUntil(() => terminal.url, WAIT);
  async function reload(): Promise<number> {
    return (await fetch(new URL('/-/reload', url), { method: 'POST' })).status;
  }
  await vi.waitUntil(() => terminal.err.includes('set service.ca_file'), WAIT);
  workspace.write('ca.pem', 'no certificate');
  expect(await reload()).toBe(400);
  expect(service.received).toEqual([]);

  workspace.write('ca.pem', issuer.cert);
  expect(await reload()).toBe(200);
  await vi.waitUntil(() => service.count('/v1/peoplecount') > 0, WAIT);

  terminal.terminate();
  await running;
});

test('a pod with a number that is not below the number of shards polls nobody, and says so', async () => {
  const workspace = new Workspace();
  onTestFinished(() => workspace.close());
  // Its host is exporter-2.
  const terminal = new Terminal();
  const config = configFlag(workspace, 'http://127.0.0.1:9', ZONES);
  const running = terminal.run('run', config, '--shard=auto/2', ...FLAGS);
  const url = await vi.waitUntil(() => terminal.url, WAIT);
  const scraped = await (await fetch(new URL('/metrics', url))).text();
  expect(scraped).toContain('library_exporter_shard_info{shard="",shards="2"} 1\n');
  expect(scraped).toContain('library_exporter_customers 0\n');
  expect(terminal.logLines()).toContainEqual(
    expect.objectContaining({
      level: 'error',
      msg: 'no shard for the number in the host name, polling nobody',
      shards: 2,
    }),
  );
  expect((await fetch(new URL('/-/ready', url))).status).toBe(200);
  terminal.terminate();
  expect((await running).status).toBe(0);
});
