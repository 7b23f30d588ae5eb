/** `run` in a pod without a shard. */
import { expect, onTestFinished, test, vi } from 'vitest';
import { Workspace } from '../acceptance/daemon.ts';
import { configFlag } from './simulated-environment.ts';
import { Terminal } from './terminal.ts';

test('a pod with a number that is not below the number of shards polls nobody, and says so', async () => {
  const workspace = new Workspace();
  onTestFinished(() => workspace.close());
  // Its host is exporter-2.
  const terminal = new Terminal();
  const config = configFlag(workspace, 'http://127.0.0.1:9', { riverside: 'Europe/Copenhagen' });
  const flags = ['--shard=auto/2', '--web.listen-address=127.0.0.1:0', '--storage.path='];
  const running = terminal.run('run', config, ...flags);
  const url = await vi.waitUntil(() => terminal.url, { timeout: 30_000 });
  const scraped = await (await fetch(new URL('/metrics', url))).text();
  expect(scraped).toContain('library_exporter_shard_info{shard="",shards="2"} 1\n');
  expect(scraped).toContain('library_exporter_customers 0\n');
  expect(terminal.err).toContain('no shard for the number in the host name, polling nobody');
  expect((await fetch(new URL('/-/ready', url))).status).toBe(200);
  terminal.terminate();
  expect((await running).status).toBe(0);
});
