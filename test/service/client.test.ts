/** Queries through the whole client over real sockets: requests, answers, statuses, credentials, secrets. */
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import type { RawPage } from '../../src/base/model.ts';
import {
  body,
  GOOD,
  inTurn,
  json,
  peopleAnswer,
  SECRET,
  startFakeService,
  status,
  TOKEN,
  tokenAnswer,
} from './support/fake-service.ts';
import type { Answer } from './support/fake-service.ts';
import { ask, createHarness, failureOf, never, QUESTION, until, start } from './support/harness.ts';

describe('a query', () => {
  test('requests a token, then the data, and returns the rows', async () => {
    const { fake, harness } = await start();
    expect(await ask(harness.riverside)).toEqual({
      aggregation: 'minute',
      rows: [{ key: '2026-11-01T10:00', counts: [3, 1] }],
    });
    expect(fake.asked.map(({ method, url, body }) => ({ method, url, body }))).toEqual([
      {
        method: 'POST',
        url: '/connect/token',
        body: `client_id=riverside-api&client_secret=${SECRET}&grant_type=client_credentials&scope=ServiceAPI`,
      },
      {
        method: 'GET',
        url: '/v1/peoplecount?aggregation=minute&from=2026-11-01T04%3A00%3A00%2B01%3A00',
        body: '',
      },
    ]);
    expect(fake.asked[0]?.headers).toMatchObject({
      'content-type': 'application/x-www-form-urlencoded',
    });
    expect(fake.asked[0]?.headers.authorization).toBeUndefined();
    expect(fake.asked[1]?.headers).toMatchObject({
      authorization: `Bearer ${TOKEN}`,
      accept: 'application/json',
      'accept-encoding': 'gzip',
      'cache-control': 'no-cache',
    });
    expect(harness.requests).toEqual(['token:200', 'peoplecount:200']);
    expect(harness.credentials).toEqual([true]);
  });

  test('can have an end, and go to the logins', async () => {
    const { fake, harness } = await start();
    fake.data = json(200, { metadata: { aggregation: 'day' }, result: [{ key: 20, value: 7 }] });
    const response = await ask(harness.riverside, {
      endpoint: 'login',
      aggregation: 'day',
      from: '2026-10-01T04:00:00Z',
      to: '2026-11-01T04:00:00Z',
    });
    expect(response).toEqual({ aggregation: 'day', rows: [{ key: 20, counts: [7] }] });
    expect(fake.asked.at(-1)?.url).toBe(
      '/v1/login?aggregation=day&from=2026-10-01T04%3A00%3A00Z&to=2026-11-01T04%3A00%3A00Z',
    );
  });

  test('reuses the connection and the token', async () => {
    const { fake, harness } = await start();
    for (let i = 0; i < 20; i += 1) {
      await ask(harness.riverside);
    }
    expect(fake.connections()).toBe(1);
    expect(fake.count('/connect/token')).toBe(1);
  });
});

test('a request is logged with method, path, aggregation, window, status and duration only', async () => {
  const { harness } = await start();
  await ask(harness.riverside);
  const lines = harness.reported.filter((line) => line.includes('"msg"'));
  expect(lines.map((line) => Object.keys(JSON.parse(line) as object))).toEqual([
    'level time customer method path status duration_ms msg'.split(' '),
    'level time customer method path aggregation from status duration_ms msg'.split(' '),
  ]);
});

test('a page of raw records is requested with limit, token and window, and retried', async () => {
  const question = { endpoint: 'login', limit: 2, includePatronFields: false } as const;
  const { fake, harness } = await start();
  const page = json(200, { metadata: { startToken: 'b+/&c' }, result: [{ id: 'l-1' }] });
  fake.data = inTurn(status(503), status(401), page);
  const first = await harness.riverside.page(question, never());
  const { records, startToken } = first as RawPage;
  expect(records.map(([id]) => id)).toEqual(['l-1']);
  const from = '2026-11-01T04:00:00+01:00';
  await harness.riverside.page({ ...question, from, ...(startToken && { startToken }) }, never());
  expect(fake.asked.filter(({ method }) => method === 'GET').map(({ url }) => url)).toEqual([
    ...Array<string>(3).fill('/v1/login?limit=2'),
    '/v1/login?limit=2&startToken=b%2B%2F%26c&from=2026-11-01T04%3A00%3A00%2B01%3A00',
  ]);
  expect(harness.reported.join('')).not.toMatch(/b\+|b%2B/);
});

