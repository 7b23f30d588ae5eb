import { describe, expect, test } from 'vitest';
import { LOGIN, NOW_MS, PEOPLE, askToken, bearer, silent, small } from './support.ts';

test.each([
  [{ client_secret: 'wrong' }, 'invalid_client'],
  [{ grant_type: 'password' }, 'unsupported_grant_type'],
  [{ scope: 'Other' }, 'invalid_scope'],
])('the token endpoint refuses %j', (fields, error) => {
  const body = JSON.stringify({ error });
  expect(askToken(silent().service, fields)).toMatchObject({ status: 400, body });
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
    await clock.advance(3_599_999);
    expect(status(authorization)).toBe(200);
    await clock.advance(1);
    expect(status(authorization)).toBe(401);
    const second = bearer(service);
    expect(status(second)).toBe(200);
    service.dropTokens();
    expect(status(second)).toBe(401);
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

  test('limits the rate of a customer, and says when to come again', async () => {
    const rateLimit = { requests: 2, perMs: 10_000, retryAfter: 'seconds' } as const;
    const { request, clock } = silent({ rateLimit });
    expect([request(LOGIN), request(LOGIN)].map(({ status }) => status)).toEqual([200, 200]);
    await clock.advance(2_000);
    const { status, headers } = request(LOGIN);
    expect([status, headers['retry-after']]).toEqual([429, '8']);
    await clock.advance(8_000);
    expect(request(LOGIN).status).toBe(200);
  });
});

/** When somebody enters. */
const ENTERED = '2026-03-18T11:34:56.789Z';

test.each([
  [{ fromEdge: 'inclusive' }, { from: ENTERED }, 1],
  [{ fromEdge: 'exclusive' }, { from: ENTERED }, 0],
  [{ toEdge: 'inclusive' }, { from: '2026-03-18', to: ENTERED }, 1],
  [{ toEdge: 'exclusive' }, { from: '2026-03-18', to: ENTERED }, 0],
  [{ resolutionMs: 60_000 }, { from: '2026-03-18T11:33:59Z' }, 1],
  [{ resolutionMs: 60_000 }, { from: '2026-03-18T11:34:00Z' }, 0],
  [{ window: 'as asked' }, { aggregation: 'day', from: '2026-03-18T11:40:00Z' }, 0],
  [{ window: 'whole buckets' }, { aggregation: 'day', from: '2026-03-18T11:40:00Z' }, 1],
] as const)('with %j the window %j has %i row of an entry at 11:34:56.789', (...row) => {
  const [conventions, query, count] = row;
  const { service, ask } = silent(conventions);
  service.record('lone', { kind: 'in', atMs: Date.parse(ENTERED) });
  expect(ask(PEOPLE, { aggregation: 'minute', ...query }).result).toHaveLength(count);
});

test.each([
  ['raw records above some bytes', undefined, 'bytes', 20_000],
  ['minutes above some rows', 'minute', 'rows', 40],
] as const)('%s are replaced by days', (_, aggregation, above, limit) => {
  const query = { from: '2026-03-16T12:00:00Z' };
  const { ask } = small({ forced: { above, limit } });
  const asked = aggregation === undefined ? query : { ...query, aggregation };
  expect(ask(PEOPLE, asked)).toEqual(small().ask(PEOPLE, { ...query, aggregation: 'day' }));
});

test('branches, clients and devices are replaced by days only with a switch', () => {
  const limited = { forced: { above: 'rows', limit: 1 } } as const;
  for (const aggregation of ['branch', 'client', 'device']) {
    const query = { aggregation, from: '2026-03-18T10:00:00Z', to: '2026-03-18T11:00:00Z' };
    expect(small(limited).ask(PEOPLE, query).metadata.aggregation).toBe(aggregation);
    const forced = small({ forcedGroups: 'always' });
    expect(forced.ask(PEOPLE, query).metadata.aggregation).toBe('day');
  }
});

test('actual counts go by the time of the event, what is served by that of the arrival', () => {
  const { service } = silent({ deviceClocks: { share: 1, aheadMs: 3_600_000 } });
  const atMs = Date.parse('2026-03-18T10:00:00Z');
  service.record('lone', { kind: 'in', atMs, arrivesMs: atMs + 60_000, amount: 4 });
  service.record('lone', { kind: 'out', atMs: atMs + 60_000, arrivesMs: NOW_MS + 1 });
  service.record('lone', { kind: 'login', atMs });
  const totals = { entered: 4, exited: 0, logins: 1 };
  expect(service.groundTruth('lone', atMs)).toEqual({ ...totals, served: totals });
  const nothing = { entered: 0, exited: 0, logins: 0 };
  expect(service.groundTruth('lone', atMs + 1)).toEqual({ ...nothing, served: totals });
  expect(service.groundTruth('lone', atMs, atMs + 59_999).entered).toBe(0);
  expect(service.groundTruth('lone', atMs, NOW_MS + 1).exited).toBe(1);
});
