import { beforeEach, describe, expect, test } from 'vitest';
import { register } from 'prom-client';
import { FAILURE_REASONS } from '../../src/base/errors.ts';
import { createExporterMetrics } from '../../src/metrics/exporter-metrics.ts';
import type { ExporterMetrics } from '../../src/metrics/exporter-metrics.ts';
import type { Format } from '../../src/metrics/format.ts';

let metrics: ExporterMetrics;

beforeEach(() => {
  metrics = createExporterMetrics({ version: '1.2.3', revision: 'abc', nodeVersion: 'v24.0.0' });
});

/** The lines of our own families: those of the process change by themselves. */
async function ownLines(format: Format = 'text'): Promise<string[]> {
  const text = await metrics.render(format);
  return text.split('\n').filter((line) => line.includes('library_exporter_'));
}

async function samplesOf(name: string): Promise<string[]> {
  return (await ownLines()).filter((line) => line.startsWith(name));
}

describe('at birth', () => {
  test('what nobody has said yet is absent, not 0', async () => {
    const text = await metrics.render('text');
    expect(text).not.toContain('library_exporter_config_last_reload');
    expect(text).not.toContain('library_exporter_customers');
    expect(text).not.toContain('library_exporter_shard_info');
    expect(text).not.toContain('library_exporter_poll');
  });

  test('the build is known, and series known in advance are 0', async () => {
    expect(await samplesOf('library_exporter_build_info')).toEqual([
      'library_exporter_build_info{version="1.2.3",revision="abc",nodeversion="v24.0.0"} 1',
    ]);
    metrics.setStreams(['people']);
    expect(await samplesOf('library_exporter_poll_failures_total')).toEqual(
      FAILURE_REASONS.map(
        (reason) => `library_exporter_poll_failures_total{stream="people",reason="${reason}"} 0`,
      ),
    );
    expect(await samplesOf('library_exporter_poll_duration_seconds_count')).toEqual([
      'library_exporter_poll_duration_seconds_count{stream="people"} 0',
    ]);
    expect(await samplesOf('library_exporter_service_requests_total{endpoint="login"')).toEqual([
      'library_exporter_service_requests_total{endpoint="login",code="200"} 0',
      'library_exporter_service_requests_total{endpoint="login",code="none"} 0',
    ]);
  });

  test('gauges whose names end in _total, which promtool refuses, are left out', async () => {
    const text = await metrics.render('text');
    expect(text).not.toMatch(/^# TYPE \w+_total gauge$/m);
    expect(text).toContain('# TYPE nodejs_active_handles gauge');
    expect(text).toContain('# TYPE process_resident_memory_bytes gauge');
    expect(text).toContain('# TYPE nodejs_version_info gauge');
  });

  test('the global registry stays empty', () => {
    expect(register.getMetricsAsArray()).toEqual([]);
  });
});

describe('recording', () => {
  test('polls are counted by stream, failures by reason; setting streams again loses nothing', async () => {
    metrics.pollEnded('people', 0.2);
    metrics.pollEnded('people', 7, 'timeout');
    metrics.setStreams(['people', 'logins']);
    expect(await samplesOf('library_exporter_poll_duration_seconds_count')).toEqual([
      'library_exporter_poll_duration_seconds_count{stream="people"} 2',
      'library_exporter_poll_duration_seconds_count{stream="logins"} 0',
    ]);
    const lines = await samplesOf('library_exporter_poll_');
    expect(lines).toContain(
      'library_exporter_poll_failures_total{stream="people",reason="timeout"} 1',
    );
    expect(lines).toContain(
      'library_exporter_poll_duration_seconds_bucket{stream="people",le="1.0"} 1',
    );
    expect(lines).toContain(
      'library_exporter_poll_duration_seconds_bucket{stream="people",le="+Inf"} 2',
    );
  });

  test('requests are counted by endpoint and status, durations are seconds', async () => {
    metrics.requestEnded({ endpoint: 'token', code: 401, durationMs: 30 });
    metrics.requestEnded({ endpoint: 'token', code: 'none', durationMs: 20 });
    const lines = await samplesOf('library_exporter_service_request');
    expect(lines).toContain(
      'library_exporter_service_requests_total{endpoint="token",code="401"} 1',
    );
    expect(lines).toContain(
      'library_exporter_service_requests_total{endpoint="token",code="none"} 1',
    );
    expect(lines).toContain(
      'library_exporter_service_request_duration_seconds_sum{endpoint="token"} 0.05',
    );
  });

  test('a bad reload keeps the time of the last good one', async () => {
    metrics.configReloaded(true, 1_000);
    metrics.configReloaded(false, 2_000);
    expect(await samplesOf('library_exporter_config')).toEqual([
      'library_exporter_config_last_reload_successful 0',
      'library_exporter_config_last_reload_success_timestamp_seconds 1000',
    ]);
  });

  test('customers and shard are those told last', async () => {
    metrics.setCustomers(5);
    metrics.setCustomers(0);
    metrics.setShard(0, 2);
    metrics.setShard(1, 4);
    expect(await samplesOf('library_exporter_customers')).toEqual(['library_exporter_customers 0']);
    expect(await samplesOf('library_exporter_shard_info')).toEqual([
      'library_exporter_shard_info{shard="1",shards="4"} 1',
    ]);
  });
});

describe('both formats', () => {
  test('the text format is the same before and after OpenMetrics was rendered', async () => {
    metrics.pollEnded('people', 0.2, 'auth');
    const before = await ownLines('text');
    const openmetrics = await ownLines('openmetrics');
    expect(await ownLines('text')).toEqual(before);
    expect(before).toContain('# TYPE library_exporter_poll_failures_total counter');
    expect(openmetrics).toContain('# TYPE library_exporter_poll_failures counter');
    expect(openmetrics).toContain(
      'library_exporter_poll_failures_total{stream="people",reason="auth"} 1',
    );
  });
});
