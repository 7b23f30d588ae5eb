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
import type { Conventions } from './ledger.ts';

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

type Outcome = Reply | 'reset' | 'hang';

/** A number is a bare status. */
export type Fault = number | keyof typeof FAULTS | 'reset' | 'hang';

export interface ServiceCustomer {
  readonly name: string;
  /** What the token endpoint accepts. A test changes it so that the credentials are refused. */
  secret: string;
  readonly ledger: Ledger;
  /** What a test lets the endpoints do in place of a good response. */
  faults: { token?: Fault; data?: Fault };
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
  /** Revoked tokens are nobody's. */
  readonly issuedTokens = new Map<string, ServiceCustomer | undefined>();
  /** How far the service's clock is ahead. */
  clockShiftMs = 0;
  url = '';
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

  revokeTokens(customer: ServiceCustomer): void {
    const owned = [...this.issuedTokens].filter(([, owner]) => owner === customer);
    owned.forEach(([token]) => this.issuedTokens.set(token, undefined));
  }

  /** The customer's requests to an endpoint so far. */
  requestsOf(customer: ServiceCustomer, endpoint: Endpoint): readonly RecordedRequest[] {
    return this.requests.filter((one) => one.customer === customer && one.endpoint === endpoint);
  }

  /** Every secret and every issued token. */
  secrets(): readonly string[] {
    const secrets = Array.from(this.customers.values(), ({ secret }) => secret);
    return [...secrets, ...this.issuedTokens.keys()];
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.url);
    const sent = await text(request);
    const reply =
      url.pathname === '/connect/token' ? this.#token(request, sent) : this.#data(request, url);
    if (reply === 'reset') {
      response.socket?.resetAndDestroy();
    } else if (reply !== 'hang') {
      const { status = 200, headers, body = '{}' } = reply;
      response.setHeader('date', new Date(Date.now() + this.clockShiftMs).toUTCString());
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
    }
  }

  #token({ method, headers }: IncomingMessage, sent: string): Outcome {
    const form = new URLSearchParams(sent);
    const customer = this.customers.get(form.get('client_id') ?? '');
    this.requests.push({ customer, endpoint: 'token', query: new URLSearchParams() });
    const type = headers['content-type'] ?? '';
    this.#require({
      'the token request is a POST': method === 'POST',
      'the token request is form-encoded': /^application\/x-www-form-urlencoded\b/.test(type),
      'grant_type client_credentials': form.get('grant_type') === 'client_credentials',
      'scope ServiceAPI': form.get('scope') === 'ServiceAPI',
    });
    if (!customer || form.get('client_secret') !== customer.secret) {
      return { status: 400, body: '{"error":"invalid_client"}' };
    }
    const token = `token-${randomUUID()}`;
    this.issuedTokens.set(token, customer);
    const terms = { expires_in: 3600, token_type: 'Bearer', scope: 'ServiceAPI' };
    const repeated = [sent, ...form.values(), token].join(' ');
    return outcomeOf({ access_token: token, ...terms }, customer.faults.token, repeated);
  }

  /** Verifies the rules of docs/service.md#requests. */
  #data({ method, headers }: IncomingMessage, { pathname, searchParams: query }: URL): Outcome {
    const { authorization = '' } = headers;
    const customer = this.issuedTokens.get(authorization.replace(/^Bearer /, ''));
    const isLogin = pathname === '/v1/login';
    this.requests.push({ customer, endpoint: isLogin ? 'login' : 'peoplecount', query });
    const aggregation = aggregations.find((known) => known === query.get('aggregation'));
    const [from, to] = [query.get('from'), query.get('to')];
    const limit = Number(query.get('limit') ?? NaN);
    const isPage = !isLogin && limit > 0 && !query.has('aggregation');
    const isGood = this.#require({
      'a known path': isLogin || pathname === '/v1/peoplecount',
      'data requests are GET': method === 'GET',
      'data requests carry a bearer token': authorization.startsWith('Bearer '),
      'a known aggregation, or a page': aggregation !== undefined || isPage,
      'logins by time only': !isLogin || /^(minute|quarter|day)$/.test(aggregation ?? ''),
      'aggregation without limit or startToken':
        isPage || (!query.has('limit') && !query.has('startToken')),
      'to only with from': to === null || from !== null,
      'from and to in ISO 8601': [from, to].every((time) => time === null || ISO_8601.test(time)),
    });
    if (!customer || !isGood) {
      return { status: customer ? 400 : 401 };
    }
    const { ledger, faults } = customer;
    const fromMs = from === null ? -Infinity : Date.parse(from);
    const toMs = to === null ? Infinity : Date.parse(to);
    if (aggregation === undefined) {
      const result = ledger.page(fromMs, toMs, limit);
      const metadata = { from: from ?? '', count: result.length, limit };
      return outcomeOf({ metadata, result }, faults.data, authorization);
    }
    const served = ledger.respond(isLogin ? 'logins' : 'people', aggregation, fromMs, toMs);
    const logins = served.rows.map(({ key, in: value }) => ({ key, value }));
    const result = isLogin ? logins : served.rows;
    const window = { from: from ?? '', to: to ?? new Date().toISOString() };
    const metadata = { ...window, count: result.length, aggregation: served.aggregation };
    return outcomeOf({ metadata, result }, faults.data, authorization);
  }

  /** Whether all rules were kept; the others are violations. */
  #require(rules: Readonly<Record<string, boolean>>): boolean {
    const broken = Object.keys(rules).filter((rule) => rules[rule] !== true);
    this.violations.push(...broken);
    return broken.length === 0;
  }
}

/** The good response, or what a fault makes of it and of what was sent. */
function outcomeOf(good: object, fault: Fault | undefined, sent: string): Outcome {
  if (fault === 'reset' || fault === 'hang') {
    return fault;
  }
  const body = JSON.stringify(good);
  return typeof fault === 'number'
    ? { status: fault }
    : fault === undefined
      ? { body }
      : FAULTS[fault](body, sent);
}
