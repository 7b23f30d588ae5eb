import { describe, expect, test } from 'vitest';
import { LOGIN, PEOPLE, askToken, bearer, silent, small } from './support.ts';

describe('the token endpoint', () => {
  test('issues a bearer token for an hour', () => {
    expect(JSON.parse(askToken(silent().service).body)).toEqual({
      access_token: expect.stringMatching(/^simulated\.[0-9a-f]{40}$/) as string,
      expires_in: 3_600,
      token_type: 'Bearer',
      scope: 'ServiceAPI',
    });
  });

  test.each([
    [{ client_secret: 'wrong' }, 'invalid_client'],
    [{ grant_type: 'password' }, 'unsupported_grant_type'],
    [{ scope: 'Other' }, 'invalid_scope'],
  ])('refuses %j', (fields, error) => {
    const body = JSON.stringify({ error });
    expect(askToken(silent().service, fields)).toMatchObject({ status: 400, body });
  });
});

describe('a data endpoint', () => {
  test('requires a token that was issued, has not expired and was not dropped', async () => {
    const { service, clock } = silent();
    const authorization = bearer(service);
    function status(given?: string): number {
      return service.handle({ method: 'GET', path: LOGIN, headers: { authorization: given } })
        .status;
    }
    expect(status()).toBe(401);
    expect(status('Bearer made-up')).toBe(401);
    expect(status(authorization.replace('Bearer', 'Basic'))).toBe(401);
    expect(status(authorization)).toBe(200);
    await clock.advance(3_599_999);
    expect(status(authorization)).toBe(200);
    await clock.advance(1);
    expect(status(authorization)).toBe(401);
    const second = bearer(service);
    expect(status(second)).toBe(200);
    service.dropTokens();
    expect(status(second)).toBe(401);
  });

  test('allows GET only, and other paths do not exist', () => {
    const { service } = silent();
    const headers = { authorization: bearer(service) };
    const posted = service.handle({ method: 'POST', path: PEOPLE, headers });
    expect(posted).toMatchObject({ status: 405, headers: { allow: 'GET' } });
    expect(service.handle({ method: 'GET', path: '/v2/peoplecount', headers }).status).toBe(404);
  });

  test.each([
    [PEOPLE, { aggregation: 'day', limit: '5' }],
    [PEOPLE, { to: '2026-03-18T12:00:00Z' }],
    [PEOPLE, { aggregation: 'week' }],
    [LOGIN, { aggregation: 'branch' }],
    [PEOPLE, { limit: '0' }],
    [PEOPLE, { from: '2026-02-30T00:00:00Z' }],
    [PEOPLE, { from: '2026-03-18T12:00:00 01:00' }],
  ])('%s refuses %j', (path, query) => {
    const { status, body } = silent().request(path, query);
    expect([status, body]).toEqual([400, expect.stringMatching(/^\{"error":/)]);
  });

  test.each([
    ['seconds', '8'],
    ['date', 'Wed, 18 Mar 2026 15:00:13 GMT'],
  ] as const)('limits the rate of a customer, with a Retry-After in %s', async (retryAfter, at) => {
    const { request, clock } = silent({ rateLimit: { requests: 2, perMs: 10_000, retryAfter } });
    await clock.advance(2_500);
    expect([request(LOGIN), request(LOGIN)].map(({ status }) => status)).toEqual([200, 200]);
    await clock.advance(2_500);
    const { status, headers } = request(LOGIN);
    expect([status, headers['retry-after']]).toEqual([429, at]);
    await clock.advance(8_000);
    expect(request(LOGIN).status).toBe(200);
  });
});

describe('forced aggregation', () => {
  const query = { from: '2026-03-16T12:00:00Z' };

  test.each([
    ['raw records above some bytes', undefined, 'bytes', 20_000, 'day'],
    ['minutes above some rows', 'minute', 'rows', 40, 'day'],
  ] as const)('replaces %s', (_, aggregation, above, limit, expected) => {
    const { ask } = small({ forced: { above, limit } });
    const asked = aggregation === undefined ? query : { ...query, aggregation };
    expect(ask(PEOPLE, asked)).toEqual(small().ask(PEOPLE, { ...query, aggregation: expected }));
  });

  test('of branches, clients and devices is a switch, and otherwise never applied', () => {
    const limited = { forced: { above: 'rows', limit: 1 } } as const;
    for (const aggregation of ['branch', 'client', 'device']) {
      const query = { aggregation, from: '2026-03-18T10:00:00Z', to: '2026-03-18T11:00:00Z' };
      expect(small(limited).ask(PEOPLE, query).metadata.aggregation).toBe(aggregation);
      const forced = small({ forcedGroups: 'always' });
      expect(forced.ask(PEOPLE, query).metadata.aggregation).toBe('day');
    }
  });

  test('may page raw responses instead, with a limit or without', () => {
    const forced = { above: 'rows', limit: 10 } as const;
    const paged = small({ forced, oversizedRaw: 'paged' }).ask(PEOPLE, query).metadata;
    expect(paged).toMatchObject({ count: 10, startToken: expect.any(String) as string });
    const page = { ...query, limit: '20' };
    expect(small({ forced }).ask(PEOPLE, page).metadata.count).toBe(10);
    const strict = small({ forced, oversizedPage: 'aggregated' });
    expect(strict.ask(PEOPLE, page).metadata.aggregation).toBe('day');
  });
});
