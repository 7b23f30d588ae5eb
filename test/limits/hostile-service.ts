/**
 * A service with one fault at a time, for every request. An echo repeats what it was sent. It shares no
 * code with the daemon.
 */
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { vi } from 'vitest';

export type Behaviour = Plain | Echo;

type Plain =
  | 'good'
  | 'hang'
  | 'reset'
  | 'drip'
  | 'truncated'
  | 'busy for 20 seconds'
  | 'status 500'
  | 'status 401';

/** Answers that repeat what was sent. */
export const ECHOES = [
  'html echo',
  'redirect echo',
  'rows echo',
  'keys echo',
  'aggregation echo',
  'start token echo',
  'type echo',
  'encoding echo',
  'status echo',
  'error echo',
] as const;

type Echo = (typeof ECHOES)[number];

export interface Behaviours {
  readonly token: Behaviour;
  readonly data: Behaviour;
}

export class HostileService {
  behaviour: Behaviours = { token: 'good', data: 'good' };
  /** Requests so far. */
  readonly counts = { token: 0, data: 0 };
  /** How data requests were answered so far. */
  readonly met = new Set<Behaviour>();
  readonly tokens: string[] = [];
  /** The values of Proxy-Authorization received. */
  readonly proxyCredentials = new Set<string>();
  readonly #server: Server = createServer((request, response) => {
    void this.#serve(request, response).catch(() => response.destroy());
  });
  #port = 0;

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** A base URL that always has this behaviour. */
  urlOf(behaviour: Behaviour): string {
    return `${this.url}/${behaviour.replaceAll(' ', '-')}`;
  }

  /** The same port of an address on which nothing listens. */
  get deadUrl(): string {
    return `http://127.0.0.2:${this.#port}`;
  }

  async start(): Promise<void> {
    // A proxy that refuses every tunnel and echoes the credentials.
    this.#server.on('connect', (request, socket) => {
      const echo = this.#noteProxyCredentials(request);
      // A daemon that is stopped early resets the connection.
      socket.on('error', () => {});
      socket.end(`HTTP/1.1 407 ${printable(echo)}\r\nX-Echo: ${printable(echo)}\r\n\r\n${echo}`);
    });
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    const address = this.#server.address();
    this.#port = typeof address === 'object' && address !== null ? address.port : 0;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Waits for so many more requests. */
  async asked(endpoint: 'token' | 'data', times: number): Promise<void> {
    const before = this.counts[endpoint];
    await vi.waitUntil(() => this.counts[endpoint] >= before + times, {
      timeout: 20_000,
      interval: 5,
    });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const endpoint = request.url?.includes('/connect/token') === true ? 'token' : 'data';
    const proxyCredentials = this.#noteProxyCredentials(request);
    const body = await readBody(request);
    this.counts[endpoint] += 1;
    const token = `opaque.${randomUUID()}/+${randomUUID()}==`;
    const good = endpoint === 'token' ? this.#tokenAnswer(token) : dataAnswer(request);
    const echo = [
      body,
      ...new URLSearchParams(body).values(),
      request.headers.authorization ?? '',
      proxyCredentials,
      token,
    ].join(' ');
    const named = request.url?.split('/')[1]?.replaceAll('-', ' ') ?? '';
    const behaviour = isEcho(named) ? named : this.behaviour[endpoint];
    if (endpoint === 'data') {
      this.met.add(behaviour);
    }
    if (isEcho(behaviour)) {
      echoIn(behaviour, echo, response);
    } else {
      misbehave(behaviour, good, response);
    }
  }

  #noteProxyCredentials(request: IncomingMessage): string {
    const credentials = request.headers['proxy-authorization'] ?? '';
    if (credentials !== '') {
      this.proxyCredentials.add(credentials);
    }
    return credentials;
  }

  #tokenAnswer(token: string): object {
    this.tokens.push(token);
    return { access_token: token, expires_in: 3600, token_type: 'Bearer', scope: 'ServiceAPI' };
  }
}

