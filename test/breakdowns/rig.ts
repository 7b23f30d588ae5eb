/**
 * The exporter without its sockets against the simulator, under a virtual clock in which answers take
 * no time: what a poll has read is what the service knew when the poll ended.
 */
import { silentLogger } from '../../src/base/log.ts';
import { BREAKDOWNS } from '../../src/base/nouns.ts';
import { Secret } from '../../src/base/secret.ts';
import type { Config, CustomerConfig } from '../../src/config/types.ts';
import { Marks } from '../../src/counting/marks.ts';
import { createExposition } from '../../src/metrics/exposition.ts';
import type { Exposition as Rendered } from '../../src/metrics/exposition.ts';
import { Fleet } from '../../src/polling/fleet.ts';
import { Poller } from '../../src/polling/poller.ts';
import { createService } from '../../src/service/service.ts';
import type { ExchangeAnswer, ExchangeRequest } from '../../src/service/transport.ts';
import type { SimulatedRequest } from '../../src/simulator/responses.ts';
import type { SimulatedService } from '../../src/simulator/service.ts';
import { Exposition } from '../acceptance/exposition.ts';
import type { VirtualClock } from '../support/virtual-clock.ts';

export const MINUTE_MS = 60_000;

/** What becomes of the body of an answer of the data endpoints. */
export type Distortion = (body: string, request: SimulatedRequest) => string;

export interface RigOptions {
  readonly clock: VirtualClock;
  readonly service: SimulatedService;
  readonly customers?: (customer: CustomerConfig) => CustomerConfig;
}

export class Rig {
  readonly clock: VirtualClock;
  config: Config;
  distort: Distortion = (body) => body;
  readonly #service: SimulatedService;
  #running: Running | undefined;
  /** What is on the disk. */
  #file = new Marks().serialize(0);

  constructor({ clock, service, customers = (customer) => customer }: RigOptions) {
    this.clock = clock;
    this.#service = service;
    this.config = configOf(service, customers);
  }

  start(): void {
    const { clock } = this;
    const marks = new Marks();
    marks.restore(this.#file, clock.nowMs());
    const fleet = new Fleet(marks);
    const exposition = createExposition({ clock });
    const { polling, service: config } = this.config;
    const service = createService({
      config,
      clock,
      random: { next: () => 0.5 },
      log: silentLogger,
      observer: { request() {}, credentials() {} },
      transport: { exchange: (request) => Promise.resolve(this.#answer(request)), close() {} },
    });
    const poller = new Poller({
      clock,
      log: silentLogger,
      ...polling,
      maxConcurrency: config.maxConcurrency,
      maxRequestsPerSecond: config.maxRequestsPerSecond,
      serviceNowMs: () => service.nowMs(),
      observer: { pollEnded() {}, changed: (customer) => exposition.changed(customer) },
    });
    this.#running = { marks, exposition, poller, apply };
    poller.start();
    apply(this.config);

    function apply(next: Config): void {
      const members = fleet.update(next);
      exposition.setCustomers(members.map(({ customer }) => customer));
      poller.setCustomers(
        members.map(({ customer, config: { name, clientId, clientSecret } }) => {
          const access = { name, clientId, readSecret: () => Promise.resolve(clientSecret.secret) };
          return { customer, client: service.clientFor(access) };
        }),
      );
    }
  }

  reload(change: (customer: CustomerConfig) => CustomerConfig): void {
    this.config = { ...this.config, customers: this.config.customers.map(change) };
    this.#running?.apply(this.config);
  }

  /** The marks reach the disk, whatever else is lost. */
  async stop(): Promise<void> {
    this.#file = this.#running?.marks.serialize(this.clock.nowMs()) ?? this.#file;
    await this.#running?.poller.stop();
    this.#running = undefined;
  }

  scrape(): Exposition {
    return new Exposition(
      this.#running?.exposition.render('text').parts.map(String).join('') ?? '',
    );
  }

  #answer(request: ExchangeRequest): ExchangeAnswer {
    const simulated = toSimulated(request);
    const { status, headers, body } = this.#service.handle(simulated);
    const isData = status === 200 && simulated.method === 'GET';
    return {
      status,
      contentType: headers['content-type'],
      retryAfter: headers['retry-after'],
      date: headers['date'],
      body: Buffer.from(isData ? this.distort(body, simulated) : body),
    };
  }
}

interface Running {
  readonly marks: Marks;
  readonly exposition: Rendered;
  readonly poller: Poller;
  apply(config: Config): void;
}

function configOf(
  service: SimulatedService,
  change: (customer: CustomerConfig) => CustomerConfig,
): Config {
  return {
    service: {
      baseUrl: 'https://statistics.example.org',
      authUrl: 'https://identity.example.org',
      scope: 'ServiceAPI',
      timeoutMs: 10_000,
      maxConcurrency: 8,
      maxRequestsPerSecond: 50,
      allowInsecure: false,
      proxyUrl: undefined,
      ca: undefined,
    },
    polling: {
      intervalMs: 30 * MINUTE_MS,
      reconcileIntervalMs: 240 * MINUTE_MS,
      breakdownIntervalMs: 5 * MINUTE_MS,
    },
    customers: service.customers.map(({ library, clientId, clientSecret }) =>
      change({
        name: library.name,
        clientId,
        clientSecret: { secret: new Secret(clientSecret), path: undefined },
        timezone: library.timezone,
        dayStartsAt: { hour: 4, minute: 0 },
        capacity: undefined,
        openingHours: undefined,
        holidays: undefined,
        labels: {},
        streams: ['people'],
        breakdowns: BREAKDOWNS,
        branches: {},
      }),
    ),
  };
}

function toSimulated({ url, bearer, form }: ExchangeRequest): SimulatedRequest {
  const { pathname, searchParams } = new URL(url);
  if (form === undefined) {
    const headers = { authorization: `Bearer ${bearer?.reveal() ?? ''}` };
    return { method: 'GET', path: pathname, query: searchParams, headers };
  }
  const fields = Object.entries(form).map(([name, value]): [string, string] => [
    name,
    value instanceof Secret ? value.reveal() : value,
  ]);
  return { method: 'POST', path: pathname, body: new URLSearchParams(fields).toString() };
}
