/** The exporter without files and HTTP: customers of a configuration, their polls, and their metrics. */
import type { Clock } from './base/clock.ts';
import { LogLimiter } from './base/log-limiter.ts';
import type { LogFields, Logger } from './base/log.ts';
import type { ServiceSettings } from './base/service-settings.ts';
import { accessOf, haveSameCredentials } from './config/credentials.ts';
import type { Config, CustomerConfig } from './config/types.ts';
import type { Customer } from './counting/customer.ts';
import type { HighWaterMarks } from './counting/high-water-marks.ts';
import { changedNames, CustomerRegistry } from './customers.ts';
import type { RegisteredCustomer } from './customers.ts';
import { createExposition } from './metrics/exposition.ts';
import type { Exposition } from './metrics/exposition.ts';
import { Scheduler } from './polling/scheduler.ts';
import type { PollObserver } from './polling/scheduler.ts';
import { askedByRightClock } from './service/server-clock.ts';
import type { CustomerAccess, PollingClient, Service, ServiceObserver } from './service/types.ts';

export interface ExporterOptions {
  readonly clock: Clock;
  readonly log: Logger;
  readonly marks: HighWaterMarks;
  /** Returns the service with these settings. */
  readonly connect: (settings: ServiceSettings, observer: ServiceObserver) => PolledService;
  /** Is told of every request and poll; and, if it asks for it, which customers' metrics have changed. */
  readonly observer: Pick<ServiceObserver, 'request'> &
    Pick<PollObserver, 'pollEnded'> &
    Partial<Pick<PollObserver, 'changed'>>;
  /** Gives a customer what was stored of its days. */
  readonly restore?: (customer: Customer) => void;
}

/** The part of the service that polling needs. */
export interface PolledService extends Pick<Service, 'serverClock' | 'close'> {
  clientFor(access: CustomerAccess): PollingClient;
}

/** What a new service address or polling interval replaces. */
interface Runtime {
  readonly settings: string;
  readonly service: PolledService;
  readonly scheduler: Scheduler;
  /** By name: a customer that moves to another time zone is counted anew, with the same token. */
  readonly clients: Map<string, RegisteredCustomer & { readonly client: PollingClient }>;
}

export class Exporter {
  readonly exposition: Exposition;
  readonly #options: ExporterOptions;
  readonly #registry: CustomerRegistry;
  readonly #limiter: LogLimiter;
  #runtime: Runtime;
  #registered: readonly RegisteredCustomer[] = [];

  /** Polls nobody before `start` and `apply`. Throws a ConfigError for an invalid proxy URL. */
  constructor(config: Config, options: ExporterOptions) {
    this.#options = options;
    this.#registry = new CustomerRegistry(options.marks);
    this.#limiter = new LogLimiter(options);
    this.exposition = createExposition(options);
    this.#runtime = this.#createRuntime(config);
  }

  get customers(): readonly RegisteredCustomer[] {
    return this.#registered;
  }

  start(): void {
    this.#runtime.scheduler.start();
  }

  /**
   * Polls the customers of a configuration from now on. Those that did not change keep their state.
   * Returns the names of the others, as fields of the log.
   */
  async apply(config: Config): Promise<LogFields> {
    const before = this.#runtime;
    if (before.settings !== settingsOf(config)) {
      this.#runtime = this.#createRuntime(config);
      await before.scheduler.stop();
      before.service.close();
      this.start();
    }
    const previous = this.#registered;
    this.#registered = this.#registry.update(config);
    const { clients } = this.#runtime;
    for (const name of clients.keys()) {
      if (this.#registry.get(name) === undefined) {
        clients.delete(name);
      }
    }
    this.#registered.forEach(({ customer }) => this.#options.restore?.(customer));
    this.exposition.setCustomers(
      this.#registered.map(({ customer }) => customer),
      config.customers,
    );
    this.#runtime.scheduler.setCustomers(
      this.#registered.map((one) => ({ customer: one.customer, client: this.#clientFor(one) })),
    );
    return changedNames(previous, this.#registered);
  }

  /** Drops every poll and closes the connections to the service. */
  async stop(): Promise<void> {
    await this.#runtime.scheduler.stop();
    this.#runtime.service.close();
  }

  /** State of the polls. `apply` may replace it. */
  get scheduler(): Pick<Scheduler, 'lateMs'> {
    return this.#runtime.scheduler;
  }

  #createRuntime(config: Config): Runtime {
    const { clock, log, connect, observer } = this.#options;
    const { service: settings, polling } = config;
    const service = connect(settings, {
      ...observer,
      credentials: (customer, valid) => this.#credentialsChecked(customer, valid),
    });
    const scheduler = new Scheduler({
      clock,
      log,
      limiter: this.#limiter,
      ...polling,
      maxConcurrency: settings.maxConcurrency,
      maxRequestsPerSecond: settings.maxRequestsPerSecond,
      observer: {
        ...observer,
        changed: (customer) => {
          this.exposition.changed(customer);
          observer.changed?.(customer);
        },
      },
    });
    return { settings: settingsOf(config), service, scheduler, clients: new Map() };
  }

  /** Returns the client of a customer, which keeps it, and so its token, as long as its credentials. */
  #clientFor(registered: RegisteredCustomer): PollingClient {
    const { clients, service } = this.#runtime;
    const { customer, config } = registered;
    const before = clients.get(config.name);
    const isKept = before !== undefined && haveSameCredentials(before.config, config);
    const client = isKept ? before.client : this.#createClient(service, config);
    if (isKept && before.customer.credentialsValid !== undefined) {
      const { credentialsValid } = before.customer;
      customer.credentialsChecked(credentialsValid, this.#options.clock.nowMs());
    }
    clients.set(config.name, { ...registered, client });
    return client;
  }

  /** Returns a client whose responses are used only while our clock is right. */
  #createClient(service: PolledService, config: CustomerConfig): PollingClient {
    const { clock, marks } = this.#options;
    const client = service.clientFor(accessOf(config));
    function checked<Response>(ask: () => Promise<Response>): Promise<Response> {
      return askedByRightClock(ask, clock, service.serverClock, () => marks.newestMs);
    }
    return {
      query: (...question) => checked(() => client.query(...question)),
      page: (...question) => checked(() => client.page(...question)),
    };
  }

  #credentialsChecked(name: string, valid: boolean): void {
    const { log } = this.#options;
    const customer = this.#registry.get(name);
    const wereRefused = customer?.credentialsValid === false;
    customer?.credentialsChecked(valid, this.#options.clock.nowMs());
    this.exposition.changed(name);
    if (!valid) {
      this.#limiter.tryLog('warn', 'credentials refused', { customer: name });
    } else if (wereRefused) {
      this.#limiter.tryLog('info', 'credentials accepted again', { customer: name });
    } else {
      log.debug('credentials accepted', { customer: name });
    }
  }
}

/** What changes the runtime. */
function settingsOf({ service, polling }: Config): string {
  return JSON.stringify([service, polling]);
}
