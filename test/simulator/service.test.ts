import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../src/base/random.ts';
import type { Conventions } from '../../src/simulator/conventions.ts';
import { plainConventions } from '../../src/simulator/conventions.ts';
import { drawConventions } from '../../src/simulator/drawn-conventions.ts';
import { NOW_MS, at, bearer, keys, silent, small, sum, tokenForm } from './support.ts';
import type { Answer, RawRecord, Small } from './support.ts';

const PEOPLE = '/v1/peoplecount';
const LOGIN = '/v1/login';

describe('the token endpoint', () => {
  function ask(fields: Record<string, string>, method = 'POST') {
    const { service } = silent();
    const body = tokenForm({ client_id: 'lone-api', client_secret: 'open sesame', ...fields });
    const { status, body: answer } = service.handle({ method, path: '/connect/token', body });
    return { status, answer: JSON.parse(answer) as Record<string, unknown> };
  }

  test('gives a bearer token for an hour', () => {
    expect(ask({})).toEqual({
      status: 200,
      answer: {
        access_token: expect.stringMatching(/^simulated\.[0-9a-f]{40}$/) as string,
        expires_in: 3_600,
        token_type: 'Bearer',
        scope: 'ServiceAPI',
      },
    });
  });

  test.each([
    [{ client_secret: 'wrong' }, 'invalid_client'],
    [{ client_id: 'nobody' }, 'invalid_client'],
    [{ grant_type: 'password' }, 'unsupported_grant_type'],
    [{ scope: 'Other' }, 'invalid_scope'],
  ])('refuses %j', (fields, error) => {
    expect(ask(fields)).toEqual({ status: 400, answer: { error } });
  });

  test('takes POST only', () => {
    expect(ask({}, 'GET').status).toBe(405);
  });

  test('refuses revoked and rotated credentials, and takes the new ones', () => {
    const { service } = silent({
      status: { ...plainConventions.status, invalidClient: 401 },
    });
    function statusWith(secret: string): number {
      const body = tokenForm({ client_id: 'lone-api', client_secret: secret });
      return service.handle({ method: 'POST', path: '/connect/token', body }).status;
    }
    service.revoke('lone');
    expect(statusWith('open sesame')).toBe(401);
    service.restore('lone');
    expect(statusWith('open sesame')).toBe(200);
    const rotated = service.rotateSecret('lone');
    expect(statusWith('open sesame')).toBe(401);
    expect(statusWith(rotated)).toBe(200);
    expect(service.rotateSecret('lone')).not.toBe(rotated);
  });
});

