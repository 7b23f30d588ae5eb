/**
 * A fake of the vendor's service on loopback, with faults on demand. It keeps every request and every broken rule of
 * the interface. Written from the vendor's documentation (docs/service.md); it shares no code with src.
 */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { aggregations, Ledger } from './ledger.ts';
import type { Conventions, Stream } from './ledger.ts';

const ISO_8601 = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?$/;

interface Reply {
  readonly status?: number;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: string;
}

/** What a fault makes of a good body. An echo repeats what was sent, secrets and tokens included. */
const FAULTS = {
  unavailable: () => ({ status: 503, headers: { 'retry-after': '1' } }),
  html: () => ({ headers: { 'content-type': 'text/html' }, body: '<html>Signed out</html>' }),
  truncated: (body) => ({ body: body.slice(0, -5) }),
  'one malformed row': (body) => ({ body: body.replace(/("in"|"value"):\d+/, '$1:"many"') }),
  'echo in the error': (_body, sent) => ({
    status: 400,
    body: JSON.stringify({ error: sent, message: sent }),
  }),
  'echo in the rows': (_body, sent) => ({
    body: JSON.stringify({
      metadata: { aggregation: 'minute' },
      result: [{ key: sent.slice(0, 60), in: sent, out: sent, value: sent }],
    }),
  }),
  'echo in the headers': (_body, sent) => {
    const echo = encodeURI(sent);
    const headers = { 'content-type': echo, 'retry-after': echo, date: echo, server: echo };
    return { headers, body: sent };
  },
} satisfies Readonly<Record<string, (body: string, sent: string) => Reply>>;

/** A number is a bare status. */
export type Fault = number | keyof typeof FAULTS | 'reset' | 'hang';

export interface ServiceCustomer {
  readonly name: string;
  /** What the token endpoint accepts. A test changes it so that the credentials are refused. */
  secret: string;
  readonly ledger: Ledger;
  /** What the endpoints do in place of a good response, and how often they did. */
  readonly faults: Partial<Record<'token' | 'data', { readonly fault: Fault; served: number }>>;
}

type Endpoint = 'token' | 'peoplecount' | 'login';

interface RecordedRequest {
  readonly customer: ServiceCustomer | undefined;
  readonly endpoint: Endpoint;
  readonly query: URLSearchParams;
}

export class LedgerService {
  readonly requests: RecordedRequest[] = [];
  /** Sentences, one for each rule of the interface that a request broke. */
  readonly violations: string[] = [];
  readonly customers = new Map<string, ServiceCustomer>();
  readonly issuedTokens = new Map<string, ServiceCustomer>();
  /** How far the service's clock is ahead. */
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
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  addCustomer(name: string, zone: string, conventions: Partial<Conventions> = {}): ServiceCustomer {
    const ledger = new Ledger(zone, conventions);
    const secret = `quartz-${randomUUID()}-lantern`;
    const customer: ServiceCustomer = { name, secret, ledger, faults: {} };
    this.customers.set(`${name}-api`, customer);
    return customer;
  }

  /** Applies the fault to the customer's next requests, until `heal`. */
  fail({ faults }: ServiceCustomer, fault: Fault, endpoint: 'token' | 'data' = 'data'): void {
    faults[endpoint] = { fault, served: 0 };
  }

  heal({ faults }: ServiceCustomer): void {
    delete faults.token;
    delete faults.data;
  }

