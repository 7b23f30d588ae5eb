/**
 * One exchange with the service over HTTP, and the only importer of got. It knows methods, headers,
 * limits and connections, and neither the service's fields nor when to ask again. What it throws is
 * a ServiceError in words of its own: an error of got carries the query string and the headers.
 */
import { Agent as HttpAgent } from 'node:http';
import type { AgentOptions, IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Duplex } from 'node:stream';
import { createSecureContext, getCACertificates } from 'node:tls';
import type { Got, Request } from 'got';
import { formatDuration } from '../base/duration.ts';
import { ServiceError } from '../base/errors.ts';
import type { Secret } from '../base/secret.ts';
import { LONGEST_BODY_BYTES, decodedBody, tooLong } from './body.ts';
import { connectionError } from './connection-error.ts';
import { deadlineError } from './deadline.ts';
import { letGo } from './let-go.ts';
import { proxyEnvironmentOf } from './proxy.ts';
import type { ProxySettings } from './proxy.ts';

export interface TransportSettings extends ProxySettings {
  /** For one exchange, all of it. */
  readonly timeoutMs: number;
  readonly maxConcurrency: number;
  /** PEM text of the certificate authorities to trust beside the system's own. */
  readonly ca: string | undefined;
}

/** A GET, or with `form` a POST. Secrets stay wrapped until the moment of sending. */
export interface ExchangeRequest {
  /** Whole, with its query: never to be shown. */
  readonly url: string;
  /** Method and path, to be shown. */
  readonly title: string;
  readonly bearer?: Secret;
  readonly form?: Readonly<Record<string, string | Secret>>;
}

/** An answer of any status. The body is whole if the status is 200; else it may be cut or empty. */
export interface ExchangeAnswer {
  readonly status: number;
  readonly contentType: string | undefined;
  readonly retryAfter: string | undefined;
  readonly date: string | undefined;
  readonly body: Uint8Array;
}

/**
 * Throws a ServiceError: `timeout`, `unreachable` or `malformed` (too long, not HTTP, damaged
 * compression). An abort of the signal ends it with the deadline's error.
 */
export type Exchange = (request: ExchangeRequest, signal?: AbortSignal) => Promise<ExchangeAnswer>;

export interface Transport {
  readonly exchange: Exchange;
  /** Ends every connection; exchanges under way and later ones fail as `unreachable`. */
  close(): void;
}

export function createTransport(settings: TransportSettings): Transport {
  const agents = createAgents(settings);
  let client: Promise<Got> | undefined;
  // Places to be used again, and no Set: the tables that one has outgrown keep what was in them (let-go.ts).
  const underWay: ((() => void) | undefined)[] = [];
  let closed = false;

  return {
    async exchange(request, signal) {
      const got = await (client ??= createGot(settings, agents));
      if (closed) {
        throw closedError();
      }
      if (signal?.aborted === true) {
        throw deadlineError(signal);
      }
      const stream = got.stream(request.url, requestOptions(request));
      const receiving = receive(stream, request.title, settings.timeoutMs);
      function cut(): void {
        receiving.fail(signal?.aborted === true ? deadlineError(signal) : closedError());
      }
      const free = underWay.indexOf(undefined);
      const place = free === -1 ? underWay.length : free;
      underWay[place] = cut;
      signal?.addEventListener('abort', cut, { once: true });
      try {
        return await toAnswer(await receiving.answer, request.title);
      } finally {
        underWay[place] = undefined;
        signal?.removeEventListener('abort', cut);
      }
    },
    close() {
      closed = true;
      for (const cut of underWay) {
        cut?.();
      }
      agents.http.destroy();
      agents.https.destroy();
    },
  };
}

function createAgents(settings: TransportSettings): { http: HttpAgent; https: HttpsAgent } {
  const options: AgentOptions = {
    keepAlive: true,
    maxSockets: settings.maxConcurrency,
    maxFreeSockets: settings.maxConcurrency,
    // Given even if empty: without it, Node looks for a proxy in the environment by rules of its own.
    proxyEnv: proxyEnvironmentOf(settings),
  };
  // One context for all connections: reading the system's authorities takes some milliseconds.
  const trust =
    settings.ca === undefined
      ? {}
      : { secureContext: createSecureContext({ ca: [...getCACertificates(), settings.ca] }) };
  return { http: new HttpAgent(options), https: new HttpsAgent({ ...options, ...trust }) };
}

