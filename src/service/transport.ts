/**
 * One HTTP exchange with the service. Only this file imports got. It throws ServiceErrors with messages of
 * its own, since got's errors contain the query string and the headers.
 */
import { Agent as HttpAgent } from 'node:http';
import type { AgentOptions, IncomingMessage } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { BlockList, isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { createSecureContext, getCACertificates } from 'node:tls';
import { promisify } from 'node:util';
import { inflateRaw, unzip } from 'node:zlib';
import type { Got, Request } from 'got';
import type { Clock } from '../base/clock.ts';
import { formatDuration, MINUTE_MS } from '../base/duration.ts';
import { codeOf, ConfigError, ServiceError } from '../base/errors.ts';
import type { FailureReason } from '../base/errors.ts';
import type { Secret } from '../base/secret.ts';
import type { ServiceSettings } from '../base/service-settings.ts';
import { abortError } from './limits.ts';
import { parseRetryAfter } from './retry.ts';

/** Limit for the body, compressed and decompressed. */
const MAX_BODY_BYTES = 8 * 1024 * 1024;
/** The name of a server may move to another address, and the old one may go on answering. */
const MAX_CONNECTION_AGE_MS = 5 * MINUTE_MS;

/** A GET, or a POST of `form`. */
export interface ExchangeRequest {
  /** Includes the query string: never shown. See {@link titleOf}. */
  readonly url: string;
  readonly bearer?: Secret;
  /** URL-encoded. */
  readonly form?: Secret;
}

/** A response of any status. The body is complete if the status is 200, else it may be empty. */
export interface ExchangeResponse {
  readonly status: number;
  readonly contentType: string | undefined;
  readonly retryAfter: string | undefined;
  readonly date: string | undefined;
  readonly body: Uint8Array;
  /** Closes the connection of a response that is not accepted, unless another request already uses it. */
  readonly discardConnection?: () => void;
}

/**
 * Sends a request. Throws a ServiceError: `timeout`, `unreachable` or `malformed`, or the signal's
 * `abortError`.
 */
export type Exchange = (
  request: ExchangeRequest,
  signal?: AbortSignal,
) => Promise<ExchangeResponse>;

export interface Transport {
  readonly exchange: Exchange;
  /** Closes every connection. Exchanges in flight and later ones fail as `unreachable`. */
  close(): void;
}

/** Returns a transport without opening a connection. Throws a ConfigError for an invalid HTTPS_PROXY. */
export function createTransport(
  settings: ServiceSettings,
  environment: NodeJS.ProcessEnv,
  clock: Clock,
): Transport {
  const agents = createAgents(settings, environment, clock);
  let client: Promise<Got> | undefined;
  let closed = false;
  return {
    async exchange(request, signal) {
      const got = await (client ??= createGot(settings.timeoutMs, agents));
      if (signal?.aborted === true) {
        throw abortError(signal, `${titleOf(request)}: no complete response`);
      }
      if (closed) {
        throw new ServiceError('unreachable', 'connections closed');
      }
      const stream = got.stream(request.url, {
        method: request.form === undefined ? 'GET' : 'POST',
        headers: {
          authorization: request.bearer && `Bearer ${request.bearer.reveal()}`,
          'content-type': request.form && 'application/x-www-form-urlencoded',
        },
        ...(request.form && { body: request.form.reveal() }),
        ...(signal && { signal }),
      });
      return receive(stream, request, settings.timeoutMs, agents.discard, signal);
    },
    close() {
      closed = true;
      agents.http.destroy();
      agents.https.destroy();
    },
  };
}

/** Returns the method and the URL of a request, without user, query and fragment. */
export function titleOf({ url, form }: ExchangeRequest): string {
  const { origin, pathname } = new URL(url);
  return `${form === undefined ? 'GET' : 'POST'} ${origin}${pathname}`;
}

/** Returns true for a response with data, or with status 204, which a service may send where there are none. */
export function isSuccess(status: number | undefined): boolean {
  return status === 200 || status === 204;
}

/** Returns the error for a response whose status is not 200. */
export function statusError(request: ExchangeRequest, response: ExchangeResponse): ServiceError {
  const { status, retryAfter, date } = response;
  const details = { status, retryAfterMs: parseRetryAfter(retryAfter, date) };
  const isRedirect = status >= 300 && status < 400;
  const setting = request.form === undefined ? 'service.base_url' : 'service.auth_url';
  const redirect = isRedirect ? ' (redirects are not followed)' : '';
  const hint = isRedirect || status === 404 ? `; check ${setting}` : '';
  const reason = REASONS[status] ?? (status >= 500 ? 'server' : 'rejected');
  const message = `${titleOf(request)}: status ${status}${redirect}${hint}`;
  return new ServiceError(reason, message, details);
}

const REASONS: Readonly<Record<number, FailureReason>> = {
  401: 'auth',
  403: 'auth',
  408: 'timeout',
  429: 'rate_limited',
};

interface Agents {
  readonly http: HttpAgent;
  readonly https: HttpsAgent;
  /** Closes a connection once it is idle. */
  readonly discard: (socket: Duplex) => void;
}

function createAgents(
  settings: ServiceSettings,
  environment: NodeJS.ProcessEnv,
  clock: Clock,
): Agents {
  const options: AgentOptions = {
    keepAlive: true,
    maxSockets: settings.maxConcurrency,
    maxFreeSockets: settings.maxConcurrency,
    proxyEnv: agentProxies(settings, environment),
  };
  // One context for all connections: it takes milliseconds to create.
  const trust =
    settings.ca === undefined
      ? {}
      : { secureContext: createSecureContext({ ca: [...getCACertificates(), settings.ca] }) };
  const http = new HttpAgent(options);
  const https = new HttpsAgent({ ...options, ...trust });
  /** Connections that have been used, and whether they are not to be used again. */
  const discarded = new WeakMap<Duplex, boolean>();
  function discard(socket: Duplex): void {
    discarded.set(socket, true);
    const idle = [http, https].flatMap(({ freeSockets }) => Object.values(freeSockets).flat());
    if (idle.some((one) => one === socket)) {
      socket.destroy();
    }
  }
  for (const agent of [http, https]) {
    const keepSocketAlive = agent.keepSocketAlive.bind(agent);
    agent.keepSocketAlive = (socket) => {
      if (!discarded.has(socket)) {
        discarded.set(socket, false);
        socket.once(
          'close',
          clock.after(MAX_CONNECTION_AGE_MS, () => discard(socket)),
        );
      }
      return discarded.get(socket) === false && keepSocketAlive(socket);
    };
  }
  return { http, https, discard };
}

/** Throws a ConfigError for a URL that Node's agents would silently ignore, and connect directly. */
function agentProxies(
  { proxyUrl, baseUrl, authUrl }: ServiceSettings,
  environment: NodeJS.ProcessEnv,
): Record<string, string> {
  if (proxyUrl !== undefined) {
    return { HTTP_PROXY: proxyUrl, HTTPS_PROXY: proxyUrl };
  }
  const needsProxy = [baseUrl, authUrl].some((url) => url.startsWith('https:'));
  // An empty variable is not set, as in Go.
  const named = environment['HTTPS_PROXY'] || environment['https_proxy'] || '';
  if (!needsProxy || named === '') {
    return {};
  }
  const proxy = named.includes('://') ? named : `http://${named}`;
  if (!/^https?:$/.test(URL.parse(proxy)?.protocol ?? '')) {
    // Without the URL, which may contain a password.
    throw new ConfigError('HTTPS_PROXY: expected http://HOST:PORT or https://HOST:PORT');
  }
  const noProxy = environment['NO_PROXY'] || environment['no_proxy'] || '';
  const entries = noProxy.split(',').map((entry) => entry.trim());
  // Node knows no CIDR: the addresses that are in a range are named.
  const hosts = [baseUrl, authUrl].map((url) => new URL(url).hostname.replace(/^\[|\]$/g, ''));
  const inRange = hosts.filter((host) => entries.some((entry) => isInRange(host, entry)));
  // A domain also means its subdomains, as curl and Go have it. Node wants them named.
  const names = entries.flatMap((entry) => [entry, `*.${entry}`]);
  return { HTTPS_PROXY: proxy, NO_PROXY: [...names, ...inRange].join(',') };
}

/** Returns true for an IP address in a range such as `10.0.0.0/8`; false for other texts. */
function isInRange(host: string, range: string): boolean {
  const [network = '', prefix = ''] = range.split('/');
  const family = isIP(host);
  const [type, maxPrefix] = family === 6 ? (['ipv6', 128] as const) : (['ipv4', 32] as const);
  if (
    family === 0 ||
    family !== isIP(network) ||
    !/^\d+$/.test(prefix) ||
    Number(prefix) > maxPrefix
  ) {
    return false;
  }
  const list = new BlockList();
  list.addSubnet(network, Number(prefix), type);
  return list.check(host, type);
}

/** got is loaded when it is first needed: that takes longer than most of the start. */
async function createGot(timeoutMs: number, { http, https }: Agents): Promise<Got> {
  const { default: got } = await import('got');
  return got.extend({
    agent: { http, https },
    timeout: { request: timeoutMs },
    retry: { limit: 0 },
    // Credentials must not travel to where a response points.
    followRedirect: false,
    throwHttpErrors: false,
    // Not by got, which takes half of raw deflate for zlib.
    decompress: false,
    https: { rejectUnauthorized: true },
    headers: {
      accept: 'application/json',
      'accept-encoding': 'gzip',
      // A cache between us and the service would respond to two requests of one window with the same rows.
      'cache-control': 'no-cache',
      'user-agent': 'library-stats-exporter',
    },
  });
}

async function receive(
  stream: Request,
  request: ExchangeRequest,
  timeoutMs: number,
  discard: Agents['discard'],
  signal: AbortSignal | undefined,
): Promise<ExchangeResponse> {
  const received: { head?: IncomingMessage; discardConnection?: () => void } = {};
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  stream.on('response', (response: IncomingMessage) => {
    // The response has no socket any more when it has ended.
    const { socket, statusCode } = response;
    received.head = response;
    received.discardConnection = () => discard(socket);
    if (!isSuccess(statusCode)) {
      discard(socket);
    }
  });
  // A response with status 101, which nobody asked for: Node leaves the socket to us.
  stream.on('upgrade', (response: IncomingMessage, socket: Duplex) => {
    received.head = response;
    socket.destroy();
    stream.destroy();
  });
  // It stays attached: an error event without a listener would end the process.
  stream.on('error', () => {});
  try {
    for await (const chunk of stream as AsyncIterable<Uint8Array>) {
      bytes += chunk.length;
      if (bytes > MAX_BODY_BYTES) {
        break;
      }
      chunks.push(chunk);
    }
  } catch (error) {
    if (signal?.aborted === true) {
      throw abortError(signal, `${titleOf(request)}: no complete response`);
    }
    // An error response is one even if it is cut off.
    if (received.head === undefined || isSuccess(received.head.statusCode)) {
      throw connectionError(error, request, timeoutMs, received.head?.statusCode);
    }
  }
  const { statusCode: status = 0, headers = {} } = received.head ?? {};
  if (bytes > MAX_BODY_BYTES) {
    throw bodyError('ERR_BUFFER_TOO_LARGE', request, status);
  }
  const body = await decompress(Buffer.concat(chunks), headers['content-encoding']).catch(
    (error: unknown) => {
      if (isSuccess(status)) {
        throw bodyError(codeOf(error), request, status);
      }
      return Buffer.alloc(0);
    },
  );
  return {
    status,
    contentType: headers['content-type'],
    retryAfter: headers['retry-after'],
    date: headers.date,
    body,
    ...(received.discardConnection && { discardConnection: received.discardConnection }),
  };
}

const gunzip = promisify(unzip);
const inflate = promisify(inflateRaw);

/** Returns a body without its compression. Rejects with `ERR_BUFFER_TOO_LARGE`, or the code of zlib. */
async function decompress(body: Buffer, encoding = ''): Promise<Buffer> {
  const options = { maxOutputLength: MAX_BODY_BYTES };
  if (body.length === 0 || !/^(x-gzip|gzip|deflate)$/i.test(encoding)) {
    return body;
  }
  // Deflate is zlib (RFC 9110, 8.4.1.2), whose first byte ends with 8. Some servers send it raw.
  const isRaw = /^deflate$/i.test(encoding) && ((body[0] ?? 0) & 0x0f) !== 8;
  return isRaw ? inflate(body, options) : gunzip(body, options);
}

/** Returns the error of a body that is too long or cannot be decompressed. */
function bodyError(code = 'no code', request: ExchangeRequest, status: number): ServiceError {
  const problem =
    code === 'ERR_BUFFER_TOO_LARGE'
      ? `longer than ${MAX_BODY_BYTES / 2 ** 20} MiB`
      : `damaged (${code})`;
  return new ServiceError('malformed', `${titleOf(request)}: the response is ${problem}`, {
    status,
  });
}

/**
 * Returns the error of a connection. Shows only the code of got's error: its message may contain what was
 * sent.
 */
function connectionError(
  error: unknown,
  request: ExchangeRequest,
  timeoutMs: number,
  status: number | undefined,
): ServiceError {
  const title = titleOf(request);
  // By its name, for got is loaded later.
  if (error instanceof Error && error.name === 'TimeoutError') {
    const message = `${title}: no complete response within ${formatDuration(timeoutMs)}`;
    return new ServiceError('timeout', message, { status });
  }
  const code = /^[A-Z0-9_]+$/.exec(codeOf(error) ?? '')?.[0] ?? 'no code';
  // Node's codes for what is not HTTP.
  if (code.startsWith('HPE_')) {
    return new ServiceError('malformed', `${title}: the response is damaged (${code})`, { status });
  }
  const hint = /CERT|TLS|SSL|SIGNATURE/.test(code)
    ? ' (for a private certificate authority, set service.ca_file)'
    : '';
  return new ServiceError('unreachable', `${title}: ${code}${hint}`, { status });
}
