/**
 * A small service for these tests, over real sockets: a token endpoint and data endpoints whose
 * answers the test writes, and a list of what was asked. It shares no code with the client.
 */
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { createServer as createTcpServer } from 'node:net';
import type { Socket } from 'node:net';
import { makeAuthority, makeCertificate } from '../../support/certificates.ts';
import type { Certified } from '../../support/certificates.ts';

export interface Asked {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export type Answer = (request: Asked, response: ServerResponse) => void;

export interface FakeService extends AsyncDisposable {
  readonly url: string;
  readonly asked: Asked[];
  /** How often the path was asked. */
  count(path: string): number;
  /** How many connections were opened so far. */
  readonly connections: () => number;
  token: Answer;
  data: Answer;
}

const authority = makeAuthority();
const hosts = ['127.0.0.1', 'localhost'];

/** PEM of the authority that signed every certificate here. */
export const AUTHORITY = authority.cert;

export type CertificateName = 'good' | 'expired' | 'wrong-name';

const CERTIFICATES: Readonly<Record<CertificateName, Certified>> = {
  good: makeCertificate({ name: 'good', hosts, issuer: authority }),
  expired: makeCertificate({
    name: 'expired',
    hosts,
    issuer: authority,
    validFrom: new Date('2019-06-01'),
    validTo: new Date('2020-06-01'),
  }),
  'wrong-name': makeCertificate({
    name: 'wrong-name',
    hosts: ['elsewhere.example.org'],
    issuer: authority,
  }),
};

export const TOKEN = 'token-3f9c1e77aa';
export const SECRET = 'secret-81d2c0ffee';

/** Good answers by default: one token, one row. */
export async function startFakeService(
  options: { certificate?: CertificateName } = {},
): Promise<FakeService> {
  function listener(request: IncomingMessage, response: ServerResponse): void {
    void answer(request, response);
  }
  const { certificate } = options;
  const server =
    certificate === undefined
      ? createHttpServer(listener)
      : createHttpsServer(CERTIFICATES[certificate], listener);
  let connections = 0;
  server.on('connection', () => (connections += 1));
  // What a client does that does not trust us is its business.
  server.on('tlsClientError', () => {});
  await listen(server);

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const chunk of request) {
      body += String(chunk);
    }
    const { method = '', url = '', headers } = request;
    const asked = { method, url, headers, body };
    service.asked.push(asked);
    (url.startsWith('/connect/token') ? service.token : service.data)(asked, response);
  }

  const service: FakeService = {
    url: `${certificate === undefined ? 'http' : 'https'}://127.0.0.1:${portOf(server)}`,
    asked: [],
    count: (path) => service.asked.filter(({ url }) => url.startsWith(path)).length,
    connections: () => connections,
    token: json(200, tokenAnswer()),
    data: json(200, peopleAnswer([{ key: '2026-11-01T10:00', in: 3, out: 1 }])),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return service;
}

export interface RawServer extends AsyncDisposable {
  readonly url: string;
  readonly sockets: Set<Socket>;
}

/** For what an HTTP server would never do: `onRequest` gets the socket once a head has come. */
export async function startRawServer(
  onRequest: (socket: Socket, head: string) => void,
): Promise<RawServer> {
  const sockets = new Set<Socket>();
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
    let head = '';
    socket.on('data', (chunk) => {
      head += chunk.toString('latin1');
      if (head.includes('\r\n\r\n')) {
        const whole = head;
        head = '';
        onRequest(socket, whole);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  return {
    url: `http://127.0.0.1:${port}`,
    sockets,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) {
        socket.destroy();
      }
      server.close();
      await once(server, 'close');
    },
  };
}

export function json(
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  return (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(value));
  };
}

export function status(code: number, headers: Readonly<Record<string, string>> = {}): Answer {
  return (_request, response) => void response.writeHead(code, headers).end();
}

/** One answer after the other; the last one for ever. */
export function inTurn(...answers: readonly Answer[]): Answer {
  let next = 0;
  return (request, response) => {
    const answer = answers[Math.min(next, answers.length - 1)];
    next += 1;
    answer?.(request, response);
  };
}

export function tokenAnswer(fields: Readonly<Record<string, unknown>> = {}): object {
  return {
    access_token: TOKEN,
    expires_in: 3600,
    token_type: 'Bearer',
    scope: 'ServiceAPI',
    ...fields,
  };
}

export function peopleAnswer(rows: readonly unknown[], aggregation = 'minute'): object {
  return {
    metadata: { from: '2026-11-01T04:00:00+01:00', count: rows.length, aggregation },
    result: rows,
  };
}

export const GOOD = json(200, peopleAnswer([{ key: 1, in: 3, out: 1 }]));

async function listen(server: Server): Promise<void> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
}

export function portOf(server: Server): number {
  const address = server.address();
  if (typeof address !== 'object' || address === null) {
    throw new Error('The server does not listen on a port');
  }
  return address.port;
}
