/** Basic authentication, over real sockets. */
import { createServer } from 'node:http';
import { hashSync, verify } from '@node-rs/bcrypt';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { listen } from '../../src/base/listen.ts';
import { Secret } from '../../src/base/secret.ts';
import { createAuth } from '../../src/web/auth.ts';
import { GOOD, PASSWORD, USERS, ask, basic, connected, protectedServer } from './protected.ts';

const CHALLENGE = 'Basic realm="library-stats-exporter", charset="UTF-8"';
const HASH = hashOf('right');

/** Hashes with the lowest cost of bcrypt. */
function hashOf(password: string | Uint8Array): Secret {
  return new Secret(hashSync(password, 4));
}

/** A server that requires a password of {@link USERS}. */
async function guarded(): Promise<string> {
  return (await protectedServer({ users: USERS })).url;
}

/** A server behind authentication, and what bcrypt was given. */
async function authServer(
  users = new Map([['alice', HASH]]),
  compare: (password: string, hash: string) => Promise<boolean> = verify,
) {
  const rules = { users };
  const compared: { readonly password: string; readonly hash: string }[] = [];
  const auth = createAuth(
    () => rules,
    ['/-/healthy', '/-/ready'],
    (bytes, hash) => {
      const password = Buffer.from(bytes).toString();
      compared.push({ password, hash });
      return compare(password, hash);
    },
  );
  const server = createServer((request, response) => {
    void auth(request, response).then((refusal) => response.writeHead(refusal ?? 200).end());
  });
  const url = `http://${await listen(server, { host: '127.0.0.1', port: 0 })}`;
  onTestFinished(() => void server.close());
  async function login(user: string, password: string | Uint8Array): Promise<number> {
    const headers = { authorization: basic(user, password) };
    return (await ask(url, '/metrics', { headers })).status;
  }
  return { url, rules, compared, login };
}

describe('without a password', () => {
  test('the status is 401 in plain text with a challenge, and ends the connection', async () => {
    const { status, headers, body } = await ask(await guarded(), '/metrics');
    expect([status, body]).toEqual([401, 'Unauthorized\n']);
    expect(headers).toMatchObject({
      'www-authenticate': CHALLENGE,
      'content-type': 'text/plain; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      connection: 'close',
    });
  });

  test.each([
    '/',
    '/metrics',
    '/%6detrics',
    '/-/reload',
    '/-/healthy/',
    '/-/healthy/../../metrics',
    '/-/healthy;/../metrics',
    '/-/healthy#',
    '/-/HEALTHY',
    '//-/healthy',
    '*',
    'http://localhost/-/healthy',
  ])('no method reaches %s', async (path) => {
    const url = await guarded();
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'POST', 'PROPFIND']) {
      expect([method, (await ask(url, path, { method })).status]).toEqual([method, 401]);
    }
  });

  test.each(['/-/healthy', '/-/ready', '/-/healthy?x', '/-/ready?/../metrics'])(
    '%s is open',
    async (path) => expect((await ask(await guarded(), path)).status).toBe(200),
  );

  test.each([
    ['garbage\r\n\r\n', ['400']],
    [`GET /metrics HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(9_000)}\r\n\r\n`, ['431']],
    ['POST /-/reload HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello', ['401']],
    ['CONNECT 127.0.0.1:1 HTTP/1.1\r\nHost: x\r\n\r\n', []],
    // A second request behind a refused one has no response.
    [
      'GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n' +
        `GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: ${GOOD.authorization}\r\n\r\n`,
      ['401'],
    ],
  ])('the raw request %j has the statuses %j', async (sent, statuses) => {
    const { socket, ended } = await connected(await guarded());
    socket.write(sent);
    const responses = (await ended).matchAll(/^HTTP\/1\.1 (\d+)/gm);
    expect(Array.from(responses, ([, status]) => status)).toEqual(statuses);
  });
});

describe('with credentials', () => {
  test.each([
    ['a wrong password', basic('prometheus', 'x')],
    ['an unknown user', basic('nobody', PASSWORD)],
    ['a property of every object', basic('__proto__', PASSWORD)],
    ['the hash', basic('prometheus', USERS.get('prometheus')?.reveal() ?? '')],
    ['no colon', `Basic ${Buffer.from('prometheus').toString('base64')}`],
    ['a bearer token', `Bearer ${PASSWORD}`],
    ['two values', `${basic('a', 'b')}, ${GOOD.authorization}`],
  ])('%s is refused', async (_name, authorization) => {
    const { status, headers } = await ask(await guarded(), '/', { headers: { authorization } });
    expect([status, headers['www-authenticate']]).toEqual([401, CHALLENGE]);
  });

  test('the scheme is case-insensitive, and a password may contain colons and any bytes', async () => {
    const password = Buffer.concat([Buffer.from('a:b:ø'), Buffer.of(0xff, 0xfe)]);
    const { url } = await protectedServer({ users: new Map([['ålice', hashOf(password)]]) });
    const authorization = basic('ålice', password).replace('Basic', 'bAsIc');
    expect((await ask(url, '/', { headers: { authorization } })).status).toBe(200);
  });

  test('the first 72 bytes of a password count, and a NUL does not end it', async () => {
    const long = 'a'.repeat(71);
    const { login, rules } = await authServer(new Map([['alice', hashOf(`${long}bc`)]]));
    expect(await login('alice', `${long}bX`)).toBe(200);
    expect(await login('alice', `${long}c`)).toBe(401);
    rules.users = new Map([['alice', HASH]]);
    expect(await verify('right\0right', HASH.reveal())).toBe(true);
    expect(await login('alice', 'right\0right')).toBe(401);
  });
});

