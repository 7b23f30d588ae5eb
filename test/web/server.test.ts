/** The paths of the web server and their answers, and the address that it listens on. */
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { UsageError } from '../../src/base/errors.ts';
import type { Logger } from '../../src/base/log.ts';
import { parseListenAddress } from '../../src/base/listen.ts';
import { createWebServer } from '../../src/web/server.ts';
import type { ReloadResult, WebServerOptions } from '../../src/web/server.ts';
import { webOptions } from './fixtures.ts';
import { ask, protectedServer } from './protected.ts';

async function urlOf(changes: Partial<WebServerOptions> = {}): Promise<string> {
  return (await protectedServer({}, changes)).url;
}

const PROMETHEUS_2 =
  'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1';
const PROMETHEUS_3 =
  'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2';
const PROMETHEUS_3_TEXT =
  'text/plain;version=1.0.0;escaping=underscores;q=0.6,text/plain;version=0.0.4;q=0.5,application/openmetrics-text;version=1.0.0; escaping=underscores;q=0.4,*/*;q=0.2';
const PROTOBUF =
  'application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.7,application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.3,*/*;q=0.2';
const BROWSER = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8';

const TEXT_PLAIN = 'text/plain; charset=utf-8';

describe('/metrics', () => {
  test('is the text format by default', async () => {
    const { status, headers, body } = await ask(await urlOf(), '/metrics');
    expect([status, body]).toEqual([200, 'text gzip=false\n']);
    expect(headers).toMatchObject({
      'content-type': 'text/plain; version=0.0.4; charset=utf-8',
      'content-length': '16',
      'cache-control': 'no-store',
      vary: 'Accept, Accept-Encoding',
    });
    expect(headers).not.toHaveProperty('content-encoding');
  });

  test.each([
    [BROWSER, 'text'],
    [PROMETHEUS_2, 'openmetrics'],
    [PROMETHEUS_3, 'openmetrics'],
    [PROMETHEUS_3_TEXT, 'text'],
    [PROTOBUF, 'openmetrics'],
    ['application/openmetrics-text;version=0.0.1,text/plain;version=0.0.4;q=0.5', 'text'],
    ['application/openmetrics-text;q=0, */*', 'text'],
    ['image/png', 'text'],
  ])('for Accept: %s is %s, whatever the query says', async (accept, format) => {
    const { headers, body } = await ask(await urlOf(), '/metrics?format=text', {
      headers: { accept },
    });
    expect(body).toBe(`${format} gzip=false\n`);
    expect(headers['content-type']).toBe(
      format === 'text'
        ? 'text/plain; version=0.0.4; charset=utf-8'
        : 'application/openmetrics-text; version=1.0.0; charset=utf-8',
    );
  });

  test.each([
    ['gzip', true],
    ['identity', false],
    ['gzip;q=0, *', false],
    ['identity, gzip;q=0.5', false],
  ])('for Accept-Encoding: %s is compressed: %s', async (encoding, gzip) => {
    const { headers, body } = await ask(await urlOf(), '/metrics', {
      headers: { 'accept-encoding': encoding },
    });
    expect(body).toBe(`text gzip=${gzip}\n`);
    expect(headers['content-encoding']).toBe(gzip ? 'gzip' : undefined);
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
    expect((await ask(url, '/')).body).toContain('href="/library/stats"');
    expect((await ask(await urlOf({ telemetryPath: '/' }), '/')).body).toBe('text gzip=false\n');
  });

  test('that fails is a 500 without details, which are in the log', async () => {
    const log = { ...webOptions().log, error: vi.fn<Logger['error']>() };
    const url = await urlOf({ log, exposition: () => Promise.reject(new Error('a detail')) });
    const { status, body } = await ask(url, '/metrics?token=abc');
    expect([status, body]).toEqual([500, 'Internal Server Error\n']);
    const fields = { method: 'GET', path: '/metrics', error: 'a detail' };
    expect(log.error.mock.calls).toEqual([['request failed', fields]]);
  });
});

test('/-/healthy and /-/ready are 200, or 503 with the reason', async () => {
  const good = await urlOf();
  const bad = await urlOf({
    healthy: () => false,
    ready: () => ({ ready: false, why: 'it is stopping.' }),
  });
  const answers = [];
  for (const url of [good, bad]) {
    for (const path of ['/-/healthy', '/-/ready']) {
      const { status, body } = await ask(url, path);
      answers.push([status, body]);
    }
  }
  expect(answers).toEqual([
    [200, 'library-stats-exporter is healthy.\n'],
    [200, 'library-stats-exporter is ready.\n'],
    [503, 'library-stats-exporter is not healthy: the polling loop makes no progress.\n'],
    [503, 'library-stats-exporter is not ready: it is stopping.\n'],
  ]);
});

