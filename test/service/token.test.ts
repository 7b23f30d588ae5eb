import { describe, expect, test } from 'vitest';
import { ServiceError } from '../../src/base/errors.ts';
import { Secret } from '../../src/base/secret.ts';
import { createTokens } from '../../src/service/token.ts';
import type { Tokens } from '../../src/service/token.ts';
import type { ExchangeAnswer } from '../../src/service/transport.ts';
import type { VirtualClock } from '../support/virtual-clock.ts';
import { settle } from '../support/virtual-clock.ts';
import { tokenAnswer } from './support/fake-service.ts';
import { failureOf, patience, virtualClock } from './support/harness.ts';

const MINUTE_MS = 60_000;

interface World {
  readonly clock: VirtualClock;
  readonly tokens: Tokens;
  readonly credentials: boolean[];
  /** What the token endpoint does with the request of this number, from 1. */
  answer: (request: number) => Promise<ExchangeAnswer>;
  requests: number;
  secret: string | undefined;
  take(): Promise<string>;
}

/** Good tokens called 1, 2, 3, that live an hour. */
function createWorld(draw = 0): World {
  const clock = virtualClock();
  const credentials: boolean[] = [];
  const world: World = {
    clock,
    credentials,
    requests: 0,
    secret: 'secret',
    answer: (request) => Promise.resolve(good(request)),
    tokens: createTokens({
      access: {
        name: 'riverside',
        clientId: 'riverside-api',
        readSecret: () =>
          world.secret === undefined
            ? Promise.reject(new Error('ENOENT /secrets/riverside'))
            : Promise.resolve(new Secret(world.secret)),
      },
      authUrl: 'http://127.0.0.1',
      scope: 'ServiceAPI',
      clock,
      random: { next: () => draw },
      onCredentials: (valid) => credentials.push(valid),
      send: () => {
        world.requests += 1;
        return world.answer(world.requests);
      },
    }),
    take: async () => (await world.tokens.take(patience())).reveal(),
  };
  return world;
}

function answer(status: number, value: unknown): ExchangeAnswer {
  return {
    status,
    contentType: 'application/json',
    retryAfter: undefined,
    date: undefined,
    body: Buffer.from(JSON.stringify(value)),
  };
}

function good(request: number, expiresIn: unknown = 3600): ExchangeAnswer {
  return answer(200, tokenAnswer({ access_token: `${request}`, expires_in: expiresIn }));
}

const refusal = answer(400, { error: 'invalid_client' });

describe('a token', () => {
  test('is asked for once by all who wait, and kept', async () => {
    const world = createWorld();
    expect(await Promise.all([world.take(), world.take(), world.take()])).toEqual(['1', '1', '1']);
    expect(await world.take()).toBe('1');
    expect(world.requests).toBe(1);
  });

  test('is renewed when eight tenths of its life are over, without anybody waiting', async () => {
    const world = createWorld();
    await world.take();
    await world.clock.advance(48 * MINUTE_MS - 1);
    expect(await world.take()).toBe('1');
    expect(world.requests).toBe(1);
    await world.clock.advance(1);
    expect(await world.take()).toBe('1');
    await settle();
    expect(await world.take()).toBe('2');
    expect(world.requests).toBe(2);
  });

  test('that is forbidden to ask is thrown away unless it is new', async () => {
    const world = createWorld();
    const token = await world.tokens.take(patience());
    world.tokens.mistrust(token);
    await world.clock.advance(15 * MINUTE_MS - 1);
    world.tokens.mistrust(token);
    expect(await world.take()).toBe('1');
    await world.clock.advance(1);
    world.tokens.mistrust(token);
    expect(await world.take()).toBe('2');
    world.tokens.mistrust(token);
    expect(await world.take()).toBe('2');
  });

  test('is renewed up to a tenth earlier, drawn', async () => {
    const world = createWorld(0.5);
    await world.take();
    await world.clock.advance(2_736_000);
    await world.take();
    expect(world.requests).toBe(2);
  });

  test.for([
    [120, 60],
    [60, 30],
    [10, 30],
    [0, 30],
    [-5, 30],
    ['1800', 1440],
    [undefined, 2880],
    ['soon', 2880],
    [null, 2880],
    [1e12, 69_120],
    [86_400, 69_120],
  ] as const)('with expires_in %s is renewed after %d s', async ([expiresIn, seconds]) => {
    const world = createWorld();
    world.answer = (request) => Promise.resolve(good(request, expiresIn));
    await world.take();
    await world.clock.advance(seconds * 1_000 - 1);
    await world.take();
    expect(world.requests).toBe(1);
    await world.clock.advance(1);
    await world.take();
    expect(world.requests).toBe(2);
  });

  test('serves to its end while the renewal fails, tried once a minute', async () => {
    const world = createWorld();
    await world.take();
    world.answer = () => Promise.reject(new ServiceError('server', 'no'));
    await world.clock.advance(50 * MINUTE_MS);
    for (let i = 0; i < 9 * 6; i += 1) {
      expect(await world.take()).toBe('1');
      await world.clock.advance(10_000);
    }
    expect(world.requests).toBe(1 + 9);
    await world.clock.advance(MINUTE_MS);
    expect((await failureOf(world.take())).reason).toBe('server');
  });

  test('ends by the clock that does not step', async () => {
    const world = createWorld();
    await world.take();
    world.clock.step(-24 * 60 * MINUTE_MS);
    expect(await world.take()).toBe('1');
    world.clock.step(48 * 60 * MINUTE_MS);
    expect(await world.take()).toBe('1');
    expect(world.requests).toBe(1);
    await world.clock.advance(61 * MINUTE_MS);
    expect(await world.take()).toBe('2');
  });

  test('that was refused is thrown away, but not one that came after it', async () => {
    const world = createWorld();
    const first = await world.tokens.take(patience());
    world.tokens.refuse(first);
    const second = await world.tokens.take(patience());
    world.tokens.refuse(first);
    expect(await world.tokens.take(patience())).toBe(second);
    expect(world.requests).toBe(2);
  });

  test('is waited for no longer than the caller likes, and comes for the others', async () => {
    const world = createWorld();
    const coming = Promise.withResolvers<ExchangeAnswer>();
    world.answer = () => coming.promise;
    const controller = new AbortController();
    const impatient = failureOf(world.tokens.take(controller.signal));
    const patient = world.take();
    controller.abort();
    expect((await impatient).reason).toBe('timeout');
    coming.resolve(good(7));
    expect(await patient).toBe('7');
    expect(world.requests).toBe(1);
  });
});

