/**
 * A fake of the vendor's service on loopback: token endpoint and both data endpoints, with faults on
 * demand. It holds every request that it got, and every rule of the interface that one broke.
 * Written from service-interface.md alone; it must not know the daemon.
 */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { misbehave, sendJson } from './faults.ts';
import type { Fault } from './faults.ts';
import { aggregations, Ledger } from './ledger.ts';
import type { Aggregation, Answer, Conventions, Stream } from './ledger.ts';

export interface ServiceCustomer {
  readonly name: string;
  readonly clientId: string;
  /** What the token endpoint takes; a test changes it to have the credentials refused. */
  secret: string;
  readonly ledger: Ledger;
  fault: Fault | undefined;
  faultsLeft: number;
}

export interface RecordedRequest {
  readonly atMs: number;
  readonly customer: string | undefined;
  readonly endpoint: 'token' | 'peoplecount' | 'login';
  readonly query: URLSearchParams;
}

export class LedgerService {
  readonly requests: RecordedRequest[] = [];
  /** Sentences, one for each rule of the interface that a request broke. */
  readonly violations: string[] = [];
  readonly customers = new Map<string, ServiceCustomer>();
  readonly issuedTokens = new Map<string, ServiceCustomer>();
  readonly #revoked = new Set<string>();
  readonly #server: Server;
  #url = '';

