/** A service client as the daemon would make it, with everything that it says written down. */
import { vi } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { ServiceError } from '../../../src/base/errors.ts';
import { createLogger } from '../../../src/base/log.ts';
import type { Question, AggregatedResponse } from '../../../src/base/model.ts';
import { Secret } from '../../../src/base/secret.ts';
import { createService } from '../../../src/service/service.ts';
import type { ServiceOptions, ServiceSettings } from '../../../src/service/service.ts';
import type { CustomerClient, Service, WholeClient } from '../../../src/service/types.ts';
import { VirtualClock, settle } from '../../support/virtual-clock.ts';
import { SECRET } from './fake-service.ts';

export const QUESTION: Question = {
  endpoint: 'peoplecount',
  aggregation: 'minute',
  from: '2026-11-01T04:00:00+01:00',
};

export interface Harness extends Disposable {
  readonly service: Service;
  readonly riverside: WholeClient;
  /** `endpoint:code` of every exchange. */
  readonly requests: string[];
  readonly credentials: boolean[];
  /** Everything that left the room by log or observer. */
  readonly told: string[];
  /** What `readSecret` gives. */
  secret: string;
  clientFor(name: string): WholeClient;
}

export interface HarnessOptions extends Partial<Omit<ServiceOptions, 'config'>> {
  readonly config?: Partial<ServiceSettings>;
}

/** Waits between retries are drawn as 0, unless a test says otherwise. */
export function createHarness(url: string, options: HarnessOptions = {}): Harness {
  const requests: string[] = [];
  const credentials: boolean[] = [];
  const told: string[] = [];
  const { config, ...rest } = options;
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
      write: (line) => told.push(line),
      nowMs: () => 0,
    }),
    observer: {
      request(event) {
        requests.push(`${event.endpoint}:${event.code}`);
        told.push(JSON.stringify(event));
      },
      credentials(customer, valid) {
        credentials.push(valid);
        told.push(`${customer} ${valid}`);
      },
    },
    ...rest,
  });
  const harness: Harness = {
    service,
    requests,
    credentials,
    told,
    secret: SECRET,
    clientFor: (name) =>
      service.clientFor({
        name,
        clientId: `${name}-api`,
        readSecret: () => Promise.resolve(new Secret(harness.secret)),
      }),
    get riverside() {
      return riverside;
    },
    [Symbol.dispose]: () => service.close(),
  };
  const riverside = harness.clientFor('riverside');
  return harness;
}

/** A deadline that does not come. */
export function patience(): AbortSignal {
  return new AbortController().signal;
}

export function ask(
  client: CustomerClient,
  question: Question = QUESTION,
): Promise<AggregatedResponse> {
  return client.query(question, patience());
}

/** The error that a promise fails with. It must be a ServiceError. */
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
export async function until(isSo: () => boolean): Promise<void> {
  await vi.waitUntil(isSo, { interval: 1, timeout: 20_000 });
}

/** Real sockets under a virtual clock: it moves on whenever somebody sleeps on it. */
export async function driven<T>(clock: VirtualClock, promise: Promise<T>): Promise<T> {
  let settled = false;
  const outcome = promise.finally(() => {
    settled = true;
  });
  outcome.catch(() => undefined);
  // Read through a function: what a callback sets is not seen by the compiler.
  function pending(): boolean {
    return !settled;
  }
  while (pending()) {
    await new Promise((resolve) => setTimeout(resolve, 1));
    await (clock.sleepers > 0 ? clock.advance(100) : settle());
  }
  return promise;
}

export function virtualClock(): VirtualClock {
  return new VirtualClock(Date.parse('2026-11-01T12:00:00Z'));
}
