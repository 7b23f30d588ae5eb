/**
 * The service for all customers, with one connection pool and one set of limits, and a client per customer
 * that combines token, limits, retries and decoding.
 */
import type { Clock } from '../base/clock.ts';
import { ServiceError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { AggregatedQuestion, AggregatedResponse, Page, PageQuestion } from '../base/model.ts';
import type { Random } from '../base/random.ts';
import type { Secret } from '../base/secret.ts';
import { TokenCache } from './auth.ts';
import type { AccessToken } from './auth.ts';
import { decodeAggregated, decodePage } from './decode.ts';
import type { AnswerContent } from './decode.ts';
import { RateLimiter, Semaphore, abortError } from './limits.ts';
import { permanent, POLL_RETRIES, RetryAfterGate, withRetries } from './retry.ts';
import type { RetryPolicy } from './retry.ts';
import { ServerClock } from './server-clock.ts';
import { createTransport, statusError } from './transport.ts';
import type {
  ExchangeAnswer,
  ExchangeRequest,
  ProxyEnvironment,
  Transport,
  TransportSettings,
} from './transport.ts';
import type { CustomerAccess, Service, ServiceClient, ServiceObserver } from './types.ts';

/** The part of the configuration that this module needs. URLs have no slash at the end. */
export interface ServiceSettings extends TransportSettings {
  readonly scope: string;
  readonly maxRequestsPerSecond: number;
}

export interface ServiceOptions {
  readonly config: ServiceSettings;
  /** Without it, only `proxyUrl` names a proxy. */
  readonly environment?: ProxyEnvironment;
  readonly clock: Clock;
  readonly random: Random;
  readonly observer: ServiceObserver;
  readonly log: Logger;
  /** In place of HTTP, for a simulation. */
  readonly transport?: Transport;
}

/** Opens no connection yet. Throws a ConfigError for an invalid proxy URL. */
export function createService(options: ServiceOptions): Service {
  const { config, environment = {}, clock, log } = options;
  const transport = options.transport ?? createTransport(config, environment);
  const limiter = new RateLimiter(config.maxRequestsPerSecond, clock);
  const semaphore = new Semaphore(config.maxConcurrency, limiter);
  const serverClock = new ServerClock(clock, log);
  const shared = { ...options, transport, semaphore, serverClock };
  return {
    clientFor: (access, retries = POLL_RETRIES) => new Client(shared, access, retries),
    nowMs: () => serverClock.nowMs(),
    clockReading: () => serverClock.reading(),
    close() {
      semaphore.close(permanent(new ServiceError('unreachable', 'connections closed')));
      transport.close();
    },
  };
}

/** What the clients of all customers share. */
interface SharedService extends ServiceOptions {
  readonly transport: Transport;
  readonly semaphore: Semaphore;
  readonly serverClock: ServerClock;
}

/** After so many failed queries in a row a query makes one attempt: the next poll is the retry. */
const MAX_FAILURES_WITH_RETRIES = 3;

type AnyQuestion = AggregatedQuestion | PageQuestion;
/** How a request waits for its turn. */
interface Turn {
  readonly signal?: AbortSignal;
  readonly urgent: boolean;
}

type ObservedEndpoint = Parameters<ServiceObserver['request']>[0]['endpoint'];

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
    const { config, clock, random, observer } = shared;
    this.#shared = shared;
    this.#access = access;
    this.#retries = retries;
    this.#semaphore = new Semaphore(config.maxConcurrency >= 4 ? 2 : 1);
    this.#gate = new RetryAfterGate(clock);
    this.#tokens = new TokenCache({
      access,
      authUrl: config.authUrl,
      scope: config.scope,
      clock,
      random,
      observer,
      send: (request) => this.#send('token', request, undefined, { urgent: true }),
    });
  }

  query(
    question: AggregatedQuestion,
    signal: AbortSignal,
    urgent = false,
  ): Promise<AggregatedResponse> {
    return this.#withRetries(question, { signal, urgent }, (answer, secrets) =>
      decodeAggregated(question.endpoint, answer, secrets),
    );
  }

  page(question: PageQuestion, signal: AbortSignal): Promise<Page> {
    return this.#withRetries(question, { signal, urgent: false }, (answer, secrets) =>
      decodePage(question, answer, secrets),
    );
  }

  async #withRetries<T>(
    question: AnyQuestion,
    turn: Turn & { readonly signal: AbortSignal },
    decode: (answer: AnswerContent, secrets: readonly Secret[]) => T,
  ): Promise<T> {
    const { signal } = turn;
    if (signal.aborted) {
      throw abortError(signal);
    }
    const { clock, random } = this.#shared;
    const policy =
      this.#failures < MAX_FAILURES_WITH_RETRIES
        ? this.#retries
        : { ...this.#retries, maxAttempts: 1 };
    try {
      const decoded = await withRetries(
        async () => {
          const { answer, token } = await this.#authorized(question, turn);
          return decode(answer, [token.value, token.clientSecret]);
        },
        { policy, clock, random, signal },
      );
      this.#failures = 0;
      return decoded;
    } catch (error) {
      this.#failures += 1;
      throw error;
    }
  }

  /** The answer with status 200, and the token used. A 401 renews the token once. */
  async #authorized(
    question: AnyQuestion,
    turn: Turn & { readonly signal: AbortSignal },
  ): Promise<{ readonly answer: ExchangeAnswer; readonly token: AccessToken }> {
    const tokens = this.#tokens;
    let token = await tokens.get(turn.signal);
    let request = this.#dataRequest(question, token);
    let answer = await this.#send(question.endpoint, request, question, turn);
    if (answer.status === 401) {
      tokens.invalidate(token);
      token = await tokens.get(turn.signal);
      request = this.#dataRequest(question, token);
      answer = await this.#send(question.endpoint, request, question, turn);
    }
    if (answer.status === 200) {
      return { answer, token };
    }
    if (answer.status === 401) {
      tokens.invalidate(token);
    } else {
      tokens.invalidateIfOld(token);
    }
    throw statusError(request.title, answer);
  }

  /** One request within the limits. Returns status 200 and those that concern the credentials. */
  async #send(
    endpoint: ObservedEndpoint,
    request: ExchangeRequest,
    question: AnyQuestion | undefined,
    { signal, urgent }: Turn,
  ): Promise<ExchangeAnswer> {
    const gate = this.#gate;
    let answer: ExchangeAnswer | undefined;
    while (answer === undefined) {
      await gate.wait(this.#retries.maxWaitMs, signal);
      answer = await this.#semaphore.run(
        () =>
          this.#shared.semaphore.run(
            // The gate may have closed while this request waited for its place, which others can use.
            async () =>
              gate.isOpen() ? this.#exchange(endpoint, request, question, signal) : undefined,
            signal,
            urgent,
          ),
        signal,
      );
    }
    if (answer.status === 200 || concernsCredentials(endpoint, answer.status)) {
      return answer;
    }
    const error = statusError(request.title, answer);
    gate.record(error);
    throw error;
  }

  /** One request, reported to the observer and logged without its query string, headers and body. */
  async #exchange(
    endpoint: ObservedEndpoint,
    request: ExchangeRequest,
    question: AnyQuestion | undefined,
    signal: AbortSignal | undefined,
  ): Promise<ExchangeAnswer> {
    const { transport, clock, serverClock, observer, log } = this.#shared;
    const customer = this.#access.name;
    const startedMs = clock.monotonicMs();
    let code: number | 'none' = 'none';
    try {
      const answer = await transport.exchange(request, signal);
      code = answer.status;
      // The token endpoint is another server with another clock.
      if (code === 200 && endpoint !== 'token') {
        serverClock.update(answer.date, clock.monotonicMs() - startedMs);
      }
      return answer;
    } catch (error) {
      code = error instanceof ServiceError ? (error.status ?? 'none') : 'none';
      throw error;
    } finally {
      const durationMs = clock.monotonicMs() - startedMs;
      observer.request({ customer, endpoint, code, durationMs });
      const [method, path] = request.title.split(' ');
      log.debug('service request finished', {
        customer,
        method,
        path,
        aggregation: question?.aggregation,
        from: question?.from,
        to: question?.to,
        status: code,
        duration_ms: Math.round(durationMs),
      });
    }
  }

  #dataRequest(question: AnyQuestion, token: AccessToken): ExchangeRequest {
    const path = `/v1/${question.endpoint}`;
    const url = `${this.#shared.config.baseUrl}${path}?${parameters(question).toString()}`;
    return { url, title: `GET ${path}`, bearer: token.value };
  }
}

/** Named as in service-interface.md, 4.2. */
function parameters(question: AnyQuestion): URLSearchParams {
  const { aggregation, from, to } = question;
  const values =
    aggregation === undefined
      ? { limit: String(question.limit), startToken: question.startToken?.reveal(), from, to }
      : { aggregation, from, to };
  const given = Object.entries(values).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return new URLSearchParams(given);
}

function concernsCredentials(endpoint: ObservedEndpoint, status: number): boolean {
  return status === 401 || status === 403 || (endpoint === 'token' && status === 400);
}
