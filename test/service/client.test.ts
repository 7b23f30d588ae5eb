/**
 * A question and its answer, through the whole client and real sockets; what leaves the room, and how
 * it ends.
 */
import { inspect } from 'node:util';
import { describe, expect, test } from 'vitest';
import type { RawPage } from '../../src/base/model.ts';
import {
  GOOD,
  inTurn,
  json,
  peopleAnswer,
  SECRET,
  startFakeService,
  status,
  TOKEN,
} from './support/fake-service.ts';
import type { Answer } from './support/fake-service.ts';
import { ask, createHarness, failureOf, patience, QUESTION, until } from './support/harness.ts';

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
      failureOf(harness.riverside.query(day, controller.signal)),
    );
    await until(() => fake.count('/v1/') >= 2);
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
    await until(() => fake.count('/v1/') > 0);
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
