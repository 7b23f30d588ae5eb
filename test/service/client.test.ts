import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import { ServiceError } from '../../src/base/errors.ts';
import type { RawPage } from '../../src/base/nouns.ts';
import {
  SECRET,
  TOKEN,
  inTurn,
  json,
  peopleAnswer,
  startFakeService,
  tokenAnswer,
} from './support/fake-service.ts';
import type { Answer } from './support/fake-service.ts';
import {
  QUESTION,
  ask,
  createHarness,
  driven,
  failureOf,
  patience,
  virtualClock,
} from './support/harness.ts';

function status(code: number, headers: Readonly<Record<string, string>> = {}): Answer {
  return (_request, response) => void response.writeHead(code, headers).end();
}

const GOOD = json(200, peopleAnswer([{ key: 1, in: 3, out: 1 }]));

describe('a question', () => {
  test('is asked with a token of the customer and comes back as a reading', async () => {
    await using fake = await startFakeService();
    using harness = createHarness(fake.url);
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
    expect(fake.asked[0]?.headers['content-type']).toBe('application/x-www-form-urlencoded');
    expect(fake.asked[0]?.headers.authorization).toBeUndefined();
    expect(fake.asked[1]?.headers.authorization).toBe(`Bearer ${TOKEN}`);
    expect(harness.requests).toEqual(['token:200', 'peoplecount:200']);
    expect(harness.credentials).toEqual([true]);
  });

  test('can have an end, and go to the logins', async () => {
    await using fake = await startFakeService();
    fake.data = json(200, { metadata: { aggregation: 'day' }, result: [{ key: 20, value: 7 }] });
    using harness = createHarness(fake.url);
    const reading = await ask(harness.riverside, {
      endpoint: 'login',
      aggregation: 'day',
      from: '2026-10-01T04:00:00Z',
      to: '2026-11-01T04:00:00Z',
    });
    expect(reading).toEqual({ aggregation: 'day', rows: [{ key: 20, counts: [7] }] });
    expect(fake.asked.at(-1)?.url).toBe(
      '/v1/login?aggregation=day&from=2026-10-01T04%3A00%3A00Z&to=2026-11-01T04%3A00%3A00Z',
    );
  });

  test('keeps one connection and one token over many', async () => {
    await using fake = await startFakeService();
    using harness = createHarness(fake.url);
    for (let i = 0; i < 20; i += 1) {
      await ask(harness.riverside);
    }
    expect(fake.connections()).toBe(1);
    expect(fake.count('/connect/token')).toBe(1);
  });

  test('tells which aggregation the service used, if another than the one asked', async () => {
    await using fake = await startFakeService();
    fake.data = json(200, peopleAnswer([], 'day'));
    using harness = createHarness(fake.url);
    expect(await ask(harness.riverside)).toEqual({ aggregation: 'day', rows: [] });
  });

  test('is logged with method, path, aggregation, window, status and duration only', async () => {
    await using fake = await startFakeService();
    using harness = createHarness(fake.url);
    await ask(harness.riverside);
    const lines = harness.told.filter((line) => line.includes('"msg"'));
    const fields = lines.map((line) => Object.keys(JSON.parse(line) as object));
    expect(fields).toEqual([
      'level time customer method path status duration_ms msg'.split(' '),
      'level time customer method path aggregation from status duration_ms msg'.split(' '),
    ]);
  });
});