/** Loads got only when it is needed, for that takes longer than most of a start. */
async function createGot(
  settings: TransportSettings,
  agent: { http: HttpAgent; https: HttpsAgent },
): Promise<Got> {
  const { default: got } = await import('got');
  return got.extend({
    agent,
    timeout: { request: settings.timeoutMs },
    retry: { limit: 0 },
    // A bearer token or a secret must not travel to where an answer points.
    followRedirect: false,
    throwHttpErrors: false,
    // Undone in body.ts, where it has a bound.
    decompress: false,
    https: { rejectUnauthorized: true },
    headers: {
      accept: 'application/json',
      'accept-encoding': 'gzip',
      'user-agent': 'library-stats-exporter',
    },
  });
}

function requestOptions(request: ExchangeRequest): object {
  return {
    method: request.form === undefined ? 'GET' : 'POST',
    headers:
      request.bearer === undefined ? {} : { authorization: `Bearer ${request.bearer.reveal()}` },
    ...(request.form === undefined ? {} : { form: revealed(request.form) }),
  };
}

function revealed(form: Readonly<Record<string, string | Secret>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(form).map(([name, value]) => [
      name,
      typeof value === 'string' ? value : value.reveal(),
    ]),
  );
}

interface RawAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Uint8Array;
}

interface Receiving {
  readonly answer: Promise<RawAnswer>;
  /** Ends it from outside. No effect once it has ended. */
  fail(error: ServiceError): void;
}

function receive(stream: Request, title: string, timeoutMs: number): Receiving {
  const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  let head: IncomingMessage | undefined;

  function finish(body: Uint8Array): void {
    resolve({ status: head?.statusCode ?? 0, headers: head?.headers ?? {}, body });
  }
  function fail(error: ServiceError): void {
    reject(error);
    stream.destroy();
  }

  stream.on('response', (response: IncomingMessage) => {
    head = response;
  });
  // Nobody asked for another protocol. Node leaves the socket to us then, and would wait for ever.
  stream.on('upgrade', (response: IncomingMessage, socket: Duplex) => {
    head = response;
    finish(new Uint8Array());
    socket.destroy();
    stream.destroy();
  });
  stream.on('data', (chunk: Uint8Array) => {
    bytes += chunk.length;
    if (bytes > LONGEST_BODY_BYTES) {
      fail(tooLong(title, head?.statusCode));
    } else {
      chunks.push(chunk);
    }
  });
  stream.on('end', () => {
    finish(Buffer.concat(chunks));
    letGo(stream);
  });
  // Stays attached when all is over: an error without a listener would end the process.
  stream.on('error', (error: Error) => {
    if (head !== undefined && head.statusCode !== 200) {
      finish(new Uint8Array());
    } else {
      reject(translated(error, title, timeoutMs, head?.statusCode));
    }
  });
  return { answer: promise, fail };
}

async function toAnswer({ status, headers, body }: RawAnswer, title: string) {
  return {
    status,
    contentType: headers['content-type'],
    retryAfter: headers['retry-after'],
    date: headers.date,
    body: await decodedBody(body, headers['content-encoding'], status, title),
  } satisfies ExchangeAnswer;
}

/** From an error of got to one that is safe to show: its code is kept, its words are not. */
function translated(
  error: Error,
  title: string,
  timeoutMs: number,
  status: number | undefined,
): ServiceError {
  // By its name: the class is not loaded before it is needed.
  if (error.name === 'TimeoutError') {
    const within = formatDuration(timeoutMs);
    const details = status === undefined ? {} : { status };
    return new ServiceError('timeout', `${title}: no whole answer within ${within}`, details);
  }
  return connectionError('code' in error ? error.code : undefined, title, status);
}

function closedError(): ServiceError {
  return new ServiceError('unreachable', 'the connections to the service were closed');
}
