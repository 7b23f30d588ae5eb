/** What each status of the data endpoints means, and how often it is asked again. */
import { describe, expect, test } from 'vitest';
import {
  GOOD,
  inTurn,
  json,
  startFakeService,
  status,
  tokenAnswer,
} from './support/fake-service.ts';
import { ask, createHarness, failureOf } from './support/harness.ts';

describe('a status', () => {
  test.for([
    [204, 'rejected', 1],
    [206, 'rejected', 1],
    [301, 'rejected', 1],
    [302, 'rejected', 1],
    [307, 'rejected', 1],
    [400, 'rejected', 1],
    [403, 'auth', 1],
    [404, 'rejected', 1],
    [405, 'rejected', 1],
    [408, 'timeout', 4],
    [425, 'rejected', 4],
    [429, 'rate_limited', 4],
    [500, 'server', 4],
    [503, 'server', 4],
  ] as const)('of %i is the reason %s after %i requests', async ([code, reason, requests]) => {
    await using fake = await startFakeService();
    fake.data = status(code, { location: `${fake.url}/elsewhere` });
    using harness = createHarness(fake.url);
    const error = await failureOf(ask(harness.riverside));
    expect(error).toMatchObject({ reason, status: code });
    expect(error.message).toContain(`GET /v1/peoplecount: status ${code}`);
    expect(fake.count('/v1/peoplecount')).toBe(requests);
    expect(fake.count('/elsewhere')).toBe(0);
  });

  test('that passes costs a retry and no reading', async () => {
    await using fake = await startFakeService();
    fake.data = inTurn(status(503), status(500), GOOD);
    using harness = createHarness(fake.url);
    expect((await ask(harness.riverside)).rows).toHaveLength(1);
    expect(harness.requests.slice(1)).toEqual([
      'peoplecount:503',
      'peoplecount:500',
      'peoplecount:200',
    ]);
  });

  test('of a redirect does not take the token anywhere', async () => {
    await using fake = await startFakeService();
    await using elsewhere = await startFakeService();
    fake.data = status(302, { location: elsewhere.url });
    fake.token = inTurn(status(307, { location: elsewhere.url }), json(200, tokenAnswer()));
    using harness = createHarness(fake.url);
    expect((await failureOf(ask(harness.riverside))).reason).toBe('rejected');
    expect((await failureOf(ask(harness.riverside))).reason).toBe('rejected');
    expect(elsewhere.asked).toEqual([]);
  });

  test('of a customer who keeps failing is asked for once a poll', async () => {
    await using fake = await startFakeService();
    fake.data = status(500);
    using harness = createHarness(fake.url);
    for (let i = 0; i < 3; i += 1) {
      await failureOf(ask(harness.riverside));
    }
    expect(fake.count('/v1/')).toBe(12);
    await failureOf(ask(harness.riverside));
    expect(fake.count('/v1/')).toBe(13);
    fake.data = inTurn(GOOD, status(500), GOOD);
    await ask(harness.riverside);
    await ask(harness.riverside);
    expect(fake.count('/v1/')).toBe(16);
  });
});
