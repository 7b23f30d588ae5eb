/**
 * The service for all customers, with one connection pool and one set of limits, and a client per customer
 * that combines token, limits, retries and decoding.
 */
import { formatDuration } from '../base/duration.ts';
import { ServiceError } from '../base/errors.ts';
import type {
  AggregatedQuery,
  AggregatedResponse,
  Page,
  PageQuery,
  RequestTimes,
} from '../base/model.ts';
import { TokenCache } from './auth.ts';
import { decodeAggregated, decodeFor, decodePage } from './decode.ts';
import type { ResponseContent } from './decode.ts';
import { AbortedError, RateLimiter, Semaphore, timeoutOf } from './limits.ts';

import { POLL_RETRIES, RetryAfterGate, withRetries } from './retry.ts';
import type { RetryPolicy } from './retry.ts';
import { ServerClock } from './server-clock.ts';
import { createTransport, isSuccess, statusError, titleOf } from './transport.ts';
import type { ExchangeResponse, ExchangeRequest, Transport } from './transport.ts';
import type {
  CustomerAccess,
  ObservedEndpoint,
  Priority,
  Service,
  ServiceClient,
  ServiceOptions,
} from './types.ts';

/** Returns the service without opening a connection. Throws a ConfigError for an invalid proxy URL. */
export function createService(options: ServiceOptions): Service {
  const { config, environment = {}, clock, log } = options;
  const transport = options.transport ?? createTransport(config, environment, clock);
  const limiter = new RateLimiter(config.maxRequestsPerSecond, clock);
  const semaphore = new Semaphore({
    places: config.maxConcurrency,
    optionalPlaces: Math.ceil(config.maxConcurrency / 2),
    users: 'all customers',
    limiter,
  });
  const serverClock = new ServerClock(clock, log);
  const shared = { ...options, transport, semaphore, serverClock };
  return {
    clientFor: (access, retries = POLL_RETRIES) => new Client(shared, access, retries),
    serverClock,
    close: () => transport.close(),
  };
}

/** What the clients of all customers share. */
interface SharedService extends ServiceOptions {
  readonly transport: Transport;
  readonly semaphore: Semaphore;
  readonly serverClock: ServerClock;
}

/**
 * Failed queries in a row after which a query makes one attempt, so that an outage does not multiply the
 * load: the next poll is the retry.
 */
const MAX_FAILURES_WITH_RETRIES = 3;

type AnyQuery = AggregatedQuery | PageQuery;

/** A request, and what the observer and the log report of it. */
interface ClientRequest extends ExchangeRequest {
  readonly endpoint: ObservedEndpoint;
  readonly query?: AnyQuery;
}

class Client implements ServiceClient {
  readonly #shared: SharedService;
  readonly #access: CustomerAccess;
  readonly #retries: RetryPolicy;
  /** A customer whose requests hang must not take all places of the shared semaphore. */
  readonly #semaphore: Semaphore;
  readonly #gate: RetryAfterGate;
  readonly #tokens: TokenCache;
  #failures = 0;

