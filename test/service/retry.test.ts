/** Retries, Retry-After and the deadline of a query, under a virtual clock. */
import { describe, expect, test } from 'vitest';
import { FAILURE_REASONS, ServiceError } from '../../src/base/errors.ts';
import { parseRetryAfter, POLL_RETRIES, withRetries } from '../../src/service/retry.ts';
import { GOOD, inTurn, status } from './support/fake-service.ts';
import {
  ask,
  driven,
  failureOf,
  never,
  QUESTION,
  start,
  until,
  virtualClock,
} from './support/harness.ts';

const GONE = new ServiceError('unreachable', 'gone');

/** When the attempts were made that all fail with this error. */
async function attemptsMs(error: Error, { draw = 1, policy = POLL_RETRIES } = {}) {
  const clock = virtualClock();
  const startedMs: number[] = [];
  const outcome = withRetries(
    () => {
      startedMs.push(clock.monotonicMs());
      return Promise.reject(error);
    },
    policy,
    { clock, random: { next: () => draw } },
    never(),
  ).catch((reason: unknown) => reason);
  await clock.advance(600_000);
  expect([await outcome]).toContain(error);
  return startedMs;
}

describe('withRetries', () => {
  const failure = new ServiceError('server', 'no');

  test('doubles the longest wait, and draws each wait from 0 to that', async () => {
    expect(await attemptsMs(failure)).toEqual([0, 1_000, 3_000, 7_000]);
    expect(await attemptsMs(failure, { draw: 0.25 })).toEqual([0, 250, 750, 1_750]);
  });

  test('never waits longer than 30 s for a retry', async () => {
    const policy = { ...POLL_RETRIES, maxAttempts: 8 };
    const startedMs = await attemptsMs(failure, { policy });
    expect(startedMs.slice(-3)).toEqual([31_000, 61_000, 91_000]);
  });

  test('retries what may succeed later, and nothing else', async () => {
    const attempts = FAILURE_REASONS.map(
      async (reason) =>
        [reason, (await attemptsMs(new ServiceError(reason, 'no'))).length] as const,
    );
    expect(Object.fromEntries(await Promise.all(attempts))).toEqual({
      auth: 1,
      malformed: 1,
      rejected: 1,
      rate_limited: 4,
      server: 4,
      timeout: 4,
      unreachable: 4,
    });
    expect(await attemptsMs(new RangeError('a mistake of ours'))).toHaveLength(1);
  });

  test('waits as long as Retry-After says, with up to a second of jitter', async () => {
    const error = new ServiceError('server', 'no', { retryAfterMs: 20_000 });
    expect(await attemptsMs(error, { draw: 0.5 })).toEqual([0, 20_500, 41_000, 61_500]);
  });

  test('ends at once if Retry-After is longer than the policy allows', async () => {
    const error = new ServiceError('rate_limited', 'no', { retryAfterMs: 30_001 });
    expect(await attemptsMs(error)).toEqual([0]);
    const waits: number[] = [];
    const policy = {
      maxAttempts: 2,
      maxWaitMs: 60_000,
      onWait: (_error: ServiceError, ms: number) => waits.push(ms),
    };
    expect(await attemptsMs(error, { draw: 0, policy })).toEqual([0, 30_001]);
    expect(waits).toEqual([30_001]);
  });

  test.for([
    [undefined, failure],
    [GONE, GONE],
  ] as const)('ends a wait when the signal aborts with %s', async ([reason, expected]) => {
    const clock = virtualClock();
    const controller = new AbortController();
    const { signal } = controller;
    const seams = { clock, random: { next: () => 1 } };
    const outcome = failureOf(
      withRetries(() => Promise.reject(failure), POLL_RETRIES, seams, signal),
    );
    await clock.advance(10);
    controller.abort(reason);
    expect(await outcome).toBe(expected);
    expect(clock.sleepers).toBe(0);
  });
});

