/** A service client as the daemon creates it, with everything recorded that it reports. */
import { onTestFinished, vi } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { ServiceError } from '../../../src/base/errors.ts';
import { createLogger } from '../../../src/base/log.ts';
import type { AggregatedResponse, Question } from '../../../src/base/model.ts';
import { Secret } from '../../../src/base/secret.ts';
import { createService } from '../../../src/service/client.ts';
import type { RetryPolicy } from '../../../src/service/retry.ts';
import type {
  CustomerClient,
  Service,
  ServiceClient,
  ServiceOptions,
  ServiceSettings,
} from '../../../src/service/types.ts';
import { settle, VirtualClock } from '../../support/virtual-clock.ts';
import { SECRET, startFakeService } from './fake-service.ts';

export const QUESTION: Question = {
  endpoint: 'peoplecount',
  aggregation: 'minute',
  from: '2026-11-01T04:00:00+01:00',
};

export interface Harness {
  readonly service: Service;
  readonly riverside: ServiceClient;
  /** `endpoint:code` of every request. */
  readonly requests: string[];
  readonly credentials: boolean[];
  /** Everything that was logged or given to the observer. */
  readonly reported: string[];
  /** What `readSecret` returns. */
  secret: string;
  clientFor(name: string, retries?: RetryPolicy): ServiceClient;
}

export interface HarnessOptions extends Partial<Omit<ServiceOptions, 'config'>> {
  readonly config?: Partial<ServiceSettings>;
}

/** Waits between retries are drawn as 0, unless a test has another `random`. It ends with the test. */
export function createHarness(url: string, options: HarnessOptions = {}): Harness {
  const { config, ...rest } = options;
  const requests: string[] = [];
  const credentials: boolean[] = [];
  const reported: string[] = [];
  const service = createService({
    config: {
      baseUrl: url,
      authUrl: url,
      scope: 'ServiceAPI',
      timeoutMs: 5_000,
      maxConcurrency: 32,
      maxRequestsPerSecond: 1_000,
      proxyUrl: undefined,
      ca: undefined,
      ...config,
    },
    clock: systemClock,
    random: { next: () => 0 },
    log: createLogger({
      level: 'debug',
      format: 'json',
      write: (line) => reported.push(line),
      nowMs: () => 0,
    }),
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
    ...rest,
  });
  onTestFinished(() => service.close());
  const harness = {
    service,
    requests,
    credentials,
    reported,
    secret: SECRET,
    clientFor: (name: string, retries?: RetryPolicy) =>
      service.clientFor(
        {
          name,
          clientId: `${name}-api`,
          readSecret: () => Promise.resolve(new Secret(harness.secret)),
        },
        retries,
      ),
  };
  return Object.assign(harness, { riverside: harness.clientFor('riverside') });
}

/** A fake service and a client for it. */
export async function start(options: HarnessOptions = {}) {
  const fake = await startFakeService();
  return { fake, harness: createHarness(fake.url, options) };
}

/** A signal that never aborts. */
export function never(): AbortSignal {
  return new AbortController().signal;
}

export function ask(
  client: CustomerClient,
  question: Question = QUESTION,
): Promise<AggregatedResponse> {
  return client.query(question, never());
}

/** The ServiceError that a promise fails with. */
export async function failureOf(promise: Promise<unknown>): Promise<ServiceError> {
  const outcome: unknown = await promise.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(outcome instanceof ServiceError)) {
    throw new Error('Expected a ServiceError', { cause: outcome });
  }
  return outcome;
}

/** Waits in real time, for what happens over sockets. */
export async function until(condition: () => boolean): Promise<void> {
  await vi.waitUntil(condition, { interval: 1, timeout: 20_000 });
}

/** Real sockets under a virtual clock: the clock advances whenever something sleeps on it. */
export async function driven<T>(clock: VirtualClock, promise: Promise<T>): Promise<T> {
  const state = { settled: false };
  promise.finally(() => (state.settled = true)).catch(() => undefined);
  while (!state.settled) {
    await new Promise((resolve) => setTimeout(resolve, 1));
    await (clock.sleepers > 0 ? clock.advance(100) : settle());
  }
  return promise;
}

export function virtualClock(): VirtualClock {
  return new VirtualClock(Date.parse('2026-11-01T12:00:00Z'));
}
