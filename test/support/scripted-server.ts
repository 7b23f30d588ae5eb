/** An HTTP server: a test scripts each response to `token` and `data` requests, and reads what was received. */
import { createServer as createHttpServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { listen } from '../../src/base/listen.ts';
import type { Certified } from './certificates.ts';

export interface ReceivedRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export type Responder = (request: ReceivedRequest, response: ServerResponse) => void;

export const LOOPBACK = { host: '127.0.0.1', port: 0 };
export const TOKEN = 'token-3f9c1e77aa';

/** Starts a server that responds with one token and one row until a test scripts more. It ends with the test. */
export async function startScriptedServer(tls?: Certified) {
  const server = tls === undefined ? createHttpServer() : createHttpsServer({ ...tls });
  const scripted = {
    url: `${tls === undefined ? 'http' : 'https'}://${await listen(server, LOOPBACK)}`,
    token: json(200, tokenBody()),
    data: GOOD,
    received: [] as ReceivedRequest[],
    sockets: new Set<Socket>(),
    /** Number of connections opened so far. */
    connections: 0,
    /** Returns how many requests had a path that starts with this. */
    count: (path: string) => scripted.received.filter(({ url }) => url.startsWith(path)).length,
    async close(): Promise<void> {
      scripted.sockets.forEach((socket) => socket.destroy());
      await new Promise((resolve) => server.close(resolve));
    },
  };
  // Only the client closes idle connections.
  server.keepAliveTimeout = 0;
  server.on('request', (incoming: IncomingMessage, response: ServerResponse) => {
    const { method = '', url = '', headers } = incoming;
    void text(incoming).then((body) => {
      const request = { method, url, headers, body };
      scripted.received.push(request);
      (url.startsWith('/connect/token') ? scripted.token : scripted.data)(request, response);
    });
  });
  server.on('connection', (socket: Socket) => {
    scripted.connections += 1;
    scripted.sockets.add(socket);
    socket.on('error', () => {}).on('close', () => scripted.sockets.delete(socket));
  });
  server.on('tlsClientError', () => {});
  onTestFinished(() => scripted.close());
  return scripted;
}

export function json(status: number, value: unknown, headers = {}): Responder {
  return body(JSON.stringify(value), headers, status);
}

export function body(content: string | Uint8Array, headers = {}, status = 200): Responder {
  return (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(content);
  };
}

export function status(code: number, headers = {}): Responder {
  return (_request, response) => void response.writeHead(code, headers).end();
}

/** Calls one function after the other; the last one for ever. */
export function inTurn<A extends unknown[], R>(
  first: (...request: A) => R,
  ...others: readonly ((...request: A) => R)[]
): (...request: A) => R {
  const responders = [first, ...others];
  let next: typeof first = first;
  return (...request) => {
    next = responders.shift() ?? next;
    return next(...request);
  };
}

export function tokenBody(fields: Readonly<Record<string, unknown>> = {}): object {
  const scope = 'ServiceAPI';
  return { access_token: TOKEN, expires_in: 3600, token_type: 'Bearer', scope, ...fields };
}

export function peopleBody(rows: readonly unknown[], aggregation = 'minute'): object {
  const metadata = { from: '2026-11-01T04:00:00+01:00', count: rows.length, aggregation };
  return { metadata, result: rows };
}

export const GOOD = json(200, peopleBody([{ key: '2026-11-01T10:00', in: 3, out: 1 }]));