  revokeTokens(customer: ServiceCustomer): void {
    const owned = [...this.issuedTokens].filter(([, owner]) => owner === customer);
    owned.forEach(([token]) => this.#revoked.add(token));
  }

  /** The customer's requests to an endpoint so far. */
  requestsOf(customer: ServiceCustomer, endpoint: Endpoint): readonly RecordedRequest[] {
    const ofCustomer = this.requests.filter((request) => request.customer === customer);
    return ofCustomer.filter((request) => request.endpoint === endpoint);
  }

  /** Every secret and every issued token. */
  secrets(): readonly string[] {
    const secrets = Array.from(this.customers.values(), ({ secret }) => secret);
    return [...secrets, ...this.issuedTokens.keys()];
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
    this.requests.push({ customer, endpoint: 'token', query: new URLSearchParams() });
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
    const terms = { expires_in: 3600, token_type: 'Bearer', scope: 'ServiceAPI' };
    const sent = [body, ...form.values(), token].join(' ');
    return respondOrFail(customer, 'token', { access_token: token, ...terms }, sent, response);
  }

  /** Verifies the rules of docs/service.md#requests. */
  #serveData(
    stream: Stream,
    query: URLSearchParams,
    request: IncomingMessage,
    response: ServerResponse,
  ): void {
    const authorization = request.headers.authorization ?? '';
    const token = authorization.replace(/^Bearer /, '');
    const customer = this.issuedTokens.get(token);
    const endpoint = stream === 'people' ? 'peoplecount' : 'login';
    this.requests.push({ customer, endpoint, query });
    const aggregation = aggregations.find((known) => known === query.get('aggregation'));
    const [from, to] = [query.get('from'), query.get('to')];
    const limit = Number(query.get('limit') ?? NaN);
    const isPage = stream === 'people' && limit > 0 && !query.has('aggregation');
    const isGood = this.#require({
      'data requests are GET': request.method === 'GET',
      'data requests carry a bearer token': authorization.startsWith('Bearer '),
      'a known aggregation, or a page': aggregation !== undefined || isPage,
      'logins by time only':
        stream === 'people' || /^(minute|quarter|day)$/.test(aggregation ?? ''),
      'aggregation without limit or startToken':
        isPage || (!query.has('limit') && !query.has('startToken')),
      'to only with from': to === null || from !== null,
      'from and to in ISO 8601': [from, to].every((time) => time === null || ISO_8601.test(time)),
    });
    if (!customer || this.#revoked.has(token)) {
      return sendJson(response, 401, { error: 'unauthorized' });
    }
    const fromMs = from === null ? -Infinity : Date.parse(from);
    const toMs = to === null ? Infinity : Date.parse(to);
    if (isPage && isGood) {
      const result = customer.ledger.page(fromMs, toMs, limit);
      const metadata = { from: from ?? '', count: result.length, limit };
      return respondOrFail(customer, 'data', { metadata, result }, authorization, response);
    }
    if (aggregation === undefined || !isGood) {
      return sendJson(response, 400, { error: 'bad request' });
    }
    const served = customer.ledger.respond(stream, aggregation, fromMs, toMs);
    const logins = served.rows.map(({ key, in: value }) => ({ key, value }));
    const result = stream === 'people' ? served.rows : logins;
    const window = { from: from ?? '', to: to ?? new Date().toISOString() };
    const metadata = { ...window, count: result.length, aggregation: served.aggregation };
    return respondOrFail(customer, 'data', { metadata, result }, authorization, response);
  }

  /** Whether all rules were kept; the others are violations. */
  #require(rules: Readonly<Record<string, boolean>>): boolean {
    const broken = Object.keys(rules).filter((rule) => rules[rule] !== true);
    this.violations.push(...broken);
    return broken.length === 0;
  }
}

function sendJson(response: ServerResponse, status: number, body: object): void {
  send(response, { status, body: JSON.stringify(body) });
}

function send(response: ServerResponse, { status = 200, headers, body = '{}' }: Reply): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
}

/** Sends the good response, or what the customer's fault makes of it. */
function respondOrFail(
  customer: ServiceCustomer,
  endpoint: 'token' | 'data',
  good: object,
  sent: string,
  response: ServerResponse,
): void {
  const injected = customer.faults[endpoint];
  if (injected === undefined) {
    return sendJson(response, 200, good);
  }
  injected.served += 1;
  const { fault } = injected;
  if (fault === 'reset') {
    response.socket?.resetAndDestroy();
  } else if (fault !== 'hang') {
    const isStatus = typeof fault === 'number';
    send(response, isStatus ? { status: fault } : FAULTS[fault](JSON.stringify(good), sent));
  }
}