  constructor(shared: SharedService, access: CustomerAccess, retries: RetryPolicy) {
    this.#shared = shared;
    this.#access = access;
    this.#retries = retries;
    // One for people, one for logins, one for what is optional.
    const places =
      shared.config.maxConcurrency >= 4 ? 3 : Math.min(2, shared.config.maxConcurrency);
    this.#semaphore = new Semaphore({ places, optionalPlaces: 1, users: 'this customer' });
    this.#gate = new RetryAfterGate(shared.clock);
    const { authUrl, scope } = shared.config;
    this.#tokens = new TokenCache(access, {
      url: `${authUrl}/connect/token`,
      scope,
      clock: shared.clock,
      send: (request) => this.#send({ ...request, endpoint: 'token' }, 'urgent'),
      credentialsChecked: (valid) => shared.observer.credentials(access.name, valid),
    });
  }

  query(
    query: AggregatedQuery,
    signal: AbortSignal,
    priority: Priority = 'normal',
  ): Promise<AggregatedResponse> {
    const sent = withRequestTimes(query, this.#shared.config.requestTimes);
    return this.#withRetries(sent, signal, priority, (response, secrets) =>
      decodeAggregated(sent, response, secrets),
    );
  }

  page(query: PageQuery, signal: AbortSignal, priority: Priority = 'normal'): Promise<Page> {
    const sent = withRequestTimes(query, this.#shared.config.requestTimes);
    return this.#withRetries(sent, signal, priority, (response, secrets) =>
      decodePage(query, response, secrets),
    );
  }

  async #withRetries<T>(
    query: AnyQuery,
    signal: AbortSignal,
    priority: Priority,
    decode: (response: ResponseContent, secrets: readonly string[]) => T,
  ): Promise<T> {
    if (signal.aborted) {
      throw timeoutOf('no time left for another request', signal);
    }
    const { clock } = this.#shared;
    const startedMs = clock.monotonicMs();
    const policy =
      this.#failures < MAX_FAILURES_WITH_RETRIES
        ? this.#retries
        : { ...this.#retries, maxAttempts: 1 };
    try {
      const decoded = await withRetries(
        async () => {
          const { request, response, token } = await this.#authorized(query, signal, priority);
          const secrets = [token.value.reveal(), token.clientSecret.reveal()];
          return decodeFor(request, response, () => decode(response, secrets));
        },
        policy,
        this.#shared,
        signal,
      );
      this.#failures = 0;
      this.#tokens.accepted();
      return decoded;
    } catch (error) {
      this.#failures += 1;
      const status = error instanceof ServiceError ? error.status : undefined;
      if (this.#failures >= MAX_FAILURES_WITH_RETRIES && status !== undefined && status !== 429) {
        this.#tokens.suspect();
      }
      if (error instanceof AbortedError) {
        const elapsed = roughly(clock.monotonicMs() - startedMs);
        throw timeoutOf(`${error.message} within ${elapsed}`, signal);
      }
      throw error;
    }
  }

  /** Returns the response with status 200 or 204, its request and the token used. A 401 renews the token once. */
  async #authorized(query: AnyQuery, signal: AbortSignal, priority: Priority) {
    const { endpoint } = query;
    const url = `${this.#shared.config.baseUrl}/v1/${endpoint}?${parameters(query).toString()}`;
    for (let renewed = false; ; renewed = true) {
      const token = await this.#tokens.get(signal);
      const request = { url, bearer: token.value, endpoint, query };
      const response = await this.#send(request, priority, signal);
      if (isSuccess(response.status)) {
        return { request, response, token };
      }
      this.#tokens.invalidate(token);
      if (renewed) {
        throw statusError(request, response);
      }
    }
  }

  /** Sends one request within the limits. */
  async #send(
    request: ClientRequest,
    priority: Priority,
    signal?: AbortSignal,
  ): Promise<ExchangeResponse> {
    const { semaphore } = this.#shared;
    return this.#semaphore.run(
      () => semaphore.run(() => this.#exchange(request, signal), priority, signal),
      priority,
      signal,
    );
  }

  /**
   * Sends one request; reports it to the observer and logs it without query string, headers and body. Returns
   * status 200, 204 and 401, and those of the token endpoint below 500. Throws if the customer was told to wait, perhaps
   * while this request queued.
   */
  async #exchange(request: ClientRequest, signal?: AbortSignal): Promise<ExchangeResponse> {
    this.#gate.check(() => titleOf(request));
    const { endpoint, query } = request;
    const { transport, clock, serverClock, observer, log } = this.#shared;
    const startedMs = clock.monotonicMs();
    let code: number | 'none' = 'none';
    try {
      const response = await transport.exchange(request, signal);
      code = response.status;
      // The token endpoint is another server with another clock.
      if (isSuccess(code) && endpoint !== 'token') {
        serverClock.update(response.date, clock.monotonicMs() - startedMs);
      }
      if (!isSuccess(code)) {
        const error = statusError(request, response);
        this.#gate.record(error);
        if (code !== 401 && (endpoint !== 'token' || code >= 500)) {
          throw error;
        }
      }
      return response;
    } catch (error) {
      code = error instanceof ServiceError ? (error.status ?? 'none') : 'none';
      throw error;
    } finally {
      const durationMs = clock.monotonicMs() - startedMs;
      observer.request({ endpoint, code, durationMs });
      log.debug('service request finished', {
        customer: this.#access.name,
        method: request.form === undefined ? 'GET' : 'POST',
        path: /^\w+:\/\/[^/?]+([^?]*)/.exec(request.url)?.[1],
        aggregation: query?.aggregation,
        from: query?.from,
        to: query?.to,
        status: code,
        duration_ms: Math.round(durationMs),
      });
    }
  }
}

/** Returns a query with its times as the request writes them: as it says itself, else as `configured`. */
function withRequestTimes<Q extends AnyQuery>(query: Q, configured: RequestTimes): Q {
  const { from, to } = query;
  const requestTimes =
    query.aggregation === undefined ? configured : (query.requestTimes ?? configured);
  return {
    ...query,
    ...(from !== undefined && { from: writeTime(from, requestTimes) }),
    ...(to !== undefined && { to: writeTime(to, requestTimes) }),
  };
}

/** Writes a time. `time` is a local time with its offset, `2026-11-01T04:00:00+01:00`. */
function writeTime(time: string, requestTimes: RequestTimes): string {
  switch (requestTimes) {
    case 'offset':
      return time;
    case 'utc':
      return new Date(time).toISOString().replace(/\.\d+/, '');
    case 'local':
      return time.slice(0, '2026-11-01T04:00:00'.length);
  }
}

/** Returns the parameters of a request for data (docs/service.md#requests). */
function parameters(query: AnyQuery): URLSearchParams {
  const { aggregation, from, to } = query;
  const values =
    aggregation === undefined
      ? { limit: String(query.limit), startToken: query.startToken?.reveal(), from, to }
      : { aggregation, from, to };
  const given = Object.entries(values).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return new URLSearchParams(given);
}

/** Returns a duration as text, in whole seconds from one second on. */
function roughly(durationMs: number): string {
  const unitMs = durationMs < 1_000 ? 1 : 1_000;
  return formatDuration(Math.round(durationMs / unitMs) * unitMs);
}
