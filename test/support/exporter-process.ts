/**
 * The exporter without its sockets, signals and disk: polling, the service's client from the bytes of
 * a response on, counting and rendering are those of src; the clock and the way to the service are
 * those of the test.
 */
import type { Clock } from '../../src/base/clock.ts';
import type { Logger } from '../../src/base/log.ts';
import type { Random } from '../../src/base/random.ts';
import { Secret } from '../../src/base/secret.ts';
import type { Config, CustomerConfig, PollingConfig } from '../../src/config/types.ts';
import type { HighWaterMarks } from '../../src/counting/high-water-marks.ts';
import { createExposition } from '../../src/metrics/exposition.ts';
import { CustomerRegistry } from '../../src/customers.ts';
import type { RegisteredCustomer } from '../../src/customers.ts';
import type { PollObserver } from '../../src/polling/scheduler.ts';
import { LogLimiter } from '../../src/base/log-limiter.ts';
import { Scheduler } from '../../src/polling/scheduler.ts';
import { createService } from '../../src/service/client.ts';
import type { Exchange, ExchangeResponse, ExchangeRequest } from '../../src/service/transport.ts';
import type { CustomerClient } from '../../src/service/types.ts';
import type { SimulatedRequest, SimulatedResponse } from '../../src/simulator/responses.ts';
import type { SimulatedService } from '../../src/simulator/simulated-service.ts';

export interface ExporterProcessOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly marks: HighWaterMarks;
  readonly exchange: Exchange;
  readonly observer: PollObserver;
  /** Replacements of mutation tests. */
  readonly wrapClient?: ((client: CustomerClient) => CustomerClient) | undefined;
}

export interface ExporterProcess {
  readonly scheduler: Scheduler;
  /** Updates the customers as a reload does. */
  apply(config: Config): void;
  /** /metrics, as text. */
  scrape(): string;
}

export function startExporter(config: Config, options: ExporterProcessOptions): ExporterProcess {
  const { clock, random, log, marks, exchange, observer, wrapClient } = options;
  const exposition = createExposition({ clock });
  const registry = new CustomerRegistry(marks);
  const clients = new WeakMap<RegisteredCustomer, CustomerClient>();
  const service = createService({
    config: config.service,
    clock,
    random,
    log,
    transport: { exchange, close() {} },
    observer: {
      request() {},
      credentials(customer, valid) {
        registry.get(customer)?.credentialsChecked(valid);
        exposition.changed(customer);
      },
    },
  });
  const scheduler = new Scheduler({
    clock,
    log,
    limiter: new LogLimiter({ log, clock }),
    ...config.polling,
    maxConcurrency: config.service.maxConcurrency,
    maxRequestsPerSecond: config.service.maxRequestsPerSecond,
    serviceNowMs: () => service.serverClock.nowMs(),
    observer: {
      ...observer,
      changed(customer) {
        exposition.changed(customer);
        observer.changed(customer);
      },
    },
  });

  function apply(next: Config): void {
    const members = registry.update(next);
    exposition.setCustomers(
      members.map(({ customer }) => customer),
      next.customers,
    );
    scheduler.setCustomers(
      members.map((member) => ({ customer: member.customer, client: clientFor(member) })),
    );
  }

  /** Returns the client, which a customer that did not change keeps, as in daemon.ts. */
  function clientFor(member: RegisteredCustomer): CustomerClient {
    const { name, clientId, clientSecret } = member.config;
    const access = { name, clientId, readSecret: () => Promise.resolve(clientSecret.secret) };
    const created = clients.get(member) ?? service.clientFor(access);
    clients.set(member, created);
    return wrapClient?.(created) ?? created;
  }

  scheduler.start();
  apply(config);
  return {
    scheduler,
    apply,
    scrape: () =>
      exposition
        .render('text')
        .map(({ plain }) => new TextDecoder().decode(plain))
        .join(''),
  };
}

/** A configuration of all customers of a simulated service. */
export function configOf(
  service: SimulatedService,
  polling: PollingConfig,
  rest: Pick<CustomerConfig, 'streams' | 'breakdowns'>,
): Config {
  return {
    service: {
      baseUrl: 'https://statistics.example.org',
      authUrl: 'https://identity.example.org',
      scope: 'ServiceAPI',
      timeoutMs: 10_000,
      maxConcurrency: 8,
      maxRequestsPerSecond: 50,
      requestTimes: 'offset',
      proxyUrl: undefined,
      ca: undefined,
    },
    polling,
    customers: service.customers.map(({ library, clientId, clientSecret }) => ({
      name: library.name,
      clientId,
      clientSecret: { secret: new Secret(clientSecret), path: undefined },
      timezone: library.timezone,
      dayStartsAt: { hour: 4, minute: 0 },
      capacity: undefined,
      openingHours: undefined,
      holidays: undefined,
      labels: {},
      branches: {},
      estimate: true,
      ...rest,
    })),
  };
}

export function toSimulated({ url, bearer, form }: ExchangeRequest): SimulatedRequest {
  const { pathname, searchParams } = new URL(url);
  if (form === undefined) {
    const headers = { authorization: `Bearer ${bearer?.reveal() ?? ''}` };
    return { method: 'GET', path: pathname, query: searchParams, headers };
  }
  return { method: 'POST', path: pathname, body: form.reveal() };
}

export function toResponse({ status, headers, body }: SimulatedResponse): ExchangeResponse {
  return {
    status,
    contentType: headers['content-type'],
    retryAfter: headers['retry-after'],
    date: headers['date'],
    body: Buffer.from(body),
  };
}
