/**
 * A fake of the vendor's service on loopback: token endpoint and both data endpoints, with faults on
 * demand. It keeps every request and every broken rule of the interface. Written from
 * service-interface.md alone; it shares no code with src.
 */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { aggregations, Ledger } from './ledger.ts';
import type { Aggregation, Answer, Conventions, Stream } from './ledger.ts';

const ISO_8601 = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?$/;

/** What the data endpoints may do instead of answering; a number is a bare status. */
export type Fault =
  | number
  | 'unavailable, Retry-After: 1'
  | 'html'
  | 'truncated'
  | 'one malformed row'
  | 'empty'
  | 'reset'
  | 'hang'
  // These repeat what was sent, secrets and tokens included.
  | 'echo in the error'
  | 'echo in the rows'
  | 'echo in the headers';

export interface ServiceCustomer {
  readonly name: string;
  readonly clientId: string;
  /** What the token endpoint accepts. A test changes it so that the credentials are refused. */
  secret: string;
  readonly ledger: Ledger;
  /** What the endpoints do instead of answering, how often. */
  readonly faults: Partial<Record<'token' | 'data', { fault: Fault; left: number }>>;
}

export interface RecordedRequest {
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
  /** By how much the service's clock is ahead. */
  clockShiftMs = 0;
  url = '';
  readonly #revoked = new Set<string>();
  readonly #server = createServer((request, response) => {
    this.#serve(request, response).catch((error: unknown) => {
      this.violations.push(`the fake failed: ${String(error)}`);
      response.destroy();
    });
  });

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
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
      faults: {},
    };
    this.customers.set(customer.clientId, customer);
    return customer;
  }

  /** Applies the fault to the customer's next requests, by default until `heal`. */
  fail(
    customer: ServiceCustomer,
    fault: Fault,
    { endpoint = 'data', times = Infinity }: { endpoint?: 'token' | 'data'; times?: number } = {},
  ): void {
    customer.faults[endpoint] = { fault, left: times };
  }

  heal(customer: ServiceCustomer): void {
    delete customer.faults.token;
    delete customer.faults.data;
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

  /** Every secret and every issued token. */
  secrets(): readonly string[] {
    return [
      ...[...this.customers.values()].map(({ secret }) => secret),
      ...this.issuedTokens.keys(),
    ];
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.url);
    response.setHeader('date', new Date(Date.now() + this.clockShiftMs).toUTCString());
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
    const body = await text(request);
    const form = new URLSearchParams(body);
    const customer = this.customers.get(form.get('client_id') ?? '');
    this.#record(customer, 'token', new URLSearchParams());
    const type = request.headers['content-type'] ?? '';
    this.#require({
      'the token request is a POST': request.method === 'POST',
      'the token request is form-encoded': /^application\/x-www-form-urlencoded\b/.test(type),
      'grant_type client_credentials': form.get('grant_type') === 'client_credentials',
      'scope ServiceAPI': form.get('scope') === 'ServiceAPI',
    });
    if (!customer || form.get('client_secret') !== customer.secret) {
      return sendJson(response, 400, { error: 'invalid_client' });
    }
    const token = `token-${randomUUID()}`;
    this.issuedTokens.set(token, customer);
    const answer = {
      access_token: token,
      expires_in: 3600,
      token_type: 'Bearer',
      scope: 'ServiceAPI',
    };
    const sent = [body, ...form.values(), token].join(' ');
    return answerOr(nextFault(customer, 'token'), answer, sent, response);
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
    this.#require({
      'data requests are GET': request.method === 'GET',
      'data requests carry a bearer token': authorization.startsWith('Bearer '),
    });
    if (!customer || this.#revoked.has(token)) {
      return sendJson(response, 401, { error: 'unauthorized' });
    }
    const asked = this.#readQuery(stream, query);
    if (!asked) {
      return sendJson(response, 400, { error: 'bad request' });
    }
    const answer = customer.ledger.answer(stream, asked.aggregation, asked.fromMs, asked.toMs);
    const body = envelope(stream, query, answer);
    return answerOr(nextFault(customer, 'data'), body, authorization, response);
  }

  /** Verifies the rules of service-interface.md, 4.4; undefined if one is broken. */
  #readQuery(
    stream: Stream,
    query: URLSearchParams,
  ): { aggregation: Aggregation; fromMs: number; toMs: number } | undefined {
    const aggregation = aggregations.find((known) => known === query.get('aggregation'));
    const [from, to] = [query.get('from'), query.get('to')];
    const isGood = this.#require({
      'a known aggregation': aggregation !== undefined,
      'logins by time only':
        stream === 'people' || /^(minute|quarter|day)$/.test(aggregation ?? ''),
      'aggregation without limit': !query.has('limit'),
      'aggregation without startToken': !query.has('startToken'),
      'to only with from': to === null || from !== null,
      'from and to in ISO 8601': [from, to].every((time) => time === null || ISO_8601.test(time)),
    });
    if (aggregation === undefined || !isGood) {
      return undefined;
    }
    return {
      aggregation,
      fromMs: from === null ? -Infinity : Date.parse(from),
      toMs: to === null ? Infinity : Date.parse(to),
    };
  }

  #record(
    customer: ServiceCustomer | undefined,
    endpoint: RecordedRequest['endpoint'],
    query: URLSearchParams,
  ): void {
    this.requests.push({ customer: customer?.name, endpoint, query });
  }

  /** Whether all rules were kept; the others are violations. */
  #require(rules: Readonly<Record<string, boolean>>): boolean {
    const broken = Object.keys(rules).filter((rule) => rules[rule] !== true);
    this.violations.push(...broken);
    return broken.length === 0;
  }
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function nextFault(customer: ServiceCustomer, endpoint: 'token' | 'data'): Fault | undefined {
  const entry = customer.faults[endpoint];
  if (entry === undefined || entry.left === 0) {
    return undefined;
  }
  entry.left -= 1;
  return entry.fault;
}

/** Sends the good answer, or what the fault makes of it. `sent` is what an echo repeats. */
function answerOr(
  fault: Fault | undefined,
  good: object,
  sent: string,
  response: ServerResponse,
): void {
  const body = JSON.stringify(good);
  const json = { 'content-type': 'application/json' };
  const echo = encodeURI(sent);
  function send(status: number, headers: OutgoingHttpHeaders, content = ''): void {
    response.writeHead(status, headers).end(content);
  }
  switch (fault) {
    case undefined:
      return send(200, json, body);
    case 'unavailable, Retry-After: 1':
      return send(503, { ...json, 'retry-after': '1' }, '{}');
    case 'html':
      return send(200, { 'content-type': 'text/html' }, '<html>Signed out</html>');
    case 'truncated':
      return send(200, json, body.slice(0, -5));
    case 'one malformed row':
      return send(200, json, body.replace(/("in"|"value"):\d+/, '$1:"many"'));
    case 'empty':
      return send(200, json, body.replace(/"result":.*$/, '"result":[]}'));
    case 'reset':
      response.socket?.resetAndDestroy();
      return;
    case 'hang':
      return;
    case 'echo in the error':
      return sendJson(response, 400, { error: sent, message: sent });
    case 'echo in the rows':
      return sendJson(response, 200, {
        metadata: { aggregation: 'minute' },
        result: [{ key: sent.slice(0, 60), in: sent, out: sent, value: sent }],
      });
    case 'echo in the headers':
      return send(
        200,
        { 'content-type': echo, 'retry-after': echo, date: echo, server: echo },
        sent,
      );
    default:
      return sendJson(response, fault, { error: 'injected' });
  }
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
