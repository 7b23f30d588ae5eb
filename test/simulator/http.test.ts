import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { UsageError } from '../../src/base/errors.ts';
import { seededRandom } from '../../src/base/random.ts';
import { createFaults } from '../../src/simulator/faults.ts';
import { startSimulator } from '../../src/simulator/http.ts';
import type { Simulator } from '../../src/simulator/http.ts';
import { createEnvironment } from '../../src/simulator/environment.ts';
import type { Environment } from '../../src/simulator/environment.ts';
import { NOW_MS, tokenForm } from './support.ts';

let environment: Environment;
let simulator: Simulator;

beforeEach(async () => {
  const clock = { ...systemClock, nowMs: () => NOW_MS };
  environment = createEnvironment({ seed: 1, customers: 3, clock });
  const faults = createFaults({ random: seededRandom(1) });
  simulator = await startSimulator({
    service: environment.service,
    faults,
    clock,
    listenAddress: '127.0.0.1:0',
  });
});

afterEach(async () => {
  await simulator.close();
});

async function authorize(): Promise<string> {
  const [customer] = environment.customers;
  const response = await fetch(`${simulator.url}/connect/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: tokenForm({
      client_id: customer?.clientId ?? '',
      client_secret: customer?.clientSecret ?? '',
    }),
  });
  expect(response.status).toBe(200);
  const { access_token: token } = (await response.json()) as { access_token: string };
  return `Bearer ${token}`;
}

async function days(authorization: string): Promise<Response> {
  const query = 'aggregation=day&from=2026-03-01T04%3A00%3A00%2B01%3A00';
  return await fetch(`${simulator.url}/v1/peoplecount?${query}`, { headers: { authorization } });
}

describe('over a socket', () => {
  test('the service issues a token and returns data whose sum is the truth', async () => {
    const response = await days(await authorize());
    expect(response.headers.get('date')).toBe('Wed, 18 Mar 2026 15:00:00 GMT');
    const { result } = (await response.json()) as { result: { in: number }[] };
    const query = 'from=2026-03-01T03:00:00Z&customer=riverside';
    const truth = await (await fetch(`${simulator.url}/simulator/truth?${query}`)).json();
    const entered = result.reduce((total, row) => total + row.in, 0);
    expect(truth).toMatchObject({
      from: '2026-03-01T03:00:00.000Z',
      at: '2026-03-18T15:00:00.000Z',
      customers: { riverside: { entered, served: { entered } } },
    });
  });

  test('the truth takes times in two formats, and instants in the past', async () => {
    async function get(query: string): Promise<unknown> {
      return await (await fetch(`${simulator.url}/simulator/${query}`)).json();
    }
    const seconds = Date.parse('2026-03-18T03:00:00Z') / 1_000;
    const truth = (await get(`truth?from=${seconds}`)) as { customers: object };
    expect(Object.keys(truth.customers)).toEqual(['riverside', 'harbour-point', 'lotus-garden']);
    expect(await get('truth?from=2026-03-18T03:00:00Z')).toEqual(truth);
    const earlier = `&at=${seconds + 3_600}&customer=riverside`;
    const inside = environment.service.occupancy(
      'riverside',
      seconds * 1_000,
      (seconds + 3_600) * 1_000,
    );
    expect(await get(`occupancy?from=${seconds}${earlier}`)).toMatchObject({
      customers: { riverside: inside },
    });
  });

  test.each([
    ['GET', 'truth', undefined, /^from: expected a time/],
    ['GET', 'truth?from=2026-03-18T03:00:00', undefined, /^from: expected a time/],
    ['GET', 'truth?from=0&at=x', undefined, /^at: expected a time/],
    ['GET', 'truth?from=0&customer=nobody', undefined, /^customer: no customer is named nobody/],
    ['POST', 'faults', 'x', /^expected JSON/],
    ['POST', 'faults', '{"rate":2}', /from 0 to 1/],
    ['POST', 'faults', '{"rate":1,"kinds":["fire"]}', /^kinds: expected one of .* got "fire"/],
  ])('%s %s %s is rejected with the reason', async (method, path, body, message) => {
    const init = body === undefined ? { method } : { method, body };
    const response = await fetch(`${simulator.url}/simulator/${path}`, init);
    expect(response.status).toBe(400);
    expect(((await response.json()) as { error: string }).error).toMatch(message);
  });

  test('faults are set and removed by request', async () => {
    const authorization = await authorize();
    async function plan(kind: string): Promise<void> {
      const body = JSON.stringify({ rate: 1, kinds: [kind], customer: 'riverside' });
      const response = await fetch(`${simulator.url}/simulator/faults`, { method: 'POST', body });
      expect(response.status).toBe(200);
    }
    await plan('unavailable');
    expect((await days(authorization)).status).toBe(503);
    await plan('reset');
    await expect(days(authorization)).rejects.toThrow('fetch failed');
    await plan('html');
    expect(await (await days(authorization)).text()).toMatch(/^<!DOCTYPE html>/);
    await fetch(`${simulator.url}/simulator/faults`, { method: 'DELETE' });
    expect((await days(authorization)).status).toBe(200);
    const counts = await (await fetch(`${simulator.url}/simulator/faults`)).json();
    expect(counts).toEqual({ unavailable: 1, reset: 1, html: 1 });
  });

  test('closing the simulator ends requests without an answer', async () => {
    const authorization = await authorize();
    const body = JSON.stringify({ rate: 1, kinds: ['timeout'] });
    await fetch(`${simulator.url}/simulator/faults`, { method: 'POST', body });
    const waiting = days(authorization).then(
      () => 'answered',
      () => 'broken off',
    );
    // The request has come in once its fault is counted.
    for (let seen = ''; !seen.includes('timeout');) {
      seen = await (await fetch(`${simulator.url}/simulator/faults`)).text();
    }
    await simulator.close();
    expect(await waiting).toBe('broken off');
  });

  test('a body that is too large is rejected', async () => {
    const body = 'x'.repeat(100_000);
    const response = await fetch(`${simulator.url}/connect/token`, { method: 'POST', body });
    expect(response.status).toBe(413);
  });
});

test.each(['0.0.0.0:0', '10.1.2.3:80', 'example.org:80', ':10096', '127.0.0.1', '127.0.0.1:99999'])(
  'refuses to listen on %s',
  async (listenAddress) => {
    const clock = systemClock;
    const { service } = createEnvironment({ seed: 1, customers: 1, clock });
    const faults = createFaults({ random: seededRandom(1) });
    const starting = startSimulator({ service, faults, clock, listenAddress });
    await expect(starting).rejects.toThrow(UsageError);
  },
);
