/**
 * The vendor's service (docs/service.md) as a state machine over a clock: a request goes in, a
 * response comes out. Sockets are in http.ts, faults in faults.ts.
 */
import type { Clock } from '../base/clock.ts';
import type { MinuteStream } from '../base/model.ts';
import { dataBody } from './data-body.ts';
import { hexadecimal } from './chance.ts';
import { DAY_MS, SECOND_MS } from '../base/duration.ts';
import { plainConventions } from './conventions.ts';
import type { Conventions } from './conventions.ts';
import { createGroundTruth } from './ground-truth.ts';
import { createLedger, RecordCache } from './ledger.ts';
import type { AddedRecord, Ledger } from './ledger.ts';
import type { Library } from './libraries.ts';
import { parseQuery } from './queries.ts';
import { errorResponse, jsonResponse, retryAfterHeader } from './responses.ts';
import type { SimulatedRequest, SimulatedResponse } from './responses.ts';
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
  /** How far back each person has a record. Before, there is one for each door and half hour. Default: all. */
  readonly detailedMs?: number;
}

export type SimulatedService = ReturnType<typeof createSimulatedService>;

interface Account {
  readonly clientId: string;
  secret: string;
  rotations: number;
  isRevoked: boolean;
  readonly ledger: Ledger;
  /** The window of the rate limit. */
  readonly rate: { startMs: number; requests: number };
}

/** Of a customer: one door, the doors of a branch, or all. */
export interface Doors {
  readonly customer: string;
  readonly branch?: number | undefined;
  readonly device?: number | undefined;
  readonly alive: boolean;
}

interface Token {
  readonly account: Account;
  readonly expiresMs: number;
}

export const SCOPE = 'ServiceAPI';
const TOKEN_PATH = '/connect/token';
const STREAMS: Readonly<Record<string, MinuteStream>> = {
  '/v1/peoplecount': 'people',
  '/v1/login': 'logins',
};

