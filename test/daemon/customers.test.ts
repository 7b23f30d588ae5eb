/** What a new configuration changes of the customers, and their shards. */
import { expect, test } from 'vitest';
import type { CustomerConfig } from '../../src/config/types.ts';
import { HighWaterMarks } from '../../src/counting/high-water-marks.ts';
import { changedNames, CustomerRegistry, shardOf } from '../../src/customers.ts';
import { small } from '../simulator/support.ts';
import { configOf } from '../support/simulated-config.ts';

const CONFIG = configOf(
  small().service,
  { intervalMs: 60_000, reconcileIntervalMs: 3_600_000, breakdownIntervalMs: 300_000 },
  { streams: ['people'], breakdowns: [] },
);

test.each([
  ['timeoutMs', { timeoutMs: 1 }, true],
  ['requestTimes', { requestTimes: 'utc' }, false],
  ['keyTimes', { keyTimes: 'utc' }, false],
  ['baseUrl', { baseUrl: 'https://other.example.org' }, false],
] as const)('a new %s of the service: %j keeps the values: %s', (_key, service, keeps) => {
  const registry = new CustomerRegistry(new HighWaterMarks());
  const [before] = registry.update(CONFIG);
  const [after] = registry.update({ ...CONFIG, service: { ...CONFIG.service, ...service } });
  expect(after?.customer === before?.customer).toBe(keeps);
});

test('customers that were added, removed and changed are named, up to twenty of each', () => {
  const registry = new CustomerRegistry(new HighWaterMarks());
  const [customer] = CONFIG.customers;
  const branches = Array.from({ length: 22 }, (_, i) => ({ ...customer, name: `branch-${i}` }));
  const few = registry.update(CONFIG);
  const changed = { ...customer, capacity: 250 };
  const many = registry.update({
    ...CONFIG,
    customers: [changed, ...branches] as CustomerConfig[],
  });
  const names = Array.from({ length: 20 }, (_, i) => `branch-${i}`).join(', ');
  expect(changedNames(few, many)).toEqual({ added: `${names} and 2 more`, changed: 'lone' });
  expect(changedNames(many, few)).toMatchObject({ removed: `${names} and 2 more` });
});

test('a customer stays on its shard in every release', () => {
  const names = ['riverside', 'hillside', 'old-town', 'Åbenrå', '図書館'];
  expect(names.map((name) => shardOf(name, 1))).toEqual([0, 0, 0, 0, 0]);
  expect(names.map((name) => shardOf(name, 4))).toEqual([3, 0, 2, 1, 3]);
  expect(names.map((name) => shardOf(name, 100))).toEqual([72, 63, 99, 1, 54]);
});
