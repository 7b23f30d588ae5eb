/** Proves the fake service and the truth that it tells, before anything is held against them. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LedgerService } from './ledger-service.ts';
import type { Fault } from './faults.ts';
import type { ServiceCustomer } from './ledger-service.ts';
import { Ledger } from './ledger.ts';
import { hourMs, minuteMs } from './local-time.ts';

const service = new LedgerService();
let customer: ServiceCustomer;
const zone = 'Europe/Copenhagen';
const noon = Date.parse('2026-03-10T12:00:00Z');
const query = 'aggregation=minute&from=2026-03-10T11:00:00Z';

beforeAll(async () => {
  await service.start();
  customer = service.addCustomer('riverside', zone);
  customer.ledger.add('people', { in: 3, out: 1 }, noon + 5000);
  customer.ledger.add('people', { in: 2 }, noon + 50_000);
  customer.ledger.add('logins', { in: 4 }, noon + 61_000);
});
afterAll(async () => {
  await service.stop();
});

async function token(secret = customer.secret): Promise<Response> {
  return fetch(`${service.url}/connect/token`, {
    method: 'POST',
    body: new URLSearchParams({
      client_id: customer.clientId,
      client_secret: secret,
      grant_type: 'client_credentials',
      scope: 'ServiceAPI',
    }),
  });
}

async function ask(path: string): Promise<Response> {
  const { access_token: bearer } = (await (await token()).json()) as { access_token: string };
  return fetch(`${service.url}${path}`, { headers: { authorization: `Bearer ${bearer}` } });
}

describe('the fake service', () => {
  test('sums people by minute, with the metadata of the interface', async () => {
    const answer = (await (await ask(`/v1/peoplecount?${query}`)).json()) as object;
    expect(answer).toMatchObject({
      metadata: { from: '2026-03-10T11:00:00Z', count: 1, aggregation: 'minute' },
      result: [{ key: '2026-03-10T12:00:00.000Z', in: 5, out: 1 }],
    });
  });

  test('shows logins as key and value', async () => {
    const answer = (await (await ask(`/v1/login?${query}`)).json()) as object;
    expect(answer).toMatchObject({ result: [{ key: '2026-03-10T12:01:00.000Z', value: 4 }] });
  });

  test('groups people by branch', async () => {
    const path = '/v1/peoplecount?aggregation=branch&from=2026-03-10T11:00:00Z';
    expect(await (await ask(path)).json()).toMatchObject({
      result: [
        { key: 101, in: 3, out: 1 },
        { key: 102, in: 2, out: 0 },
      ],
    });
  });

  test('refuses a wrong secret, a wrong token and one that was revoked', async () => {
    const refused = await token('wrong');
    expect([refused.status, await refused.json()]).toEqual([400, { error: 'invalid_client' }]);
    const { access_token: bearer } = (await (await token()).json()) as { access_token: string };
    service.revokeTokens(customer);
    const headers = { authorization: `Bearer ${bearer}` };
    const answer = await fetch(`${service.url}/v1/login?${query}`, { headers });
    expect(answer.status).toBe(401);
  });

  test.each<[Fault, number, string]>([
    [500, 500, '{"error"'],
    [401, 401, '{"error"'],
    ['busy, retry after a second', 503, '{}'],
    ['html', 200, '<html>'],
    ['truncated', 200, '{"metadata"'],
    ['one bad row', 200, '{"metadata"'],
    ['empty', 200, '{"metadata"'],
  ])(
    'meets a request with the fault %s, and only as many as asked',
    async (fault, status, start) => {
      service.fail(customer, fault, 1);
      const answer = await ask(`/v1/peoplecount?${query}`);
      expect(answer.status).toBe(status);
      const text = await answer.text();
      expect(text.slice(0, start.length)).toBe(start);
      expect(text).not.toMatch(/"in":5,"out":1}\]}$/);
      expect(await (await ask(`/v1/peoplecount?${query}`)).text()).toContain('"in":5');
    },
  );

  test('resets a connection, and leaves one hanging', async () => {
    service.fail(customer, 'reset', 1);
    await expect(ask(`/v1/peoplecount?${query}`)).rejects.toThrow('fetch failed');
    service.fail(customer, 'hang', 1);
    const { access_token: bearer } = (await (await token()).json()) as { access_token: string };
    const hanging = fetch(`${service.url}/v1/peoplecount?${query}`, {
      headers: { authorization: `Bearer ${bearer}` },
      signal: AbortSignal.timeout(300),
    });
    await expect(hanging).rejects.toThrow('timeout');
  });

  test('notes every rule that a request breaks', async () => {
    service.violations.length = 0;
    await ask(`/v1/peoplecount?${query}&limit=5`);
    await ask('/v1/login?aggregation=branch');
    await ask('/v1/login?aggregation=day&to=2026-03-10');
    await fetch(`${service.url}/connect/token`, { method: 'POST', body: '{}' });
    expect(service.violations).toEqual([
      'aggregation never goes with limit',
      'logins cannot be grouped by place',
      'to needs from',
      'to is not ISO 8601: 2026-03-10',
      expect.stringContaining('form-encoded'),
      'grant_type client_credentials',
      'scope ServiceAPI',
    ]);
  });
});

describe('the ledger', () => {
  function keyOf(ledger: Ledger, fromMs = noon): unknown {
    ledger.add('people', { in: 1 }, noon + 7 * minuteMs + 5000);
    return ledger.answer('people', 'minute', fromMs, Infinity).rows[0]?.key;
  }

  test.each([
    ['iso Z', '2026-03-10T12:07:00.000Z'],
    ['iso offset', '2026-03-10T13:07:00+01:00'],
    ['naive local', '2026-03-10T13:07:00'],
    ['naive UTC', '2026-03-10T12:07:00'],
    ['epoch seconds, number', 1_773_144_420],
    ['epoch milliseconds, string', '1773144420000'],
    ['yyyyMMddHHmm local, number', 202_603_101_307],
    ['HH:mm local', '13:07'],
    ['minute of day', 787],
  ] as const)('writes its keys as %s', (keyForm, key) => {
    expect(keyOf(new Ledger(zone, { keyForm }))).toBe(key);
  });

  test('leaves out or takes in an item at the very edge', () => {
    for (const [fromEdge, total] of [
      ['after', 0],
      ['at', 1],
    ] as const) {
      const ledger = new Ledger(zone, { fromEdge });
      ledger.add('people', { in: 1 }, noon);
      expect(ledger.total('people', 'in', noon)).toBe(total);
    }
  });

  test('lists zeros up to now, and only then', () => {
    const nowMs = Date.now();
    const ledger = new Ledger(zone, { zeros: true });
    const answer = ledger.answer('people', 'minute', nowMs - 10 * minuteMs, Infinity);
    expect(answer.rows).toHaveLength(10);
    expect(new Ledger(zone).answer('people', 'minute', nowMs - hourMs, Infinity).rows).toEqual([]);
  });

  test('forces a coarser aggregation above its number of rows', () => {
    const ledger = new Ledger(zone, { forceAboveRows: 2, forcedTo: 'quarter' });
    for (const minute of [1, 2, 16]) {
      ledger.add('people', { in: 1 }, noon + minute * minuteMs);
    }
    const answer = ledger.answer('people', 'minute', noon, Infinity);
    expect(answer.aggregation).toBe('quarter');
    expect(answer.rows.map((row) => row.in)).toEqual([2, 1]);
  });

  test('keeps today from a roll-up that lags, and snaps to whole local days', () => {
    const ledger = new Ledger(zone, { lagging: ['day'] });
    ledger.add('people', { in: 1 });
    expect(ledger.answer('people', 'day', Date.now() - hourMs, Infinity).rows).toEqual([]);
    const snapping = new Ledger(zone, { daySnaps: true });
    snapping.add('people', { in: 1 }, Date.parse('2026-03-10T00:30:00+01:00'));
    expect(snapping.answer('people', 'day', noon, Infinity).rows).toHaveLength(1);
    expect(snapping.answer('people', 'quarter', noon, Infinity).rows).toEqual([]);
  });

  test('reads from by its convention', () => {
    const text = '2026-03-10T12:00:00Z';
    expect(new Ledger(zone).instantOf(text)).toBe(noon);
    expect(new Ledger(zone, { designator: 'read as local' }).instantOf(text)).toBe(noon - hourMs);
    const utc = new Ledger(zone, { designator: 'read as UTC' });
    expect(utc.instantOf('2026-03-10T13:00:00+01:00')).toBe(noon + hourMs);
  });

  test('counts by arrival where from means that', () => {
    const ledger = new Ledger(zone, { fromMeans: 'arrival' });
    ledger.add('people', { in: 1 }, noon - hourMs, noon + 1);
    expect(ledger.answer('people', 'minute', noon, Infinity).rows).toHaveLength(1);
    expect(ledger.total('people', 'in', noon)).toBe(1);
  });

  test('never lets more people out than are inside', () => {
    const ledger = new Ledger(zone);
    ledger.add('people', { out: 5 }, noon + minuteMs);
    ledger.add('people', { in: 10 }, noon + 2 * minuteMs);
    ledger.add('people', { out: 4 }, noon + 3 * minuteMs);
    expect(ledger.occupancy(noon)).toBe(6);
  });
});