describe('a data endpoint', () => {
  test('wants a token that it gave, that has not expired and was not dropped', async () => {
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

  test('allows GET only, and there is nothing elsewhere', () => {
    const { service } = silent();
    const headers = { authorization: bearer(service) };
    const posted = service.handle({ method: 'POST', path: PEOPLE, headers });
    expect(posted).toMatchObject({ status: 405, headers: { allow: 'GET' } });
    const nobody = service.handle({ method: 'GET', path: PEOPLE });
    expect(nobody).toMatchObject({ status: 401, headers: { 'www-authenticate': 'Bearer' } });
    expect(service.handle({ method: 'GET', path: '/v2/peoplecount', headers }).status).toBe(404);
  });

  test.each([
    [PEOPLE, { aggregation: 'day', limit: '5' }],
    [PEOPLE, { aggregation: 'day', startToken: 'x' }],
    [PEOPLE, { to: '2026-03-18T12:00:00Z' }],
    [PEOPLE, { aggregation: 'week' }],
    [LOGIN, { aggregation: 'branch' }],
    [PEOPLE, { limit: '0' }],
    [PEOPLE, { limit: 'many' }],
    [PEOPLE, { startToken: 'x' }],
    [PEOPLE, { from: 'yesterday' }],
    [PEOPLE, { from: '2026-02-30T00:00:00Z' }],
    [PEOPLE, { from: '2026-03-18T12:00:00 01:00' }],
    [PEOPLE, { from: '2026-03-18T12:00:00Z', to: 'now' }],
  ])('%s refuses %j', (path, query) => {
    const { status, body } = silent().request(path, query);
    expect(status).toBe(400);
    expect(JSON.parse(body)).toEqual({ error: expect.any(String) as string });
  });

  test('may ignore a forbidden combination, and `to` without `from`', () => {
    const { ask } = small({
      status: {
        ...plainConventions.status,
        forbiddenCombination: 'ignored',
        toWithoutFrom: 'ignored',
      },
    });
    const days = ask(PEOPLE, { aggregation: 'day' });
    expect(ask(PEOPLE, { aggregation: 'day', limit: '1' })).toEqual(days);
    expect(ask(PEOPLE, { aggregation: 'day', to: '2026-03-01T12:00:00Z' })).toEqual(days);
  });

  test.each([
    ['error', 'application/json; charset=utf-8', /^\{"error":/],
    ['message', 'application/json; charset=utf-8', /^\{"message":/],
    ['problem', 'application/problem+json', /"status":422/],
    ['text', 'text/plain; charset=utf-8', /^limit must/],
    ['html', 'text/html; charset=utf-8', /^<!DOCTYPE/],
    ['empty', 'text/plain; charset=utf-8', /^$/],
  ] as const)('words its errors as %s', (errorBody, type, body) => {
    const status = { ...plainConventions.status, badValue: 422 } as const;
    const response = silent({ errorBody, status }).request(PEOPLE, { limit: '-' });
    expect(response.status).toBe(422);
    expect(response.headers['content-type']).toBe(type);
    expect(response.body).toMatch(body);
  });

  test('limits the rate of a customer, and says how long to wait', async () => {
    const rateLimit = { requests: 2, perMs: 10_000, retryAfter: 'seconds' } as const;
    const { request, clock } = silent({ rateLimit });
    await clock.advance(2_500);
    expect([request(LOGIN), request(LOGIN)].map(({ status }) => status)).toEqual([200, 200]);
    await clock.advance(2_500);
    const { status, headers } = request(LOGIN);
    expect([status, headers['retry-after']]).toEqual([429, '8']);
    await clock.advance(8_000);
    expect(request(LOGIN).status).toBe(200);
  });

  test.each([
    ['date', 'Wed, 18 Mar 2026 15:00:10 GMT'],
    ['none', undefined],
  ] as const)('tells the wait as %s', (retryAfter, header) => {
    const { request } = silent({ rateLimit: { requests: 0, perMs: 10_000, retryAfter } });
    expect(request(LOGIN).headers['retry-after']).toBe(header);
  });
});

describe('raw records', () => {
  test('have all the fields of the interface', () => {
    const { ask } = small();
    const from = { from: '2026-03-18T11:00:00Z', limit: '1' };
    const [count] = ask<Record<string, unknown>>(PEOPLE, from).result;
    expect(Object.keys(count ?? {})).toEqual(
      (
        'id amount name localTime serverTime clientTime category libraryControllerState ' +
        'customerId branchId clientId deviceId'
      ).split(' '),
    );
    const [login] = ask<Record<string, unknown>>(LOGIN, from).result;
    expect(Object.keys(login ?? {})).toEqual(
      (
        'id patronAge patronGender patronAddress2 name localTime serverTime clientTime category ' +
        'customerId branchId clientId deviceId'
      ).split(' '),
    );
  });

  test.each([
    ['plain', {}],
    ['of whole minutes', { resolutionMs: 60_000 }],
    [
      'by server time, with devices offline',
      {
        windowTime: 'server',
        lateness: { usualMs: 1_000, offlineShare: 0.3, offlineMaxMs: 3_600_000 },
      },
    ],
    ['cut by bytes', { forced: { ...plainConventions.forced, limit: 5_000 } }],
    ['with a limit by default', { defaultLimit: 50 }],
  ] as const)('come page by page without loss: %s', (_, conventions) => {
    const { ask, service } = small(conventions);
    const from = '2026-03-17T11:00:00Z';
    const records = readPages({ ask }, { from, limit: '37' });
    expect(new Set(records.map(({ id }) => id)).size).toBe(records.length);
    function amounts(category: string): number {
      const ofCategory = records.filter((record) => record.category === category);
      return ofCategory.reduce((total, { amount }) => total + amount, 0);
    }
    const { entered, exited } = service.truth('lone', at(from)).served;
    expect(entered).toBeGreaterThan(80);
    expect({ in: amounts('in'), out: amounts('out') }).toEqual({ in: entered, out: exited });
  });

  test('that arrive between two pages move nothing', () => {
    const { ask, service } = small();
    const first = ask<RawRecord>(PEOPLE, { from: '2026-03-18T08:00:00Z', limit: '10' });
    service.record('lone', { kind: 'in', atMs: at('2026-03-18T08:00:01Z'), arrivesMs: NOW_MS });
    const startToken = first.metadata.startToken ?? '';
    const second = ask<RawRecord>(PEOPLE, { startToken, limit: '10' });
    const ids = [...first.result, ...second.result].map(({ id }) => id);
    expect(new Set(ids).size).toBe(20);
    expect(ids.filter((id) => id.endsWith('4000000-0'))).toEqual([]);
  });

  test('are clamped to the maximum limit, or a larger one is refused', () => {
    const query = { limit: '101' };
    const { metadata } = small({ maximumLimit: 100 }).ask(PEOPLE, query);
    expect(metadata).toMatchObject({ limit: 100, count: 100 });
    const strict = small({ maximumLimit: 100, aboveMaximumLimit: 'rejected' });
    expect(strict.request(PEOPLE, query).status).toBe(400);
  });

  test('name their category, and their times, as the conventions do', () => {
    const world = silent({
      categories: { in: 'ENTRY', out: 'EXIT', login: 'PATRON' },
      recordTimes: 'none',
      resolutionMs: 1_000,
    });
    world.service.record('lone', { kind: 'out', atMs: at('2026-03-18T12:00:00.5Z') });
    expect(world.ask<RawRecord>(PEOPLE).result[0]).toMatchObject({
      category: 'EXIT',
      localTime: '2026-03-18T13:00:00',
      serverTime: '2026-03-18T12:00:00',
    });
  });

  function readPages({ ask }: Pick<Small, 'ask'>, query: Record<string, string>): RawRecord[] {
    const records: RawRecord[] = [];
    let next: Record<string, string> = query;
    for (;;) {
      const { metadata, result }: Answer<RawRecord> = ask<RawRecord>(PEOPLE, next);
      expect(metadata.count).toBe(result.length);
      records.push(...result);
      if (metadata.startToken === undefined) {
        return records;
      }
      next = { ...query, startToken: metadata.startToken };
    }
  }
});

describe('forced aggregation', () => {
  const query = { from: '2026-03-16T12:00:00Z' };
  const days = small().ask(PEOPLE, { ...query, aggregation: 'day' });

  test.each([
    ['raw records above some bytes', undefined, 'bytes', 20_000],
    ['minutes above some bytes', 'minute', 'bytes', 5_000],
    ['minutes above some rows', 'minute', 'rows', 40],
  ] as const)('comes in the place of %s', (_, aggregation, above, limit) => {
    const { ask } = small({ forced: { above, limit, to: 'day', window: 'as asked' } });
    const answer = ask(PEOPLE, aggregation === undefined ? query : { ...query, aggregation });
    expect(answer).toEqual(days);
  });

  test('goes to no finer aggregation than was asked', () => {
    const { ask } = small({
      forced: { above: 'rows', limit: 1, to: 'minute', window: 'as asked' },
    });
    expect(ask(PEOPLE, { ...query, aggregation: 'day' })).toEqual(days);
  });

  test('may widen the window', () => {
    const { ask } = small({
      forced: { above: 'rows', limit: 9, to: 'day', window: 'whole buckets' },
    });
    const answer = ask(PEOPLE, { ...query, aggregation: 'minute' });
    expect(keys(answer)).toEqual(keys(days));
    expect(sum(answer.result).in).toBeGreaterThan(sum(days.result).in);
  });

  test('may leave raw answers to pages, asked with a limit or not', () => {
    const forced = { above: 'rows', limit: 10, to: 'day', window: 'as asked' } as const;
    const paged = small({ forced, oversizedRaw: 'paged' }).ask(PEOPLE, query).metadata;
    expect(paged).toMatchObject({ count: 10, startToken: expect.any(String) as string });
    const page = { ...query, limit: '20' };
    expect(small({ forced }).ask(PEOPLE, page).metadata.count).toBe(10);
    const strict = small({ forced, oversizedPage: 'aggregated' });
    expect(strict.ask(PEOPLE, page).metadata.aggregation).toBe('day');
  });
});

describe('the truth', () => {
  test.each([
    ['plain', {}],
    ['whole minutes', { resolutionMs: 60_000 }],
    ['inclusive', { fromEdge: 'inclusive', resolutionMs: 1_000 }],
    ['devices a month ahead', { deviceClocks: { share: 0.3, aheadMs: 30 * 86_400_000 } }],
    ['keys of another time', { keyTime: 'server', serviceClockMs: 180_000 }],
  ] as const)('is the sum of every answer: %s', (_, conventions: Partial<Conventions>) => {
    const { ask, service } = small(conventions, {
      branches: [
        { id: 1, name: 'One' },
        { id: 2, name: 'Two' },
      ],
    });
    for (const from of ['2026-03-01T03:00:00Z', '2026-03-18T13:45:00Z']) {
      const { served } = service.truth('lone', at(from));
      for (const aggregation of ['branch', 'client', 'device', 'day', 'quarter', 'minute']) {
        const { result } = ask(PEOPLE, { aggregation, from });
        expect({ aggregation, ...sum(result) }).toEqual({
          aggregation,
          in: served.entered,
          out: served.exited,
        });
      }
      for (const aggregation of ['day', 'quarter', 'minute']) {
        const values = ask(LOGIN, { aggregation, from }).result.map(({ value }) => value);
        expect(values.reduce((total, value) => total + value, 0)).toBe(served.logins);
      }
    }
  });

  test('is the sum of the answers over drawn conventions, whatever was asked before', () => {
    for (let seed = 0; seed < 60; seed++) {
      const conventions: Conventions = {
        ...drawConventions(seededRandom(seed)),
        forced: plainConventions.forced,
        designator: 'honoured',
        window: 'as asked',
        dayFreshness: 'live',
        rateLimit: undefined,
      };
      const { ask, service } = small(conventions, {}, NOW_MS + seed * 3_700_000);
      const from = new Date(NOW_MS - (seed + 1) * 3_600_000 * 7).toISOString();
      const { result } = ask(PEOPLE, { aggregation: 'day', from });
      const { entered, exited } = service.truth('lone', at(from)).served;
      expect({ seed, ...sum(result) }).toEqual({ seed, in: entered, out: exited });
      const raw = small(conventions, {}, NOW_MS + seed * 3_700_000).service.truth('lone', at(from));
      expect(raw.served.entered).toBe(entered);
    }
  });

  test('goes by when things took place, and by what had arrived', () => {
    const { service } = silent({ deviceClocks: { share: 1, aheadMs: 3_600_000 } });
    const atMs = at('2026-03-18T10:00:00Z');
    service.record('lone', { kind: 'in', atMs, arrivesMs: atMs + 60_000, amount: 4 });
    service.record('lone', { kind: 'out', atMs: atMs + 60_000, arrivesMs: NOW_MS + 1 });
    service.record('lone', { kind: 'login', atMs });
    const totals = { entered: 4, exited: 0, logins: 1 };
    expect(service.truth('lone', atMs)).toEqual({ ...totals, served: totals });
    const nothing = { entered: 0, exited: 0, logins: 0 };
    expect(service.truth('lone', atMs + 1)).toEqual({ ...nothing, served: totals });
    expect(service.truth('lone', atMs, atMs + 59_999).entered).toBe(0);
    expect(service.truth('lone', atMs, NOW_MS + 1).exited).toBe(1);
  });

  test('keeps occupancy from falling below nobody', () => {
    const { service } = silent();
    const startMs = at('2026-03-18T04:00:00Z');
    function pass(kind: 'in' | 'out', minute: number, amount: number): void {
      service.record('lone', { kind, atMs: startMs + minute * 60_000 + 500, amount });
    }
    pass('out', 1, 5);
    pass('in', 3, 2);
    pass('out', 3, 1);
    pass('in', 4, 1);
    expect(service.occupancyPath('lone', startMs)).toEqual([
      { minuteMs: startMs + 60_000, entered: 0, exited: 5, people: 0 },
      { minuteMs: startMs + 180_000, entered: 2, exited: 1, people: 1 },
      { minuteMs: startMs + 240_000, entered: 1, exited: 0, people: 2 },
    ]);
    expect(service.occupancy('lone', startMs)).toBe(2);
    expect(service.occupancy('lone', NOW_MS)).toBe(0);
  });

  test('does not depend on how many records are remembered', () => {
    const lateness = { usualMs: 60_000, offlineShare: 0.2, offlineMaxMs: 6 * 3_600_000 };
    const remembering = small({ lateness });
    const forgetful = small({ lateness }, {}, NOW_MS, 1);
    for (const from of ['2026-02-20T05:30:00Z', '2026-03-18T10:00:00Z', '2026-03-02T05:30:00Z']) {
      const query = { aggregation: 'minute', from };
      expect(forgetful.ask(PEOPLE, query)).toEqual(remembering.ask(PEOPLE, query));
      const truth = remembering.service.truth('lone', at(from));
      expect(forgetful.service.truth('lone', at(from))).toEqual(truth);
    }
  });
});
