/** Every family that can be shown is on a list of the acceptance tests: what is on it may not change. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { BREAKDOWNS } from '../../src/base/model.ts';
import { breakdownFamilies } from '../../src/metrics/breakdown-families.ts';
import { createExporterMetrics } from '../../src/metrics/exporter-metrics.ts';
import { CUSTOMER_FAMILIES } from '../../src/metrics/families.ts';

const LISTS = ['endpoints', 'breakdowns']
  .map((name) => new URL(`../acceptance/${name}.test.ts`, import.meta.url))
  .map((file) => readFileSync(file, 'utf8'))
  .join('\n');

async function ownFamilies(): Promise<readonly string[]> {
  const versions = { version: '1.2.3', revision: 'abc', nodeVersion: 'v24.0.0' };
  const metrics = createExporterMetrics(versions);
  metrics.configReloaded(true, 0);
  metrics.setCustomers(1);
  metrics.setShard(0, 1);
  metrics.setStreams(['people']);
  metrics.pollEnded('people', 1, 'auth');
  metrics.requestEnded({ endpoint: 'token', code: 200, durationMs: 1 });
  const text = await metrics.render('text');
  return Array.from(text.matchAll(/^# TYPE (library_\S+)/gm), ([, name = '']) => name);
}

test('every family is promised', async () => {
  const families = [...CUSTOMER_FAMILIES, ...breakdownFamilies(new Set(BREAKDOWNS))];
  const names = [...families.map(({ name }) => name), ...(await ownFamilies())];
  const anyBreakdown = new RegExp(`^library_(?:${BREAKDOWNS.join('|')})_`);
  const missing = names.filter(
    (name) =>
      !LISTS.includes(`'${name}`) &&
      !LISTS.includes(`\`${name.replace(anyBreakdown, 'library_${one}_')} `),
  );
  expect(names.length).toBeGreaterThan(40);
  expect(missing).toEqual([]);
});
