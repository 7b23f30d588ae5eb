/**
 * Metrics about the exporter itself (docs/reference/metrics.md#exporter), kept by prom-client in a
 * registry of its own. Events are reported here by function calls.
 */
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import type { MetricValueWithName } from 'prom-client';
import { FAILURE_REASONS } from '../base/errors.ts';
import type { FailureReason } from '../base/errors.ts';
import type { Stream } from '../base/model.ts';
import { writeHead, writeLabels, writeSample } from './family.ts';
import type { Format } from './family.ts';

export type ExporterMetrics = ReturnType<typeof createExporterMetrics>;

const POLL_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const REQUEST_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/**
 * `promtool check metrics` rejects gauges whose names end in `_total`. Each of these is the sum of the
 * family without that ending.
 */
const REJECTED_BY_PROMTOOL = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];

/** What runs. */
export interface Build {
  readonly version: string;
  readonly revision: string;
  readonly nodeVersion: string;
}

/** The part of the customers that is polled: number `shard`, counted from 0, of `shards`. */
export interface Shard {
  /** Undefined in a process too many: it polls nobody. */
  readonly shard: number | undefined;
  readonly shards: number;
}

/**
 * Returns the exporter's own metrics. Observes this process (event loop, garbage collection) until it ends.
 */
export function createExporterMetrics(
  { version, revision, nodeVersion, shard: { shard, shards } }: Build & { readonly shard: Shard },
  registry: Registry = new Registry(),
) {
  const registers = [registry];
  const pollFailures = new Counter({
    name: 'library_exporter_poll_failures_total',
    help: 'Failed polls by reason.',
    labelNames: ['stream', 'reason'],
    registers,
  });
  const pollDuration = new Histogram({
    name: 'library_exporter_poll_duration_seconds',
    help: 'Duration of polls, with all their requests and retries.',
    labelNames: ['stream'],
    buckets: POLL_SECONDS,
    registers,
  });
  const requests = new Counter({
    name: 'library_exporter_service_requests_total',
    help: 'Requests to the service by endpoint and status code.',
    labelNames: ['endpoint', 'code'],
    registers,
  });
  const requestDuration = new Histogram({
    name: 'library_exporter_service_request_duration_seconds',
    help: 'Duration of single requests to the service.',
    labelNames: ['endpoint'],
    buckets: REQUEST_SECONDS,
    registers,
  });
  for (const endpoint of ['token', 'peoplecount', 'login']) {
    requestDuration.zero({ endpoint });
    requests.inc({ endpoint, code: '200' }, 0);
    requests.inc({ endpoint, code: 'none' }, 0);
  }
  new Gauge({
    name: 'library_exporter_build_info',
    help: 'Version, revision and Node.js version; always 1.',
    labelNames: ['version', 'revision', 'nodeversion'],
    registers,
  }).set({ version, revision, nodeversion: nodeVersion }, 1);
  const customers = absentGauge('library_exporter_customers', 'Customers polled by this process.');
  new Gauge({
    name: 'library_exporter_shard_info',
    help: 'Shard of this process, empty if it has none, and number of shards; always 1.',
    labelNames: ['shard', 'shards'],
    registers,
  }).set({ shard: String(shard ?? ''), shards: String(shards) }, 1);
  const reloadSuccessful = absentGauge(
    'library_exporter_config_last_reload_successful',
    '1 if the last configuration reload succeeded.',
  );
  const reloadSuccessAt = absentGauge(
    'library_exporter_config_last_reload_success_timestamp_seconds',
    'When the configuration in use was loaded.',
  );
  const saveSuccessful = absentGauge(
    'library_exporter_state_last_save_successful',
    '1 if the state file is open and its last write succeeded.',
  );
  const savedAt = absentGauge(
    'library_exporter_state_last_save_timestamp_seconds',
    'When the state file was last written.',
  );
  collectDefaultMetrics({ register: registry });
  REJECTED_BY_PROMTOOL.forEach((name) => registry.removeSingleMetric(name));
  const started = new Set<Stream>();

  /** prom-client exports a gauge without labels as 0 at once. This one is absent until it is set. */
  function absentGauge(name: string, help: string): Gauge {
    const gauge = new Gauge({ name, help, registers });
    gauge.remove();
    return gauge;
  }

  /** Series of these streams start at 0, before their first poll ends. */
  function setStreams(streams: readonly Stream[]): void {
    for (const stream of streams) {
      // Only once: zero() resets the counts.
      if (!started.has(stream)) {
        started.add(stream);
        pollDuration.zero({ stream });
        FAILURE_REASONS.forEach((reason) => pollFailures.inc({ stream, reason }, 0));
      }
    }
  }

  return {
    setStreams,
    /** Records the end of a poll, which succeeded if there is no reason. */
    pollEnded(stream: Stream, durationSeconds: number, reason?: FailureReason): void {
      pollDuration.observe({ stream }, durationSeconds);
      if (reason !== undefined) {
        pollFailures.inc({ stream, reason });
      }
    },
    /** Records the end of a request; `code` is the status, or `none` without a response. */
    request(end: {
      readonly endpoint: 'token' | 'peoplecount' | 'login';
      readonly code: number | 'none';
      readonly durationMs: number;
    }): void {
      requests.inc({ endpoint: end.endpoint, code: String(end.code) });
      requestDuration.observe({ endpoint: end.endpoint }, end.durationMs / 1_000);
    },
    /** The configuration was loaded, at the start or again. `nowSeconds` since 1970. */
    configReloaded(successful: boolean, nowSeconds: number): void {
      reloadSuccessful.set(Number(successful));
      if (successful) {
        reloadSuccessAt.set(nowSeconds);
      }
    },
    /** `writtenAtMs`: when the state file was written, if it was. */
    stateSaved(successful: boolean, writtenAtMs?: number): void {
      saveSuccessful.set(Number(successful));
      if (writtenAtMs !== undefined) {
        savedAt.set(writtenAtMs / 1_000);
      }
    },
    setCustomers(count: number): void {
      customers.set(count);
    },
    /** All families that have a sample. */
    render: (format: Format): Promise<string> => writeRegistry(format, registry),
  };
}

/**
 * Written from the registry's JSON: prom-client's own OpenMetrics output removes `_total` from the
 * counters' names for good, and writes NaN as `Nan`.
 */
async function writeRegistry(format: Format, registry: Registry): Promise<string> {
  let text = '';
  for (const family of await registry.getMetricsAsJSON()) {
    if (family.values.length > 0) {
      // Typed as a numeric enum, but it is 'counter', 'gauge' or 'histogram'.
      const type = String(family.type);
      text += writeHead(format, { name: family.name, type, help: family.help });
      for (const sample of family.values) {
        // The samples of a histogram have names of their own.
        const name = (sample as MetricValueWithName<string>).metricName ?? family.name;
        text += writeSample(name, writeOwnLabels(sample.labels), sample.value);
      }
    }
  }
  return text;
}

/** `le` comes last. */
function writeOwnLabels(labels: Readonly<Record<string, string | number | undefined>>): string {
  const { le, ...others } = labels;
  const bound = le === undefined ? undefined : writeBound(le);
  const written = Object.entries({ ...others, le: bound }).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as const],
  );
  return writeLabels(...written);
}

/** OpenMetrics requires `1.0`. The text format allows it, too, so that both give the same series. */
function writeBound(bound: string | number): string {
  return typeof bound === 'number' && Number.isInteger(bound) ? bound.toFixed(1) : String(bound);
}
