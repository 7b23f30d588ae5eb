/** `service` and `demo`: what they print and serve, and how they end. */
import { existsSync } from 'node:fs';
import { expect, test, vi } from 'vitest';
import { Terminal } from './terminal.ts';

const WAIT = { timeout: 20_000 };

async function start(...args: readonly string[]) {
  const terminal = new Terminal();
  const running = terminal.run(...args);
  await vi.waitUntil(() => terminal.out.includes('Customers:'), WAIT);
  return {
    terminal,
    stop: async (): Promise<number> => {
      terminal.terminate();
      return (await running).status;
    },
  };
}

const FLAGS = ['--customers=3', '--seed=7', '--branches=12', '--timezone=Asia/Kolkata'];

test('service prints addresses and credentials that are accepted, the same for the same seed', async () => {
  const first = await start('service', ...FLAGS);
  const { out } = first.terminal;
  const url = /data +(http:\S+)\/v1\/peoplecount/.exec(out)?.[1] ?? '';
  const credentials = [...out.matchAll(/client_id (\S+), client_secret (\S+)/g)];
  expect(credentials).toHaveLength(3);
  expect(out.match(/ \(Asia\/Kolkata\): /g)).toHaveLength(3);
  const [, id = '', secret = ''] = credentials[0] ?? [];
  const form = { client_id: id, client_secret: secret, grant_type: 'client_credentials' };
  const body = new URLSearchParams({ ...form, scope: 'ServiceAPI' });
  const response = await fetch(`${url}/connect/token`, { method: 'POST', body });
  const { access_token: token } = (await response.json()) as { access_token: string };
  const headers = { authorization: `Bearer ${token}` };
  const query = `aggregation=branch&from=${new Date(Date.now() - 20 * 86_400_000).toISOString()}`;
  const data = await fetch(`${url}/v1/peoplecount?${query}`, { headers });
  expect(await data.json()).toMatchObject({ metadata: { count: 12 } });
  expect(await first.stop()).toBe(0);
  await expect(fetch(url)).rejects.toThrow('fetch failed');
  const again = await start('service', ...FLAGS);
  expect(again.terminal.out).toContain(secret);
  await again.stop();
});

test('demo prints its status page and how to load its past, reloads at SIGHUP, and ends with 0', async () => {
  const flags = ['--customers=1', '--web.listen-address=127.0.0.1:0'];
  const { terminal, stop } = await start('demo', ...flags);
  await expect.poll(() => terminal.out, WAIT).toContain('\nStatus page: ');
  const address = new URL(terminal.url ?? '').host.replace('127.0.0.1', 'localhost');
  expect(terminal.out).toMatch(new RegExp(`\\nStatus page: http://${address}/\\n$`));
  const [, config = '', others = ''] =
    /npm start --silent -- backfill --config\.file=(\S+) (.+)$/m.exec(terminal.out) ?? [];
  // Where deploy/compose.yaml looks for it.
  expect(config).toMatch(/\/library-stats-exporter-demo-\w+\/config\.yaml$/);
  expect(existsSync(config)).toBe(true);
  expect(terminal.out).toMatch(/^  riverside     LibraryDoorSilent after 40 minutes: /m);
  expect(terminal.out).not.toContain('old-town');
  expect(others).toBe(`--from=-35d --to=-1m --instance=${address} --output=demo-past`);
  terminal.hangups.forEach((hangup) => hangup());
  await expect.poll(() => terminal.err, WAIT).toContain('"msg":"config reloaded"');
  expect(await stop()).toBe(0);
});
