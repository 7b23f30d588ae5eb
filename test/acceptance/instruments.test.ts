/** The harness reports what it must: counters that fall or start at 0, broken rules of the interface. */
import { expect, test } from 'vitest';
import { Exposition } from './exposition.ts';
import { LedgerService } from './ledger-service.ts';
import { Monitor } from './monitor.ts';

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

test.each(['a{x="1" 2', 'a b', 'a 1\na 2', '# TYPE a gauge\n# TYPE a gauge', 'a{x=1} 2'])(
  'an invalid exposition is an error: %j',
  (text) => {
    expect(() => new Exposition(text)).toThrow(/no |there twice/);
  },
);

test.each([
  'peoplecount?aggregation=week',
  'login?aggregation=branch',
  'login?aggregation=day&limit=5',
  'peoplecount?aggregation=day&to=2026-03-10T11:00:00Z',
  'peoplecount?aggregation=day&from=yesterday',
])('the fake service records a broken rule: %s', async (path) => {
  const service = new LedgerService();
  await service.start();
  service.issuedTokens.set('token', service.addCustomer('riverside', 'Europe/Copenhagen'));
  const headers = { authorization: 'Bearer token' };
  expect((await fetch(`${service.url}/v1/${path}`, { headers })).status).toBe(400);
  expect(service.violations).toHaveLength(1);
  await service.stop();
});
