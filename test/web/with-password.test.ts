/**
 * With a password, over real sockets: which one opens, whatever comes beside it, and when another one
 * counts.
 */
import { Agent } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  ask,
  basic,
  CHALLENGE,
  GOOD,
  guarded,
  hashOf,
  PASSWORD,
  protectedServer,
  USERS,
} from './protected.ts';

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
