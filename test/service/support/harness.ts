/** A service client as the daemon creates it, with everything recorded that it reports. */
import { strict as assert } from 'node:assert';
import { onTestFinished, vi } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { ServiceError } from '../../../src/base/errors.ts';
import { createLogger } from '../../../src/base/log.ts';
import type { AggregatedResponse, WindowQuery } from '../../../src/base/model.ts';
import { Secret } from '../../../src/base/secret.ts';
import { createService } from '../../../src/service/client.ts';
import type { RetryPolicy } from '../../../src/service/retry.ts';
import type { ExchangeResponse, ExchangeRequest } from '../../../src/service/transport.ts';
import type { CustomerClient, ServiceOptions } from '../../../src/service/types.ts';
import { makeAuthority, makeCertificate } from '../../support/certificates.ts';
import type { CertificateOptions, Certified } from '../../support/certificates.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { GOOD, peopleBody, startScriptedServer, tokenBody } from '../../support/scripted-server.ts';
import type { Responder } from '../../support/scripted-server.ts';

export const SECRET = 'secret-81d2c0ffee';

const authority = await makeAuthority();
/** PEM of the authority that signed every certificate here. */
export const AUTHORITY = authority.cert;

export function certified(changes: Partial<CertificateOptions> = {}): Promise<Certified> {
  const hosts = ['127.0.0.1', 'localhost'];
  return makeCertificate({ name: 'service', hosts, issuer: authority, ...changes });
}

export const QUERY: WindowQuery = {
  endpoint: 'peoplecount',
  aggregation: 'minute',
  from: '2026-11-01T04:00:00+01:00',
};

export interface HarnessOptions extends Partial<Omit<ServiceOptions, 'config'>> {
  readonly config?: Partial<ServiceOptions['config']>;
  readonly secret?: string;
}

/** Waits between retries are drawn as 0, unless a test has another `random`. It ends with the test. */
export function createHarness(
  url: string,
  { config, secret = SECRET, ...options }: HarnessOptions = {},
) {
  const requests: string[] = [];
  const credentials: boolean[] = [];
  const reported: string[] = [];
  const write = reported.push.bind(reported);
  const log = createLogger({ level: 'debug', format: 'json', write, clock: systemClock });
  const service = createService({
    config: {
      baseUrl: url,
      authUrl: url,
      scope: 'ServiceAPI',
      timeoutMs: 5_000,
      maxConcurrency: 32,
      maxRequestsPerSecond: 1_000,
      requestTimes: 'offset',
      keyTimes: 'local',
      proxyUrl: undefined,
      ca: undefined,
      ...config,
    },
    clock: systemClock,
    random: { next: () => 0 },
    log,
    observer: {
      request(event) {
        requests.push(`${event.endpoint}:${event.code}`);
        reported.push(JSON.stringify(event));
      },
      credentials(customer, valid) {
        credentials.push(valid);
        reported.push(`${customer} ${valid}`);
      },
    },
    ...options,
  });
  onTestFinished(() => service.close());
  function clientFor(name: string, retries?: RetryPolicy) {
    return service.clientFor(
      { name, clientId: `${name}-api`, readSecret: () => Promise.resolve(new Secret(secret)) },
      retries,
    );
  }
  return {
    service,
    /** `endpoint:code` of every request that was sent. */
    requests,
    credentials,
    /** Everything that was logged or given to the observer. */
    reported,
    clientFor,
    riverside: clientFor('riverside'),
  };
}

/** Starts a server, with a certificate if one is given, that responds with `data`, and a client for it. */
export async function start({
  tls,
  data = GOOD,
  ...options
}: HarnessOptions & { readonly tls?: Certified; readonly data?: Responder } = {}) {
  const server = await startScriptedServer(tls);
  server.data = data;
  return { server, harness: createHarness(server.url, options) };
}

export type Reply = (request: ExchangeRequest) => ExchangeResponse | Promise<ExchangeResponse>;

export function reply(status: number, value: unknown, headers: Partial<ExchangeResponse> = {}) {
  const none = { contentType: 'application/json', retryAfter: undefined, date: undefined };
  return () => ({ ...none, status, body: Buffer.from(JSON.stringify(value)), ...headers });
}

export const ROWS = reply(200, peopleBody([{ key: 1, in: 3, out: 1 }]));

/** Returns a scripted transport and a client for it, on a virtual clock. */
export function startInMemory(options: HarnessOptions = {}) {
  const clock = virtualClock();
  const server: { token: Reply; data: Reply } = { token: reply(200, tokenBody()), data: ROWS };
  async function exchange(request: ExchangeRequest): Promise<ExchangeResponse> {
    return request.form === undefined ? server.data(request) : server.token(request);
  }
  const transport = { exchange, close() {} };
  const harness = createHarness('https://service', { clock, transport, ...options });
  return { clock, server, harness };
}

export function never(): AbortSignal {
  return new AbortController().signal;
}

export function ask(client: CustomerClient, query = QUERY): Promise<AggregatedResponse> {
  return client.query(query, never());
}

export async function failureOf(promise: Promise<unknown>) {
  const outcome = await promise.catch((error: unknown) => error);
  assert(outcome instanceof ServiceError, outcome instanceof Error ? outcome : 'no error');
  return outcome;
}

/** Waits in real time, for what happens over sockets. */
export async function until(condition: () => boolean): Promise<void> {
  await vi.waitUntil(condition, { interval: 1, timeout: 20_000 });
}

export function virtualClock() {
  return new VirtualClock(Date.parse('2026-11-01T12:00:00Z'));
}
