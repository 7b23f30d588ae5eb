/** What this module needs and what it offers to others. */
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type {
  AggregatedQuery,
  AggregatedResponse,
  Endpoint,
  Page,
  PageQuery,
  WindowQuery,
} from '../base/model.ts';
import type { Random } from '../base/random.ts';
import type { Secret } from '../base/secret.ts';
import type { ServiceSettings } from '../base/service-settings.ts';
import type { RetryPolicy } from './retry.ts';
import type { ServerClock } from './server-clock.ts';
import type { Transport } from './transport.ts';

export interface ServiceOptions {
  readonly config: ServiceSettings;
  /** HTTPS_PROXY and NO_PROXY are read, in either case; without them only `proxyUrl` names a proxy. */
  readonly environment?: NodeJS.ProcessEnv;
  readonly clock: Clock;
  readonly random: Random;
  readonly observer: ServiceObserver;
  readonly log: Logger;
  /** Replaces HTTP in simulations. */
  readonly transport?: Transport;
}

/** A customer's credentials. `readSecret` reads a secret file anew each time; it may throw a ServiceError. */
export interface CustomerAccess {
  readonly name: string;
  readonly clientId: string;
  readonly readSecret: () => Promise<Secret>;
}

/** The interface of the service for one customer, with a token of its own. */
export interface ServiceClient {
  /**
   * Returns a complete response; retries until the signal aborts. Throws a ServiceError, never returns a
   * partial or an empty response in its place. After an abort, the error is the failure that was about to be
   * retried, else `timeout`, which names a TimeLimitError; or the signal's reason if that is a ServiceError.
   * While many requests wait for the limits, every other one that starts is urgent. Optional ones take at
   * most half of the places.
   */
  query(
    query: AggregatedQuery,
    signal: AbortSignal,
    priority?: Priority,
  ): Promise<AggregatedResponse>;
  /** Returns one complete page of raw records, with the same retries and errors. */
  page(query: PageQuery, signal: AbortSignal, priority?: Priority): Promise<Page>;
}

/** The part of a client that a poll needs. */
export interface CustomerClient {
  query(query: WindowQuery, signal: AbortSignal, priority?: Priority): Promise<AggregatedResponse>;
}

/** The part of a client that polls and what is read behind them need. */
export interface PollingClient extends CustomerClient, Pick<ServiceClient, 'page'> {}

/** How a request is started while others wait: by turns, and optional ones take at most half of the places. */
export type Priority = 'urgent' | 'normal' | 'optional';

export type ObservedEndpoint = Endpoint | 'token';

export interface ServiceObserver {
  /** A request ended; `code` is `none` without a response. */
  request(event: {
    readonly endpoint: ObservedEndpoint;
    readonly code: number | 'none';
    readonly durationMs: number;
  }): void;
  /** Called when the credentials are first accepted or refused, and at each change. */
  credentials(customer: string, valid: boolean): void;
}

/** Shared by all customers: one connection pool, one set of limits. */
export interface Service {
  /** Returns a client that retries as a poll does, unless another policy is given. */
  clientFor(access: CustomerAccess, retries?: RetryPolicy): ServiceClient;
  readonly serverClock: Pick<ServerClock, 'aheadMs'>;
  /** Closes every connection. Requests in flight fail as `unreachable`. */
  close(): void;
}
