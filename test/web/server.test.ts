/** The paths of the web server and their responses, service discovery, and the address that it listens on. */
import { describe, expect, test, vi } from 'vitest';
import { UsageError } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log.ts';
import type { Logger } from '../../src/base/log.ts';
import { parseListenAddress } from '../../src/base/listen.ts';
import type { WebServerOptions } from '../../src/web/server.ts';
import { ask, urlOf } from './protected.ts';

const PROMETHEUS_3 =
  'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2';
const PROMETHEUS_3_TEXT =
  'text/plain;version=1.0.0;escaping=underscores;q=0.6,text/plain;version=0.0.4;q=0.5,application/openmetrics-text;version=1.0.0; escaping=underscores;q=0.4,*/*;q=0.2';
const TEXT_FORMAT = 'text/plain; version=0.0.4; charset=utf-8';
const OPENMETRICS = 'application/openmetrics-text; version=1.0.0; charset=utf-8';

describe('/metrics', () => {
  test.each([
    [{}, 'text', undefined],
    [{ accept: PROMETHEUS_3 }, 'openmetrics', undefined],
    [{ accept: PROMETHEUS_3_TEXT }, 'text', undefined],
    [{ accept: 'image/png' }, 'text', undefined],
    [{ 'accept-encoding': 'gzip' }, 'text', 'gzip'],
  ])('for %j is %s with the encoding %s, whatever the query says', async (...row) => {
    const [headers, format, encoding] = row;
    const response = await ask(await urlOf(), '/metrics?format=openmetrics', { headers });
    const body = `${format} gzip=${encoding === 'gzip'}\n`;
    expect([response.status, response.body]).toEqual([200, body]);
    expect(response.headers).toMatchObject({
      'content-type': format === 'text' ? TEXT_FORMAT : OPENMETRICS,
      'cache-control': 'no-store',
      vary: 'Accept, Accept-Encoding',
    });
    expect(response.headers['content-encoding']).toBe(encoding);
  });

  test('is all parts in their order, with the length in advance', async () => {
    const parts = ['one ', '', 'two'].map((part) => Buffer.from(part));
    const url = await urlOf({ exposition: () => Promise.resolve(parts) });
    const { headers, body } = await ask(url, '/metrics');
    expect([headers['content-length'], body]).toEqual(['7', 'one two']);
    const head = await ask(url, '/metrics', { method: 'HEAD' });
    expect([head.headers['content-length'], head.body]).toEqual(['7', '']);
  });

  test('of an unknown customer is a 404 in plain text', async () => {
    const url = await urlOf({ exposition: () => Promise.resolve(undefined) });
    const asked = '/metrics?customer=a&format=x&customer=Old+Town%21';
    const { status, headers, body } = await ask(url, asked);
    expect(status).toBe(404);
    expect(headers['content-type']).toBe('text/plain; charset=utf-8');
    expect(body).toBe('Unknown customer among ["a","Old Town!"]\n');
  });

  test('that fails is a 500 without details, which are in the log', async () => {
    const log = { ...silentLogger, error: vi.fn<Logger['error']>() };
    const url = await urlOf({ log, exposition: () => Promise.reject(new Error('a detail')) });
    const { status, body } = await ask(url, '/metrics?token=abc');
    expect([status, body]).toEqual([500, expect.stringContaining('A bug report needs')]);
    const fields = { method: 'GET', path: '/metrics', error: 'a detail' };
    expect(log.error.mock.calls).toEqual([['request failed', fields]]);
  });
});

test('/sd lists a target for each customer, with its labels, behind a proxy', async () => {
  const customers = [
    { name: 'riverside', labels: { region: 'north', type: 'main' } },
    { name: 'Old "Town"', labels: {} },
  ];
  const paths = { telemetryPath: '/stats', externalUrl: 'https://example.org/external' };
  const { body } = await ask(await urlOf({ ...paths, customers: () => customers }), '/external/sd');
  const common = { __scheme__: 'https', __metrics_path__: '/external/stats' };
  const ofRiverside = { __meta_library_region: 'north', __meta_library_type: 'main' };
  const host = 'example.org:443';
  expect(JSON.parse(body)).toEqual(
    [
      { __param_customer: 'riverside', instance: `${host}/riverside`, ...ofRiverside },
      { __param_customer: 'Old "Town"', instance: `${host}/Old "Town"` },
    ].map((labels) => ({ targets: [host], labels: { ...common, ...labels } })),
  );
});

test('another method is a 405 with those that are allowed', async () => {
  const { status, headers } = await ask(await urlOf(), '/-/reload');
  expect([status, headers.allow]).toEqual([405, 'POST, PUT']);
});

const STOPPING: Partial<WebServerOptions> = {
  healthy: () => false,
  ready: () => ({ ready: false, why: 'it is stopping.' }),
};

test.each([
  ['/-/healthy', {}, 200, 'is healthy.'],
  ['/-/ready', {}, 200, 'is ready.'],
  ['/-/healthy', STOPPING, 503, 'is not healthy: the polling loop makes no progress.'],
  ['/-/ready', STOPPING, 503, 'is not ready: it is stopping.'],
  // Prometheus keeps its targets and their series.
  ['/metrics', STOPPING, 503, 'is not ready: it is stopping.'],
  ['/sd', STOPPING, 503, 'is not ready: it is stopping.'],
])('%s with %j is %d: %s', async (path, changes, status, text) => {
  const response = await ask(await urlOf(changes), path);
  expect([response.status, response.body]).toEqual([status, `library-stats-exporter ${text}\n`]);
});

describe('the listen address', () => {
  test.each([
    [':10096', undefined, 10_096],
    ['[::1]:9000', '::1', 9_000],
    ['localhost:65535', 'localhost', 65_535],
  ])('may be %s', (text, host, port) => {
    expect(parseListenAddress(text)).toEqual({ host, port });
  });

  test.each(['10096', ':65536', '[x]:1', 'http://x:1'])(
    '%j is a usage error',
    async (listenAddress) => {
      await expect(urlOf({ listenAddress })).rejects.toThrow(
        new UsageError(
          `expected a listen address such as 127.0.0.1:10096, [::1]:10096 or :10096, got ${JSON.stringify(listenAddress)}`,
        ),
      );
    },
  );

  test('in use is an error with the flag to change', async () => {
    const { host } = new URL(await urlOf());
    await expect(urlOf({ listenAddress: host })).rejects.toThrow(
      /^cannot listen on .*EADDRINUSE.*; set --web.listen-address$/,
    );
  });
});
