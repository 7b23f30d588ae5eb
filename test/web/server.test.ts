/** The paths of the web server and their responses, service discovery, and the address that it listens on. */
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { UsageError } from '../../src/base/errors.ts';
import type { Logger } from '../../src/base/log.ts';
import { parseListenAddress } from '../../src/base/listen.ts';
import { createWebServer } from '../../src/web/server.ts';
import type { WebServerOptions } from '../../src/web/server.ts';
import { webOptions } from './fixtures.ts';
import { ask, urlOf } from './protected.ts';

const PROMETHEUS_3 =
  'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2';
const PROMETHEUS_3_TEXT =
  'text/plain;version=1.0.0;escaping=underscores;q=0.6,text/plain;version=0.0.4;q=0.5,application/openmetrics-text;version=1.0.0; escaping=underscores;q=0.4,*/*;q=0.2';
const TEXT_PLAIN = 'text/plain; charset=utf-8';

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
    const parts = ['one ', '', 'two ', 'three'].map((part) => Buffer.from(part));
    const url = await urlOf({ exposition: () => Promise.resolve(parts) });
    const { headers, body } = await ask(url, '/metrics');
    expect([headers['content-length'], body]).toEqual(['13', 'one two three']);
    const head = await ask(url, '/metrics', { method: 'HEAD' });
    expect([head.headers['content-length'], head.body]).toEqual(['13', '']);
  });

  test('may have another path, also that of the status page', async () => {
    const url = await urlOf({ telemetryPath: '/library/stats' });
    expect((await ask(url, '/library/stats')).status).toBe(200);
    expect((await ask(url, '/metrics')).status).toBe(404);
    expect((await ask(url, '/')).body).toContain('href="./library/stats"');
    expect((await ask(await urlOf({ telemetryPath: '/' }), '/')).body).toBe('text gzip=false\n');
  });

  test.each([
    ['', []],
    ['?customer=a&format=x&customer=Old+Town%21', ['a', 'Old Town!']],
    ['?customer=a?customer=b', ['a?customer=b']],
  ])('%s asks for the customers %j', async (query, customers) => {
    const exposition = vi.fn<WebServerOptions['exposition']>(() => Promise.resolve([]));
    expect((await ask(await urlOf({ exposition }), `/metrics${query}`)).status).toBe(200);
    expect(exposition.mock.calls).toEqual([['text', false, customers]]);
  });

  test('of an unknown customer is a 404 in plain text', async () => {
    const url = await urlOf({ exposition: () => Promise.resolve(undefined) });
    const { status, headers, body } = await ask(url, '/metrics?customer=a&customer=b');
    const message = 'Unknown customer among ["a","b"]\n';
    expect([status, headers['content-type'], body]).toEqual([404, TEXT_PLAIN, message]);
  });

  test('that fails is a 500 without details, which are in the log', async () => {
    const log = { ...webOptions().log, error: vi.fn<Logger['error']>() };
    const url = await urlOf({ log, exposition: () => Promise.reject(new Error('a detail')) });
    const { status, body } = await ask(url, '/metrics?token=abc');
    expect([status, body]).toEqual([500, expect.stringContaining('A bug report needs')]);
    const fields = { method: 'GET', path: '/metrics', error: 'a detail' };
    expect(log.error.mock.calls).toEqual([['request failed', fields]]);
  });
});

