/** A proxy between the client and the service. */
import { describe, expect, test } from 'vitest';
import { startProxy } from './support/proxy.ts';
import { startScriptedServer } from '../support/scripted-server.ts';
import { ask, AUTHORITY, certified, createHarness, failureOf, start } from './support/harness.ts';

const BASIC = `Basic ${Buffer.from('user:proxy-password').toString('base64')}`;
const SECURE = await certified();

describe('service.proxy_url', () => {
  test('carries TLS through one tunnel, whatever NO_PROXY names, and sees no token', async () => {
    const proxy = await startProxy(true);
    const config = { ca: AUTHORITY, proxyUrl: proxy.url };
    const environment = { NO_PROXY: '*' };
    const { server, harness } = await start({ tls: SECURE, config, environment });
    await ask(harness.riverside);
    await ask(harness.riverside);
    expect(proxy.seen).toEqual([`CONNECT ${new URL(server.url).host} ${BASIC}`]);
  });

  test('carries plain HTTP, too', async () => {
    const proxy = await startProxy(true);
    const { server, harness } = await start({ config: { proxyUrl: proxy.url } });
    expect((await failureOf(ask(harness.riverside))).status).toBe(502);
    expect(proxy.seen[0]).toBe(`POST ${server.url}/connect/token ${BASIC}`);
    expect(server.received).toEqual([]);
  });

  test('that refuses is unreachable, without its password in a message', async () => {
    const proxy = await startProxy(false);
    const { server, harness } = await start({ tls: SECURE, config: { proxyUrl: proxy.url } });
    const { reason, message } = await failureOf(ask(harness.riverside));
    expect([reason, message]).toEqual(['unreachable', expect.stringContaining('ERR_PROXY_TUNNEL')]);
    expect(harness.reported.join('')).not.toContain('proxy-password');
    expect(server.received).toEqual([]);
  });
});

describe('HTTPS_PROXY', () => {
  test.for([
    ['127.0.0.1', { NO_PROXY: 'example.org,127.0.0.1:PORT' }, false],
    ['localhost', { NO_PROXY: ' example.org , LOCALHOST ' }, false],
    ['localhost', { NO_PROXY: 'host' }, true],
    ['library.localhost', { NO_PROXY: 'localhost' }, false],
    ['127.0.0.1', { no_proxy: '127.0.0.1', NO_PROXY: 'example.org' }, true],
    ['127.0.0.1', { HTTPS_PROXY: '', https_proxy: 'PROXY' }, true],
    ['127.0.0.1', { HTTPS_PROXY: 'user:proxy-password@ADDRESS' }, true],
    ['127.0.0.1', { NO_PROXY: '10.0.0.0/8, 127.0.0.0/8' }, false],
    ['127.0.0.1', { NO_PROXY: '127.0.0.2/32,127.0.0.1/33,127.0.0.1/x,::/0,10/8' }, true],
    ['[::1]', { NO_PROXY: '::/64' }, false],
    ['[::1]', { NO_PROXY: '::2/128,0.0.0.0/0' }, true],
    // As in Go, a range concerns addresses only, not what a name resolves to.
    ['localhost', { NO_PROXY: '127.0.0.0/8' }, true],
  ] as const)('for %s with %j is used: %s', async ([host, variables, used]) => {
    const server = await startScriptedServer(SECURE);
    const proxy = await startProxy(true);
    const url = server.url.replace('127.0.0.1', host);
    function filled(value: string): string {
      const port = value.replace('PORT', new URL(url).port);
      return port.replace('PROXY', proxy.url).replace('ADDRESS', new URL(proxy.url).host);
    }
    const given = Object.entries<string>({ HTTPS_PROXY: 'PROXY', ...variables });
    const environment = Object.fromEntries(given.map(([name, value]) => [name, filled(value)]));
    const harness = createHarness(url, { config: { ca: AUTHORITY }, environment });
    await ask(harness.riverside).catch(() => undefined);
    expect(proxy.seen.length > 0).toBe(used);
  });

  test('does not concern plain HTTP', async () => {
    const { harness } = await start({ environment: { HTTPS_PROXY: 'socks://x' } });
    expect((await ask(harness.riverside)).rows).toHaveLength(1);
  });

  test('that cannot be used is refused at once', () => {
    const environment = { HTTPS_PROXY: 'socks5://user:proxy-password@127.0.0.1:1080' };
    expect(() => createHarness('https://127.0.0.1:1', { environment })).toThrow(
      /^HTTPS_PROXY: expected http:\/\/HOST:PORT or https:\/\/HOST:PORT$/,
    );
  });
});
