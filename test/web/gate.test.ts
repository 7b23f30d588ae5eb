/** Who gets in, over real sockets: every request that is no plain one of /-/healthy or /-/ready. */
import { describe, expect, test } from 'vitest';
import { CONTENT_SECURITY_POLICY } from '../../src/web/status-style.ts';
import { ask, CHALLENGE, connected, GOOD, guarded, protectedServer, USERS } from './protected.ts';

describe('without a password', () => {
  test('an answer is 401 in plain text, asks for Basic, and ends the connection', async () => {
    const { url } = await guarded();
    const { status, headers, body } = await ask(url, '/metrics');
    expect([status, body]).toEqual([401, 'Unauthorized\n']);
    expect(headers).toMatchObject({
      'www-authenticate': CHALLENGE,
      'content-type': 'text/plain; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      connection: 'close',
    });
  });

  const PATHS = [
    '/',
    '/metrics',
    '/metrics?x=/-/healthy',
    '//metrics',
    '///metrics',
    '/%6detrics',
    '/%2fmetrics',
    '/metrics/',
    '/metrics;x',
    '/METRICS',
    '/./metrics',
    '/x/../metrics',
    '/nope',
    '/-/',
    '/-/reload',
    '/-/healthy/',
    '/-/healthy/..',
    '/-/healthy/../../metrics',
    '/-/healthy;/../metrics',
    '/-/healthy#',
    '/-/healthy%3f',
    '/-/healthy%00',
    '/-/%68ealthy',
    '/-/HEALTHY',
    '//-/healthy',
    '/-//healthy',
    '/x/../-/healthy',
    '/%zz',
    '/%',
    '*',
    'http://localhost/metrics',
    'http://localhost/-/healthy',
    'https://localhost/-/ready',
    'http://-/healthy',
  ];

  test.each(PATHS)('the path %s is closed to every method', async (path) => {
    const { url } = await guarded();
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'DELETE', 'PROPFIND', 'TRACE']) {
      const { status, body } = await ask(url, path, { method });
      expect([method, status, body]).toEqual([
        method,
        401,
        method === 'HEAD' ? '' : 'Unauthorized\n',
      ]);
    }
  });

  test.each(PATHS)('nothing behind the path %s is run', async (path) => {
    const run: string[] = [];
    function tell(what: string) {
      return () => {
        run.push(what);
        throw new Error('nobody may come here');
      };
    }
    const { url } = await guarded({
      exposition: tell('exposition'),
      status: tell('status'),
      reload: tell('reload'),
      healthy: tell('healthy'),
      ready: tell('ready'),
    });
    for (const method of ['GET', 'HEAD', 'POST', 'PUT']) {
      await ask(url, path, { method });
    }
    expect(run).toEqual([]);
  });

  test.each(['/-/healthy', '/-/ready', '/-/healthy?x', '/-/ready?/../metrics'])(
    '%s is open to GET and HEAD, and to nothing else',
    async (path) => {
      const { url } = await guarded();
      const get = await ask(url, path);
      expect([get.status, get.headers.connection]).toEqual([200, 'close']);
      expect(get.body).toMatch(/^library-stats-exporter is (healthy|ready)\.\n$/);
      expect((await ask(url, path, { method: 'HEAD' })).status).toBe(200);
      for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
        expect((await ask(url, path, { method })).status).toBe(401);
      }
    },
  );

  test('what is no HTTP, or a tunnel, is answered without being let in', async () => {
    const { url } = await guarded();
    for (const [sent, status] of [
      ['garbage\r\n\r\n', '400'],
      [`GET /metrics HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(9_000)}\r\n\r\n`, '431'],
      ['GET /metrics HTTP/1.1\r\nHost: x\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n', '401'],
      ['GET /metrics HTTP/1.0\r\n\r\n', '401'],
      ['POST /-/reload HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello', '401'],
    ] as const) {
      const { socket, ended } = await connected(url);
      socket.write(sent);
      expect(await ended).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    }
    const tunnel = await connected(url);
    tunnel.socket.write('CONNECT 127.0.0.1:1 HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(await tunnel.ended).toBe('');
  });

  test('a second request behind a refused one is not looked at', async () => {
    const { url } = await guarded();
    const { socket, ended } = await connected(url);
    const good = `Authorization: ${GOOD.authorization}\r\n`;
    socket.write(
      `GET /metrics HTTP/1.1\r\nHost: x\r\n\r\nGET /metrics HTTP/1.1\r\nHost: x\r\n${good}\r\n`,
    );
    expect((await ended).match(/^HTTP\/1\.1 \d+/gm)).toEqual(['HTTP/1.1 401']);
  });
});

describe('the headers of the configuration', () => {
  const headers = {
    'Strict-Transport-Security': 'max-age=5',
    'Content-Security-Policy': "default-src 'self'",
  };

  test('are on every answer, refusals included, and the status page keeps its own policy', async () => {
    const { url } = await protectedServer({ users: USERS, headers });
    for (const [path, options] of [
      ['/metrics', { headers: GOOD }],
      ['/nope', { headers: GOOD }],
      ['/metrics', {}],
      ['/-/healthy', {}],
    ] as const) {
      const answer = await ask(url, path, options);
      expect(answer.headers).toMatchObject({
        'strict-transport-security': 'max-age=5',
        'content-security-policy': "default-src 'self'",
      });
    }
    const page = await ask(url, '/', { headers: GOOD });
    expect(page.headers).toMatchObject({
      'strict-transport-security': 'max-age=5',
      'content-security-policy': CONTENT_SECURITY_POLICY,
    });
  });
});