describe('Retry-After', () => {
  const DATE = 'Sun, 06 Nov 1994 08:49:00 GMT';

  test.for([
    ['120', 120_000],
    ['3601', 3_600_000],
    ['9'.repeat(400), 3_600_000],
    ['Sun, 06 Nov 1994 08:49:37 GMT', 37_000],
    ['Sun, 06 Nov 1994 08:48:00 GMT', 0],
    ['', undefined],
    ['soon', undefined],
    ['Sun, 99 Foo 1994 08:49:37 GMT', undefined],
    [undefined, undefined],
  ] as const)('"%s" is %s ms, by the date of the answer', ([value, expected]) => {
    expect(parseRetryAfter(value, DATE)).toBe(expected);
  });

  test.for([
    [429, 'rate_limited'],
    [503, 'server'],
  ] as const)(
    'with %i fails this query and the next ones if it is long',
    async ([code, reason]) => {
      const clock = virtualClock();
      const { fake, harness } = await start({ clock });
      fake.data = inTurn(status(code, { 'retry-after': '120' }), GOOD);
      const error = await failureOf(ask(harness.riverside));
      expect(error).toMatchObject({ reason, status: code, retryAfterMs: 120_000 });
      await clock.advance(89_000);
      expect(await failureOf(ask(harness.riverside))).toMatchObject({
        reason,
        retryAfterMs: 31_000,
        message: 'no request for another 31 s: the service sent Retry-After',
      });
      // Of the last 30 s a query waits for the rest.
      await clock.advance(2_000);
      const waiting = ask(harness.riverside);
      await clock.advance(28_999);
      expect(fake.count('/v1/')).toBe(1);
      await clock.advance(1);
      await waiting;
      expect(fake.count('/v1/')).toBe(2);
    },
  );

  test('is waited for with a policy that allows it, and each wait is reported', async () => {
    const clock = virtualClock();
    const { fake, harness } = await start({ clock });
    fake.data = inTurn(status(429, { 'retry-after': '600' }), GOOD);
    const waits: string[] = [];
    const client = harness.clientFor('patient', {
      maxAttempts: 2,
      maxWaitMs: 3_600_000,
      onWait: ({ message }, waitMs) => waits.push(`${message}: ${waitMs}`),
    });
    await driven(clock, ask(client));
    expect(clock.monotonicMs()).toBeGreaterThanOrEqual(600_000);
    expect(waits).toEqual(['GET /v1/peoplecount: status 429: 600000']);
  });

  test.for([{ maxConcurrency: 1 }, { maxRequestsPerSecond: 1 }])(
    'holds back a request that waits for its place with %j',
    async (config) => {
      const clock = virtualClock();
      const { fake, harness } = await start({ clock, config });
      fake.data = inTurn(status(429, { 'retry-after': '20' }), GOOD);
      const queries = [ask(harness.riverside), ask(harness.riverside)];
      // The token takes the first second of one request per second.
      await until(() => harness.requests.length === 1);
      await clock.advance(1_000);
      await until(() => harness.requests.includes('peoplecount:429'));
      await clock.advance(18_000);
      expect(fake.count('/v1/')).toBe(1);
      await driven(clock, Promise.all(queries));
      expect(fake.count('/v1/')).toBe(3);
    },
  );

  test('concerns the customer who received it, and nobody else', async () => {
    const { fake, harness } = await start();
    fake.data = inTurn(status(429, { 'retry-after': '3600' }), GOOD);
    await failureOf(ask(harness.riverside));
    await ask(harness.clientFor('hillside'));
    expect(fake.count('/v1/')).toBe(2);
  });

  test('of the token endpoint is observed, too', async () => {
    const { fake, harness } = await start();
    fake.token = status(429, { 'retry-after': '600' });
    expect((await failureOf(ask(harness.riverside))).reason).toBe('rate_limited');
    expect((await failureOf(ask(harness.riverside))).reason).toBe('rate_limited');
    expect(fake.count('/connect/token')).toBe(1);
  });
});

test.for([
  [undefined, { reason: 'timeout', status: undefined }],
  [GONE, GONE],
] as const)('the deadline of a query ends a request: %s', async ([reason, expected]) => {
  const { fake, harness } = await start();
  const controller = new AbortController();
  fake.data = () => controller.abort(reason);
  expect(await failureOf(harness.riverside.query(QUESTION, controller.signal))).toMatchObject(
    expected,
  );
  expect(harness.requests).toEqual(['token:200', 'peoplecount:none']);
  await until(() => fake.sockets.size <= 1);
});