  constructor() {
    this.#server = createServer((request, response) => {
      this.#serve(request, response).catch((error: unknown) => {
        this.violations.push(`the fake itself failed: ${String(error)}`);
        response.destroy();
      });
    });
  }

  get url(): string {
    return this.#url;
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    const address = this.#server.address();
    if (address === null || typeof address === 'string') {
      throw new Error('the fake service has no port');
    }
    this.#url = `http://127.0.0.1:${address.port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  addCustomer(name: string, zone: string, conventions: Partial<Conventions> = {}): ServiceCustomer {
    const customer: ServiceCustomer = {
      name,
      clientId: `${name}-api`,
      secret: `quartz-${randomUUID()}-lantern`,
      ledger: new Ledger(zone, conventions),
      fault: undefined,
      faultsLeft: 0,
    };
    this.customers.set(customer.clientId, customer);
    return customer;
  }

  /** The next `times` data requests of the customer meet the fault; all of them until `heal`. */
  fail(customer: ServiceCustomer, fault: Fault, times = Infinity): void {
    customer.fault = fault;
    customer.faultsLeft = times;
  }

  heal(customer: ServiceCustomer): void {
    customer.fault = undefined;
  }

  revokeTokens(customer: ServiceCustomer): void {
    for (const [token, owner] of this.issuedTokens) {
      if (owner === customer) {
        this.#revoked.add(token);
      }
    }
  }

  /** The customer's requests to an endpoint so far. */
  requestsOf(
    customer: ServiceCustomer,
    endpoint: RecordedRequest['endpoint'],
  ): readonly RecordedRequest[] {
    return this.requests.filter(
      (request) => request.customer === customer.name && request.endpoint === endpoint,
    );
  }

  /** Every secret that has been in use, and every token issued: none may be seen anywhere. */
  secrets(): readonly string[] {
    return [
      ...[...this.customers.values()].map(({ secret }) => secret),
      ...this.issuedTokens.keys(),
    ];
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.#url);
    switch (url.pathname) {
      case '/connect/token':
        return this.#serveToken(request, response);
      case '/v1/peoplecount':
        return this.#serveData('people', url.searchParams, request, response);
      case '/v1/login':
        return this.#serveData('logins', url.searchParams, request, response);
      default:
        this.violations.push(`no such path: ${url.pathname}`);
        return sendJson(response, 404, { error: 'not found' });
    }
  }

  async #serveToken(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request);
    const form = new URLSearchParams(body);
    const customer = this.customers.get(form.get('client_id') ?? '');
    this.#record(customer, 'token', new URLSearchParams());
    const type = request.headers['content-type'] ?? '';
    this.#rule(request.method === 'POST', 'the token request is a POST');
    this.#rule(
      /^application\/x-www-form-urlencoded\b/.test(type),
      `the token request is form-encoded, not ${type}`,
    );
    this.#rule(form.get('grant_type') === 'client_credentials', 'grant_type client_credentials');
    this.#rule(form.get('scope') === 'ServiceAPI', 'scope ServiceAPI');
    if (!customer || form.get('client_secret') !== customer.secret) {
      return sendJson(response, 400, { error: 'invalid_client' });
    }
    const token = `token-${randomUUID()}`;
    this.issuedTokens.set(token, customer);
    return sendJson(response, 200, {
      access_token: token,
      expires_in: 3600,
      token_type: 'Bearer',
      scope: 'ServiceAPI',
    });
  }

  #serveData(
    stream: Stream,
    query: URLSearchParams,
    request: IncomingMessage,
    response: ServerResponse,
  ): void {
    const authorization = request.headers.authorization ?? '';
    const token = authorization.replace(/^Bearer /, '');
    const customer = this.issuedTokens.get(token);
    this.#record(customer, stream === 'people' ? 'peoplecount' : 'login', query);
    this.#rule(request.method === 'GET', `only GET is allowed, not ${String(request.method)}`);
    this.#rule(authorization.startsWith('Bearer '), 'data requests carry a bearer token');
    if (!customer || this.#revoked.has(token)) {
      return sendJson(response, 401, { error: 'unauthorized' });
    }
    const asked = this.#readQuery(stream, query, customer.ledger);
    if (!asked) {
      return sendJson(response, 400, { error: 'bad request' });
    }
    const answer = customer.ledger.answer(stream, asked.aggregation, asked.fromMs, asked.toMs);
    const body = envelope(stream, query, answer);
    if (customer.fault !== undefined && customer.faultsLeft > 0) {
      customer.faultsLeft -= 1;
      return misbehave(customer.fault, body, response);
    }
    return sendJson(response, 200, body);
  }

  /** Checks rules 1 to 3 of service-interface.md 4.4; undefined for what this fake cannot answer. */
  #readQuery(
    stream: Stream,
    query: URLSearchParams,
    ledger: Ledger,
  ): { aggregation: Aggregation; fromMs: number; toMs: number } | undefined {
    const before = this.violations.length;
    const aggregation = aggregations.find((known) => known === query.get('aggregation'));
    this.#rule(aggregation !== undefined, `unknown aggregation: ${query.toString()}`);
    const groups = aggregation === 'branch' || aggregation === 'client' || aggregation === 'device';
    this.#rule(stream === 'people' || !groups, 'logins cannot be grouped by place');
    this.#rule(!query.has('limit'), 'aggregation never goes with limit');
    this.#rule(!query.has('startToken'), 'aggregation never goes with startToken');
    this.#rule(!query.has('to') || query.has('from'), 'to needs from');
    for (const name of ['from', 'to']) {
      const text = query.get(name);
      const isIso =
        text === null || /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?$/.test(text);
      this.#rule(isIso, `${name} is not ISO 8601: ${String(text)}`);
    }
    if (aggregation === undefined || this.violations.length > before) {
      return undefined;
    }
    const [from, to] = [query.get('from'), query.get('to')];
    return {
      aggregation,
      fromMs: from === null ? -Infinity : ledger.instantOf(from),
      toMs: to === null ? Infinity : ledger.instantOf(to),
    };
  }

  #record(
    customer: ServiceCustomer | undefined,
    endpoint: RecordedRequest['endpoint'],
    query: URLSearchParams,
  ): void {
    this.requests.push({ atMs: Date.now(), customer: customer?.name, endpoint, query });
  }

  #rule(kept: boolean, sentence: string): void {
    if (!kept) {
      this.violations.push(sentence);
    }
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of request) {
    parts.push(part as Uint8Array);
  }
  return Buffer.concat(parts).toString('utf8');
}

function envelope(stream: Stream, query: URLSearchParams, { aggregation, rows }: Answer): object {
  return {
    metadata: {
      from: query.get('from') ?? '',
      to: query.get('to') ?? new Date().toISOString(),
      count: rows.length,
      aggregation,
    },
    result: stream === 'people' ? rows : rows.map((row) => ({ key: row.key, value: row.in })),
  };
}