describe('a status', () => {
  test.for([
    [204, 'rejected', 1],
    [302, 'rejected', 1],
    [400, 'rejected', 1],
    [403, 'auth', 1],
    [404, 'rejected', 1],
    [405, 'rejected', 1],
    [408, 'timeout', 4],
    [429, 'rate_limited', 4],
    [500, 'server', 4],
    [503, 'server', 4],
    [999, 'server', 4],
  ] as const)('of %i is the reason %s after %i requests', async ([code, reason, requests]) => {
    const { fake, harness } = await start();
    fake.data = status(code);
    const error = await failureOf(ask(harness.riverside));
    expect(error).toMatchObject({ reason, status: code });
    expect(error.message).toContain(`GET /v1/peoplecount: status ${code}`);
    expect(fake.count('/v1/peoplecount')).toBe(requests);
  });

  test('is not retried after three failed queries in a row', async () => {
    const { fake, harness } = await start();
    fake.data = status(500);
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

test('neither token nor secret follows a redirect', async () => {
  const fake = await startFakeService();
  const elsewhere = await startFakeService();
  const { url: location } = elsewhere;
  fake.data = status(302, { location, refresh: `0; url=${location}` });
  fake.token = inTurn(status(307, { location }), json(200, tokenAnswer()));
  const harness = createHarness(fake.url);
  expect((await failureOf(ask(harness.riverside))).message).toBe(
    'POST /connect/token: status 307 (redirects are not followed)',
  );
  expect((await failureOf(ask(harness.riverside))).reason).toBe('rejected');
  expect(elsewhere.asked).toEqual([]);
});

describe('a 401', () => {
  test('renews the token and repeats the request once', async () => {
    const { fake, harness } = await start();
    fake.token = inTurn(
      json(200, tokenAnswer({ access_token: 'old' })),
      json(200, tokenAnswer({ access_token: 'new' })),
    );
    fake.data = (request, response) =>
      (request.headers.authorization === 'Bearer new' ? GOOD : status(401))(request, response);
    expect((await ask(harness.riverside)).rows).toHaveLength(1);
    expect(harness.requests).toEqual([
      'token:200',
      'peoplecount:401',
      'token:200',
      'peoplecount:200',
    ]);
  });

  test('for the new token is the reason auth, and neither token is kept', async () => {
    const { fake, harness } = await start();
    fake.data = status(401);
    expect(await failureOf(ask(harness.riverside))).toMatchObject({ reason: 'auth', status: 401 });
    expect(harness.requests).toHaveLength(4);
    fake.data = GOOD;
    await ask(harness.riverside);
    expect(harness.requests.slice(4)).toEqual(['token:200', 'peoplecount:200']);
  });
});

describe('the token endpoint', () => {
  test.for([
    [400, { error: 'invalid_client' }, 'status 400, invalid_client'],
    [401, { error: `no client ${SECRET}` }, 'status 401, other'],
    [403, { error: 'unauthorized_client' }, 'status 403, unauthorized_client'],
    [401, 'nothing', 'status 401, no reason given'],
  ] as const)('that refuses with %i is the reason auth, once', async ([code, value, words]) => {
    const { fake, harness } = await start();
    fake.token = json(code, value);
    const error = await failureOf(ask(harness.riverside));
    expect(error).toMatchObject({ reason: 'auth', status: code });
    expect(error.message).toContain(words);
    expect(harness.credentials).toEqual([false]);
    expect((await failureOf(ask(harness.riverside))).reason).toBe('auth');
    expect(harness.requests).toEqual([`token:${code}`]);
  });

  test.for([
    [400, 'rejected'],
    [403, 'auth'],
  ] as const)('without an error object has not refused: %i', async ([code, reason]) => {
    const { fake, harness } = await start();
    fake.token = body('<p>no</p>', { 'content-type': 'text/html' }, code);
    expect(await failureOf(ask(harness.riverside))).toMatchObject({ reason, status: code });
    expect(harness.credentials).toEqual([]);
  });
});

test('a customer whose requests hang does not take the places of the others', async () => {
  const { fake, harness } = await start({ config: { maxConcurrency: 4 } });
  fake.data = (request, response) => {
    if (!request.url.includes('day')) {
      GOOD(request, response);
    }
  };
  const controller = new AbortController();
  const day = { ...QUESTION, aggregation: 'day' } as const;
  const hanging = Array.from({ length: 10 }, () =>
    failureOf(harness.riverside.query(day, controller.signal)),
  );
  await until(() => fake.count('/v1/') >= 2);
  await ask(harness.clientFor('hillside'));
  expect(fake.count('/v1/peoplecount?aggregation=day')).toBe(2);
  controller.abort();
  const outcomes = await Promise.all(hanging);
  expect(new Set(outcomes.map(({ reason }) => reason))).toEqual(new Set(['timeout']));
});

test('close fails what is in flight, what waits and what comes later as unreachable', async () => {
  const { fake, harness } = await start({ config: { maxConcurrency: 1 } });
  fake.data = () => {};
  const queries = [harness.riverside, harness.clientFor('hillside'), harness.riverside].map(
    (client) => failureOf(ask(client)),
  );
  await until(() => fake.count('/v1/') > 0);
  harness.service.close();
  for (const error of await Promise.all(queries)) {
    expect(error.reason).toBe('unreachable');
  }
  expect((await failureOf(ask(harness.riverside))).reason).toBe('unreachable');
  await until(() => fake.sockets.size === 0);
});

describe('token and secret', () => {
  test.for([
    ['the token', TOKEN],
    ['the secret', SECRET],
    ['more than the token', `key-${TOKEN}-1`],
  ])('in a key make the answer malformed: %s', async ([, key]) => {
    const { fake, harness } = await start();
    fake.data = json(200, peopleAnswer([{ key, in: 1, out: 1 }], 'branch'));
    expect(await failureOf(ask(harness.riverside))).toMatchObject({
      reason: 'malformed',
      message: 'row 0: "key" repeats the token or the client secret',
    });
    fake.data = json(200, peopleAnswer([], key));
    expect((await failureOf(ask(harness.riverside))).message).toBe(
      '"metadata.aggregation" repeats the token or the client secret',
    );
  });

  test('are in no error and no log line, whatever the service answers', async () => {
    const { fake, harness } = await start({ config: { timeoutMs: 200 } });
    const answers: readonly Answer[] = [
      (request, response) =>
        json(200, { [SECRET]: TOKEN, metadata: request, result: TOKEN })(request, response),
      json(200, peopleAnswer([{ key: TOKEN.repeat(9), in: SECRET, out: SECRET }])),
      json(200, peopleAnswer([{ key: TOKEN, in: SECRET, out: SECRET }])),
      json(200, { error: TOKEN }),
      json(400, { error: TOKEN }),
      status(401, { 'www-authenticate': TOKEN }),
      status(302, { location: `${fake.url}/?${TOKEN}` }),
      status(503, { 'retry-after': TOKEN }),
      (request, response) => void response.end(`${request.headers.authorization}`),
      (_request, response) => response.destroy(),
      () => {},
    ];
    const shown: string[] = [];
    for (const answer of answers) {
      fake.data = answer;
      const error = await failureOf(ask(harness.riverside));
      shown.push(inspect(error, { depth: 9 }), error.stack ?? '', JSON.stringify(error));
    }
    for (const answer of answers) {
      fake.token = answer;
      const error = await failureOf(ask(harness.clientFor('hillside')));
      shown.push(inspect(error, { depth: 9 }), error.stack ?? '', JSON.stringify(error));
    }
    shown.push(...harness.reported, inspect(harness.riverside, { depth: 9 }));
    expect(shown.length).toBeGreaterThan(2 * answers.length);
    const leaks = shown.filter((text) =>
      [SECRET, TOKEN, 'from='].some((leak) => text.includes(leak)),
    );
    expect(leaks).toEqual([]);
  });
});
