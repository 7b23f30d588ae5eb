import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify';
import { describe, expect, onTestFinished, test } from 'vitest';
import { UsageError } from '../../src/base/errors.ts';
import { createApp, createWebServer } from '../../src/web/server.ts';
import type { WebServerOptions } from '../../src/web/server.ts';
import { webOptions } from './fixtures.ts';

function appWith(changes: Partial<WebServerOptions> = {}): FastifyInstance {
  const app = createApp(webOptions(changes));
  onTestFinished(() => app.close());
  return app;
}

function ask(
  request: InjectOptions,
  changes: Partial<WebServerOptions> = {},
): Promise<LightMyRequestResponse> {
  return appWith(changes).inject(request);
}

/** A reload that is always good, and how often it was done. */
function countedReload() {
  let reloads = 0;
  return {
    reload: () => {
      reloads += 1;
      return Promise.resolve({ ok: true as const });
    },
    count: () => reloads,
  };
}

describe('/metrics', () => {
  test('is the text format unless something else is asked for', async () => {
    const response = await ask({ url: '/metrics', headers: { accept: '*/*' } });
    expect(response.statusCode).toBe(200);
    expect(response.body).toBe('text gzip=false\n');
    expect(response.headers).toMatchObject({
      'content-type': 'text/plain; version=0.0.4; charset=utf-8',
      vary: 'Accept, Accept-Encoding',
      'content-length': '16',
      'cache-control': 'no-store',
    });
    expect(response.headers['content-encoding']).toBeUndefined();
  });

  test('is OpenMetrics, compressed, when that is asked for; the query string means nothing', async () => {
    const response = await ask({
      url: '/metrics?format=text',
      headers: {
        accept: 'application/openmetrics-text;version=1.0.0;escaping=allow-utf-8',
        'accept-encoding': 'gzip',
      },
    });
    expect(response.body).toBe('openmetrics gzip=true\n');
    expect(response.headers).toMatchObject({
      'content-type': 'application/openmetrics-text; version=1.0.0; charset=utf-8',
      'content-encoding': 'gzip',
      vary: 'Accept, Accept-Encoding',
    });
  });

  test('HEAD has the headers of GET and no body', async () => {
    const app = appWith();
    const get = await app.inject({ method: 'GET', url: '/metrics' });
    const head = await app.inject({ method: 'HEAD', url: '/metrics' });
    expect(head.body).toBe('');
    expect({ ...head.headers, date: '' }).toEqual({ ...get.headers, date: '' });
  });

  test('moves with the telemetry path', async () => {
    const app = appWith({ telemetryPath: '/library/stats' });
    expect((await app.inject('/library/stats')).statusCode).toBe(200);
    expect((await app.inject('/metrics')).statusCode).toBe(404);
    expect((await app.inject('/')).body).toContain('href="/library/stats"');
  });

  test('takes the place of the status page when the telemetry path is /', async () => {
    const response = await ask({ url: '/' }, { telemetryPath: '/' });
    expect(response.body).toBe('text gzip=false\n');
  });

  test('a fault inside is a 500 that shows nothing of it, but to the log', async () => {
    const logged: unknown[] = [];
    const log = { ...webOptions().log, error: (...line: unknown[]) => void logged.push(line) };
    const response = await ask(
      { url: '/metrics?token=abc' },
      { log, exposition: () => Promise.reject(new Error('secret inside')) },
    );
    expect(response.statusCode).toBe(500);
    expect(response.body).toBe('Internal Server Error\n');
    expect(logged).toEqual([
      ['request failed', { method: 'GET', path: '/metrics', error: 'secret inside' }],
    ]);
  });
});

describe('health and readiness', () => {
  test('say in words that all is well', async () => {
    const app = appWith();
    const healthy = await app.inject('/-/healthy');
    expect([healthy.statusCode, healthy.body]).toEqual([
      200,
      'library-stats-exporter is healthy.\n',
    ]);
    const ready = await app.inject('/-/ready');
    expect([ready.statusCode, ready.body]).toEqual([200, 'library-stats-exporter is ready.\n']);
  });

  test('are 503 with the reason otherwise', async () => {
    const app = appWith({
      healthy: () => false,
      ready: () => ({ ready: false, why: 'it is stopping.' }),
    });
    const healthy = await app.inject('/-/healthy');
    expect(healthy.statusCode).toBe(503);
    expect(healthy.body).toMatch(/^library-stats-exporter is not healthy: /);
    const ready = await app.inject('/-/ready');
    expect(ready.statusCode).toBe(503);
    expect(ready.body).toBe('library-stats-exporter is not ready: it is stopping.\n');
  });
});

