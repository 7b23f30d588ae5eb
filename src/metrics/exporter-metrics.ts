/**
 * What the exporter tells about itself (CONTRACT.md, 4, "About the exporter"), kept by prom-client in
 * a registry of its own. Whatever happens is reported here by a function; nothing here asks.
 */
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import { FAILURE_REASONS } from '../base/errors.ts';
import type { FailureReason } from '../base/errors.ts';
import type { Stream } from '../base/model.ts';
import type { Format } from './format.ts';
import { writeRegistry } from './registry-text.ts';

export interface RequestEnd {
  readonly endpoint: 'token' | 'peoplecount' | 'login';
  /** HTTP status, or `none` where no answer came. */
  readonly code: number | 'none';
  readonly durationMs: number;
}

export interface BuildInfo {
  readonly version: string;
  readonly revision: string;
  readonly nodeVersion: string;
}

export interface ExporterMetrics {
  /** The streams that are polled: their series begin at 0, before the first poll ends. */
  setStreams(streams: readonly Stream[]): void;
  /** A poll has ended; badly if there is a reason. */
  pollEnded(stream: Stream, durationSeconds: number, reason?: FailureReason): void;
  requestEnded(end: RequestEnd): void;
  /** The configuration was read, at the start or again. `nowSeconds` since 1970. */
  configReloaded(successful: boolean, nowSeconds: number): void;
  setCustomers(count: number): void;
  /** `shard` counts from 0. */
  setShard(shard: number, shards: number): void;
  /** All families, without the end of the exposition. */
  render(format: Format): Promise<string>;
}

const ENDPOINTS = ['token', 'peoplecount', 'login'] as const;

/** A poll may make several requests, and ends before the next one is due. */
const POLL_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const REQUEST_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/**
 * `promtool check metrics` refuses these: gauges whose names end in `_total`. Nothing is lost, each
 * is the sum over the family of the same name without the ending.
 */
const REFUSED_BY_PROMTOOL = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];

/**
 * Starts to observe this process (event loop, garbage collection), for as long as it runs. The registry
 * is to have nothing else in it.
 */
export function createExporterMetrics(
  build: BuildInfo,
  registry: Registry = new Registry(),
): ExporterMetrics {
  const poll = createPollMetrics(registry);
  const requests = createRequestMetrics(registry);
  const configuration = createConfigurationMetrics(registry, build);
  collectDefaultMetrics({ register: registry });
  for (const name of REFUSED_BY_PROMTOOL) {
    registry.removeSingleMetric(name);
  }
  return { ...poll, ...requests, ...configuration, render };

  function render(format: Format): Promise<string> {
    return writeRegistry(format, registry);
  }
}

function createPollMetrics(registry: Registry): Pick<ExporterMetrics, 'setStreams' | 'pollEnded'> {
  const failures = new Counter({
    name: 'library_exporter_poll_failures_total',
    help: 'Polls of all customers that ended without a whole good answer, by what was wrong.',
    labelNames: ['stream', 'reason'],
    registers: [registry],
  });
  const duration = new Histogram({
    name: 'library_exporter_poll_duration_seconds',
    help: 'How long polls took, good or not, with all their requests, repetitions and waits.',
    labelNames: ['stream'],
    buckets: POLL_SECONDS,
    registers: [registry],
  });
  const started = new Set<Stream>();
  return { setStreams, pollEnded };

  function setStreams(streams: readonly Stream[]): void {
    for (const stream of streams) {
      // Once, for zero() throws away what was counted.
      if (!started.has(stream)) {
        started.add(stream);
        duration.zero({ stream });
        FAILURE_REASONS.forEach((reason) => failures.inc({ stream, reason }, 0));
      }
    }
  }

  function pollEnded(stream: Stream, durationSeconds: number, reason?: FailureReason): void {
    setStreams([stream]);
    duration.observe({ stream }, durationSeconds);
    if (reason !== undefined) {
      failures.inc({ stream, reason });
    }
  }
}

function createRequestMetrics(registry: Registry): Pick<ExporterMetrics, 'requestEnded'> {
  const requests = new Counter({
    name: 'library_exporter_service_requests_total',
    help: 'Requests to the service by status of the answer; none where no answer came.',
    labelNames: ['endpoint', 'code'],
    registers: [registry],
  });
  const duration = new Histogram({
    name: 'library_exporter_service_request_duration_seconds',
    help: 'How long single requests to the service took, answered or not.',
    labelNames: ['endpoint'],
    buckets: REQUEST_SECONDS,
    registers: [registry],
  });
  for (const endpoint of ENDPOINTS) {
    duration.zero({ endpoint });
    requests.inc({ endpoint, code: '200' }, 0);
    requests.inc({ endpoint, code: 'none' }, 0);
  }
  return {
    requestEnded({ endpoint, code, durationMs }) {
      requests.inc({ endpoint, code: String(code) });
      duration.observe({ endpoint }, durationMs / 1_000);
    },
  };
}

function createConfigurationMetrics(
  registry: Registry,
  build: BuildInfo,
): Pick<ExporterMetrics, 'configReloaded' | 'setCustomers' | 'setShard'> {
  const registers = [registry];
  new Gauge({
    name: 'library_exporter_build_info',
    help: 'Which exporter this is, and what it runs on. Always 1.',
    labelNames: ['version', 'revision', 'nodeversion'],
    registers,
  }).set({ version: build.version, revision: build.revision, nodeversion: build.nodeVersion }, 1);
  const customers = absentGauge(registry, {
    name: 'library_exporter_customers',
    help: 'Customers that this process polls.',
  });
  const shardInfo = new Gauge({
    name: 'library_exporter_shard_info',
    help: 'Which part of the customers this process polls, counted from 0, and of how many. Always 1.',
    labelNames: ['shard', 'shards'],
    registers,
  });
  const successful = absentGauge(registry, {
    name: 'library_exporter_config_last_reload_successful',
    help: 'Whether the configuration was good when it was read last: 1 if so, 0 if the one before stays.',
  });
  const successAt = absentGauge(registry, {
    name: 'library_exporter_config_last_reload_success_timestamp_seconds',
    help: 'When the configuration that is in use was read.',
  });
  return {
    configReloaded(good, nowSeconds) {
      successful.set(Number(good));
      if (good) {
        successAt.set(nowSeconds);
      }
    },
    setCustomers(count) {
      customers.set(count);
    },
    setShard(shard, shards) {
      shardInfo.reset();
      shardInfo.set({ shard: String(shard), shards: String(shards) }, 1);
    },
  };
}

/** A gauge without labels is 0 from birth, which nobody has said: this one is absent until it is set. */
function absentGauge(
  registry: Registry,
  { name, help }: { readonly name: string; readonly help: string },
): Gauge {
  const gauge = new Gauge({ name, help, registers: [registry] });
  gauge.remove();
  return gauge;
}
