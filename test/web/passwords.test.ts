import { verify } from '@node-rs/bcrypt';
import { describe, expect, test, vi } from 'vitest';
import { Secret } from '../../src/base/secret.ts';
import { createPasswordCheck } from '../../src/web/passwords.ts';
import type { Users, Verdict } from '../../src/web/passwords.ts';
import { hashOf } from './protected.ts';

const HASH = hashOf('right');
const USERS: Users = new Map([['alice', HASH]]);

interface Comparison {
  readonly password: string;
  readonly hash: string;
}

/** A check, and what bcrypt was asked in its course. */
function counted() {
  const compared: Comparison[] = [];
  const passwords = createPasswordCheck((password, hash) => {
    compared.push({ password: Buffer.from(password).toString(), hash });
    return verify(password, hash);
  });
  function check(user: string, password: string | Uint8Array, users = USERS): Promise<Verdict> {
    return passwords.check({ user, password: Buffer.from(password) }, users);
  }
  return { compared, check };
}

test('the right password is right, another or of another user is wrong', async () => {
  const { check } = counted();
  expect(await check('alice', 'right')).toBe('right');
  expect(await check('alice', 'wrong')).toBe('wrong');
  expect(await check('alice', '')).toBe('wrong');
  expect(await check('bob', 'right')).toBe('wrong');
  expect(await check('', 'right')).toBe('wrong');
  expect(await check('__proto__', 'right')).toBe('wrong');
});

test.each(['$2a', '$2b', '$2y'])('a hash may begin with %s', async (kind) => {
  const users = new Map([['alice', new Secret(HASH.reveal().replace(/^\$2./, kind))]]);
  const { check } = counted();
  expect(await check('alice', 'right', users)).toBe('right');
  expect(await check('alice', 'wrong', users)).toBe('wrong');
});

describe('of a long password', () => {
  const long = 'a'.repeat(71);
  const users = new Map([['alice', hashOf(`${long}bc`)]]);

  test('the first 72 bytes count, as bcrypt has it', async () => {
    const { check } = counted();
    expect(await check('alice', `${long}b`, users)).toBe('right');
    expect(await check('alice', `${long}bcd`, users)).toBe('right');
    expect(await check('alice', long, users)).toBe('wrong');
    expect(await check('alice', `${long}c`, users)).toBe('wrong');
  });

  test('any that is as good is remembered within a bound', async () => {
    const { check, compared } = counted();
    for (let i = 0; i < 300; i += 1) {
      expect(await check('alice', `${long}b${i}`, users)).toBe('right');
    }
    await check('alice', `${long}b299`, users);
    expect(compared).toHaveLength(300);
    await check('alice', `${long}b0`, users);
    expect(compared).toHaveLength(301);
  });
});

test('a NUL does not end a password', async () => {
  const { check } = counted();
  expect(await check('alice', 'right\0')).toBe('wrong');
  // To bcrypt the same password twice over, which it repeats itself.
  expect(await verify('right\0right', HASH.reveal())).toBe(true);
  expect(await check('alice', 'right\0right')).toBe('wrong');
});

describe('what an answer costs', () => {
  test('is a comparison of the same cost for a user who is not there', async () => {
    const { check, compared } = counted();
    await check('alice', 'wrong');
    await check('nobody', 'wrong');
    expect(compared.map(({ hash }) => hash.slice(0, 7))).toEqual(['$2y$04$', '$2y$04$']);
    expect(compared[1]?.hash).toHaveLength(60);
  });

  test('is for users who are not there what it is for those who are, always the same of one', async () => {
    const users = new Map([
      ['alice', hashOf('right', 4)],
      ['bob', hashOf('right', 6)],
    ]);
    const costs: string[] = [];
    const passwords = createPasswordCheck((_password, hash) => {
      costs.push(hash.slice(4, 6));
      return Promise.resolve(false);
    });
    const names = Array.from({ length: 64 }, (_, i) => `nobody-${i}`);
    for (const user of [...names, ...names]) {
      await passwords.check({ user, password: Buffer.from('x') }, users);
    }
    expect(new Set(costs)).toEqual(new Set(['04', '06']));
    expect(costs.slice(0, 64)).toEqual(costs.slice(64));
  });

  test('is never saved for a wrong password, and once for a right one', async () => {
    const { check, compared } = counted();
    await check('alice', 'wrong');
    await check('alice', 'wrong');
    await check('nobody', 'right');
    await check('nobody', 'right');
    expect(compared).toHaveLength(4);
    await check('alice', 'right');
    await check('alice', 'right');
    expect(compared).toHaveLength(5);
  });
});

