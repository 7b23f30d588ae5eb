/**
 * The vendor's service (service-interface.md) as a state machine over a clock: a request goes in, a
 * response comes out. Sockets are in http.ts, faults in faults.ts.
 */
import type { Clock } from '../base/clock.ts';
import type { Breakdown } from '../base/model.ts';
import { answer } from './answers.ts';
import { hexadecimal } from './chance.ts';
import { DAY_MS, SECOND_MS, plainConventions } from './conventions.ts';
import type { Conventions } from './conventions.ts';
import {
  breakdownTotals,
  countedOccupancy,
  servedTotals,
  trueOccupancy,
  truthOf,
} from './ground-truth.ts';
import type { OccupancyMinute, Totals, Truth } from './ground-truth.ts';
import { Ledger, RecordCache } from './ledger.ts';
import type { AddedId, AddedRecord } from './ledger.ts';
import type { Library } from './libraries.ts';
import { parseQuery } from './queries.ts';
import type { RecordStream } from './records.ts';
import { errorResponse, jsonResponse, withHeader } from './responses.ts';
import type { SimulatedRequest, SimulatedResponse } from './responses.ts';
import { TokenServer } from './tokens.ts';
import type { Credentials } from './tokens.ts';
import { createZones } from './zone.ts';

export interface SimulatedCustomer {
  readonly clientId: string;
  readonly clientSecret: string;
  /** Its name is the customer's name. */
  readonly library: Library;
  /** Default: the service's. */
  readonly conventions?: Conventions;
}

export interface SimulatedServiceOptions {
  readonly seed: number;
  readonly customers: readonly SimulatedCustomer[];
  /** Default: {@link plainConventions}. */
  readonly conventions?: Conventions;
  readonly clock: Pick<Clock, 'nowMs'>;
  /** How far records go back. Default: five weeks. */
  readonly historyMs?: number;
}

/** Questions about the ground truth take `nowMs`, by default the clock's; the past is answered as it was then. */
export interface SimulatedService {
  readonly customers: readonly SimulatedCustomer[];
  handle(request: SimulatedRequest): SimulatedResponse;
  /** The customer that sends a request, by its token or client id. */
  customerOf(request: SimulatedRequest): string | undefined;
  truth(customer: string, fromMs: number, nowMs?: number): Truth;
  /** {@link Truth.served} alone, which is much cheaper. */
  served(customer: string, fromMs: number, nowMs?: number): Totals;
  breakdownTotals(
    customer: string,
    breakdown: Breakdown,
    fromMs: number,
    nowMs?: number,
  ): ReadonlyMap<number, Omit<Totals, 'logins'>>;
  /** Occupancy as an exact reader would compute it from the records. */
  countedOccupancy(
    customer: string,
    dayStartMs: number,
    nowMs?: number,
  ): readonly OccupancyMinute[];
  /** The last value of {@link countedOccupancy}. */
  occupancy(customer: string, dayStartMs: number, nowMs?: number): number;
  /** People who really are inside, by the minute: see {@link trueOccupancy}. */
  trueOccupancy(customer: string, fromMs: number, nowMs?: number): readonly number[];
  record(customer: string, record: AddedRecord): AddedId;
  /** Changes the amount of an added record from `atMs` (default: now) on; 0 removes it. */
  correct(customer: string, id: AddedId, amount: number, atMs?: number): void;
  /** Refuses the credentials, or accepts them again. Tokens stay valid. */
  revoke(customer: string): void;
  restore(customer: string): void;
  /** Changes the client secret and returns the new one. */
  rotateSecret(customer: string): string;
  /** Expires the tokens of one customer, or of all. */
  dropTokens(customer?: string): void;
}

interface Account {
  readonly ledger: Ledger;
  readonly credentials: Credentials;
  rotations: number;
  /** The window of the rate limit. */
  readonly rate: { startMs: number; requests: number };
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
  const cache = new RecordCache();
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
      rate: { startMs: -Infinity, requests: 0 },
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
    const { ledger, rate } = token === undefined ? anyAccount() : account(token.customer);
    const { conventions } = ledger;
    const dateMs = nowMs + conventions.serviceClockMs;
    function refuse(status: number, message: string): SimulatedResponse {
      const refused = errorResponse(status, message, conventions.errorBody, dateMs);
      return status === 401 ? withHeader(refused, 'www-authenticate', 'Bearer') : refused;
    }
    if (request.method !== 'GET') {
      return withHeader(refuse(405, 'only GET is allowed here'), 'allow', 'GET');
    }
    if (token === undefined) {
      return refuse(conventions.status.missingToken, 'a bearer token of this service is required');
    }
    if (!token.isValid) {
      return refuse(conventions.status.expiredToken, 'the token has expired');
    }
    const waitMs = retryAfterMs(rate, conventions, nowMs);
    if (waitMs !== undefined) {
      const retryAfter = retryAfterText(conventions, waitMs, dateMs);
      return errorResponse(429, 'too many requests', conventions.errorBody, dateMs, retryAfter);
    }
    const parameters = new URLSearchParams(request.query ?? {});
    const query = parseQuery(stream, parameters, conventions, ledger.zone);
    return 'error' in query
      ? refuse(query.status, query.error)
      : jsonResponse(200, answer(ledger, utc, query, nowMs), dateMs);
  }

  /** Whose conventions errors follow where the customer is unknown. */
  function anyAccount(): Account {
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
      return servedTotals(account(customer).ledger, fromMs, nowMs);
    },
    breakdownTotals(customer, breakdown, fromMs, nowMs = clock.nowMs()) {
      return breakdownTotals(account(customer).ledger, breakdown, fromMs, nowMs);
    },
    countedOccupancy(customer, dayStartMs, nowMs = clock.nowMs()) {
      return countedOccupancy(account(customer).ledger, dayStartMs, nowMs);
    },
    occupancy(customer, dayStartMs, nowMs = clock.nowMs()) {
      return countedOccupancy(account(customer).ledger, dayStartMs, nowMs).at(-1)?.people ?? 0;
    },
    trueOccupancy(customer, fromMs, nowMs = clock.nowMs()) {
      return trueOccupancy(account(customer).ledger, fromMs, nowMs);
    },
    record(customer, record) {
      return account(customer).ledger.add(record);
    },
    correct(customer, id, amount, atMs = clock.nowMs()) {
      account(customer).ledger.correct(id, amount, atMs);
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

/** Counts a request; if it is above the limit, how long to wait. */
function retryAfterMs(
  rate: Account['rate'],
  { rateLimit }: Conventions,
  nowMs: number,
): number | undefined {
  if (rateLimit === undefined) {
    return undefined;
  }
  if (nowMs < rate.startMs || nowMs >= rate.startMs + rateLimit.perMs) {
    rate.startMs = nowMs;
    rate.requests = 0;
  }
  rate.requests++;
  return rate.requests > rateLimit.requests ? rate.startMs + rateLimit.perMs - nowMs : undefined;
}

/** The header Retry-After in the service's format; undefined if it sends none. `dateMs` is its now. */
function retryAfterText(
  { rateLimit }: Conventions,
  waitMs: number,
  dateMs: number,
): string | undefined {
  const seconds = Math.ceil(waitMs / SECOND_MS);
  switch (rateLimit?.retryAfter) {
    case 'seconds':
      return String(seconds);
    case 'date':
      return new Date(dateMs + seconds * SECOND_MS).toUTCString();
    case 'none':
    case undefined:
      return undefined;
  }
}
