/** `_created` of the counters, as Prometheus 3 uses it with created-timestamp-zero-ingestion. */
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { systemClock } from '../../src/base/clock.ts';
import { createExporterMetrics } from '../../src/metrics/exporter-metrics.ts';
import { createExposition, renderScrape } from '../../src/metrics/exposition.ts';
import { TestSource, riverside } from '../metrics/fixtures.ts';
import { protectedServer } from '../web/protected.ts';
import { eventually } from './support/processes.ts';
import { startPrometheus } from './support/prometheus.ts';
import type { Prometheus } from './support/prometheus.ts';

const VERSION = z.object({ data: z.object({ version: z.string() }) });

let prometheus: Prometheus | undefined;
afterEach(() => prometheus?.stop());

function withTotal(total: number, periodStartMs: number) {
  const unknown = { total: undefined, excess: undefined, today: undefined };
  return riverside({
    periodStartMs,
    counters: { people_entered: { ...unknown, total } },
  });
}

test('Prometheus 3 counts what came before the first scrape of a counting period', async () => {
  const exposition = createExposition({ clock: systemClock, openMetricsCreated: true });
  const exporterMetrics = createExporterMetrics({ version: '', revision: '', nodeVersion: '' });
  const { url } = await protectedServer(
    {},
    {
      exposition: (format, gzip) => renderScrape(exposition, exporterMetrics, format, gzip),
    },
  );
  prometheus = await startPrometheus(
    { library: new URL(url).host },
    { flags: ['--enable-feature=created-timestamp-zero-ingestion'] },
  );
  const { query } = prometheus;
  async function value(expression: string): Promise<number | undefined> {
    return (await query(expression))[0]?.value;
  }
  await eventually('a scrape without the counter', () => value('up{job="library"}'));
  const source = new TestSource(withTotal(7, Date.now()));
  exposition.setCustomers([source]);
  await eventually('the first 7', () => value('library_people_entered_total'));
  source.metrics = withTotal(9, source.metrics.periodStartMs);
  exposition.changed('riverside');
  const increase = await eventually('all 9', async () => {
    const range = 'library_people_entered_total[5m]';
    return (await value(`last_over_time(${range})`)) === 9
      ? value(`max_over_time(${range}) - min_over_time(${range})`)
      : undefined;
  });
  const buildInfo = await fetch(`${prometheus.url}/api/v1/status/buildinfo`);
  const { data } = VERSION.parse(await buildInfo.json());
  // Prometheus 2 ignores the flag and sees an increase from 7 to 9.
  expect(increase).toBe(data.version.startsWith('2.') ? 2 : 9);
});