describe('what is remembered', () => {
  test('is not a way in for somebody who has the hash (CVE-2022-46146)', async () => {
    const { check } = counted();
    const hash = HASH.reveal();
    await check('alice', 'right');
    for (const [user, password] of [
      ['alice', hash],
      [`alice${hash}`, 'right'],
      ['alice', `${hash}right`],
      ['alice:right', ''],
      ['', 'aliceright'],
      [`${Buffer.from('alice').toString('hex')}:${Buffer.from(hash).toString('hex')}`, 'right'],
      [JSON.stringify(['alice', hash]), 'right'],
    ] as const) {
      expect(await check(user, password)).toBe('wrong');
    }
  });

  test('ends with the hash, and with the user', async () => {
    const { check, compared } = counted();
    await check('alice', 'right');
    expect(await check('alice', 'right', new Map([['alice', hashOf('new')]]))).toBe('wrong');
    expect(await check('alice', 'right', new Map([['bob', HASH]]))).toBe('wrong');
    expect(compared).toHaveLength(3);
  });

  test('does not go to another user with the same hash', async () => {
    const { check, compared } = counted();
    const users = new Map([...USERS, ['bob', HASH]]);
    await check('alice', 'right', users);
    await check('bob', 'right', users);
    expect(compared).toHaveLength(2);
  });
});

describe('many at once', () => {
  /** A check that compares nothing before it is told to, and with what it was asked so far. */
  function held() {
    const compared: string[] = [];
    const answers: (() => void)[] = [];
    const passwords = createPasswordCheck((password) => {
      compared.push(Buffer.from(password).toString());
      return new Promise((resolve) => answers.push(() => resolve(false)));
    });
    async function answerAll(until: number): Promise<void> {
      while (compared.length < until || answers.length > 0) {
        answers.splice(0).forEach((answer) => answer());
        await new Promise(setImmediate);
      }
    }
    function check(password: string, signal?: AbortSignal): Promise<Verdict> {
      return passwords.check({ user: 'alice', password: Buffer.from(password) }, USERS, signal);
    }
    return { compared, answerAll, check };
  }

  test('are compared two at a time, in the order in which they came', async () => {
    const { check, compared, answerAll } = held();
    const verdicts = Promise.all(['1', '2', '3', '4', '5'].map((password) => check(password)));
    await vi.waitFor(() => expect(compared).toEqual(['1', '2']));
    await answerAll(5);
    expect(await verdicts).toEqual(Array(5).fill('wrong'));
    expect(compared).toEqual(['1', '2', '3', '4', '5']);
  });

  test('beyond those that may wait are turned away at once', async () => {
    const { check, answerAll } = held();
    const verdicts = Array.from({ length: 66 }, (_, i) => check(String(i)));
    expect(await check('one too many')).toBe('busy');
    await answerAll(66);
    expect(new Set(await Promise.all(verdicts))).toEqual(new Set(['wrong']));
  });

  test('lose those who have gone while they waited', async () => {
    const { check, compared, answerAll } = held();
    const gone = new AbortController();
    const verdicts = [check('1'), check('2'), check('3', gone.signal), check('4')];
    gone.abort();
    expect(await verdicts[2]).toBe('busy');
    await answerAll(3);
    await Promise.all(verdicts);
    expect(compared).toEqual(['1', '2', '4']);
  });

  test('a comparison that fails gives its turn back', async () => {
    const passwords = createPasswordCheck(() => Promise.reject(new Error('no bcrypt')));
    for (let i = 0; i < 5; i += 1) {
      const checking = passwords.check({ user: 'alice', password: Buffer.from('x') }, USERS);
      await expect(checking).rejects.toThrow('no bcrypt');
    }
  });

  test('whose password is remembered wait for nobody', async () => {
    let hold = false;
    const passwords = createPasswordCheck((password, hash) =>
      hold ? new Promise(() => {}) : verify(password, hash),
    );
    const right = { user: 'alice', password: Buffer.from('right') };
    expect(await passwords.check(right, USERS)).toBe('right');
    hold = true;
    for (let i = 0; i < 100; i += 1) {
      void passwords.check({ user: 'alice', password: Buffer.from(String(i)) }, USERS);
    }
    expect(await passwords.check(right, USERS)).toBe('right');
  });
});

test('the event loop goes on while bcrypt works', async () => {
  const users = new Map([['alice', hashOf('right', 12)]]);
  const passwords = createPasswordCheck();
  let turns = 0;
  let done = false;
  const checking = passwords
    .check({ user: 'alice', password: Buffer.from('right') }, users)
    .finally(() => (done = true));
  while (!done) {
    await new Promise(setImmediate);
    turns += 1;
  }
  expect(await checking).toBe('right');
  expect(turns).toBeGreaterThan(10);
});
