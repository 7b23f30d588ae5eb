/**
 * One customer's access to the service: a question in, a whole reading out. It puts token, limits,
 * retries and decoding together, and remembers how long the service told this customer to wait.
 */
import type { Clock } from '../base/clock.ts';
import { ServiceError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { AggregatedQuestion, Page, PageQuestion, AggregatedResponse } from '../base/model.ts';
import type { Random } from '../base/random.ts';
import type { Secret } from '../base/secret.ts';
import { deadlineError } from './deadline.ts';
import { Hold } from './hold.ts';
import { Gate } from './limits.ts';
import type { ServiceClock } from './service-clock.ts';
import type { AnswerContent } from './json.ts';
import { decodePage } from './raw-wire.ts';
import { withRetries } from './retry.ts';
import { statusError } from './status.ts';
import { Tokens } from './token.ts';
import type { Exchange, ExchangeAnswer, ExchangeRequest } from './transport.ts';
import type { CustomerAccess, ServiceObserver, WholeClient } from './types.ts';
import { decodeReading } from './wire.ts';

export interface ClientOptions {
  readonly access: CustomerAccess;
  readonly baseUrl: string;
  readonly authUrl: string;
  readonly scope: string;
  readonly exchange: Exchange;
  /** Of all customers together. */
  readonly gate: Gate;
  /** Of all customers together. */
  readonly serviceClock: ServiceClock;
  readonly maxConcurrency: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly observer: ServiceObserver;
  readonly log: Logger;
}

const ATTEMPTS = 4;
/** After so many asks in a row that failed, the next poll is retry enough. */
const FAILURES_UNTIL_ONE_ATTEMPT = 3;

type AnyQuestion = AggregatedQuestion | PageQuestion;
type ObservedEndpoint = Parameters<ServiceObserver['request']>[0]['endpoint'];

export class Client implements WholeClient {
  readonly #options: ClientOptions;
  /** A customer whose requests hang holds at most these, and leaves the others theirs. */
  readonly #ownGate: Gate;
  readonly #hold: Hold;
  readonly #tokens: Tokens;
  #failures = 0;

  constructor(options: ClientOptions) {
    const { access, clock, random, authUrl, scope, observer } = options;
    this.#options = options;
    this.#ownGate = new Gate(options.maxConcurrency >= 4 ? 2 : 1);
    this.#hold = new Hold(clock);
    this.#tokens = new Tokens({
      access,
      authUrl,
      scope,
      clock,
      random,
      send: (request) => this.#send('token', request, undefined, undefined),
      onCredentials: (valid) => observer.credentials(access.name, valid),
    });
  }

  query(question: AggregatedQuestion, signal: AbortSignal): Promise<AggregatedResponse> {
    return this.#retried(question, (answer) => decodeReading(question.endpoint, answer), signal);
  }

  page(question: PageQuestion, signal: AbortSignal): Promise<Page> {
    return this.#retried(question, (answer) => decodePage(question, answer), signal);
  }

  /** One exchange within the limits. Gives 200, and of others those that say who we are not. */
  async #send(
    endpoint: ObservedEndpoint,
    request: ExchangeRequest,
    question: AnyQuestion | undefined,
    signal: AbortSignal | undefined,
  ): Promise<ExchangeAnswer> {
    const hold = this.#hold;
    let answer: ExchangeAnswer | undefined;
    while (answer === undefined) {
      await hold.waitOut(signal);
      answer = await withinLimits([this.#ownGate, this.#options.gate], signal, async () =>
        // It may have come while this one waited for its place, which others need meanwhile.
        hold.lasts() ? undefined : observed(this.#options, endpoint, request, question, signal),
      );
    }
    if (answer.status === 200 || asksWhoWeAre(endpoint, answer.status)) {
      return answer;
    }
    const error = statusError(request.title, answer, this.#options.clock.nowMs());
    hold.note(error);
    throw error;
  }

  /** The answer with status 200, the token renewed once where the service does not take it. */
  async #attempt(question: AnyQuestion, signal: AbortSignal): Promise<ExchangeAnswer> {
    const tokens = this.#tokens;
    let token = await tokens.take(signal);
    let request = dataRequest(this.#options, question, token);
    let answer = await this.#send(question.endpoint, request, question, signal);
    if (answer.status === 401) {
      tokens.refuse(token);
      token = await tokens.take(signal);
      request = dataRequest(this.#options, question, token);
      answer = await this.#send(question.endpoint, request, question, signal);
    }
    if (answer.status === 200) {
      return answer;
    }
    if (answer.status === 401) {
      tokens.refuse(token);
    } else {
      tokens.mistrust(token);
    }
    throw statusError(request.title, answer, this.#options.clock.nowMs());
  }

  async #retried<T>(
    question: AnyQuestion,
    decode: (answer: AnswerContent) => T,
    signal: AbortSignal,
  ): Promise<T> {
    if (signal.aborted) {
      throw deadlineError(signal);
    }
    const { clock, random } = this.#options;
    const attempts = this.#failures < FAILURES_UNTIL_ONE_ATTEMPT ? ATTEMPTS : 1;
    try {
      const decoded = await withRetries(async () => decode(await this.#attempt(question, signal)), {
        attempts,
        clock,
        random,
        signal,
      });
      this.#failures = 0;
      return decoded;
    } catch (error) {
      this.#failures += 1;
      throw error;
    }
  }
}

/** Enters the gates in turn, and frees every place whatever happens. */
async function withinLimits<T>(
  gates: readonly Gate[],
  signal: AbortSignal | undefined,
  action: () => Promise<T>,
): Promise<T> {
  const [gate, ...others] = gates;
  if (gate === undefined) {
    if (signal?.aborted === true) {
      throw deadlineError(signal);
    }
    return action();
  }
  const free = await gate.enter(signal);
  try {
    return await withinLimits(others, signal, action);
  } finally {
    free();
  }
}

/** The exchange, told to the observer and to the log: method, path, aggregation and window only. */
async function observed(
  { access, exchange, clock, serviceClock, observer, log }: ClientOptions,
  endpoint: ObservedEndpoint,
  request: ExchangeRequest,
  question: AnyQuestion | undefined,
  signal: AbortSignal | undefined,
): Promise<ExchangeAnswer> {
  const startedMs = clock.monotonicMs();
  let code: number | 'none' = 'none';
  try {
    const answer = await exchange(request, signal);
    code = answer.status;
    // The token's server is another one, with another clock.
    if (code === 200 && endpoint !== 'token') {
      serviceClock.answered(answer.date, clock.monotonicMs() - startedMs);
    }
    return answer;
  } catch (error) {
    code = error instanceof ServiceError ? (error.status ?? 'none') : 'none';
    throw error;
  } finally {
    const durationMs = clock.monotonicMs() - startedMs;
    observer.request({ customer: access.name, endpoint, code, durationMs });
    const [method, path] = request.title.split(' ');
    log.debug('request to the service ended', {
      customer: access.name,
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

function dataRequest(
  { baseUrl }: ClientOptions,
  question: AnyQuestion,
  token: Secret,
): ExchangeRequest {
  const path = `/v1/${question.endpoint}`;
  // Encoded, the plus of an offset too: as it is, it would mean a space.
  const query = new URLSearchParams(parametersOf(question)).toString();
  return { url: `${baseUrl}${path}?${query}`, title: `GET ${path}`, bearer: token };
}

/** As service-interface.md, 4.2 names them. */
function parametersOf(question: AnyQuestion): Record<string, string> {
  const { aggregation, from, to } = question;
  const asked =
    aggregation === undefined
      ? { limit: String(question.limit), startToken: question.startToken?.reveal(), from, to }
      : { aggregation, from, to };
  return Object.fromEntries(
    Object.entries(asked).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

/** 401 and 403 of data have a meaning of their own, and so has every refusal of credentials. */
function asksWhoWeAre(endpoint: ObservedEndpoint, status: number): boolean {
  return status === 401 || status === 403 || (endpoint === 'token' && status === 400);
}
