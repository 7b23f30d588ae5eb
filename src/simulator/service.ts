/**
 * The vendor's whole service (service-interface.md) as a state machine over a clock: a request goes
 * in, a response comes out, nothing waits. It knows no socket and no fault; those are http.ts and
 * faults.ts.
 */
import type { Clock } from '../base/clock.ts';
import type { Breakdown } from '../base/model.ts';
import { answer } from './answers.ts';
import { DAY_MS, plainConventions } from './conventions.ts';
import type { Conventions } from './conventions.ts';
import { inject } from './injected.ts';
import type { InjectedId, InjectedRecord } from './injected.ts';
import { DayCache, Ledger } from './ledger.ts';
import type { Library } from './libraries.ts';
import { Objection, understand } from './questions.ts';
import { overRate, retryAfterText } from './rate.ts';
import type { RateWindow } from './rate.ts';
import type { RecordStream } from './records.ts';
import { errorResponse, jsonResponse, withHeader } from './responses.ts';
import type { SimulatedRequest, SimulatedResponse } from './responses.ts';
import { hexadecimal } from './seeds.ts';
import { TokenServer } from './tokens.ts';
import type { Credentials } from './tokens.ts';
import { brokenDownTruthOf, occupancyPathOf, servedOf, truthOf } from './truth.ts';
import type { OccupancyAt, Totals, Truth } from './truth.ts';
import { createZones } from './zone.ts';

export interface SimulatedCustomer {
  readonly clientId: string;
  readonly clientSecret: string;
  /** Its name is the customer's. */
  readonly library: Library;
  /** Default: the service's. */
  readonly conventions?: Conventions;
}

export interface SimulatedServiceOptions {
  readonly seed: number;
  readonly customers: readonly SimulatedCustomer[];
  /** Default: the plain ones. */
  readonly conventions?: Conventions;
  readonly clock: Pick<Clock, 'nowMs'>;
  /** How far the records go back from the start. Default: five weeks. */
  readonly historyMs?: number;
  /** How many records to keep in memory; others are made again when asked for. */
  readonly cacheRows?: number;
}

export interface SimulatedService {
  readonly customers: readonly SimulatedCustomer[];
  handle(request: SimulatedRequest): SimulatedResponse;
  /** Who sends this request, as far as can be told. */
  customerOf(request: SimulatedRequest): string | undefined;
  /** See {@link Truth}. `nowMs` defaults to the clock's; the past is answered as it was then. */
  truth(customer: string, fromMs: number, nowMs?: number): Truth;
  /** See {@link Truth.served}: a part of the truth, at half its cost. */
  served(customer: string, fromMs: number, nowMs?: number): Totals;
  /** See {@link brokenDownTruthOf}. */
  brokenDownTruth(
    customer: string,
    breakdown: Breakdown,
    fromMs: number,
    nowMs?: number,
  ): ReadonlyMap<number, Omit<Totals, 'logins'>>;
  occupancyPath(customer: string, dayStartMs: number, nowMs?: number): readonly OccupancyAt[];
  /** How many are inside: the end of the path, 0 where nobody was counted. */
  occupancy(customer: string, dayStartMs: number, nowMs?: number): number;
  record(customer: string, record: InjectedRecord): InjectedId;
  /** From `atMs` (default: now) on an injected record says `amount`; 0 takes it back. */
  correct(customer: string, id: InjectedId, amount: number, atMs?: number): void;
  /** Refuses the credentials, or takes them again. Tokens already given still hold. */
  revoke(customer: string): void;
  restore(customer: string): void;
  /** Changes the secret, and returns the new one. */
  rotateSecret(customer: string): string;
  /** Ends tokens before their time, those of all customers where none is named. */
  dropTokens(customer?: string): void;
}

interface Account {
  readonly ledger: Ledger;
  readonly credentials: Credentials;
  rotations: number;
  readonly rateWindow: RateWindow;
}

const STREAMS: Readonly<Record<string, RecordStream>> = {
  '/v1/peoplecount': 'people',
  '/v1/login': 'logins',
};

