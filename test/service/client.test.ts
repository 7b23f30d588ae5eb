/** Queries through the whole client over real sockets: requests, responses, statuses, credentials, secrets. */
import { describe, expect, test } from 'vitest';
import { TimeLimitError } from '../../src/base/errors.ts';
import { body, GOOD, inTurn, json, status, TOKEN, tokenBody } from '../support/scripted-server.ts';
import type { Responder } from '../support/scripted-server.ts';
import {
  ask,
  failureOf,
  never,
  QUERY,
  SECRET,
  start,
  startInMemory,
  until,
} from './support/harness.ts';

const JSON_ONLY = { accept: 'application/json', 'accept-encoding': 'gzip' };

describe('a query', () => {
  test('requests a token, then the data, and returns the rows', async () => {
    const { server, harness } = await start();
    expect(await ask(harness.riverside)).toMatchObject({
      aggregation: 'minute',
      rows: [{ key: '2026-11-01T10:00', counts: [3, 1] }],
    });
    expect(server.received).toMatchObject([
      {
        method: 'POST',
        url: '/connect/token',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: `client_id=riverside-api&client_secret=${SECRET}&grant_type=client_credentials&scope=ServiceAPI`,
      },
      {
        method: 'GET',
        url: '/v1/peoplecount?aggregation=minute&from=2026-11-01T04%3A00%3A00%2B01%3A00',
        headers: { authorization: `Bearer ${TOKEN}`, ...JSON_ONLY, 'cache-control': 'no-cache' },
        body: '',
      },
    ]);
    expect(server.received[0]?.headers.authorization).toBeUndefined();
    expect(harness.requests).toEqual(['token:200', 'peoplecount:200']);
    expect(harness.credentials).toEqual([true]);
  });

  test.each([
    ['offset', '2026-11-01T04%3A00%3A00%2B01%3A00', '2026-11-01T05%3A00%3A00%2B01%3A00'],
    ['utc', '2026-11-01T03%3A00%3A00Z', '2026-11-01T04%3A00%3A00Z'],
    ['local', '2026-11-01T04%3A00%3A00', '2026-11-01T05%3A00%3A00'],
  ] as const)('writes its times as %s if configured so', async (requestTimes, from, to) => {
    const { server, harness } = await start({ config: { requestTimes } });
    const query = { ...QUERY, to: '2026-11-01T05:00:00+01:00' };
    await ask(harness.riverside, query);
    const page = { endpoint: 'login', limit: 2, includePatronFields: false } as const;
    server.data = json(200, { metadata: {}, result: [] });
    await harness.riverside.page({ ...page, from: query.from, to: query.to }, never());
    expect(server.received.slice(1).map(({ url }) => url)).toEqual([
      `/v1/peoplecount?aggregation=minute&from=${from}&to=${to}`,
      `/v1/login?limit=2&from=${from}&to=${to}`,
    ]);
    expect(harness.reported.join()).toContain(decodeURIComponent(from));
  });
});

describe('a status', () => {
  test.for([
    [302, 'rejected', 1],
    [403, 'auth', 1],
    [404, 'rejected', 1],
    [408, 'timeout', 4],
    [429, 'rate_limited', 4],
    [500, 'server', 4],
    [999, 'server', 4],
  ] as const)('of %i is the reason %s after %i requests', async ([code, reason, requests]) => {
    const { server, harness } = await start({ data: status(code) });
    expect(await failureOf(ask(harness.riverside))).toMatchObject({ reason, status: code });
    expect(server.count('/v1/peoplecount')).toBe(requests);
  });

  test('is not retried after three failed queries in a row', async () => {
    const { server, harness } = await start({ data: status(500) });
    for (const requests of [4, 8, 12, 13]) {
      await failureOf(ask(harness.riverside));
      expect(server.count('/v1/')).toBe(requests);
    }
    server.data = inTurn(GOOD, status(500), GOOD);
    await ask(harness.riverside);
    await ask(harness.riverside);
    expect(server.count('/v1/')).toBe(16);
  });
});

