/**
 * Tokens that the data endpoints do not take any more, and credentials that the token endpoint
 * refuses.
 */
import { describe, expect, test } from 'vitest';
import {
  GOOD,
  inTurn,
  json,
  SECRET,
  startFakeService,
  status,
  tokenAnswer,
} from './support/fake-service.ts';
import { ask, createHarness, failureOf } from './support/harness.ts';

describe('a token that the service does not take any more', () => {
  test('is thrown away and the question is asked once more', async () => {
    await using fake = await startFakeService();
    fake.token = inTurn(
      json(200, tokenAnswer({ access_token: 'old' })),
      json(200, tokenAnswer({ access_token: 'new' })),
    );
    fake.data = (request, response) =>
      (request.headers.authorization === 'Bearer new' ? GOOD : status(401))(request, response);
    using harness = createHarness(fake.url);
    expect((await ask(harness.riverside)).rows).toHaveLength(1);
    expect(harness.requests).toEqual([
      'token:200',
      'peoplecount:401',
      'token:200',
      'peoplecount:200',
    ]);
  });

  test('makes the reason auth when the next one is not taken either', async () => {
    await using fake = await startFakeService();
    fake.data = status(401);
    using harness = createHarness(fake.url);
    expect(await failureOf(ask(harness.riverside))).toMatchObject({ reason: 'auth', status: 401 });
    expect(harness.requests).toEqual([
      'token:200',
      'peoplecount:401',
      'token:200',
      'peoplecount:401',
    ]);
    // Neither token is kept for the next time.
    fake.data = GOOD;
    await ask(harness.riverside);
    expect(harness.requests.slice(4)).toEqual(['token:200', 'peoplecount:200']);
  });
});

describe('refused credentials', () => {
  test.for([
    [400, { error: 'invalid_client' }, 'status 400, invalid_client'],
    [401, { error: `no client ${SECRET}` }, 'status 401, other'],
    [403, { error: 'unauthorized_client' }, 'status 403, unauthorized_client'],
    [401, 'nothing', 'status 401, no reason given'],
  ] as const)('with %i are the reason auth', async ([code, body, words]) => {
    await using fake = await startFakeService();
    fake.token = json(code, body);
    using harness = createHarness(fake.url);
    const error = await failureOf(ask(harness.riverside));
    expect(error).toMatchObject({ reason: 'auth', status: code });
    expect(error.message).toContain(words);
    expect(harness.credentials).toEqual([false]);
    expect(harness.requests).toEqual([`token:${code}`]);
    // At once, without a request.
    expect((await failureOf(ask(harness.riverside))).reason).toBe('auth');
    expect(harness.requests).toEqual([`token:${code}`]);
  });

  test('are tried again at once when the secret is another one', async () => {
    await using fake = await startFakeService();
    fake.token = inTurn(json(400, { error: 'invalid_client' }), json(200, tokenAnswer()));
    using harness = createHarness(fake.url);
    await failureOf(ask(harness.riverside));
    harness.secret = 'another';
    await ask(harness.riverside);
    expect(harness.credentials).toEqual([false, true]);
    expect(fake.asked[1]?.body).toContain('client_secret=another');
  });

  test.for([
    [400, 'rejected'],
    [403, 'auth'],
    [404, 'rejected'],
    [500, 'server'],
  ] as const)('are not what %i without an error object says', async ([code, reason]) => {
    await using fake = await startFakeService();
    fake.token = (_request, response) =>
      void response.writeHead(code, { 'content-type': 'text/html' }).end('<p>no</p>');
    using harness = createHarness(fake.url);
    expect(await failureOf(ask(harness.riverside))).toMatchObject({ reason, status: code });
    expect(harness.credentials).toEqual([]);
  });
});
