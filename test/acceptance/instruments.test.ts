/** The test equipment itself: local time, the parser of expositions, the monitor, the fake service. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Exposition } from './exposition.ts';
import { Ledger } from './ledger.ts';
import { LedgerService } from './ledger-service.ts';
import {
  afternoonZone,
  dayStart,
  hourMs,
  minuteMs,
  offsetMs,
  periodStart,
  wallMs,
} from './local-time.ts';
import { Monitor } from './monitor.ts';

describe('local time', () => {
  const zone = 'America/New_York';

  test('has the offset of the season', () => {
    expect(offsetMs(Date.parse('2026-07-01T12:00:00Z'), zone)).toBe(-4 * hourMs);
    expect(offsetMs(Date.parse('2026-01-01T12:00:00Z'), zone)).toBe(-5 * hourMs);
  });

  test('has the starts of day and counting period', () => {
    const before = Date.parse('2026-03-10T03:59:00-04:00');
    expect(dayStart(before, zone, '04:00')).toBe(Date.parse('2026-03-09T04:00:00-04:00'));
    expect(dayStart(before + hourMs, zone, '04:00')).toBe(Date.parse('2026-03-10T04:00:00-04:00'));
    const start = Date.parse('2026-03-01T04:00:00-05:00');
    expect(periodStart(Date.parse('2026-03-31T12:00:00Z'), zone, '04:00')).toBe(start);
    expect(periodStart(Date.parse('2026-04-01T03:59:00-04:00'), zone, '04:00')).toBe(start);
  });

  test('has a zone in the afternoon at any hour', () => {
    for (let hour = 0; hour < 24; hour += 1) {
      const nowMs = Date.parse('2026-03-10T00:10:00Z') + hour * hourMs;
      expect(new Date(wallMs(nowMs, afternoonZone(nowMs))).getUTCHours()).toBe(15);
    }
  });
});

test('an exposition is parsed with its labels in any order', () => {
  const text = '# HELP a b c\n# TYPE a gauge\na{y="2",x="q\\"\\\\"} 1.5\nb +Inf\n';
  const exposition = new Exposition(text);
  expect(exposition.value('a', { x: 'q"\\', y: '2' })).toBe(1.5);
  expect(exposition.value('b')).toBe(Infinity);
});

test.each(['a{x="1" 2', 'a b', 'a 1\na 2', '# TYPE a gauge\n# TYPE a gauge', 'a{x=1} 2'])(
  'an invalid exposition is an error: %j',
  (text) => {
    expect(() => new Exposition(text)).toThrow(/no |there twice/);
  },
);

test('the monitor reports counters that fall or are 0', () => {
  const monitor = new Monitor();
  for (const value of [5, 6, 4, 0]) {
    monitor.verify(new Exposition(`library_logins_total{customer="a"} ${value}\n`), '', '');
  }
  expect(monitor.violations).toEqual([
    expect.stringContaining('fell from 6 to 4'),
    expect.stringContaining('fell from 4 to 0'),
    'library_logins_total{customer="a"} is 0',
  ]);
});

describe('the fake service', () => {
  const service = new LedgerService();
  const customer = service.addCustomer('riverside', 'Europe/Copenhagen');
  const noon = Date.parse('2026-03-10T12:00:00Z');
  const window = 'from=2026-03-10T11:00:00Z';
  beforeAll(async () => {
    await service.start();
    customer.ledger.add('people', { in: 3, out: 1 }, noon + 5_000);
    customer.ledger.add('people', { in: 2 }, noon + 50_000);
    customer.ledger.add('logins', { in: 4 }, noon + 61_000);
  });
  afterAll(() => service.stop());

  async function request(path: string): Promise<Response> {
    const answer = await fetch(`${service.url}/connect/token`, {
      method: 'POST',
      body: new URLSearchParams({
        client_id: customer.clientId,
        client_secret: customer.secret,
        grant_type: 'client_credentials',
        scope: 'ServiceAPI',
      }),
    });
    const { access_token: token } = (await answer.json()) as { access_token: string };
    return fetch(`${service.url}${path}`, { headers: { authorization: `Bearer ${token}` } });
  }

  test.each([
    ['peoplecount', 'minute', [{ key: '2026-03-10T12:00:00.000Z', in: 5, out: 1 }]],
    ['login', 'minute', [{ key: '2026-03-10T12:01:00.000Z', value: 4 }]],
    [
      'peoplecount',
      'branch',
      [
        { key: 101, in: 3, out: 1 },
        { key: 102, in: 2, out: 0 },
      ],
    ],
  ])('aggregates %s by %s', async (endpoint, aggregation, result) => {
    const answer = await request(`/v1/${endpoint}?aggregation=${aggregation}&${window}`);
    expect(await answer.json()).toMatchObject({ metadata: { aggregation }, result });
  });

  test('rejects a revoked token', async () => {
    service.revokeTokens(customer);
    const headers = { authorization: `Bearer ${[...service.issuedTokens.keys()][0]}` };
    const answer = await fetch(`${service.url}/v1/login?aggregation=day`, { headers });
    expect(answer.status).toBe(401);
  });

  test.each([
    'aggregation=week',
    'aggregation=day&limit=5',
    'aggregation=day&to=2026-03-10T11:00:00Z',
    'aggregation=day&from=yesterday',
  ])('records a broken rule: %s', async (query) => {
    service.violations.length = 0;
    expect((await request(`/v1/peoplecount?${query}`)).status).toBe(400);
    expect(service.violations).not.toEqual([]);
  });

  test('applies its conventions', () => {
    function rowsBy(conventions: ConstructorParameters<typeof Ledger>[1], fromMs = noon - hourMs) {
      const ledger = new Ledger('UTC', conventions);
      ledger.add('people', { in: 1 }, noon, noon + hourMs);
      ledger.add('people', { in: 2 }, noon + minuteMs, noon + hourMs);
      const { aggregation, rows } = ledger.answer('people', 'minute', fromMs, noon + 2 * hourMs);
      return [aggregation, ...rows.map((row) => row.in)];
    }
    expect(rowsBy({})).toEqual(['minute', 1, 2]);
    expect(rowsBy({}, noon)).toEqual(['minute', 2]);
    expect(rowsBy({ fromInclusive: true }, noon)).toEqual(['minute', 1, 2]);
    expect(rowsBy({ fromMeans: 'arrival' }, noon + minuteMs)).toEqual(['minute', 1, 2]);
    expect(rowsBy({ forceAboveRows: 1, forcedTo: 'day' })).toEqual(['day', 3]);
    expect(rowsBy({ zeros: true }, noon - minuteMs).slice(0, 4)).toEqual(['minute', 0, 1, 2]);
  });

  test('never has fewer than 0 people inside', () => {
    const ledger = new Ledger('UTC');
    ledger.add('people', { out: 5 }, noon);
    ledger.add('people', { in: 3, out: 1 }, noon + minuteMs);
    expect(ledger.occupancy(noon - 1)).toBe(2);
    expect(ledger.lastSeenMs('people')).toBe(noon + minuteMs);
  });
});