describe('the error of a query names the whole URL without its query', () => {
  const HTML = body('<html>', { 'content-type': 'text/html; charset=utf-8' });

  test.for<['data' | 'token', Responder, string]>([
    ['data', status(404), 'status 404; check service.base_url'],
    ['data', HTML, 'expected complete JSON in UTF-8, got text/html; check service.base_url'],
    ['token', HTML, 'expected complete JSON in UTF-8, got text/html; check service.auth_url'],
    ['token', json(200, tokenBody({ token_type: 'mac' })), '"token_type": expected "Bearer"'],
  ])('of %s, case %#', async ([endpoint, response, message]) => {
    const { server, harness } = await start();
    server[endpoint] = response;
    const title = { data: 'GET URL/v1/peoplecount', token: 'POST URL/connect/token' }[endpoint];
    const { message: shown } = await failureOf(ask(harness.riverside));
    expect(shown.replace(server.url, 'URL')).toBe(`${title}: ${message}`);
  });

  test('and the time that passed, when data waits too long', async () => {
    const { clock, harness } = startInMemory({ config: { maxRequestsPerSecond: 0.01 } });
    const limit = new AbortController();
    const outcome = failureOf(harness.riverside.query(QUERY, limit.signal));
    await clock.advance(12_345);
    limit.abort(new TimeLimitError('a poll', 54_000));
    const limited = 'not sent: service.max_requests_per_second allowed no request';
    expect(await outcome).toMatchObject({
      reason: 'timeout',
      message: `${limited} within 12s; a poll may take 54s`,
    });
    expect(await failureOf(harness.riverside.query(QUERY, limit.signal))).toMatchObject({
      reason: 'timeout',
      message: 'no time left for another request; a poll may take 54s',
    });
  });
});

test('neither token nor secret follows a redirect', async () => {
  const { server: elsewhere } = await start();
  const { url: location } = elsewhere;
  const data = status(302, { location, refresh: `0; url=${location}` });
  const { server, harness } = await start({ data });
  server.token = inTurn(status(307, { location }), json(200, tokenBody()));
  expect((await failureOf(ask(harness.riverside))).message).toBe(
    `POST ${server.url}/connect/token: status 307 (redirects are not followed); check service.auth_url`,
  );
  expect((await failureOf(ask(harness.riverside))).reason).toBe('rejected');
  expect(elsewhere.received).toEqual([]);
});

test('a 401 renews the token and repeats the request once; a second one ends the query', async () => {
  const { server, harness } = await start();
  server.token = inTurn(
    json(200, tokenBody({ access_token: 'old' })),
    json(200, tokenBody({ access_token: 'new' })),
  );
  server.data = (request, response) =>
    (request.headers.authorization === 'Bearer new' ? GOOD : status(401))(request, response);
  await ask(harness.riverside);
  const renewed = ['peoplecount:401', 'token:200'];
  expect(harness.requests).toEqual(['token:200', ...renewed, 'peoplecount:200']);
  server.data = status(401);
  expect(await failureOf(ask(harness.riverside))).toMatchObject({ reason: 'auth', status: 401 });
  expect(harness.requests.slice(4)).toEqual([...renewed, 'peoplecount:401']);
  // Neither token is kept.
  server.data = GOOD;
  await ask(harness.riverside);
  expect(harness.requests.slice(7)).toEqual(['token:200', 'peoplecount:200']);
});

test('a customer whose requests hang does not take the places of the others', async () => {
  const { server, harness } = await start({ config: { maxConcurrency: 4 } });
  server.data = (request, response) => {
    if (!request.url.includes('day')) {
      GOOD(request, response);
    }
  };
  const controller = new AbortController();
  const day = { ...QUERY, aggregation: 'day' } as const;
  const hanging = Array.from({ length: 4 }, () =>
    failureOf(harness.riverside.query(day, controller.signal)),
  );
  await until(() => server.count('/v1/') >= 3);
  await ask(harness.clientFor('hillside'));
  expect(server.count('/v1/peoplecount?aggregation=day')).toBe(3);
  controller.abort();
  const outcomes = await Promise.all(hanging);
  expect(outcomes.map(({ reason }) => reason)).toEqual(Array(4).fill('timeout'));
  expect(outcomes[3]?.message).toMatch(
    /^not sent: 3 other requests of this customer had no complete response within \d+m?s$/,
  );
});

test('close fails what is in flight, what waits and what comes later as unreachable', async () => {
  const { server, harness } = await start({ data() {}, config: { maxConcurrency: 1 } });
  const queries = [harness.riverside, harness.clientFor('hillside'), harness.riverside].map(
    (client) => failureOf(ask(client)),
  );
  await until(() => server.count('/v1/') > 0);
  harness.service.close();
  const outcomes = await Promise.all([...queries, failureOf(ask(harness.riverside))]);
  expect(outcomes.map(({ reason }) => reason)).toEqual(Array(4).fill('unreachable'));
  await until(() => server.sockets.size === 0);
});
