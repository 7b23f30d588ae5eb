/**
 * How long an ask waits: Retry-After, whose reading is tested in retry-after.test.ts, and the
 * deadline.
 */
import { describe, expect, test } from 'vitest';
import { ServiceError } from '../../src/base/errors.ts';
import {
  GOOD,
  inTurn,
  json,
  startFakeService,
  status,
  tokenAnswer,
} from './support/fake-service.ts';
import {
  QUESTION,
  ask,
  createHarness,
  driven,
  failureOf,
  patience,
  virtualClock,
  until,
} from './support/harness.ts';

describe('Retry-After', () => {
  test('is waited for, if it is short', async () => {
    const clock = virtualClock();
    await using fake = await startFakeService();
    fake.data = inTurn(status(429, { 'retry-after': '20' }), GOOD);
    using harness = createHarness(fake.url, { clock });
    await driven(clock, ask(harness.riverside));
    expect(clock.monotonicMs()).toBeGreaterThanOrEqual(20_000);
    expect(fake.count('/v1/')).toBe(2);
  });

  test('as a date is measured from the date of the answer', async () => {
    const clock = virtualClock();
    await using fake = await startFakeService();
    const date = 'Sun, 01 Nov 1998 08:00:00 GMT';
    const later = 'Sun, 01 Nov 1998 08:00:10 GMT';
    fake.data = inTurn(status(503, { date, 'retry-after': later }), GOOD);
    using harness = createHarness(fake.url, { clock });
    await driven(clock, ask(harness.riverside));
    expect(clock.monotonicMs()).toBeGreaterThanOrEqual(10_000);
    expect(clock.monotonicMs()).toBeLessThan(12_000);
  });

  test.for([
    [429, 'rate_limited'],
    [503, 'server'],
  ] as const)('with %i ends the ask if it is long, and the next ones', async ([code, reason]) => {
    const clock = virtualClock();
    await using fake = await startFakeService();
    fake.data = inTurn(status(code, { 'retry-after': '120' }), GOOD);
    using harness = createHarness(fake.url, { clock });
    const error = await failureOf(ask(harness.riverside));
    expect(error).toMatchObject({ reason, status: code, retryAfterMs: 120_000 });
    await clock.advance(89_000);
    const held = await failureOf(ask(harness.riverside));
    expect(held).toMatchObject({ reason, retryAfterMs: 31_000 });
    expect(held.message).toBe('the service asked to wait; 31 s of it are left');
    expect(fake.count('/v1/')).toBe(1);
    await clock.advance(31_000);
    await ask(harness.riverside);
    expect(fake.count('/v1/')).toBe(2);
  });

  test('is waited out by an ask that finds only its end left', async () => {
    const clock = virtualClock();
    await using fake = await startFakeService();
    fake.data = inTurn(status(429, { 'retry-after': '120' }), GOOD);
    using harness = createHarness(fake.url, { clock });
    await failureOf(ask(harness.riverside));
    await clock.advance(91_000);
    const asking = ask(harness.riverside);
    await clock.advance(28_999);
    expect(fake.count('/v1/')).toBe(1);
    await clock.advance(1);
    await asking;
    expect(fake.count('/v1/')).toBe(2);
  });

  test('that comes while an ask waits for its place holds that one too', async () => {
    const clock = virtualClock();
    await using fake = await startFakeService();
    fake.data = inTurn(status(429, { 'retry-after': '20' }), GOOD);
    using harness = createHarness(fake.url, { clock, config: { maxConcurrency: 1 } });
    const asking = [ask(harness.riverside), ask(harness.riverside)];
    await until(() => clock.sleepers >= 2);
    expect(fake.count('/v1/')).toBe(1);
    await driven(clock, Promise.all(asking));
    expect(fake.count('/v1/')).toBe(3);
  });

  test.for([
    [undefined, { reason: 'rate_limited', retryAfterMs: 20_000 }],
    [new ServiceError('unreachable', 'gone'), { reason: 'unreachable', message: 'gone' }],
  ] as const)('is waited out no longer than the deadline, with reason %s', async ([why, words]) => {
    const clock = virtualClock();
    await using fake = await startFakeService();
    fake.data = status(429, { 'retry-after': '20' });
    using harness = createHarness(fake.url, { clock });
    const first = new AbortController();
    const told = failureOf(harness.riverside.query(QUESTION, first.signal));
    await until(() => clock.sleepers > 0);
    first.abort();
    await told;
    const controller = new AbortController();
    const asking = failureOf(harness.riverside.query(QUESTION, controller.signal));
    await until(() => clock.sleepers > 0);
    controller.abort(why);
    expect(await asking).toMatchObject(words);
    expect(fake.count('/v1/')).toBe(1);
    expect(clock.sleepers).toBe(0);
  });

  test('is for the customer who was told', async () => {
    await using fake = await startFakeService();
    fake.data = inTurn(status(429, { 'retry-after': '3600' }), GOOD);
    using harness = createHarness(fake.url);
    await failureOf(ask(harness.riverside));
    await ask(harness.clientFor('hillside'));
    expect(fake.count('/v1/')).toBe(2);
  });

  test('of the token endpoint counts too', async () => {
    await using fake = await startFakeService();
    fake.token = status(429, { 'retry-after': '600' });
    using harness = createHarness(fake.url);
    expect((await failureOf(ask(harness.riverside))).reason).toBe('rate_limited');
    expect((await failureOf(ask(harness.riverside))).reason).toBe('rate_limited');
    expect(fake.count('/connect/token')).toBe(1);
  });

  test.for(['soon', '-5', '1e9', ''])('of "%s" says nothing', async (value) => {
    await using fake = await startFakeService();
    fake.data = inTurn(status(503, { 'retry-after': value }), GOOD);
    using harness = createHarness(fake.url);
    await ask(harness.riverside);
    expect(fake.count('/v1/')).toBe(2);
  });
});