describe('/-/reload', () => {
  test.each(['POST', 'PUT'] as const)('%s reads the configuration again', async (method) => {
    const { reload, count } = countedReload();
    const response = await ask({ method, url: '/-/reload' }, { reload });
    expect([response.statusCode, count()]).toEqual([200, 1]);
  });

  test('a body of any type is taken and forgotten', async () => {
    const response = await ask({
      method: 'POST',
      url: '/-/reload',
      headers: { 'content-type': 'application/json' },
      payload: '{',
    });
    expect(response.statusCode).toBe(200);
  });

  test('a body beyond the limit is refused, and nothing is read again', async () => {
    const { reload, count } = countedReload();
    const response = await ask(
      { method: 'POST', url: '/-/reload', payload: 'x'.repeat(1_025) },
      { reload },
    );
    expect([response.statusCode, response.body, count()]).toEqual([413, 'Payload Too Large\n', 0]);
  });

  test('the problems of a bad configuration are the answer', async () => {
    const problems = 'config.yaml:1:1: customers: <none>, and at least one is needed\n';
    const response = await ask(
      { method: 'POST', url: '/-/reload' },
      { reload: () => Promise.resolve({ ok: false, problems }) },
    );
    expect([response.statusCode, response.body]).toEqual([400, problems]);
    expect(response.headers['content-type']).toBe('text/plain; charset=utf-8');
  });

  test('without --web.enable-lifecycle it is forbidden and nothing is read', async () => {
    const { reload, count } = countedReload();
    const response = await ask(
      { method: 'POST', url: '/-/reload' },
      { enableLifecycle: false, reload },
    );
    expect([response.statusCode, count()]).toEqual([403, 0]);
    expect(response.body).toContain('--web.enable-lifecycle');
  });
});

describe('what there is not', () => {
  test.each([
    ['GET', '/nope'],
    ['GET', '//'],
    ['GET', '/metrics/'],
    ['GET', '/METRICS'],
    ['GET', '/-/'],
    ['POST', '/nope'],
    ['PROPFIND', '/nope'],
  ])('%s %s is not found, in plain text', async (method, url) => {
    const response = await ask({ method: method as 'GET', url });
    expect([response.statusCode, response.body]).toEqual([404, 'Not Found\n']);
    expect(response.headers['content-type']).toBe('text/plain; charset=utf-8');
  });

  test.each([
    ['POST', '/metrics', 'GET, HEAD'],
    ['DELETE', '/', 'GET, HEAD'],
    ['OPTIONS', '/-/healthy?x=1', 'GET, HEAD'],
    ['PROPFIND', '/metrics', 'GET, HEAD'],
    ['GET', '/-/reload', 'POST, PUT'],
    ['HEAD', '/-/reload', 'POST, PUT'],
  ])('%s %s is not allowed, and Allow says what is', async (method, url, allow) => {
    const response = await ask({ method: method as 'GET', url });
    expect([response.statusCode, response.headers.allow]).toEqual([405, allow]);
  });

  test('a path that is no path is a bad request', async () => {
    const response = await ask({ url: '/%zz' });
    expect([response.statusCode, response.body]).toEqual([400, 'Bad Request\n']);
  });
});

test.each(['metrics', '', '/:id', '/*', '/a b', '/-/ready', '/m?x'])(
  'the telemetry path %j is refused before anything listens',
  (telemetryPath) => {
    expect(() => createWebServer(webOptions({ telemetryPath }))).toThrow(UsageError);
  },
);

test('a listen address that is none is refused before anything listens', () => {
  expect(() => createWebServer(webOptions({ listenAddress: 'x' }))).toThrow(UsageError);
});
