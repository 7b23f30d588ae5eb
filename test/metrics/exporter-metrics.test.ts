/** The exporter's own metrics, as text. */
import { Gauge, Registry } from 'prom-client';
import { expect, test } from 'vitest';
import { FAILURE_REASONS } from '../../src/base/errors.ts';
import { createExporterMetrics } from '../../src/metrics/exporter-metrics.ts';

const shard = { shard: 1, shards: 4 };
const PROCESS = { version: '1.2.3', revision: 'abc', nodeVersion: 'v24', shard };

function created() {
  const metrics = createExporterMetrics(PROCESS);
  async function linesOf(prefix: string): Promise<string> {
    const lines = (await metrics.render('text')).split('\n');
    return lines.filter((line) => line.startsWith(prefix)).join('\n');
  }
  return { metrics, linesOf };
}

test('at first there is nothing but the build, the shard and the requests', async () => {
  const { linesOf } = created();
  const names = (await linesOf('library_exporter_')).match(/^\w+/gm);
  expect([...new Set(names)]).toEqual([
    'library_exporter_service_requests_total',
    'library_exporter_service_request_duration_seconds_bucket',
    'library_exporter_service_request_duration_seconds_sum',
    'library_exporter_service_request_duration_seconds_count',
    'library_exporter_build_info',
    'library_exporter_shard_info',
  ]);
  expect(await linesOf('library_exporter_build_info')).toBe(
    'library_exporter_build_info{version="1.2.3",revision="abc",nodeversion="v24"} 1',
  );
  expect(await linesOf('library_exporter_shard_info')).toBe(
    'library_exporter_shard_info{shard="1",shards="4"} 1',
  );
});

test('series of a stream start at 0, and setting streams again keeps their values', async () => {
  const { metrics, linesOf } = created();
  metrics.setStreams(['people']);
  expect(await linesOf('library_exporter_poll_failures_total')).toBe(
    FAILURE_REASONS.map(
      (reason) => `library_exporter_poll_failures_total{stream="people",reason="${reason}"} 0`,
    ).join('\n'),
  );
  metrics.pollEnded('people', 0.2);
  metrics.pollEnded('people', 7, 'timeout');
  metrics.setStreams(['people', 'logins']);
  expect(await linesOf('library_exporter_poll_duration_seconds_count')).toBe(`\
library_exporter_poll_duration_seconds_count{stream="people"} 2
library_exporter_poll_duration_seconds_count{stream="logins"} 0`);
  const lines = await linesOf('library_exporter_poll_');
  expect(lines).toContain('poll_failures_total{stream="people",reason="timeout"} 1\n');
  expect(lines).toContain('poll_duration_seconds_bucket{stream="people",le="1.0"} 1\n');
  expect(lines).toContain('poll_duration_seconds_bucket{stream="people",le="+Inf"} 2\n');
});

test('requests are counted by endpoint and status; durations are in seconds', async () => {
  const { metrics, linesOf } = created();
  metrics.request({ endpoint: 'token', code: 401, durationMs: 30 });
  metrics.request({ endpoint: 'token', code: 'none', durationMs: 20 });
  expect(await linesOf('library_exporter_service_requests_total{endpoint="token"')).toBe(`\
library_exporter_service_requests_total{endpoint="token",code="200"} 0
library_exporter_service_requests_total{endpoint="token",code="none"} 1
library_exporter_service_requests_total{endpoint="token",code="401"} 1`);
  expect(await linesOf('library_exporter_service_request_duration_seconds_sum')).toContain(
    'library_exporter_service_request_duration_seconds_sum{endpoint="token"} 0.05',
  );
});

test('customers, reloads and saves have their newest values; a failure keeps the time of a success', async () => {
  const { metrics, linesOf } = created();
  metrics.setCustomers(5);
  metrics.setCustomers(0);
  metrics.configReloaded(true, 1_000);
  metrics.configReloaded(false, 2_000);
  metrics.stateSaved(true);
  expect(await linesOf('library_exporter_state_last_save_timestamp')).toBe('');
  metrics.stateSaved(true, 1_500);
  metrics.stateSaved(false);
  expect(await linesOf('library_exporter_c')).toBe(`\
library_exporter_customers 0
library_exporter_config_last_reload_successful 0
library_exporter_config_last_reload_success_timestamp_seconds 1000`);
  expect(await linesOf('library_exporter_state')).toBe(`\
library_exporter_state_last_save_successful 0
library_exporter_state_last_save_timestamp_seconds 1.5`);
});

test('process metrics leave out gauges that promtool rejects', async () => {
  const types = await created().linesOf('# TYPE ');
  expect(types).not.toContain('_total gauge');
  expect(types).toContain('# TYPE nodejs_active_handles gauge\n');
  expect(types).toContain('# TYPE process_resident_memory_bytes gauge\n');
});

test('the text format is the same before and after OpenMetrics was rendered', async () => {
  const { metrics, linesOf } = created();
  metrics.pollEnded('people', 0.2, 'auth');
  const before = await linesOf('library_exporter_poll');
  const openmetrics = await metrics.render('openmetrics');
  expect(openmetrics).toContain('# TYPE library_exporter_poll_failures counter\n');
  expect(openmetrics).toContain(
    '\nlibrary_exporter_poll_failures_total{stream="people",reason="auth"} 1\n',
  );
  expect(await linesOf('library_exporter_poll')).toBe(before);
});

test('special values and HELP texts are written as each format requires', async () => {
  const registry = new Registry();
  const metrics = createExporterMetrics(PROCESS, registry);
  const gauge = new Gauge({ name: 'x', help: 'a \\ "b"\nc', labelNames: ['i'], registers: [] });
  registry.registerMetric(gauge);
  [Number.NaN, Infinity, -Infinity, 1e21].forEach((value, i) => gauge.set({ i }, value));
  const samples = 'x{i="0"} NaN\nx{i="1"} +Inf\nx{i="2"} -Inf\nx{i="3"} 1e+21\n';
  expect(await metrics.render('text')).toContain(
    `# HELP x a \\\\ "b"\\nc\n# TYPE x gauge\n${samples}`,
  );
  expect(await metrics.render('openmetrics')).toContain(
    `# HELP x a \\\\ \\"b\\"\\nc\n# TYPE x gauge\n${samples}`,
  );
});