export function createSimulatedService(options: SimulatedServiceOptions): SimulatedService {
  const { seed, customers, clock } = options;
  const conventionsOfAll = options.conventions ?? plainConventions;
  const zones = createZones();
  const utc = zones('UTC');
  const sinceMs = clock.nowMs() - (options.historyMs ?? 35 * DAY_MS);
  const cache = new DayCache(options.cacheRows ?? 1_000_000);
  const accounts = new Map<string, Account>();
  for (const { library, clientId, clientSecret, conventions = conventionsOfAll } of customers) {
    accounts.set(library.name, {
      ledger: new Ledger(library, conventions, zones, sinceMs, cache),
      credentials: {
        customer: library.name,
        clientId,
        secret: clientSecret,
        isRevoked: false,
        conventions,
      },
      rotations: 0,
      rateWindow: { startMs: -Infinity, requests: 0 },
    });
  }
  const tokens = new TokenServer(
    seed,
    Array.from(accounts.values(), (account) => account.credentials),
  );

  function account(customer: string): Account {
    const found = accounts.get(customer);
    if (found === undefined) {
      throw new Error(`the simulated service has no customer named ${customer}`);
    }
    return found;
  }

  function issueToken(request: SimulatedRequest): SimulatedResponse {
    const dateMs = clock.nowMs() + conventionsOfAll.serviceClockMs;
    if (request.method !== 'POST') {
      const refused = errorResponse(405, 'only POST is allowed here', 'error', dateMs);
      return withHeader(refused, 'allow', 'POST');
    }
    const { status, answer: body } = tokens.issue(request.body ?? '', clock.nowMs());
    return jsonResponse(status, JSON.stringify(body), dateMs);
  }

  function answerData(stream: RecordStream, request: SimulatedRequest): SimulatedResponse {
    const nowMs = clock.nowMs();
    const token = tokens.check(request.headers?.['authorization'], nowMs);
    const { ledger, rateWindow } = token === undefined ? unknownAccount() : account(token.customer);
    const { conventions } = ledger;
    const dateMs = nowMs + conventions.serviceClockMs;
    function object(status: number, message: string): SimulatedResponse {
      const refused = errorResponse(status, message, conventions.errorBody, dateMs);
      return status === 401 ? withHeader(refused, 'www-authenticate', 'Bearer') : refused;
    }
    if (request.method !== 'GET') {
      return withHeader(object(405, 'only GET is allowed here'), 'allow', 'GET');
    }
    if (token === undefined) {
      return object(conventions.status.missingToken, 'a bearer token of this service is required');
    }
    if (!token.isValid) {
      return object(conventions.status.expiredToken, 'the token has expired');
    }
    const waitMs = overRate(rateWindow, conventions, nowMs);
    if (waitMs !== undefined) {
      const retryAfter = retryAfterText(conventions, waitMs, dateMs);
      return errorResponse(429, 'too many requests', conventions.errorBody, dateMs, retryAfter);
    }
    const query = new URLSearchParams(request.query ?? {});
    const question = understand(stream, query, conventions, ledger.zone);
    return question instanceof Objection
      ? object(question.status, question.message)
      : jsonResponse(200, answer(ledger, utc, question, nowMs), dateMs);
  }

  /** Stands for nobody: what the service says to those whom it does not know. */
  function unknownAccount(): Account {
    const [first] = accounts.values();
    if (first === undefined) {
      throw new Error('a simulated service needs a customer');
    }
    return first;
  }

  return {
    customers,
    handle(request) {
      const stream = STREAMS[request.path];
      if (stream !== undefined) {
        return answerData(stream, request);
      }
      return request.path === '/connect/token'
        ? issueToken(request)
        : errorResponse(404, 'there is nothing here', 'error', clock.nowMs());
    },
    customerOf(request) {
      return request.path === '/connect/token'
        ? tokens.customerAsking(request.body ?? '')
        : tokens.check(request.headers?.['authorization'], clock.nowMs())?.customer;
    },
    truth(customer, fromMs, nowMs = clock.nowMs()) {
      return truthOf(account(customer).ledger, fromMs, nowMs);
    },
    served(customer, fromMs, nowMs = clock.nowMs()) {
      return servedOf(account(customer).ledger, fromMs, nowMs);
    },
    brokenDownTruth(customer, breakdown, fromMs, nowMs = clock.nowMs()) {
      return brokenDownTruthOf(account(customer).ledger, breakdown, fromMs, nowMs);
    },
    occupancyPath(customer, dayStartMs, nowMs = clock.nowMs()) {
      return occupancyPathOf(account(customer).ledger, dayStartMs, nowMs);
    },
    occupancy(customer, dayStartMs, nowMs = clock.nowMs()) {
      return occupancyPathOf(account(customer).ledger, dayStartMs, nowMs).at(-1)?.people ?? 0;
    },
    record(customer, injected) {
      return inject(account(customer).ledger, injected);
    },
    correct(customer, id, amount, atMs = clock.nowMs()) {
      account(customer).ledger.correct(id.stream, id.number, amount, atMs);
    },
    revoke(customer) {
      account(customer).credentials.isRevoked = true;
    },
    restore(customer) {
      account(customer).credentials.isRevoked = false;
    },
    rotateSecret(customer) {
      const rotated = account(customer);
      rotated.rotations++;
      rotated.credentials.secret = hexadecimal(
        32,
        seed,
        rotated.ledger.library.customerId,
        rotated.rotations,
      );
      return rotated.credentials.secret;
    },
    dropTokens(customer) {
      tokens.drop(customer);
    },
  };
}
