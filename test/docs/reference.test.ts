/** docs/reference/metrics.md: made of the code, and nothing that the contract names is missing in it. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { metricsPage } from '../../docs/reference/metrics.ts';
import { CONTRACT_METRICS } from '../grafana/contract-metrics.ts';

const PAGE = readFileSync(new URL('../../docs/reference/metrics.md', import.meta.url), 'utf8');

test('the committed page is what npm run reference makes', async () => {
  expect(PAGE).toBe(await metricsPage());
});

test('it has the metrics of the contract with their labels, and no others of ours', () => {
  const sections = Array.from(
    PAGE.matchAll(/^### `(\w+)`\n\n\*\*(.+)$/gm),
    ([, name = '', kind]) => {
      const labels = Array.from(kind?.matchAll(/`(\w+)`/g) ?? [], ([, label]) => label);
      return [name, labels.filter((label) => label !== 'labels')];
    },
  );
  const contract = Object.entries(CONTRACT_METRICS).map(([name, labels]) => [
    name,
    labels.filter((label) => label !== 'customer'),
  ]);
  expect(Object.fromEntries(sections)).toEqual(Object.fromEntries(contract));
  const firstCells = Array.from(PAGE.matchAll(/^\| `([^` ]+)` /gm), ([, name]) => name);
  expect(firstCells).toEqual(
    expect.arrayContaining(['process_resident_memory_bytes', 'nodejs_eventloop_lag_p99_seconds']),
  );
});
