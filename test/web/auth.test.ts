/** Basic authentication: the rules by themselves, and what of the server is behind it. */
import { hashSync, verify } from '@node-rs/bcrypt';
import { describe, expect, test, vi } from 'vitest';
import { Secret } from '../../src/base/secret.ts';
import { createAuth } from '../../src/web/auth.ts';
import { PASSWORD, USERS, ask, basic, protectedServer } from './protected.ts';

function hashOf(password: string | Uint8Array): Secret {
  return new Secret(hashSync(password, 4));
}

const HASH = hashOf('right');

/** `login` returns how a login ends, undefined for good. */
function authOf(users = new Map([['alice', HASH]]), compare = vi.fn<typeof verify>(verify)) {
  const rules = { users };
  const auth = createAuth(() => rules, compare);
  function login(user: string, password: string | Uint8Array) {
    return auth(basic(user, password));
  }
  return { auth, login, rules, compare };
}

test.each(['/', '/-/reload', '/-/healthy/', '/-/healthy/../../metrics', '//-/healthy'])(
  'without a password no method reaches %s',
  async (path) => {
    const { url } = await protectedServer({ users: USERS });
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'POST']) {
      const { status, headers } = await ask(url, path, { method });
      expect([method, status]).toEqual([method, 401]);
      expect(headers['www-authenticate']).toMatch(/^Basic realm="/);
    }
  },
);

describe('credentials', () => {
  test.each([
    ['a wrong password', basic('prometheus', 'x')],
    ['a property of every object', basic('__proto__', PASSWORD)],
    ['the hash', basic('prometheus', USERS.get('prometheus')?.reveal() ?? '')],
    // It is good for bcrypt itself, which repeats a password with a NUL behind it.
    ['a password twice with a NUL', basic('prometheus', `${PASSWORD}\0${PASSWORD}`)],
    ['no colon', `Basic ${Buffer.from('prometheus').toString('base64')}`],
    ['two values', `${basic('a', 'b')}, ${basic('prometheus', PASSWORD)}`],
  ])('%s are refused', async (_name, authorization) => {
    const { auth } = authOf(new Map(USERS));
    expect(await auth(authorization)).toBe(401);
  });

  test('have a scheme in any case, and colons and any bytes in a password', async () => {
    const password = Buffer.concat([Buffer.from('a:b:ø'), Buffer.of(0xff, 0xfe)]);
    const { auth } = authOf(new Map([['ålice', hashOf(password)]]));
    const authorization = basic('ålice', password).replace('Basic', 'bAsIc');
    expect(await auth(authorization)).toBeUndefined();
  });
});

describe('comparisons', () => {
  test('happen for each wrong password, also of unknown users, and once for a correct one', async () => {
    const { login, compare } = authOf();
    for (const user of ['alice', 'alice', 'nobody', 'nobody']) {
      await login(user, 'wrong');
    }
    await login('alice', 'right');
    expect(await login('alice', 'right')).toBeUndefined();
    // By the cost of the hashes: an unknown user takes as long as one with the usual cost.
    const costs = compare.mock.calls.map(([, hash]) => hash.slice(4, 6));
    expect(costs).toEqual(['04', '04', '10', '10', '04']);
  });

  test('that were remembered do not make the hash a password (CVE-2022-46146)', async () => {
    const { login } = authOf();
    const hash = HASH.reveal();
    await login('alice', 'right');
    for (const [user, password] of [
      ['alice', hash],
      [`alice${hash}`, 'right'],
      ['alice', `${hash}right`],
      ['', 'aliceright'],
    ] as const) {
      expect(await login(user, password)).toBe(401);
    }
  });

  test('are forgotten with the hash and with the user, and are not shared between users', async () => {
    const { login, rules, compare } = authOf();
    await login('alice', 'right');
    rules.users = new Map([...rules.users, ['bob', HASH]]);
    expect(await login('bob', 'right')).toBeUndefined();
    expect(compare).toHaveBeenCalledTimes(2);
    rules.users = new Map([['alice', hashOf('new')]]);
    expect(await login('alice', 'right')).toBe(401);
    expect(await login('bob', 'right')).toBe(401);
  });
});

test('of many guesses one is compared at a time; beyond 32 waiting the status is 503', async () => {
  const { promise, resolve: release } = Promise.withResolvers<boolean>();
  const isRight = vi.fn<typeof verify>(() => promise).mockResolvedValueOnce(true);
  const { login } = authOf(undefined, isRight);
  await login('alice', 'right');
  const waiting = Array.from({ length: 32 }, (_, i) => login('alice', String(i)));
  expect(await login('alice', 'more')).toBe(503);
  // Remembered credentials do not wait.
  expect(await login('alice', 'right')).toBeUndefined();
  expect(isRight).toHaveBeenCalledTimes(2);
  release(false);
  expect(new Set(await Promise.all(waiting))).toEqual(new Set([401]));
});