test.each([
  [undefined, '', 'exporter.example:10096'],
  ['https://example.org/external', '/external', 'example.org:443'],
])('/sd with the external URL %s lists a target for each customer', async (...row) => {
  const [externalUrl, prefix, host] = row;
  const customers = [
    { name: 'riverside', labels: { region: 'north', type: 'main' } },
    { name: 'Old "Town"', labels: {} },
  ];
  const paths = { telemetryPath: '/library/stats', externalUrl, routePrefix: '/' };
  const url = await urlOf({ ...paths, customers: () => customers });
  const { body } = await ask(url, '/sd', { headers: { host: 'exporter.example:10096' } });
  const scheme = externalUrl === undefined ? {} : { __scheme__: 'https' };
  const common = { ...scheme, __metrics_path__: `${prefix}/library/stats` };
  const ofRiverside = { __meta_library_region: 'north', __meta_library_type: 'main' };
  expect(JSON.parse(body)).toEqual(
    [
      { __param_customer: 'riverside', instance: `${host}/riverside`, ...ofRiverside },
      { __param_customer: 'Old "Town"', instance: `${host}/Old "Town"` },
    ].map((labels) => ({ targets: [host], labels: { ...common, ...labels } })),
  );
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

test('/config is the configuration in force', async () => {
  const { headers, body } = await ask(await urlOf(), '/config');
  expect([headers['content-type'], body]).toEqual([TEXT_PLAIN, webOptions().config()]);
});

const PROBLEMS = 'config.yaml:1:1: customers: expected a list\n';
const FORBIDDEN = 'Reload over HTTP is disabled: set --web.enable-lifecycle\n';
const FAILED: Partial<WebServerOptions> = {
  reload: () => Promise.resolve({ ok: false, problems: PROBLEMS }),
};

test.each<[string, string, Partial<WebServerOptions>, number, string]>([
  ['POST', '', {}, 200, 'Configuration reloaded.\n'],
  ['PUT', '{', {}, 200, 'Configuration reloaded.\n'],
  ['POST', '', FAILED, 400, PROBLEMS],
  ['POST', '', { enableLifecycle: false }, 403, FORBIDDEN],
])('/-/reload by %s with the body %j and %j is %d', async (...row) => {
  const [method, content, changes, status, body] = row;
  const reload = vi.fn<WebServerOptions['reload']>(changes.reload ?? webOptions().reload);
  const url = await urlOf({ ...changes, reload });
  const response = await fetch(`${url}/-/reload`, { method, body: content });
  expect([response.status, await response.text()]).toEqual([status, body]);
  expect(reload).toHaveBeenCalledTimes(status <= 400 ? 1 : 0);
  expect(response.headers.get('content-type')).toBe(TEXT_PLAIN);
});

test.each([
  ['GET', '/nope', 404, undefined],
  ['GET', '/-/reload', 405, 'POST, PUT'],
])('%s %s is %d in plain text, Allow is %s', async (method, path, status, allow) => {
  const response = await ask(await urlOf(), path, { method });
  expect([response.status, response.headers.allow]).toEqual([status, allow]);
  expect(response.headers['content-type']).toBe(TEXT_PLAIN);
});

test.each(['metrics', '', '/:id', '/-/ready'])(
  'the telemetry path %j is a usage error',
  (telemetryPath) => {
    expect(() => createWebServer(webOptions({ telemetryPath }))).toThrow(UsageError);
  },
);

describe('the listen address', () => {
  test.each([
    [':10096', undefined, 10_096],
    ['[::1]:9000', '::1', 9_000],
    ['localhost:65535', 'localhost', 65_535],
  ])('may be %s', (text, host, port) => {
    expect(parseListenAddress(text)).toEqual({ host, port });
  });

  test.each(['10096', ':65536', '[x]:1', 'http://x:1'])('%j is a usage error', (listenAddress) => {
    expect(() => createWebServer(webOptions({ listenAddress }))).toThrow(
      new UsageError(
        `expected a listen address such as 127.0.0.1:10096, [::1]:10096 or :10096, got ${JSON.stringify(listenAddress)}`,
      ),
    );
  });

  test('in use is an error with the flag to change', async () => {
    const { host } = new URL(await urlOf());
    const server = createWebServer(webOptions({ listenAddress: host }));
    onTestFinished(() => server.stop());
    await expect(server.start()).rejects.toThrow(
      /^cannot listen on .*EADDRINUSE.*; set --web.listen-address$/,
    );
  });
});
