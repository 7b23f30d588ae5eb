/** A proxy on the way to the service. Which hosts NO_PROXY exempts is tested in proxy.test.ts. */
import { describe, expect, test } from 'vitest';
import { startProxy } from './support/fake-proxy.ts';
import { AUTHORITY, startFakeService } from './support/fake-service.ts';
import { ask, createHarness, failureOf } from './support/harness.ts';

describe('a proxy', () => {
  const basic = `Basic ${Buffer.from('user:proxy-password').toString('base64')}`;

  test('carries TLS through a tunnel and sees no token', async () => {
    await using fake = await startFakeService({ certificate: 'good' });
    await using proxy = await startProxy(true);
    const config = { ca: AUTHORITY, proxyUrl: proxy.url };
    using harness = createHarness(fake.url, { config });
    await ask(harness.riverside);
    await ask(harness.riverside);
    expect(proxy.seen).toEqual([`CONNECT ${fake.url.slice('https://'.length)} ${basic}`]);
  });

  test('of the environment is used but for the hosts of NO_PROXY', async () => {
    await using fake = await startFakeService({ certificate: 'good' });
    await using proxy = await startProxy(true);
    const config = { ca: AUTHORITY };
    const HTTPS_PROXY = proxy.url;
    using through = createHarness(fake.url, { config, environment: { HTTPS_PROXY } });
    await ask(through.riverside);
    expect(proxy.seen).toHaveLength(1);
    const environment = { HTTPS_PROXY, NO_PROXY: 'example.org,127.0.0.1' };
    using past = createHarness(fake.url, { config, environment });
    await ask(past.riverside);
    expect(proxy.seen).toHaveLength(1);
  });

  test.for([
    ['by its name', 'localhost'],
    ['by its name and port', 'localhost:PORT'],
    ['by a star', '*'],
    ['with spaces', ' example.org , localhost '],
  ])(
    'of the environment is passed by for a host that NO_PROXY names %s',
    async ([, NO_PROXY = '']) => {
      await using fake = await startFakeService({ certificate: 'good' });
      await using proxy = await startProxy(true);
      const url = fake.url.replace('127.0.0.1', 'localhost');
      const environment = {
        HTTPS_PROXY: proxy.url,
        NO_PROXY: NO_PROXY.replace('PORT', new URL(url).port),
      };
      using harness = createHarness(url, { config: { ca: AUTHORITY }, environment });
      expect((await ask(harness.riverside)).rows).toHaveLength(1);
      expect(proxy.seen).toEqual([]);
    },
  );

  test.for([
    ['by its address', '127.0.0.1'],
    ['by a range of addresses', '10.0.0.0/8,127.0.0.0/8'],
  ])(
    'of the environment is passed by for an address that NO_PROXY names %s',
    async ([, NO_PROXY]) => {
      await using fake = await startFakeService({ certificate: 'good' });
      await using proxy = await startProxy(true);
      const environment = { HTTPS_PROXY: proxy.url, NO_PROXY };
      using harness = createHarness(fake.url, { config: { ca: AUTHORITY }, environment });
      expect((await ask(harness.riverside)).rows).toHaveLength(1);
      expect(proxy.seen).toEqual([]);
    },
  );

  test('of the environment is passed by for one of two hosts alone', async () => {
    await using tokens = await startFakeService({ certificate: 'good' });
    await using data = await startFakeService({ certificate: 'good' });
    await using proxy = await startProxy(true);
    const { host } = new URL(tokens.url);
    const environment = { HTTPS_PROXY: proxy.url, NO_PROXY: host };
    const config = { ca: AUTHORITY, authUrl: tokens.url };
    using harness = createHarness(data.url, { config, environment });
    await ask(harness.riverside);
    expect(proxy.seen).toEqual([`CONNECT ${new URL(data.url).host} ${basic}`]);
    expect(tokens.asked).toHaveLength(1);
  });

  test('of the environment is not for plain http', async () => {
    await using fake = await startFakeService();
    using harness = createHarness(fake.url, { environment: { HTTPS_PROXY: 'socks://x' } });
    expect((await ask(harness.riverside)).rows).toHaveLength(1);
  });

  test('that refuses is unreachable, and its password is in no message', async () => {
    await using fake = await startFakeService({ certificate: 'good' });
    await using proxy = await startProxy(false);
    using harness = createHarness(fake.url, { config: { proxyUrl: proxy.url } });
    const error = await failureOf(ask(harness.riverside));
    expect(error.reason).toBe('unreachable');
    expect(error.message).toBe(
      'POST /connect/token: the proxy refused to connect (ERR_PROXY_TUNNEL)',
    );
    expect(harness.told.filter((line) => line.includes('proxy-password'))).toEqual([]);
  });

  test('carries plain http where the configuration names one', async () => {
    await using fake = await startFakeService();
    await using proxy = await startProxy(true);
    using harness = createHarness(fake.url, { config: { proxyUrl: proxy.url } });
    expect((await failureOf(ask(harness.riverside))).status).toBe(502);
    expect(proxy.seen[0]).toBe(`POST ${fake.url}/connect/token ${basic}`);
    expect(fake.asked).toEqual([]);
  });

  test.for(['socks5://user:proxy-password@127.0.0.1:1080', 'proxy-password:3128', ''])(
    'that cannot be used is refused at once: %s',
    (proxyUrl) => {
      expect(() => createHarness('https://127.0.0.1:1', { config: { proxyUrl } })).toThrow(
        'service.proxy_url is not the address of a proxy; ' +
          'it must be like http://HOST:PORT or https://HOST:PORT',
      );
    },
  );
});