describe('the deadline', () => {
  test('ends a request that never answers, with the reason timeout', async () => {
    await using fake = await startFakeService();
    const controller = new AbortController();
    fake.data = () => controller.abort();
    using harness = createHarness(fake.url);
    const error = await failureOf(harness.riverside.query(QUESTION, controller.signal));
    expect(error).toMatchObject({ reason: 'timeout', status: undefined });
    expect(harness.requests).toEqual(['token:200', 'peoplecount:none']);
  });

  test('that is a ServiceError is what the ask fails with', async () => {
    await using fake = await startFakeService();
    const controller = new AbortController();
    const reason = new ServiceError('unreachable', 'the customer was removed');
    fake.data = () => controller.abort(reason);
    using harness = createHarness(fake.url);
    expect(await failureOf(harness.riverside.query(QUESTION, controller.signal))).toBe(reason);
    expect(await failureOf(harness.riverside.query(QUESTION, controller.signal))).toBe(reason);
  });

  test('in a wait for a retry leaves the reason for which it was waited', async () => {
    const clock = virtualClock();
    await using fake = await startFakeService();
    const controller = new AbortController();
    fake.data = status(503, { 'retry-after': '25' });
    using harness = createHarness(fake.url, { clock });
    const asking = failureOf(harness.riverside.query(QUESTION, controller.signal));
    await until(() => clock.sleepers > 0);
    controller.abort();
    expect(await asking).toMatchObject({ reason: 'server', status: 503 });
    expect(fake.count('/v1/')).toBe(1);
    expect(clock.sleepers).toBe(0);
  });

  test('of one who waits for a token does not take it from the others', async () => {
    await using fake = await startFakeService();
    const gates = Promise.withResolvers<void>();
    fake.token = (request, response) =>
      void gates.promise.then(() => json(200, tokenAnswer())(request, response));
    using harness = createHarness(fake.url);
    const controller = new AbortController();
    const impatient = failureOf(harness.riverside.query(QUESTION, controller.signal));
    const patient = harness.riverside.query(QUESTION, patience());
    await until(() => fake.count('/connect/token') > 0);
    controller.abort();
    expect((await impatient).reason).toBe('timeout');
    gates.resolve();
    expect((await patient).rows).toHaveLength(1);
    expect(fake.count('/connect/token')).toBe(1);
  });
});
