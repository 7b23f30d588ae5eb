/** `service` and `demo`: the simulated service, by its flags and by what it prints. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { Terminal } from './terminal.ts';

interface Started {
  readonly terminal: Terminal;
  /** As SIGTERM does; the status that it ends with. */
  readonly end: () => Promise<number>;
}

async function started(...args: readonly string[]): Promise<Started> {
  const terminal = new Terminal();
  const running = terminal.run(...args);
  await vi.waitUntil(() => terminal.out.includes('Customers:'), { timeout: 20_000 });
  return {
    terminal,
    async end() {
      terminal.terminate();
      return (await running).status;
    },
  };
}

function dataUrlOf({ out }: Terminal): string {
  return /data +(http:\S+)\/v1\/peoplecount/.exec(out)?.[1] ?? '';
}

test('service prints addresses and credentials that let one in, and ends with 0', async () => {
  const { terminal, end } = await started('service', '--customers=2');
  const url = dataUrlOf(terminal);
  const credentials = [...terminal.out.matchAll(/client_id (\S+), client_secret (\S+)/g)];
  expect(credentials).toHaveLength(2);
  for (const [, id = '', secret = ''] of credentials) {
    const answer = await fetch(`${url}/connect/token`, {
      method: 'POST',
      body: new URLSearchParams({
        client_id: id,
        client_secret: secret,
        grant_type: 'client_credentials',
        scope: 'ServiceAPI',
      }),
    });
    expect(answer.status).toBe(200);
    const { access_token: token } = (await answer.json()) as { access_token: string };
    const data = await fetch(`${url}/v1/peoplecount?aggregation=day`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(data.status).toBe(200);
  }
  expect(await end()).toBe(0);
  await expect(fetch(url)).rejects.toThrow('fetch failed');
});

test('the same seed invents the same credentials, another one others', async () => {
  const said: string[] = [];
  for (const seed of ['7', '7', '8']) {
    const { terminal, end } = await started('service', '--customers=3', `--seed=${seed}`);
    said.push(terminal.out.slice(terminal.out.indexOf('Customers:')));
    await end();
  }
  expect(said[0]).toBe(said[1]);
  expect(said[0]).not.toBe(said[2]);
});

test('every customer is listed, however many', async () => {
  const { terminal, end } = await started('service', '--customers=25');
  expect(terminal.out.match(/client_secret/g)).toHaveLength(25);
  expect(await end()).toBe(0);
});

test('demo serves its customers where it is told to, logs as it is told to, and ends with 0', async () => {
  const { terminal, end } = await started(
    'demo',
    '--customers=3',
    '--web.listen-address=127.0.0.1:0',
  );
  await expect.poll(() => terminal.url, { timeout: 20_000 }).toBeDefined();
  const { url = '' } = terminal;
  await expect
    .poll(
      async () =>
        (await (await fetch(new URL('/metrics', url))).text()).match(
          /^library_people_entered_total\{/gm,
        )?.length,
      { timeout: 20_000 },
    )
    .toBe(3);
  // A hangup is no reason to end, and a reload of the same changes nothing.
  terminal.hangups.forEach((hangup) => hangup());
  await expect.poll(() => terminal.logLines().map(({ msg }) => msg)).toContain('config reloaded');
  expect(await end()).toBe(0);
  expect(
    terminal
      .logLines()
      .map(({ msg }) => msg)
      .at(-1),
  ).toBe('stopped');
});

test(
  'demo prints how to load its history, with a configuration that is there as long as it runs',
  { timeout: 120_000 },
  async () => {
    const { terminal, end } = await started('demo', '--web.listen-address=127.0.0.1:0');
    await expect
      .poll(() => terminal.out, { timeout: 20_000 })
      .toMatch(/\nStatus page: http:\/\/localhost:\d+\/\n$/);
    const address = new URL(terminal.url ?? '').host.replace('127.0.0.1', 'localhost');
    expect(terminal.out).toContain(`Status page: http://${address}/\n`);
    expect(terminal.out).toContain(` --instance=${address} `);
    const [, prometheus = ''] = /prometheus --config\.file=(\S+)/.exec(terminal.out) ?? [];
    expect(readFileSync(prometheus, 'utf8')).toContain(`- targets: ['${address}']`);
    const [, flags = ''] = /npm start --silent -- (backfill .+)$/m.exec(terminal.out) ?? [];
    const folder = mkdtempSync(join(tmpdir(), 'demo-history-'));
    const asked = flags
      .replace('--from=-35d', '--from=-3d')
      .replace('--output=demo-history', `--output=${folder}/history`);
    const { status, out } = await new Terminal().run(...asked.split(' '));
    expect(status).toBe(0);
    expect(out).toMatch(/^riverside .* agrees /m);
    expect(await end()).toBe(0);
    const [, config = ''] = /--config\.file=(\S+)/.exec(flags) ?? [];
    expect(config).toMatch(/config\.yaml$/);
    expect(existsSync(config)).toBe(false);
    rmSync(folder, { recursive: true });
  },
);
