/** The real exporter on a simulated service: the clock and the way to the service are those of the test. */
import type { Clock } from '../../src/base/clock.ts';
import type { Logger } from '../../src/base/log.ts';
import type { Random } from '../../src/base/random.ts';
import { Secret } from '../../src/base/secret.ts';
import type { Config, CustomerConfig, PollingConfig } from '../../src/config/types.ts';
import type { Customer } from '../../src/counting/customer.ts';
import type { HighWaterMarks } from '../../src/counting/high-water-marks.ts';
import { Exporter } from '../../src/exporter.ts';
import type { PollObserver } from '../../src/polling/scheduler.ts';
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
  /** Gives a customer what was stored of its days. */
  readonly restore?: ((customer: Customer) => void) | undefined;
  /** Replacements of mutation tests. */
  readonly wrapClient?: ((client: CustomerClient) => CustomerClient) | undefined;
}

export interface ExporterProcess {
  readonly customers: readonly Customer[];
  /** Updates the customers as a reload does. */
  apply(config: Config): Promise<unknown>;
  stop(): Promise<void>;
  /** /metrics, as text. */
  scrape(): string;
}

export function startExporter(config: Config, options: ExporterProcessOptions): ExporterProcess {
  const { clock, random, log, marks, exchange, observer, restore, wrapClient } = options;
  const transport = { exchange, close() {} };
  const exporter = new Exporter(config, {
    clock,
    log,
    marks,
    observer: { ...observer, request() {} },
    ...(restore && { restore }),
    connect(settings, serviceObserver) {
      const service = createService({
        config: settings,
        clock,
        random,
        log,
        observer: serviceObserver,
        transport,
      });
      return {
        ...service,
        clientFor(access) {
          const client = service.clientFor(access);
          const wrapped = wrapClient?.(client) ?? client;
          return {
            query: (...question) => wrapped.query(...question),
            page: (...question) => client.page(...question),
          };
        },
      };
    },
  });
  exporter.start();
  void exporter.apply(config);
  return {
    get customers() {
      return exporter.customers.map(({ customer }) => customer);
    },
    apply: (next) => exporter.apply(next),
    stop: () => exporter.stop(),
    scrape: () =>
      Buffer.concat(exporter.exposition.render('text').map(({ plain }) => plain)).toString(),
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
      keyTimes: 'local',
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
      staffedHours: undefined,
      holidays: undefined,
      labels: {},
      branches: {},
      estimate: true,
      ...rest,
    })),
  };
}

export function toSimulated({ url, bearer, form }: ExchangeRequest): SimulatedRequest {
  // As `new URL` does, in a fraction of the time.
  const [, path = '', search] = /^https?:\/\/[^/?#]+([^?#]*)(?:\?([^#]*))?$/.exec(url) ?? [];
  if (form === undefined) {
    const headers = { authorization: `Bearer ${bearer?.reveal() ?? ''}` };
    return { method: 'GET', path, query: new URLSearchParams(search), headers };
  }
  return { method: 'POST', path, body: form.reveal() };
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
