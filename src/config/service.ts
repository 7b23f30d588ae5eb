/** The sections service and polling: the checks of several keys together, and the certificates. */
import { X509Certificate } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import { LEAST_REQUESTS_PER_SECOND } from './keys.ts';
import type { PollingSection, ServiceSection } from './keys.ts';
import type { Problems } from './problems.ts';
import { readTextFile } from './read-file.ts';
import type { Found } from './shapes.ts';
import type { CustomerConfig, PollingConfig, ServiceConfig } from './types.ts';
import { isLoopback } from './values.ts';

const LARGEST_CA_BYTES = 4 * 1_048_576;

export interface ServiceReading {
  readonly problems: Problems;
  /** To be told of a file that was read. */
  readonly fileRead: (path: string) => void;
}

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
  reading: ServiceReading,
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
    ca,
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

/** PEM text in which every certificate was tried. */
async function readCertificates(
  file: Found<string>,
  { problems, fileRead }: ServiceReading,
): Promise<string | undefined> {
  const path = resolve(dirname(file.place.source.path), file.value);
  fileRead(path);
  try {
    const { text } = await readTextFile(path, LARGEST_CA_BYTES);
    const certificates = text.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g);
    if (certificates === null) {
      throw new Error('holds no certificate: give one in PEM, as in -----BEGIN CERTIFICATE-----');
    }
    if (!certificates.every(isCertificate)) {
      throw new Error('holds a certificate that cannot be read: give each as it was issued');
    }
    return text;
  } catch (error) {
    const words = error instanceof Error ? error.message : String(error);
    problems.add({ ...file, message: `the file ${words}` });
    return undefined;
  }
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}
