/** The life of a token, and of refused credentials, under a virtual clock. */
import { describe, expect, test } from 'vitest';
import { ServiceError } from '../../src/base/errors.ts';
import { Secret } from '../../src/base/secret.ts';
import { TokenCache } from '../../src/service/auth.ts';
import type { ExchangeAnswer } from '../../src/service/transport.ts';
import { settle } from '../support/virtual-clock.ts';
import type { VirtualClock } from '../support/virtual-clock.ts';
import { tokenAnswer } from './support/fake-service.ts';
import { failureOf, never, virtualClock } from './support/harness.ts';

const MINUTE_MS = 60_000;

function answer(status: number, value: unknown): ExchangeAnswer {
  return {
    status,
    contentType: 'application/json',
    retryAfter: undefined,
    date: undefined,
    body: Buffer.from(JSON.stringify(value)),
  };
}

const REFUSAL = answer(400, { error: 'invalid_client' });

interface Fixture {
  readonly clock: VirtualClock;
  readonly tokens: TokenCache;
  readonly credentials: boolean[];
  requests: number;
  /** Undefined if it cannot be read. */
  secret: string | undefined;
  /** What the token endpoint does with the request of this number, from 1. */
  answer: (request: number) => Promise<ExchangeAnswer>;
  get(signal?: AbortSignal): Promise<string>;
}

/** Tokens are called 1, 2, 3 and live for an hour, unless the test has another `answer`. */
function createFixture(): Fixture {
  const clock = virtualClock();
  const fixture: Fixture = {
    clock,
    credentials: [],
    requests: 0,
    secret: 'secret',
    answer: (request) => Promise.resolve(token(request)),
    tokens: new TokenCache(
      {
        name: 'riverside',
        clientId: 'riverside-api',
        readSecret: () =>
          fixture.secret === undefined
            ? Promise.reject(new Error('ENOENT /secrets/riverside'))
            : Promise.resolve(new Secret(fixture.secret)),
      },
      {
        config: { authUrl: 'http://127.0.0.1', scope: 'ServiceAPI' },
        clock,
        observer: {
          request() {},
          credentials: (_customer, valid) => void fixture.credentials.push(valid),
        },
      },
      () => {
        fixture.requests += 1;
        return fixture.answer(fixture.requests);
      },
    ),
    get: async (signal = never()) => (await fixture.tokens.get(signal)).value.reveal(),
  };
  return fixture;
}

function token(request: number, expiresIn: unknown = 3600): ExchangeAnswer {
  return answer(200, tokenAnswer({ access_token: `${request}`, expires_in: expiresIn }));
}

describe('a token', () => {
  test('is requested once for all callers, and cached', async () => {
    const fixture = createFixture();
    expect(await Promise.all([fixture.get(), fixture.get()])).toEqual(['1', '1']);
    expect(await fixture.get()).toBe('1');
    expect(fixture.requests).toBe(1);
  });

  test.for([
    [3600, 2880],
    [0, 48],
    [-1, 48],
    [undefined, 2880],
    [1e12, 8e11],
  ] as const)(
    'with expires_in %s is renewed in the background after %d s',
    async ([expiresIn, seconds]) => {
      const fixture = createFixture();
      fixture.answer = (request) => Promise.resolve(token(request, expiresIn));
      await fixture.get();
      await fixture.clock.advance(seconds * 1_000 - 1);
      expect(await fixture.get()).toBe('1');
      expect(fixture.requests).toBe(1);
      await fixture.clock.advance(1);
      expect(await fixture.get()).toBe('1');
      await settle();
      expect(await fixture.get()).toBe('2');
      expect(fixture.requests).toBe(2);
    },
  );

  test('serves to its end while renewals fail, with one attempt a minute', async () => {
    const fixture = createFixture();
    await fixture.get();
    fixture.answer = () => Promise.reject(new ServiceError('server', 'no'));
    await fixture.clock.advance(50 * MINUTE_MS);
    for (let i = 0; i < 9 * 6; i += 1) {
      expect(await fixture.get()).toBe('1');
      await fixture.clock.advance(10_000);
    }
    expect(fixture.requests).toBe(1 + 9);
    // The wall clock does not matter.
    fixture.clock.step(-48 * 60 * MINUTE_MS);
    await fixture.clock.advance(MINUTE_MS);
    expect((await failureOf(fixture.get())).reason).toBe('server');
  });

  test('is kept after a 403 while it is younger than 15 minutes', async () => {
    const fixture = createFixture();
    const first = await fixture.tokens.get(never());
    await fixture.clock.advance(15 * MINUTE_MS - 1);
    fixture.tokens.invalidate(first, 403);
    expect(await fixture.get()).toBe('1');
    await fixture.clock.advance(1);
    fixture.tokens.invalidate(first, 403);
    expect(await fixture.get()).toBe('2');
  });

  test('still arrives for the other callers when one of them aborts', async () => {
    const fixture = createFixture();
    const pending = Promise.withResolvers<ExchangeAnswer>();
    fixture.answer = () => pending.promise;
    const controller = new AbortController();
    const aborted = failureOf(fixture.get(controller.signal));
    const other = fixture.get();
    controller.abort();
    expect((await aborted).reason).toBe('timeout');
    pending.resolve(token(7));
    expect(await other).toBe('7');
    expect(fixture.requests).toBe(1);
  });
});

describe('refused credentials', () => {
  test('are sent again after one minute, then two, four, eight, fifteen', async () => {
    const fixture = createFixture();
    fixture.answer = () => Promise.resolve(REFUSAL);
    const requestedMinutes: number[] = [];
    for (let minute = 0; minute < 62; minute += 1) {
      const before = fixture.requests;
      expect((await failureOf(fixture.get())).reason).toBe('auth');
      if (fixture.requests > before) {
        requestedMinutes.push(minute);
      }
      await fixture.clock.advance(MINUTE_MS);
    }
    expect(requestedMinutes).toEqual([0, 1, 3, 7, 15, 30, 45, 60]);
    expect(fixture.credentials).toEqual([false]);
  });

  test('are sent at once with another secret, and the pauses start over', async () => {
    const fixture = createFixture();
    fixture.answer = () => Promise.resolve(REFUSAL);
    for (const [seconds, secret, requests] of [
      [0, 'secret', 1],
      [60, 'secret', 2],
      [0, 'another', 3],
      [59, 'another', 3],
      [1, 'another', 4],
    ] as const) {
      await fixture.clock.advance(seconds * 1_000);
      fixture.secret = secret;
      await failureOf(fixture.get());
      expect(fixture.requests).toBe(requests);
    }
  });

  test('at a renewal leave the old token valid to its end', async () => {
    const fixture = createFixture();
    await fixture.get();
    fixture.answer = () => Promise.resolve(REFUSAL);
    await fixture.clock.advance(50 * MINUTE_MS);
    await fixture.get();
    await settle();
    expect(fixture.credentials).toEqual([true, false]);
    expect(await fixture.get()).toBe('1');
    await fixture.clock.advance(10 * MINUTE_MS);
    expect((await failureOf(fixture.get())).reason).toBe('auth');
  });
});

test('a secret that cannot be read is the reason auth, without its path', async () => {
  const fixture = createFixture();
  fixture.secret = undefined;
  expect(await failureOf(fixture.get())).toMatchObject({
    reason: 'auth',
    message: 'the client secret could not be read',
  });
  expect(fixture.credentials).toEqual([]);
  fixture.secret = 'back';
  expect(await fixture.get()).toBe('1');
});
