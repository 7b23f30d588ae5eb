/** CONTRACT.md, section 4: a failed poll changes no value and is counted by its reason. */
import { beforeAll, expect, test } from 'vitest';
import { eventually, writeConfig } from './daemon.ts';
import type { Daemon } from './daemon.ts';
import { exact, fillHistory } from './expected.ts';
import type { Exposition } from './exposition.ts';
import { Harness } from './harness.ts';
import type { Fault } from './ledger-service.ts';
import { afternoonZone } from './local-time.ts';

const harness = new Harness();
const { service, workspace } = harness;
const zone = afternoonZone(Date.now());
const faults: readonly Fault[] = [
  500,
  'unavailable, Retry-After: 1',
  429,
  400,
  401,
  'html',
  'truncated',
  'one malformed row',
  'reset',
  'hang',
];
const cases = faults.map((fault, index) => ({
  fault,
  customer: service.addCustomer(`case-${index}`, zone),
}));
const emptied = service.addCustomer('emptied', zone);
const interrupted = service.addCustomer('interrupted', zone);
const customers = cases.map(({ customer }) => customer);
const all = [...customers, emptied, interrupted];
let daemon: Daemon;

beforeAll(async () => {
  for (const { ledger } of all) {
    fillHistory(ledger);
  }
  const settings = { service: { timeout: '1s' } };
  daemon = await harness.start(writeConfig(workspace, service, all, settings));
  await exact(daemon, ...all);
});

/** Everything that is shown of the counts of a customer. */
function valuesOf(exposition: Exposition, customer: string): readonly unknown[] {
  const names = /^library_(people|logins)_(\w+_total|\w+_today|last_seen\w+|total|today)$/;
  return exposition.samples.filter(
    (sample) => sample.labels['customer'] === customer && names.test(sample.name),
  );
}

test('a failed poll changes no value, and the next good one makes all exact', async () => {
  const before = await daemon.scrape();
  for (const { fault, customer } of cases) {
    service.fail(customer, fault);
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
    const reasons = during
      .all('library_exporter_poll_failures_total')
      .filter(({ labels, value }) => labels['stream'] === 'people' && value > 0);
    expect(reasons.map(({ labels }) => labels['reason'] ?? '').toSorted()).toEqual([
      'auth',
      'malformed',
      'rate_limited',
      'rejected',
      'server',
      'timeout',
      'unreachable',
    ]);
  });
  for (const customer of customers) {
    service.heal(customer);
  }
  const after = await exact(daemon, ...customers);
  for (const { name } of customers) {
    expect(after.value('library_up', { customer: name, stream: 'people' })).toBe(1);
  }
});

test('responses without rows keep the counters', async () => {
  const polls = { customer: 'emptied', stream: 'people' };
  const before = await daemon.scrape();
  const polled = before.value('library_polls_total', polls) ?? NaN;
  service.fail(emptied, 'empty');
  await eventually(async () => {
    const during = await daemon.scrape();
    expect(during.value('library_polls_total', polls)).toBeGreaterThan(polled + 4);
    for (const counter of ['people_entered', 'people_exited', 'logins']) {
      const name = `library_${counter}_total`;
      const labels = { customer: 'emptied' };
      expect(during.value(name, labels)).toBe(before.value(name, labels));
    }
  });
  service.heal(emptied);
  emptied.ledger.add('people', { in: 2, out: 2 });
  await exact(daemon, emptied);
});

test('one bad response is retried', async () => {
  for (const fault of [503, 'reset', 'truncated'] as const) {
    service.fail(interrupted, fault, { times: 1 });
    interrupted.ledger.add('people', { in: 1, out: 1 });
    await exact(daemon, interrupted);
    expect(interrupted.faults.data?.left).toBe(0);
  }
});

test('requests are counted by endpoint and status', async () => {
  const exposition = await daemon.scrape();
  const counted = exposition
    .all('library_exporter_service_requests_total')
    .filter(({ value }) => value > 0)
    .map(({ labels }) => `${labels['endpoint']} ${labels['code']}`);
  expect(counted).toEqual(
    expect.arrayContaining([
      'token 200',
      'login 200',
      'peoplecount 200',
      'peoplecount 429',
      'peoplecount 500',
      'peoplecount none',
    ]),
  );
});

test('a customer whose service hangs from the start delays no other and has no counters', async () => {
  const hanging = service.addCustomer('hanging', zone);
  fillHistory(hanging.ledger);
  service.fail(hanging, 'hang');
  writeConfig(workspace, service, [...all, hanging], { service: { timeout: '30s' } });
  daemon.signal('SIGHUP');
  await eventually(() => expect(service.requestsOf(hanging, 'peoplecount')).not.toEqual([]));
  for (const customer of all) {
    customer.ledger.add('people', { in: 2, out: 1 });
  }
  const exposition = await exact(daemon, ...all);
  const labels = { customer: 'hanging', stream: 'people' };
  expect(exposition.value('library_people_entered_total', { customer: 'hanging' })).toBeUndefined();
  expect(exposition.value('library_up', labels)).toBeUndefined();
  expect(exposition.value('library_polls_total', labels)).toBe(0);
});
