/** Who gets in, over real sockets: every request that is no plain one of /-/healthy or /-/ready. */
import { Agent } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { CONTENT_SECURITY_POLICY } from '../../src/web/status-style.ts';
import type { WebServerOptions } from '../../src/web/server.ts';
import {
  ask,
  basic,
  connected,
  GOOD,
  hashOf,
  PASSWORD,
  protectedServer,
  USERS,
} from './protected.ts';

function guarded(changes: Partial<WebServerOptions> = {}) {
  return protectedServer({ users: USERS }, changes);
}

const CHALLENGE = 'Basic realm="library-stats-exporter", charset="UTF-8"';

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

describe('with a password', () => {
  test('the right one opens every path', async () => {
    const { url } = await guarded();
    for (const [path, status] of [
      ['/metrics', 200],
      ['/', 200],
      ['/nope', 404],
      ['/%zz', 400],
      ['/-/healthy', 200],
    ] as const) {
      expect((await ask(url, path, { headers: GOOD })).status).toBe(status);
    }
    const agent = new Agent({ keepAlive: true });
    onTestFinished(() => agent.destroy());
    const reload = await ask(url, '/-/reload', { headers: GOOD, method: 'POST', agent });
    expect([reload.status, reload.headers.connection]).toEqual([200, 'keep-alive']);
  });

  test.each([
    ['a wrong password', basic('prometheus', 'x')],
    ['no password', basic('prometheus', '')],
    ['an unknown user', basic('nobody', PASSWORD)],
    ['no user', basic('', PASSWORD)],
    ['the hash', basic('prometheus', USERS.get('prometheus')?.reveal() ?? '')],
    ['no colon', `Basic ${Buffer.from('prometheus').toString('base64')}`],
    ['what is no base64', 'Basic !!!'],
    ['nothing after Basic', 'Basic'],
    ['a bearer token', `Bearer ${PASSWORD}`],
    ['two of them', `${basic('a', 'b')}, ${GOOD.authorization}`],
  ])('%s is refused, and nothing is run', async (_what, authorization) => {
    let runs = 0;
    const { url } = await guarded({
      exposition() {
        runs += 1;
        return Promise.resolve([Buffer.from('x')]);
      },
    });
    const { status, headers } = await ask(url, '/metrics', { headers: { authorization } });
    expect([status, headers['www-authenticate']]).toEqual([401, CHALLENGE]);
    expect((await ask(url, '/metrics', { headers: GOOD })).body).toBe('x');
    expect(runs).toBe(1);
  });

  test('the word Basic may be written in any case, and a password hold colons and bytes', async () => {
    const odd = Buffer.concat([Buffer.from('a:b:ø'), Buffer.of(0xff, 0xfe)]);
    const { url } = await protectedServer({ users: new Map([['ålice', hashOf(odd)]]) });
    const authorization = basic('ålice', odd).replace('Basic', 'bAsIc');
    expect((await ask(url, '/metrics', { headers: { authorization } })).status).toBe(200);
  });

  test('a flood of wrong ones is turned away, and who was in before stays in', async () => {
    const { url } = await protectedServer({
      users: new Map([['prometheus', hashOf(PASSWORD, 9)]]),
    });
    expect((await ask(url, '/metrics', { headers: GOOD })).status).toBe(200);
    const flood = Array.from({ length: 200 }, (_, i) =>
      ask(url, '/metrics', { headers: { authorization: basic('prometheus', String(i)) } }),
    );
    const busy = await Promise.any(
      flood.map(async (asking) => {
        const got = await asking;
        expect(got.status).toBe(503);
        return got;
      }),
    );
    expect(busy.headers['retry-after']).toBe('1');
    expect((await ask(url, '/metrics', { headers: GOOD })).status).toBe(200);
    // Those who wait are cut off with the server.
    void Promise.allSettled(flood);
  }, 60_000);
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

describe('a protection that changes while the server runs', () => {
  const anna = { headers: { authorization: basic('anna', 'new') } };

  test('counts from the next request on, whole', async () => {
    const { url, server } = await guarded();
    expect((await ask(url, '/metrics', { headers: GOOD })).status).toBe(200);
    server.protect({
      tls: undefined,
      users: new Map([['anna', hashOf('new')]]),
      headers: { 'X-Frame-Options': 'deny' },
    });
    expect((await ask(url, '/metrics', { headers: GOOD })).status).toBe(401);
    const got = await ask(url, '/metrics', anna);
    expect([got.status, got.headers['x-frame-options']]).toEqual([200, 'deny']);
    server.protect({ tls: undefined, users: new Map(), headers: {} });
    expect((await ask(url, '/metrics')).status).toBe(200);
  });

  test('does not let a request in that was asked under an older one', async () => {
    const { url, server } = await protectedServer({
      users: new Map([['prometheus', hashOf(PASSWORD, 11)]]),
    });
    const asking = ask(url, '/metrics', { headers: { authorization: basic('prometheus', 'x') } });
    server.protect({ tls: undefined, users: new Map([['prometheus', hashOf('x')]]), headers: {} });
    // By the one or the other as a whole, depending on when it came.
    expect([200, 401]).toContain((await asking).status);
  });
});
