/** The limit on requests: what customers need, its default, and the least that may be given. */
import { expect, test } from 'vitest';
import { requestsPerSecond } from '../../src/config/load.ts';
import { configWith, load } from './folder.ts';

test.each([
  [['people', 'logins'], [], 2],
  [['people'], ['client', 'device'], 1.8],
  [['people'], ['branch'], 2.4],
] as const)('a customer with %j and %j needs %s requests per minute', (streams, breakdowns, n) => {
  const polling = { intervalMs: 60_000, reconcileIntervalMs: 60_000, breakdownIntervalMs: 300_000 };
  expect(60 * requestsPerSecond(polling, [{ streams, breakdowns }])).toBeCloseTo(n, 10);
});

test.for([
  ['50, if the customers need less', 20, {}, [], 50],
  ['as much as the first polls of a start take in 20 s', 200, {}, [], 110],
  ['more of that with breakdowns', 200, {}, ['branch', 'device'], 150],
  ['no more than 200 for the start', 1_000, {}, [], 200],
  ['twice what the customers need', 150, { polling: { interval: '1s' } }, [], 600],
] as const)(
  'the default limit on requests is %s',
  async ([, count, sections, breakdowns, expected]) => {
    const service = { base_url: 'https://data.test', auth_url: 'https://identity.test' };
    const customer = { client_secret: 'hunter2hunter2', timezone: 'Europe/Oslo' };
    const customers = Array.from({ length: count }, (_, i) => ({
      name: `c${i}`,
      client_id: `c${i}`,
      breakdowns,
      ...customer,
    }));
    const text = JSON.stringify({ service, customers, ...sections });
    const { config } = await load({ 'config.yaml': text });
    expect(config.service.maxRequestsPerSecond).toBe(expected);
  },
);

test('a limit on requests may be what the customers need, and totals may be read each time', async () => {
  const service = 'max_requests_per_second: 0.02';
  const polling = 'interval: 50s\nreconcile_interval: 50s';
  const text = configWith({ service, polling, customer: 'streams: [people]' });
  const { config } = await load({ 'config.yaml': text });
  expect(config.service.maxRequestsPerSecond).toBe(0.02);
  expect(config.polling).toMatchObject({ intervalMs: 50_000, reconcileIntervalMs: 50_000 });
});