describe('comparisons', () => {
  test('happen for each wrong password, also of unknown users, and once for a correct one', async () => {
    const { login, compared } = await authServer();
    for (const user of ['alice', 'alice', 'nobody', 'nobody']) {
      await login(user, 'wrong');
    }
    await login('alice', 'right');
    await login('alice', 'right');
    // By the cost of the hashes: an unknown user takes as long as one with the usual cost.
    const costs = compared.map(({ hash }) => hash.slice(4, 6));
    expect(costs).toEqual(['04', '04', '10', '10', '04']);
  });

  test('that were remembered do not make the hash a password (CVE-2022-46146)', async () => {
    const { login } = await authServer();
    const hash = HASH.reveal();
    await login('alice', 'right');
    for (const [user, password] of [
      ['alice', hash],
      [`alice${hash}`, 'right'],
      ['alice', `${hash}right`],
      ['', 'aliceright'],
      [JSON.stringify(['alice', hash]), 'right'],
    ] as const) {
      expect(await login(user, password)).toBe(401);
    }
  });

  test('are forgotten with the hash and with the user, and are not shared between users', async () => {
    const { login, rules, compared } = await authServer();
    await login('alice', 'right');
    rules.users = new Map([
      ['alice', HASH],
      ['bob', HASH],
    ]);
    expect(await login('bob', 'right')).toBe(200);
    expect(compared).toHaveLength(2);
    rules.users = new Map([['alice', hashOf('new')]]);
    expect(await login('alice', 'right')).toBe(401);
    expect(await login('bob', 'right')).toBe(401);
  });

  test('are remembered for 256 passwords at most', async () => {
    const { login, compared } = await authServer(undefined, () => Promise.resolve(true));
    for (let i = 0; i <= 256; i += 1) {
      await login('alice', String(i));
    }
    await login('alice', '256');
    expect(compared).toHaveLength(257);
    await login('alice', '0');
    expect(compared).toHaveLength(258);
  });
});

describe('a flood of guesses', () => {
  /** Comparisons wait until `release`. */
  async function blocked() {
    const { promise, resolve: release } = Promise.withResolvers<boolean>();
    const server = await authServer(undefined, (password) =>
      password === 'right' ? Promise.resolve(true) : promise,
    );
    expect(await server.login('alice', 'right')).toBe(200);
    return { ...server, release };
  }

  test('is compared one at a time; beyond 32 waiting the status is 503', async () => {
    const { compared, login, release } = await blocked();
    const waiting = Array.from({ length: 32 }, (_, i) => login('alice', String(i)));
    await vi.waitUntil(async () => (await login('alice', 'more')) === 503);
    expect(compared).toHaveLength(2);
    // Remembered credentials do not wait.
    expect(await login('alice', 'right')).toBe(200);
    release(false);
    expect(new Set(await Promise.all(waiting))).toEqual(new Set([401]));
  });

  test('does not cost a comparison for clients that left', async () => {
    const { url, compared, login, release } = await blocked();
    const first = login('alice', 'first');
    await vi.waitUntil(() => compared.length === 2);
    const { socket, ended } = await connected(url);
    socket.write(`GET / HTTP/1.1\r\nHost: x\r\nAuthorization: ${basic('alice', 'left')}\r\n\r\n`);
    // Round trips, so that the server has seen what was sent before.
    await login('alice', 'right');
    socket.destroy();
    await ended;
    const last = login('alice', 'last');
    await login('alice', 'right');
    release(false);
    expect(await Promise.all([first, last])).toEqual([401, 401]);
    expect(compared.map(({ password }) => password)).toEqual(['right', 'first', 'last']);
  });
});

test('changed rules apply from the next request on', async () => {
  const { url, server } = await protectedServer({ users: USERS });
  expect((await ask(url, '/metrics', { headers: GOOD })).status).toBe(200);
  server.protect({ tls: undefined, users: new Map([['anna', hashOf('new')]]) });
  expect((await ask(url, '/metrics', { headers: GOOD })).status).toBe(401);
  const headers = { authorization: basic('anna', 'new') };
  expect((await ask(url, '/metrics', { headers })).status).toBe(200);
  server.protect({ tls: undefined, users: new Map() });
  expect((await ask(url, '/metrics')).status).toBe(200);
});
