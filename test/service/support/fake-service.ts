/**
 * A small fake of the service over real sockets: the test writes each answer, as HTTP or as raw bytes, and
 * sees what was requested. It shares no code with the client.
 */
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { Server, Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import { makeAuthority, makeCertificate } from '../../support/certificates.ts';
import type { Certified } from '../../support/certificates.ts';

export interface Asked {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export type Answer = (request: Asked, response: ServerResponse) => void;

export interface FakeService {
  readonly url: string;
  readonly asked: Asked[];
  readonly sockets: Set<Socket>;
  /** How many requests had a path that starts with this. */
  count(path: string): number;
  /** How many connections were opened so far. */
  readonly connections: () => number;
  token: Answer;
  data: Answer;
  close(): Promise<void>;
}

export type CertificateName = 'good' | 'expired' | 'wrong-name';

export const TOKEN = 'token-3f9c1e77aa';
export const SECRET = 'secret-81d2c0ffee';

const authority = makeAuthority();
const hosts = ['127.0.0.1', 'localhost'];

/** PEM of the authority that signed every certificate here. */
export const AUTHORITY = authority.cert;

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

/** Good answers by default: one token, one row. It ends with the test. */
export async function startFakeService(
  options: { certificate?: CertificateName } = {},
): Promise<FakeService> {
  const { certificate } = options;
  function listener(request: IncomingMessage, response: ServerResponse): void {
    void answer(request, response);
  }
  const server =
    certificate === undefined
      ? createHttpServer(listener)
      : createHttpsServer(CERTIFICATES[certificate], listener);
  let connections = 0;
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    connections += 1;
    sockets.add(socket);
    socket.on('error', () => {}).on('close', () => sockets.delete(socket));
  });
  server.on('tlsClientError', () => {});
  const port = await listen(server);

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
    url: `${certificate === undefined ? 'http' : 'https'}://127.0.0.1:${port}`,
    asked: [],
    sockets,
    count: (path) => service.asked.filter(({ url }) => url.startsWith(path)).length,
    connections: () => connections,
    token: json(200, tokenAnswer()),
    data: GOOD,
    async close() {
      sockets.forEach((socket) => socket.destroy());
      await new Promise((resolve) => server.close(resolve));
    },
  };
  onTestFinished(() => service.close());
  return service;
}

export async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (typeof address !== 'object' || address === null) {
    throw new Error('The server does not listen on a port');
  }
  return address.port;
}

export function json(
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  return body(JSON.stringify(value), headers, status);
}

export function body(
  content: string | Uint8Array,
  headers: Readonly<Record<string, string>> = {},
  status = 200,
): Answer {
  return (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(content);
  };
}

export function status(code: number, headers: Readonly<Record<string, string>> = {}): Answer {
  return (_request, response) => void response.writeHead(code, headers).end();
}

/** These bytes in place of an HTTP answer. */
export function raw(bytes: string | Uint8Array, then: 'end' | 'reset' | 'stay' = 'stay'): Answer {
  return (_request, { socket }) => {
    if (then === 'end') {
      socket?.end(bytes);
    } else {
      socket?.write(bytes, () => then === 'reset' && socket.resetAndDestroy());
    }
  };
}

/** The same bytes again and again, as fast as the client takes them. */
export function endless(head: string, piece: string): Answer {
  return (_request, { socket }) => {
    const chunk = piece.repeat(Math.ceil(16_384 / piece.length));
    function more(): void {
      while (socket?.destroyed === false && socket.write(chunk)) {
        // Until the buffer is full.
      }
    }
    socket?.on('drain', more).write(head);
    more();
  };
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
  const scope = 'ServiceAPI';
  return { access_token: TOKEN, expires_in: 3600, token_type: 'Bearer', scope, ...fields };
}

export function peopleAnswer(rows: readonly unknown[], aggregation = 'minute'): object {
  const metadata = { from: '2026-11-01T04:00:00+01:00', count: rows.length, aggregation };
  return { metadata, result: rows };
}

export const GOOD = json(200, peopleAnswer([{ key: '2026-11-01T10:00', in: 3, out: 1 }]));