describe('a page of raw records', () => {
  const FIRST = { endpoint: 'login', limit: 2, includePatronFields: false } as const;

  test('is asked with limit, token and window, and with the same retries as a question', async () => {
    await using fake = await startFakeService();
    const good = json(200, { metadata: { startToken: 'b+/&c' }, result: [{ id: 'l-1' }] });
    fake.data = inTurn(status(503), status(401), good);
    using harness = createHarness(fake.url);
    const first = await harness.riverside.page(FIRST, patience());
    const { records, startToken } = first as RawPage;
    expect(records.map(([id]) => id)).toEqual(['l-1']);
    const from = '2026-11-01T04:00:00+01:00';
    await harness.riverside.page({ ...FIRST, from, ...(startToken && { startToken }) }, patience());
    expect(fake.asked.filter(({ method }) => method === 'GET').map(({ url }) => url)).toEqual([
      ...Array<string>(3).fill('/v1/login?limit=2'),
      '/v1/login?limit=2&startToken=b%2B%2F%26c&from=2026-11-01T04%3A00%3A00%2B01%3A00',
    ]);
    expect(harness.told.join('')).not.toContain('b+/&c');
    expect(harness.told.join('')).not.toContain('b%2B');
  });
});

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
    while (clock.sleepers < 2) {
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
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
    const told = failureOf(harness.riverside.ask(QUESTION, first.signal));
    while (clock.sleepers === 0) {
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    first.abort();
    await told;
    const controller = new AbortController();
    const asking = failureOf(harness.riverside.ask(QUESTION, controller.signal));
    while (clock.sleepers === 0) {
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
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
    const error = await failureOf(harness.riverside.ask(QUESTION, controller.signal));
    expect(error).toMatchObject({ reason: 'timeout', status: undefined });
    expect(harness.requests).toEqual(['token:200', 'peoplecount:none']);
  });

  test('that is a ServiceError is what the ask fails with', async () => {
    await using fake = await startFakeService();
    const controller = new AbortController();
    const reason = new ServiceError('unreachable', 'the customer was removed');
    fake.data = () => controller.abort(reason);
    using harness = createHarness(fake.url);
    expect(await failureOf(harness.riverside.ask(QUESTION, controller.signal))).toBe(reason);
    expect(await failureOf(harness.riverside.ask(QUESTION, controller.signal))).toBe(reason);
  });

  test('in a wait for a retry leaves the reason for which it was waited', async () => {
    const clock = virtualClock();
    await using fake = await startFakeService();
    const controller = new AbortController();
    fake.data = status(503, { 'retry-after': '25' });
    using harness = createHarness(fake.url, { clock });
    const asking = failureOf(harness.riverside.ask(QUESTION, controller.signal));
    while (clock.sleepers === 0) {
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
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
    const impatient = failureOf(harness.riverside.ask(QUESTION, controller.signal));
    const patient = harness.riverside.ask(QUESTION, patience());
    while (fake.count('/connect/token') === 0) {
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    controller.abort();
    expect((await impatient).reason).toBe('timeout');
    gates.resolve();
    expect((await patient).rows).toHaveLength(1);
    expect(fake.count('/connect/token')).toBe(1);
  });
});

describe('one customer whose requests hang', () => {
  test('leaves the others their places', async () => {
    await using fake = await startFakeService();
    fake.data = (request, response) => {
      if (!request.url.includes('day')) {
        GOOD(request, response);
      }
    };
    using harness = createHarness(fake.url, { config: { maxConcurrency: 4 } });
    const controller = new AbortController();
    const day = { ...QUESTION, aggregation: 'day' } as const;
    const hanging = Array.from({ length: 10 }, () =>
      failureOf(harness.riverside.ask(day, controller.signal)),
    );
    while (fake.count('/v1/') < 2) {
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await ask(harness.clientFor('hillside'));
    expect(fake.count('/v1/peoplecount?aggregation=day')).toBe(2);
    controller.abort();
    const outcomes = await Promise.all(hanging);
    expect(new Set(outcomes.map(({ reason }) => reason))).toEqual(new Set(['timeout']));
  });
});

describe('closing', () => {
  test('fails what is under way, what waits and what comes as unreachable', async () => {
    await using fake = await startFakeService();
    fake.data = () => {};
    using harness = createHarness(fake.url, { config: { maxConcurrency: 1 } });
    const asking = [harness.riverside, harness.clientFor('hillside'), harness.riverside].map(
      (client) => failureOf(ask(client)),
    );
    while (fake.count('/v1/') === 0) {
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    harness.service.close();
    for (const error of await Promise.all(asking)) {
      expect(error.reason).toBe('unreachable');
    }
    expect((await failureOf(ask(harness.riverside))).reason).toBe('unreachable');
  });
});

describe('secrets and tokens', () => {
  test('are in nothing that leaves the room, whatever the service answers', async () => {
    await using fake = await startFakeService();
    using harness = createHarness(fake.url, { config: { timeoutMs: 200 } });
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
    shown.push(...harness.told, inspect(harness.riverside, { depth: 9 }));
    expect(shown.length).toBeGreaterThan(2 * answers.length);
    expect(shown.filter((text) => text.includes(SECRET) || text.includes(TOKEN))).toEqual([]);
    expect(shown.filter((text) => text.includes('from='))).toEqual([]);
  });
});