describe('/-/reload', () => {
  const problems = 'config.yaml:1:1: customers: expected a list\n';

  test.each<[string, string, Partial<WebServerOptions>, ReloadResult, number, string, number]>([
    ['POST', '', {}, { ok: true }, 200, 'Configuration reloaded.\n', 1],
    ['PUT', '{', {}, { ok: true }, 200, 'Configuration reloaded.\n', 1],
    ['POST', '', {}, { ok: false, problems }, 400, problems, 1],
    ['POST', 'x'.repeat(1_025), {}, { ok: true }, 413, 'Payload Too Large\n', 0],
    [
      'POST',
      '',
      { enableLifecycle: false },
      { ok: true },
      403,
      'Reload over HTTP is disabled: set --web.enable-lifecycle\n',
      0,
    ],
  ])('by %s with the body %j, %j and the result %j is %d', async (...row) => {
    const [method, content, changes, result, status, body, reloads] = row;
    const reload = vi.fn<WebServerOptions['reload']>(() => Promise.resolve(result));
    const url = await urlOf({ ...changes, reload });
    const response = await fetch(`${url}/-/reload`, { method, body: content });
    expect([response.status, await response.text()]).toEqual([status, body]);
    expect(reload).toHaveBeenCalledTimes(reloads);
    expect(response.headers.get('content-type')).toBe(TEXT_PLAIN);
  });
});

test.each([
  ['GET', '/nope', 404, undefined],
  ['GET', '//', 404, undefined],
  ['GET', '/metrics/', 404, undefined],
  ['GET', '/%zz', 400, undefined],
  ['PROPFIND', '/metrics', 404, undefined],
  ['GET', '/-/reload', 405, 'POST, PUT'],
])('%s %s is %d in plain text, Allow is %s', async (method, path, status, allow) => {
  const response = await ask(await urlOf(), path, { method });
  expect([response.status, response.headers.allow]).toEqual([status, allow]);
  expect(response.headers['content-type']).toBe(TEXT_PLAIN);
});

test.each(['metrics', '', '/:id', '/*', '/a b', '/-/ready', '/m?x'])(
  'the telemetry path %j is a usage error',
  (telemetryPath) => {
    expect(() => createWebServer(webOptions({ telemetryPath }))).toThrow(UsageError);
  },
);

describe('the listen address', () => {
  test.each([
    [':10096', undefined, 10_096],
    ['127.0.0.1:0', '127.0.0.1', 0],
    ['[::1]:9000', '::1', 9_000],
    ['localhost:65535', 'localhost', 65_535],
  ])('may be %s', (text, host, port) => {
    expect(parseListenAddress(text)).toEqual({ host, port });
  });

  test.each(['', '10096', ':', ':65536', '[x]:1', 'a b:1', 'http://x:1'])(
    '%j is a usage error',
    (listenAddress) => {
      expect(() => createWebServer(webOptions({ listenAddress }))).toThrow(
        new UsageError(
          `expected a listen address such as 127.0.0.1:10096, [::1]:10096 or :10096, got ${JSON.stringify(listenAddress)}`,
        ),
      );
    },
  );

  test('gives a URL that works on this machine', async () => {
    expect(await urlOf()).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d*$/);
    const everywhere = await urlOf({ listenAddress: ':0' });
    expect(everywhere).toMatch(/^http:\/\/localhost:[1-9]\d*$/);
    const { port } = new URL(everywhere);
    expect((await ask(`http://127.0.0.1:${port}`, '/-/ready')).status).toBe(200);
  });

  test('in use, or of another machine, is an error with the flag to change', async () => {
    const { host } = new URL(await urlOf());
    // 192.0.2.1 is reserved for documentation (RFC 5737).
    for (const [listenAddress, reason] of [
      [host, 'EADDRINUSE'],
      ['192.0.2.1:0', 'EADDRNOTAVAIL'],
    ] as const) {
      const server = createWebServer(webOptions({ listenAddress }));
      onTestFinished(() => server.stop());
      await expect(server.start()).rejects.toThrow(
        new RegExp(`^cannot listen on .*${reason}.*; set --web.listen-address$`),
      );
    }
  });
});
