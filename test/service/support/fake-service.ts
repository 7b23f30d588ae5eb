/**
 * A small fake of the service over real sockets: the test writes each answer, as HTTP or as raw bytes, and
 * sees what was requested. It shares no code with the client.
 */
import { createServer as createHttpServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { listen } from '../../../src/base/listen.ts';
import { makeAuthority, makeCertificate } from '../../support/certificates.ts';
import type { CertificateWish } from '../../support/certificates.ts';

export interface Asked {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

export type Answer = (request: Asked, response: ServerResponse) => void;

export const TOKEN = 'token-3f9c1e77aa';
export const SECRET = 'secret-81d2c0ffee';
export const LOOPBACK = { host: '127.0.0.1', port: 0 };

const authority = makeAuthority();

/** PEM of the authority that signed every certificate here. */
export const AUTHORITY = authority.cert;

const CERTIFICATES = {
  good: certified({}),
  expired: certified({ validFrom: new Date('2019-06-01'), validTo: new Date('2020-06-01') }),
  'wrong-name': certified({ hosts: ['elsewhere.example.org'] }),
};

export type CertificateName = keyof typeof CERTIFICATES;

function certified(changes: Partial<CertificateWish>) {
  const hosts = ['127.0.0.1', 'localhost'];
  return makeCertificate({ name: 'service', hosts, issuer: authority, ...changes });
}

/** Good answers by default: one token, one row. It ends with the test. */
export async function startFakeService({ certificate }: { certificate?: CertificateName } = {}) {
  const server =
    certificate === undefined
      ? createHttpServer(listener)
      : createHttpsServer(CERTIFICATES[certificate], listener);
  function listener(request: IncomingMessage, response: ServerResponse): void {
    void answer(request, response);
  }
  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '', headers } = request;
    const asked = { method, url, headers, body: await text(request) };
    fake.asked.push(asked);
    (url.startsWith('/connect/token') ? fake.token : fake.data)(asked, response);
  }
  const fake = {
    url: `${certificate === undefined ? 'http' : 'https'}://${await listen(server, LOOPBACK)}`,
    asked: [] as Asked[],
    sockets: new Set<Socket>(),
    /** How many connections were opened so far. */
    connections: 0,
    token: json(200, tokenAnswer()),
    data: GOOD,
    /** How many requests had a path that starts with this. */
    count: (path: string): number => fake.asked.filter(({ url }) => url.startsWith(path)).length,
    async close(): Promise<void> {
      fake.sockets.forEach((socket) => socket.destroy());
      await new Promise((resolve) => server.close(resolve));
    },
  };
  server.on('connection', (socket: Socket) => {
    fake.connections += 1;
    fake.sockets.add(socket);
    socket.on('error', () => {}).on('close', () => fake.sockets.delete(socket));
  });
  server.on('tlsClientError', () => {});
  onTestFinished(() => fake.close());
  return fake;
}

export function json(status: number, value: unknown, headers = {}): Answer {
  return body(JSON.stringify(value), headers, status);
}

export function body(content: string | Uint8Array, headers = {}, status = 200): Answer {
  return (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(content);
  };
}

export function status(code: number, headers = {}): Answer {
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
export function inTurn<A extends unknown[], R>(
  first: (...request: A) => R,
  ...others: readonly ((...request: A) => R)[]
): (...request: A) => R {
  const answers = [first, ...others];
  let next: typeof first = first;
  return (...request) => {
    next = answers.shift() ?? next;
    return next(...request);
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