/** Returns the service with its customers. Its methods throw for a customer that it does not have. */
export function createSimulatedService(options: SimulatedServiceOptions) {
  const { seed, customers, clock } = options;
  const conventionsOfAll = options.conventions ?? plainConventions;
  const zones = createZones();
  const sinceMs = clock.nowMs() - (options.historyMs ?? 35 * DAY_MS);
  const detailedMs = clock.nowMs() - (options.detailedMs ?? Infinity);
  const cache = new RecordCache();
  const accounts = customers.map(
    ({ library, clientId, clientSecret, conventions = conventionsOfAll }): Account => ({
      clientId,
      secret: clientSecret,
      rotations: 0,
      isRevoked: false,
      ledger: createLedger(library, conventions, zones, sinceMs, cache, detailedMs),
      rate: { startMs: -Infinity, requests: 0 },
    }),
  );
  const byName = new Map(accounts.map((account) => [account.ledger.library.name, account]));
  const byClientId = new Map(accounts.map((account) => [account.clientId, account]));
  const tokens = new Map<string, Token>();

  function accountOf(customer: string): Account {
    const found = byName.get(customer);
    if (found === undefined) {
      throw new Error(`the simulated service has no customer named ${customer}`);
    }
    return found;
  }

  function tokenOf({ headers }: SimulatedRequest): Token | undefined {
    const given = headers?.['authorization'] ?? '';
    return /^Bearer /i.test(given) ? tokens.get(given.slice('Bearer '.length)) : undefined;
  }

  /** The identity server (docs/service.md#tokens). */
  function issueToken({ method, body }: SimulatedRequest): SimulatedResponse {
    const nowMs = clock.nowMs();
    const dateMs = nowMs + conventionsOfAll.serviceClockMs;
    if (method !== 'POST') {
      const allow = { allow: 'POST' };
      return errorResponse(405, 'only POST is allowed here', 'error', dateMs, allow);
    }
    const form = new URLSearchParams(body);
    const account = byClientId.get(form.get('client_id') ?? '');
    const isKnown = account !== undefined && !account.isRevoked;
    if (!isKnown || form.get('client_secret') !== account.secret) {
      const status = account?.ledger.conventions.invalidClientStatus ?? 400;
      return errorResponse(status, 'invalid_client', 'error', dateMs);
    }
    if (form.get('grant_type') !== 'client_credentials') {
      return errorResponse(400, 'unsupported_grant_type', 'error', dateMs);
    }
    if (form.get('scope') !== SCOPE) {
      return errorResponse(400, 'invalid_scope', 'error', dateMs);
    }
    const expires_in = account.ledger.conventions.tokenLifetimeSeconds;
    const access_token = `simulated.${hexadecimal(40, seed, tokens.size)}`;
    tokens.set(access_token, { account, expiresMs: nowMs + expires_in * SECOND_MS });
    const granted = { access_token, expires_in, token_type: 'Bearer', scope: SCOPE };
    return jsonResponse(200, JSON.stringify(granted), dateMs);
  }

  function respondWithData(stream: MinuteStream, request: SimulatedRequest): SimulatedResponse {
    const nowMs = clock.nowMs();
    const token = tokenOf(request);
    const conventions = token?.account.ledger.conventions ?? conventionsOfAll;
    const dateMs = nowMs + conventions.serviceClockMs;
    function refuse(status: number, message: string, headers = {}): SimulatedResponse {
      const challenge = status === 401 ? { 'www-authenticate': 'Bearer' } : {};
      const more = { ...challenge, ...headers };
      return errorResponse(status, message, conventions.errorBody, dateMs, more);
    }
    if (request.method !== 'GET') {
      return refuse(405, 'only GET is allowed here', { allow: 'GET' });
    }
    if (token === undefined) {
      return refuse(conventions.missingTokenStatus, 'a bearer token of this service is required');
    }
    if (token.expiresMs <= nowMs) {
      return refuse(conventions.expiredTokenStatus, 'the token has expired');
    }
    const { ledger, rate } = token.account;
    const waitMs = retryAfterMs(rate, conventions, nowMs);
    if (waitMs !== undefined) {
      const { retryAfter = 'none' } = conventions.rateLimit ?? {};
      const header = retryAfterHeader(retryAfter, Math.ceil(waitMs / SECOND_MS), dateMs);
      return refuse(429, 'too many requests', header);
    }
    const given = request.query ?? {};
    const parameters = given instanceof URLSearchParams ? given : new URLSearchParams(given);
    const query = parseQuery(stream, parameters, conventions, ledger.local.zone);
    return 'error' in query
      ? refuse(query.status, query.error)
      : jsonResponse(200, dataBody(ledger, query, nowMs), dateMs);
  }

  function ledgerOf(customer: string): Ledger {
    return accountOf(customer).ledger;
  }

  return {
    ...createGroundTruth(ledgerOf, () => clock.nowMs()),
    customers,
    ledgerOf,
    handle(request: SimulatedRequest): SimulatedResponse {
      const stream = STREAMS[request.path];
      if (stream !== undefined) {
        return respondWithData(stream, request);
      }
      return request.path === TOKEN_PATH
        ? issueToken(request)
        : errorResponse(404, 'there is nothing here', 'error', clock.nowMs());
    },
    /** The customer that sends a request, by its token or client id. */
    customerOf(request: SimulatedRequest): string | undefined {
      const account =
        request.path === TOKEN_PATH
          ? byClientId.get(new URLSearchParams(request.body).get('client_id') ?? '')
          : tokenOf(request)?.account;
      return account?.ledger.library.name;
    },
    record(customer: string, record: AddedRecord): void {
      ledgerOf(customer).add(record);
    },
    /** Changes the customer's time zone. Its visitors keep their hours. */
    moveTo(customer: string, timezone: string): void {
      ledgerOf(customer).moveTo(timezone);
    },
    /** Lets doors of a customer count from now on, or lets them die. Returns their names; none for an unknown one. */
    setDoors({ customer, branch, device, alive }: Doors): readonly string[] {
      const { ledger } = byName.get(customer) ?? {};
      const doors = ledger?.setDoors(
        ({ id, branchId }) => (branch ?? branchId) === branchId && (device ?? id) === id,
        alive,
        clock.nowMs(),
      );
      return doors?.map(({ name }) => name) ?? [];
    },
    /** Refuses the credentials until they are restored. Tokens stay valid. */
    revoke(customer: string): void {
      accountOf(customer).isRevoked = true;
    },
    restore(customer: string): void {
      accountOf(customer).isRevoked = false;
    },
    /** Changes the client secret and returns the new one. */
    rotateSecret(customer: string): string {
      const account = accountOf(customer);
      const { customerId } = account.ledger.library;
      account.secret = hexadecimal(32, seed, customerId, ++account.rotations);
      return account.secret;
    },
    /** Expires all tokens. */
    dropTokens(): void {
      tokens.forEach((token, name) => tokens.set(name, { ...token, expiresMs: -Infinity }));
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
