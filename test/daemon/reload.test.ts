/** Reloads of a daemon whose configuration the test provides. */
import { expect, test, vi } from 'vitest';
import { ConfigError } from '../../src/base/errors.ts';
import type { LoadedConfig } from '../../src/config/load.ts';
import { reply } from '../service/support/harness.ts';
import { tokenBody } from '../support/scripted-server.ts';
import { configured, started } from './fixture.ts';

const WEB = { config: { tls: undefined, users: new Map() }, digest: '', warnings: [] };

const SUCCESSFUL = 'library_exporter_config_last_reload_successful';
const VALID = 'library_credentials_valid\\{.*\\}';

test('reloads requested during another one wait for its end', async () => {
  const events: string[] = [];
  const gate = Promise.withResolvers<LoadedConfig>();
  const { daemon } = await started({
    load: () => (events.push('all'), gate.promise),
    loadWeb: () => (events.push('web'), Promise.resolve(WEB)),
  });
  const first = daemon.reload('all');
  await new Promise(setImmediate);
  const others = (['web', 'all'] as const).map((scope) => daemon.reload(scope));
  await new Promise(setImmediate);
  expect(events).toEqual(['all']);
  gate.resolve(await configured());
  expect(await Promise.all([first, ...others])).toEqual(Array(3).fill({ ok: true }));
  expect(events).toEqual(['all', 'web', 'all']);
});

test('each scrape during a reload shows one configuration', async () => {
  function many(place: string, count: number): Promise<LoadedConfig> {
    return configured(Array.from({ length: count }, (_, i) => `${place}-${i}`));
  }
  const { daemon, url } = await started({
    loaded: await many('north', 150),
    load: () => many('south', 200),
  });
  const seen = new Set<string>();
  async function observe(): Promise<void> {
    const text = await (await fetch(new URL('/metrics', url))).text();
    const places = text.match(/(?<=^library_site_info\{customer=")\w+/gm) ?? [];
    const own = /^library_exporter_customers (\d+)$/m.exec(text)?.[1];
    seen.add(`${[...new Set(places)].join()} ${places.length} ${own}`);
  }
  await observe();
  let isReloading = true;
  const reloaded = daemon.reload().finally(() => (isReloading = false));
  while (isReloading) {
    await observe();
  }
  expect(await reloaded).toEqual({ ok: true });
  await observe();
  expect([...seen]).toEqual(['north 150 150', 'south 200 200']);
});

test('the reload gauge is 1 only if the last reload of every scope succeeded', async () => {
  let bad: readonly string[] = [];
  function failing<T>(scope: string, value: Promise<T>): Promise<T> {
    return bad.includes(scope) ? Promise.reject(new ConfigError(scope)) : value;
  }
  const { daemon, metric } = await started({
    load: () => failing('all', configured()),
    loadWeb: () => failing('web', Promise.resolve(WEB)),
  });
  const gauge: number[] = [];
  for (const [scope, failed] of [
    ['all', ['all']],
    ['web', []],
    ['all', []],
    ['web', ['web']],
    ['all', []],
    ['web', ['web']],
    ['web', []],
  ] as const) {
    bad = failed;
    await daemon.reload(scope);
    gauge.push(await metric(SUCCESSFUL));
  }
  expect(gauge).toEqual([0, 0, 1, 0, 1, 0, 1]);
});

test('an error that is not about the configuration rejects, and later reloads still work', async () => {
  let isBroken = true;
  const { daemon } = await started({
    load: () => (isBroken ? Promise.reject(new Error('out of memory')) : configured()),
  });
  await expect(daemon.reload()).rejects.toThrow('out of memory');
  isBroken = false;
  expect(await daemon.reload()).toEqual({ ok: true });
});

test('a new token endpoint gets the next requests, and refused and accepted credentials are logged', async () => {
  const hosts: string[] = [];
  const { daemon, logged, metric } = await started({
    load: () => configured(['riverside'], 'http://127.0.0.2:9'),
    transport: {
      exchange: ({ url, form }) => {
        const { hostname } = new URL(url);
        hosts.push(hostname);
        const refused = hostname === '127.0.0.1' && form !== undefined;
        return Promise.resolve(reply(refused ? 401 : 200, tokenBody())());
      },
      close: () => {},
    },
  });
  await vi.waitFor(() => expect(logged).toContain('credentials refused {"customer":"riverside"}'));
  expect(new Set(hosts)).toEqual(new Set(['127.0.0.1']));
  expect(await metric(VALID)).toBe(0);
  expect(await daemon.reload()).toEqual({ ok: true });
  await vi.waitFor(() => expect(hosts).toContain('127.0.0.2'), { timeout: 10_000 });
  await vi.waitFor(async () => expect(await metric(VALID)).toBe(1), { timeout: 10_000 });
  expect(logged).toContain('credentials accepted again {"customer":"riverside"}');
});
