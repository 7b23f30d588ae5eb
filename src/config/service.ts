/** The sections service and polling: the checks of several keys together. */
import { readCertificates } from './certificates.ts';
import type { FileReading } from './certificates.ts';
import { LEAST_REQUESTS_PER_SECOND } from './keys.ts';
import type { PollingSection, ServiceSection } from './keys.ts';
import type { Problems } from './problems.ts';
import type { Found } from './shapes.ts';
import type { CustomerConfig, PollingConfig, ServiceConfig } from './types.ts';
import { isLoopback } from './values.ts';

/** Undefined after at least one problem. */
export function readPolling(
  section: PollingSection | undefined,
  problems: Problems,
): PollingConfig | undefined {
  const interval = section?.fields.interval;
  const reconcile = section?.fields.reconcile_interval;
  const breakdown = section?.fields.breakdown_interval;
  if (interval === undefined || reconcile === undefined || breakdown === undefined) {
    return undefined;
  }
  if (reconcile.value < interval.value) {
    const message = 'is shorter than interval: give at least as much as interval';
    problems.add({ ...reconcile, message });
  }
  return {
    intervalMs: interval.value,
    reconcileIntervalMs: reconcile.value,
    breakdownIntervalMs: breakdown.value,
  };
}

/** Undefined after at least one problem. `customers` are those that were good. */
export async function readService(
  section: ServiceSection | undefined,
  polling: PollingConfig | undefined,
  customers: readonly CustomerConfig[],
  reading: FileReading,
): Promise<ServiceConfig | undefined> {
  if (section === undefined) {
    return undefined;
  }
  const { fields } = section;
  const allowInsecure = fields.allow_insecure?.value ?? false;
  for (const url of [fields.base_url, fields.auth_url]) {
    if (url !== undefined && !allowInsecure) {
      refusePlainHttp(url, reading.problems);
    }
  }
  const ca = fields.ca_file && (await readCertificates(fields.ca_file, reading));
  const need = polling === undefined ? 0 : requestsPerSecond(polling, customers);
  const maxRequestsPerSecond = limitOf(fields.max_requests_per_second, need, reading.problems);
  const { base_url, auth_url, scope, timeout, max_concurrency, proxy_url } = fields;
  if (
    base_url === undefined ||
    auth_url === undefined ||
    scope === undefined ||
    timeout === undefined ||
    max_concurrency === undefined
  ) {
    return undefined;
  }
  return {
    baseUrl: base_url.value,
    authUrl: auth_url.value,
    scope: scope.value,
    timeoutMs: timeout.value,
    maxConcurrency: max_concurrency.value,
    maxRequestsPerSecond,
    allowInsecure,
    proxyUrl: proxy_url?.value,
    ca: ca?.text,
  };
}

function refusePlainHttp(url: Found<string>, problems: Problems): void {
  if (url.value.startsWith('http:') && !isLoopback(url.value)) {
    const message =
      'is plain http, where everybody on the way reads the credentials: give https, or set allow_insecure: true';
    problems.add({ ...url, message });
  }
}

/**
 * What the customers need in the steady state: each stream asks once an interval, each breakdown
 * twice a breakdown interval, for the totals since the epoch and for today's (DESIGN.md, 3).
 */
export function requestsPerSecond(
  polling: PollingConfig,
  customers: readonly CustomerConfig[],
): number {
  const streams = customers.reduce((sum, customer) => sum + customer.streams.length, 0);
  const breakdowns = customers.reduce((sum, customer) => sum + customer.breakdowns.length, 0);
  return (
    (streams * 1_000) / polling.intervalMs + (2 * breakdowns * 1_000) / polling.breakdownIntervalMs
  );
}

function limitOf(given: Found<number> | undefined, need: number, problems: Problems): number {
  if (given === undefined) {
    return Math.max(LEAST_REQUESTS_PER_SECOND, Math.ceil(2 * need));
  }
  if (given.value < need) {
    const least = Math.ceil(need * 100) / 100;
    const message = `is below the ${least} that the customers need: give more, poll less often, or leave it out`;
    problems.add({ ...given, message });
  }
  return given.value;
}
