/** A failed poll changes no value and is counted by its reason (docs/service.md#errors). */
import { beforeAll, expect, test } from 'vitest';
import { eventually } from './daemon.ts';
import type { Daemon } from './daemon.ts';
import { exact } from './expected.ts';
import type { Exposition } from './exposition.ts';
import { Harness } from './harness.ts';

const harness = new Harness();
const cases = (
  [
    [500, 'server'],
    ['unavailable', 'server'],
    [429, 'rate_limited'],
    [400, 'rejected'],
    [401, 'auth'],
    ['html', 'malformed'],
    ['truncated', 'unreachable'],
    ['one malformed row', 'malformed'],
    ['reset', 'unreachable'],
    ['hang', 'timeout'],
  ] as const
).map(([fault, reason], i) => ({ fault, reason, customer: harness.addCustomer(`case-${i}`) }));
const customers = cases.map(({ customer }) => customer);
let daemon: Daemon;

beforeAll(async () => {
  daemon = await harness.start(harness.configure(customers, { service: { timeout: '1s' } }));
  await exact(daemon, ...customers);
});

/** Everything that is shown of the counts of a customer. */
function valuesOf(exposition: Exposition, customer: string): readonly unknown[] {
  const names =
    /^library_(people|logins)_(\w+_total|(entered|exited)_today|last_seen\w+|total|today)$/;
  return exposition.samples.filter(
    (sample) => sample.labels['customer'] === customer && names.test(sample.name),
  );
}

test('a failed poll changes no value, and the next good one makes all exact', async () => {
  const before = await daemon.scrape();
  for (const { fault, customer } of cases) {
    customer.faults.data = fault;
    customer.ledger.add('people', { in: 3, out: 1 });
    customer.ledger.add('logins', { in: 2 });
  }
  await eventually(async () => {
    const during = await daemon.scrape();
    for (const { fault, customer } of cases) {
      for (const stream of ['people', 'logins']) {
        const labels = { customer: customer.name, stream };
        expect([fault, during.value('library_up', labels)]).toEqual([fault, 0]);
        expect(during.value('library_poll_failures_total', labels)).toBeGreaterThan(0);
      }
      expect(valuesOf(during, customer.name)).toEqual(valuesOf(before, customer.name));
      expect(valuesOf(during, customer.name)).toHaveLength(8);
    }
    for (const { reason } of cases) {
      const labels = { stream: 'people', reason };
      expect(during.value('library_exporter_poll_failures_total', labels)).toBeGreaterThan(0);
    }
  });
  customers.forEach((customer) => (customer.faults = {}));
  const after = await exact(daemon, ...customers);
  for (const { name } of customers) {
    expect(after.value('library_up', { customer: name, stream: 'people' })).toBe(1);
  }
  for (const code of ['200', '429', '500', 'none']) {
    const labels = { endpoint: 'peoplecount', code };
    expect(after.value('library_exporter_service_requests_total', labels)).toBeGreaterThan(0);
  }
});