describe('refused credentials', () => {
  test('are asked about again after one minute, then two, four, eight, fifteen', async () => {
    const world = createWorld();
    world.answer = () => Promise.resolve(refusal);
    const askedMinutes: number[] = [];
    for (let minute = 0; minute < 62; minute += 1) {
      const before = world.requests;
      expect((await failureOf(world.take())).reason).toBe('auth');
      if (world.requests > before) {
        askedMinutes.push(minute);
      }
      await world.clock.advance(MINUTE_MS);
    }
    expect(askedMinutes).toEqual([0, 1, 3, 7, 15, 30, 45, 60]);
    expect(world.credentials).toEqual([false]);
  });

  test('are asked about at once when the secret is another one, and the pauses begin anew', async () => {
    const world = createWorld();
    world.answer = () => Promise.resolve(refusal);
    await failureOf(world.take());
    await world.clock.advance(MINUTE_MS);
    await failureOf(world.take());
    world.secret = 'another';
    await failureOf(world.take());
    expect(world.requests).toBe(3);
    await world.clock.advance(MINUTE_MS);
    await failureOf(world.take());
    expect(world.requests).toBe(4);
  });

  test('that are taken later are told as valid, and a refusal then starts from a minute', async () => {
    const world = createWorld();
    world.answer = (request) => Promise.resolve(request === 2 ? good(request) : refusal);
    await failureOf(world.take());
    await world.clock.advance(MINUTE_MS);
    expect(await world.take()).toBe('2');
    await world.clock.advance(61 * MINUTE_MS);
    await failureOf(world.take());
    await world.clock.advance(MINUTE_MS);
    await failureOf(world.take());
    expect(world.requests).toBe(4);
    expect(world.credentials).toEqual([false, true, false]);
  });

  test('at a renewal leave the old token to the end of its life', async () => {
    const world = createWorld();
    await world.take();
    world.answer = () => Promise.resolve(refusal);
    await world.clock.advance(50 * MINUTE_MS);
    await world.take();
    await settle();
    expect(world.credentials).toEqual([true, false]);
    expect(await world.take()).toBe('1');
    await world.clock.advance(10 * MINUTE_MS);
    expect((await failureOf(world.take())).reason).toBe('auth');
  });

  test('are not a secret that cannot be read, which is told without where it lies', async () => {
    const world = createWorld();
    world.secret = undefined;
    expect(await failureOf(world.take())).toMatchObject({
      reason: 'auth',
      message: 'the client secret could not be read',
    });
    expect(world.credentials).toEqual([]);
    world.secret = 'back';
    expect(await world.take()).toBe('1');
  });
});
