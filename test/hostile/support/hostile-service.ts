/**
 * The service as bytes on sockets: it answers well, from records in memory, until it is told to
 * misbehave; then whatever bytes the test likes leave it, or none. Shares no code with the client.
 */
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import type { Server as TlsServer, TlsOptions } from 'node:tls';
import type { Aggregation, AggregatedResponse } from '../../../src/base/model.ts';
import type { SmallService } from '../../support/small-service.ts';
import { MARKER, response } from './bytes.ts';

export const SECRET = 'Hemmelig+/&="sæt';
/** A part of the secret that no encoding changes, but base64. */
export const SECRET_CORE = 'Hemmelig';
/** The same of every token. */
export const TOKEN_CORE = 'Adgangsbillet';

export interface Heard {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly authorization: string;
  readonly body: string;
}

/** One request, and what to do about it. */
export interface Exchange {
  readonly socket: Socket;
  readonly heard: Heard;
  /** The JSON that a good service answers with. */
  readonly good: string;
  /** Everything secret that the request held, to be thrown back at the client. */
  readonly echo: string;
}

export type Misbehaviour = (exchange: Exchange) => void;
export type Endpoint = 'token' | 'peoplecount' | 'login';

interface Plan {
  readonly endpoints: readonly Endpoint[];
  readonly behave: Misbehaviour;
  /** So many requests are answered well before. */
  after: number;
  times: number;
}

export interface Ledgers {
  readonly peoplecount: SmallService;
  readonly login: SmallService;
}

export class HostileService implements AsyncDisposable {
  readonly heard: Heard[] = [];
  readonly tokens: string[] = [];
  readonly sockets = new Set<Socket>();
  /** Takes every new connection, in place of the service. */
  onConnection: ((socket: Socket) => void) | undefined;
  readonly #ledgers: Ledgers;
  readonly #nowMs: () => number;
  readonly #tls: TlsServer | undefined;
  #server: Server;
  #port = 0;
  #plan: Plan | undefined;
  #validFrom = 0;

  constructor(ledgers: Ledgers, nowMs: () => number, tls?: TlsOptions) {
    this.#ledgers = ledgers;
    this.#nowMs = nowMs;
    this.#tls = tls && createTlsServer(tls, (socket) => this.#serve(socket));
    this.#tls?.on('tlsClientError', (_error, socket) => socket.destroy());
    this.#server = this.#createServer();
  }

  get url(): string {
    return `${this.#tls === undefined ? 'http' : 'https'}://127.0.0.1:${this.#port}`;
  }

  async start(): Promise<void> {
    this.#server.listen(this.#port, '127.0.0.1');
    await once(this.#server, 'listening');
    const address = this.#server.address();
    this.#port = typeof address === 'object' ? (address?.port ?? 0) : 0;
  }

  /** Nobody listens any more, until the next start at the same port. */
  async stop(): Promise<void> {
    this.hangUp();
    this.#server.close();
    await once(this.#server, 'close');
    this.#server = this.#createServer();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop().catch(() => undefined);
  }

  /** Ends every connection. */
  hangUp(): void {
    this.sockets.forEach((socket) => socket.destroy());
  }

  /** Another certificate, for connections from now on. */
  setCertificate(tls: TlsOptions): void {
    this.#tls?.setSecureContext(tls);
    this.hangUp();
  }

  misbehave(
    endpoints: readonly Endpoint[],
    behave: Misbehaviour,
    { after = 0, times = Infinity } = {},
  ): void {
    this.#plan = { endpoints, behave, after, times };
  }

  heal(): void {
    this.#plan = undefined;
    this.onConnection = undefined;
  }

  /** None of the tokens given so far is taken any more. */
  revoke(): void {
    this.#validFrom = this.tokens.length;
  }

  #createServer(): Server {
    return createServer((socket) => {
      this.sockets.add(socket);
      socket.on('close', () => this.sockets.delete(socket));
      // What becomes of a connection that is treated like this is no news.
      socket.on('error', () => {});
      if (this.onConnection !== undefined) {
        this.onConnection(socket);
      } else if (this.#tls === undefined) {
        this.#serve(socket);
      } else {
        this.#tls.emit('connection', socket);
      }
    });
  }

  #serve(socket: Socket): void {
    let text = '';
    socket.on('error', () => {});
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk;
      const headEnd = text.indexOf('\r\n\r\n') + 4;
      const length = Number(/^content-length: *(\d+)/im.exec(text)?.[1] ?? 0);
      if (headEnd >= 4 && text.length >= headEnd + length) {
        const head = text.slice(0, headEnd);
        const body = text.slice(headEnd, headEnd + length);
        text = '';
        this.#answer(socket, readRequest(head, body));
      }
    });
  }

  #answer(socket: Socket, heard: Heard): void {
    this.heard.push(heard);
    const endpoint = endpointOf(heard.path);
    const plan = this.#plan;
    const planned = plan?.endpoints.includes(endpoint) === true;
    const token = heard.authorization.replace(/^Bearer /, '');
    if (endpoint !== 'token' && this.tokens.indexOf(token) < this.#validFrom) {
      socket.write(response(401, { body: `{"error":"${MARKER}"}` }));
      return;
    }
    if (planned && plan.after > 0) {
      plan.after -= 1;
    } else if (planned && plan.times > 0) {
      plan.times -= 1;
      const echo = `${heard.authorization} ${heard.body} ${SECRET}`.replaceAll(/[^ -~]/g, '?');
      plan.behave({ socket, heard, good: this.#good(endpoint, heard), echo });
      return;
    }
    const date = new Date(this.#nowMs()).toUTCString();
    socket.write(response(200, { headers: { date }, body: this.#good(endpoint, heard) }));
  }

  #good(endpoint: Endpoint, { query }: Heard): string {
    if (endpoint === 'token') {
      const access_token = `${TOKEN_CORE}-${this.tokens.length}-4711`;
      this.tokens.push(access_token);
      const rest = { expires_in: 3600, token_type: 'Bearer', scope: 'ServiceAPI' };
      return JSON.stringify({ access_token, ...rest });
    }
    const to = query.get('to');
    const reading = this.#ledgers[endpoint].answer(
      {
        endpoint,
        aggregation: query.get('aggregation') as Aggregation,
        from: query.get('from') ?? '',
        ...(to === null ? {} : { to }),
      },
      this.#nowMs(),
    );
    return JSON.stringify(envelope(endpoint, reading, query.get('from') ?? ''));
  }
}

function endpointOf(path: string): Endpoint {
  const endpoint = path.replace('/v1/', '');
  return endpoint === 'peoplecount' || endpoint === 'login' ? endpoint : 'token';
}

/** service-interface.md, 2.2, 2.4 and 2.5. */
function envelope(
  endpoint: Endpoint,
  { aggregation, rows }: AggregatedResponse,
  from: string,
): object {
  const result = rows.map(({ key, counts: [first, second] }) =>
    endpoint === 'login' ? { key, value: first } : { key, in: first, out: second },
  );
  return { metadata: { from, count: rows.length, aggregation }, result };
}

function readRequest(head: string, body: string): Heard {
  const target = head.split(' ')[1] ?? '/';
  const { pathname, searchParams } = new URL(target, 'http://127.0.0.1');
  const authorization = /^authorization: *(.*)\r$/im.exec(head)?.[1] ?? '';
  return { path: pathname, query: searchParams, authorization, body };
}