function isEcho(name: string): name is Echo {
  return ECHOES.some((echo) => echo === name);
}

async function readBody(request: IncomingMessage): Promise<string> {
  const parts: Uint8Array[] = [];
  for await (const part of request) {
    parts.push(part as Uint8Array);
  }
  return Buffer.concat(parts).toString('utf8');
}

/** One row for the previous minute. */
function dataAnswer(request: IncomingMessage): object {
  const aggregation = new URL(request.url ?? '/', 'http://a').searchParams.get('aggregation');
  const key = new Date(Date.now() - 60_000).toISOString();
  return { metadata: { aggregation }, result: [{ key, in: 3, out: 1, value: 2 }] };
}

const JSON_TYPE = { 'content-type': 'application/json' };

function misbehave(behaviour: Plain, good: object, response: ServerResponse): void {
  const text = JSON.stringify(good);
  switch (behaviour) {
    case 'good':
      response.writeHead(200, JSON_TYPE).end(text);
      return;
    case 'hang':
      return;
    case 'reset':
      response.socket?.resetAndDestroy();
      return;
    case 'drip': {
      response.writeHead(200, { ...JSON_TYPE, 'content-length': 1_000 });
      const drip = setInterval(() => response.write(' '), 50);
      response.on('close', () => clearInterval(drip));
      return;
    }
    case 'truncated':
      response.writeHead(200, { ...JSON_TYPE, 'content-length': text.length + 9 }).write(text);
      setTimeout(() => response.destroy(), 5);
      return;
    case 'busy for 20 seconds':
      response.writeHead(503, { ...JSON_TYPE, 'retry-after': '20' }).end('{}');
      return;
    case 'status 500':
      response.writeHead(500, JSON_TYPE).end('{}');
      return;
    case 'status 401':
      response.writeHead(401, JSON_TYPE).end('{}');
      return;
  }
}

/** Echoes the request in one place of the answer. */
function echoIn(behaviour: Echo, echo: string, response: ServerResponse): void {
  switch (behaviour) {
    case 'html echo':
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end(`<html><title>${echo}</title><body>${echo}</body></html>`);
      return;
    case 'error echo':
      response.writeHead(400, JSON_TYPE).end(JSON.stringify({ error: echo, message: echo }));
      return;
    case 'redirect echo':
      response
        .writeHead(302, { location: `/elsewhere?${new URLSearchParams({ t: echo }).toString()}` })
        .end();
      return;
    case 'rows echo':
      sendRows(response, 'minute', [{ key: 1, in: echo, out: echo, value: echo }]);
      return;
    case 'keys echo':
      // Short enough for a key and for the name of an aggregation.
      sendRows(response, echo.slice(-60), [{ key: echo.slice(0, 60), in: 1, out: 1, value: 1 }]);
      return;
    case 'aggregation echo':
      sendRows(response, echo, []);
      return;
    case 'start token echo':
      sendRows(response, 'minute', [], echo);
      return;
    case 'type echo':
      response.writeHead(200, { 'content-type': printable(echo), ...echoedHeaders(echo) });
      response.end(echo);
      return;
    case 'encoding echo':
      response.writeHead(200, { ...JSON_TYPE, 'content-encoding': printable(echo) }).end(echo);
      return;
    case 'status echo':
      response.socket?.end(`HTTP/1.1 500 ${printable(echo)}\r\nX-Echo: ${printable(echo)}\r\n\r\n`);
  }
}

function sendRows(
  response: ServerResponse,
  aggregation: string,
  result: readonly object[],
  startToken?: string,
): void {
  const answer = { metadata: { aggregation, startToken }, result };
  response.writeHead(200, JSON_TYPE).end(JSON.stringify(answer));
}

function echoedHeaders(echo: string): Readonly<Record<string, string>> {
  return { 'retry-after': printable(echo), date: printable(echo), server: printable(echo) };
}

function printable(text: string): string {
  return encodeURI(text);
}
