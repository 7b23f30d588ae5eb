/** What a new configuration changes of the customers. */
import { expect, test } from 'vitest';
import { HighWaterMarks } from '../../src/counting/high-water-marks.ts';
import { CustomerRegistry } from '../../src/customers.ts';
import { small } from '../simulator/support.ts';
import { configOf } from '../support/exporter-process.ts';

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
