/**
 * The web server: its paths and their responses. It is given functions, knows neither metrics nor
 * customers, and never waits for the service.
 */
import { STATUS_CODES } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import { fastify } from 'fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from 'fastify';
import Negotiator from 'negotiator';
import type { Clock } from '../base/clock.ts';
import { codeOf, messageOf } from '../base/errors.ts';
import { listen, parseListenAddress } from '../base/listen.ts';
import type { Logger } from '../base/log.ts';
import type { WebConfig } from '../base/web-config.ts';
import { createAuth } from './auth.ts';
import { createConnections } from './connections.ts';
import { createPaths, HEALTH_PATHS } from './paths.ts';
import type { PathOptions, WebPaths } from './paths.ts';
import { renderStatusPage } from './status-page.ts';
import type { StatusData } from './status-page.ts';
import { CONTENT_SECURITY_POLICY } from './status-style.ts';

type ExpositionFormat = 'text' | 'openmetrics';

interface DiscoveredCustomer {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** Content types in the order of our preference. */
const CONTENT_TYPES: Readonly<Record<ExpositionFormat, string>> = {
  text: 'text/plain; version=0.0.4; charset=utf-8',
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
};

export interface WebServerOptions extends PathOptions {
  /** `:10096`, `127.0.0.1:0` or `[::1]:9000` (docs/reference/command-line.md#run). */
  readonly listenAddress: string;
  /** Whether `/-/reload` reloads. */
  readonly enableLifecycle: boolean;
  readonly version: string;
  readonly clock: Clock;
  readonly log: Logger;
  /**
   * Returns the parts of a response to a scrape: of everything, or of the named customers alone.
   * Undefined if one of them is unknown. Must not wait for the service.
   */
  readonly exposition: (
    format: ExpositionFormat,
    gzip: boolean,
    customers: readonly string[],
  ) => Promise<readonly Uint8Array[] | undefined>;
  /** What service discovery lists. */
  readonly customers: () => readonly DiscoveredCustomer[];
  /** Whether the polling loop makes progress. */
  readonly healthy: () => boolean;
  /** `why` is shown while not ready. */
  readonly ready: () => { readonly ready: boolean; readonly why: string };
  readonly status: () => StatusData;
  /** The configuration in force, as YAML without secrets. */
  readonly config: () => string;
  readonly reload: () => Promise<ReloadResult>;
  /** Undefined: plain http without authentication. */
  readonly protection?: WebConfig | undefined;
}

/** `problems` is shown to the client: it must not contain a secret. */
export type ReloadResult =
  { readonly ok: true } | { readonly ok: false; readonly problems: string };

export type WebServer = ReturnType<typeof createWebServer>;

/** Each holds a whole exposition, up to 25 MB, until the client has read it. */
const MAX_SCRAPES = 40;
/** No path uses a body. */
const MAX_BODY_BYTES = 1_024;
const STOP_GRACE_MS = 500;

const COMMON_HEADERS = { 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' };
const TEXT_TYPE = 'text/plain; charset=utf-8';

const REFUSAL_HEADERS = {
  400: {},
  417: {},
  401: { 'www-authenticate': 'Basic realm="library-stats-exporter", charset="UTF-8"' },
  503: { 'retry-after': '1' },
};

const NAME = 'library-stats-exporter';

/** Returns a server that opens nothing before `start`. Throws a UsageError for an invalid address or path. */
export function createWebServer(options: WebServerOptions) {
  const listenAddress = parseListenAddress(options.listenAddress);
  const paths = createPaths(options);
  let protection = options.protection ?? { tls: undefined, users: new Map() };
  const scheme = protection.tls === undefined ? 'http' : 'https';
  const connections = createConnections(protection.tls, options.log, options.clock);
  const handleError = createErrorHandler(options.log);
  const app = fastify({
    logger: false,
    bodyLimit: MAX_BODY_BYTES,
    exposeHeadRoutes: false,
    frameworkErrors: handleError,
    clientErrorHandler(error, socket) {
      refuseUnparsed(error, socket, connections.isResponding(socket));
    },
    // While stopping, the routes respond.
    return503OnClosing: false,
    serverFactory(listener) {
      connections.serve(listener);
      return connections.server;
    },
  });
  // Bodies within the limit are read and ignored, whatever their type.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, _body, done) => done(null));
  const authenticate = createAuth(
    () => protection,
    HEALTH_PATHS.map((path) => paths.prefix + path),
  );
  app.addHook('onRequest', async (request, reply) => {
    reply.headers(COMMON_HEADERS);
    const refusal = protocolRefusal(request.raw) ?? (await authenticate(request, reply));
    if (refusal !== undefined) {
      reply.headers({ ...REFUSAL_HEADERS[refusal], connection: 'close' });
      return sendText(reply, refusal);
    }
  });
  app.setErrorHandler(handleError);
  addRoutes(app, options, paths);
  return {
    /** Resolves with the real address. Throws an Error with a message for the user. */
    async start(): Promise<{ readonly url: string }> {
      await app.ready();
      try {
        return { url: `${scheme}://${await listen(app.server, listenAddress)}` };
      } catch (error) {
        const message = `cannot listen on ${options.listenAddress}: ${messageOf(error)}`;
        throw new Error(`${message}; set --web.listen-address`, { cause: error });
      }
    },
    /**
     * Applies to the next request, and TLS to the next connection. `clientAuth` and the choice between
     * http and https stay as they were.
     */
    protect(next: WebConfig): void {
      if (next.tls !== undefined) {
        connections.setTls(next.tls);
      }
      protection = next;
    },
    /** Ends all connections; requests in progress have half a second to finish. */
    async stop(): Promise<void> {
      const cancel = options.clock.after(STOP_GRACE_MS, () => connections.destroyAll());
      const ended = new Promise((resolve) => app.server.close(resolve));
      await Promise.all([app.close(), ended]);
      cancel();
    },
  };
}

/** Any method reads, as in Prometheus's own exporters. */
function addRoutes(app: FastifyInstance, options: WebServerOptions, paths: WebPaths): void {
  const { prefix } = paths;
  app.all(prefix + options.telemetryPath, scrapeHandler(options));
  if (options.telemetryPath !== '/') {
    app.all(`${prefix}/`, statusHandler(options));
  }
  if (prefix !== '') {
    app.all('/', (_request, reply) => reply.redirect(paths.home));
    app.all(prefix, (_request, reply) => reply.redirect(paths.home));
  }
  app.all(`${prefix}/config`, (_request, reply) =>
    sendText(reply, 200, options.config().trimEnd()),
  );
  app.all(`${prefix}/sd`, discoveryHandler(options, paths));
  app.all(`${prefix}/-/healthy`, (_request, reply) =>
    options.healthy()
      ? sendText(reply, 200, `${NAME} is healthy.`)
      : sendText(reply, 503, `${NAME} is not healthy: the polling loop makes no progress.`),
  );
  app.all(`${prefix}/-/ready`, (_request, reply) => {
    const { ready, why } = options.ready();
    return ready
      ? sendText(reply, 200, `${NAME} is ready.`)
      : sendText(reply, 503, `${NAME} is not ready: ${why}`);
  });
  app.all(`${prefix}/-/reload`, reloadHandler(options));
  app.setNotFoundHandler((_request, reply) => sendText(reply, 404));
}

function scrapeHandler({ exposition, ready }: WebServerOptions): RouteHandlerMethod {
  let scrapes = 0;
  return async (request, reply) => {
    // Prometheus would take a response without customers for the end of all their series.
    if (!ready().ready) {
      return sendText(reply, 503, `${NAME} is not ready: ${ready().why}`);
    }
    if (scrapes >= MAX_SCRAPES) {
      return sendText(reply, 503, `Too many scrapes in progress: the limit is ${MAX_SCRAPES}`);
    }
    scrapes += 1;
    reply.raw.once('close', () => (scrapes -= 1));
    const format = negotiateFormat(request.headers);
    const gzip = acceptsGzip(request.headers);
    const customers = queryOf(request).getAll('customer');
    const parts = await exposition(format, gzip, customers);
    if (parts === undefined) {
      return sendText(reply, 404, `Unknown customer among ${JSON.stringify(customers)}`);
    }
    reply.headers({
      'content-type': CONTENT_TYPES[format],
      'content-length': parts.reduce((sum, { length }) => sum + length, 0),
      vary: 'Accept, Accept-Encoding',
      ...(gzip ? { 'content-encoding': 'gzip' } : {}),
    });
    // Past the framework, which would need the parts as a stream or as a copy of 18 MB.
    reply.hijack();
    reply.raw.writeHead(200, reply.getHeaders() as OutgoingHttpHeaders);
    parts.forEach((part) => reply.raw.write(part));
    reply.raw.end();
    return reply;
  };
}

/** What the scraper asked for (RFC 9110, 12.5), else plain text. */
function negotiateFormat({ accept }: IncomingHttpHeaders): ExpositionFormat {
  // Prometheus 3 sends `escaping`. negotiator accepts no parameter that we do not offer.
  const headers = { accept: accept?.replaceAll(/;\s*escaping=[^;,]*/g, '') };
  const [best] = new Negotiator({ headers }).mediaTypes(Object.values(CONTENT_TYPES));
  return best === CONTENT_TYPES.openmetrics ? 'openmetrics' : 'text';
}

function acceptsGzip(headers: IncomingHttpHeaders): boolean {
  return new Negotiator({ headers }).encoding(['gzip', 'identity']) === 'gzip';
}

function statusHandler({ status, version, telemetryPath }: WebServerOptions): RouteHandlerMethod {
  return (request, reply) => {
    reply.headers({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': CONTENT_SECURITY_POLICY,
      'referrer-policy': 'no-referrer',
    });
    return reply.send(renderStatusPage(status(), version, telemetryPath, queryOf(request)));
  };
}

/**
 * Prometheus's HTTP service discovery: one target for each customer. Each has an `instance` of its own: `up`
 * of a thousand targets would otherwise be one series.
 */
function discoveryHandler(
  { ready, customers }: WebServerOptions,
  { address, metrics }: WebPaths,
): RouteHandlerMethod {
  // Without an external URL, a proxy may add TLS: the scheme is the one of the scrape configuration.
  const scheme = address === undefined ? {} : { __scheme__: address.scheme };
  return (request, reply) => {
    const host = address?.host ?? request.headers.host;
    if (host === undefined) {
      return sendText(reply, 400);
    }
    // An empty list before the customers are known would make Prometheus drop its targets.
    if (!ready().ready) {
      return sendText(reply, 503);
    }
    const targets = customers().map(({ name, labels }) => ({
      targets: [host],
      labels: {
        ...scheme,
        __metrics_path__: metrics,
        __param_customer: name,
        instance: `${host}/${name}`,
        ...Object.fromEntries(
          Object.entries(labels).map(([label, value]) => [`__meta_library_${label}`, value]),
        ),
      },
    }));
    return reply.send(targets);
  };
}

function queryOf({ url }: FastifyRequest): URLSearchParams {
  // A second question mark is part of a value.
  return new URLSearchParams(url.replace(/^[^?]*/, ''));
}

function reloadHandler({ enableLifecycle, reload }: WebServerOptions): RouteHandlerMethod {
  return async ({ method }, reply) => {
    if (method !== 'POST' && method !== 'PUT') {
      return sendText(reply.header('allow', 'POST, PUT'), 405, 'Use POST or PUT');
    }
    if (!enableLifecycle) {
      return sendText(reply, 403, 'Reload over HTTP is disabled: set --web.enable-lifecycle');
    }
    const result = await reload();
    return result.ok
      ? sendText(reply, 200, 'Configuration reloaded.')
      : sendText(reply, 400, result.problems.trimEnd());
  };
}

function sendText(reply: FastifyReply, status: number, text = STATUS_CODES[status]): FastifyReply {
  return reply.code(status).type(TEXT_TYPE).send(`${text}\n`);
}

/** Status for a request without a host, or with an expectation that is not defined (RFC 9110). */
function protocolRefusal({ httpVersion, headers }: IncomingMessage): 400 | 417 | undefined {
  if (httpVersion === '1.0') {
    return undefined;
  }
  const { host, expect = '100-continue' } = headers;
  if (host === undefined) {
    return 400;
  }
  return expect.toLowerCase() === '100-continue' ? undefined : 417;
}

/** Statuses by the code of the parser's error; others are a Bad Request. */
const PARSER_REFUSALS = new Map<string | undefined, number>([
  ['ERR_HTTP_REQUEST_TIMEOUT', 408],
  ['HPE_CHUNK_EXTENSIONS_OVERFLOW', 413],
  ['HPE_HEADER_OVERFLOW', 431],
]);

/**
 * Refuses what is not a request, in the form of {@link sendText}, and disconnects. A client that
 * awaits the response to an earlier request would take the refusal for that response.
 */
function refuseUnparsed(error: Error, socket: Socket, isResponding: boolean): void {
  if (socket.writable && !isResponding) {
    const status = PARSER_REFUSALS.get(codeOf(error)) ?? 400;
    const text = `${STATUS_CODES[status]}\n`;
    const headers = {
      ...COMMON_HEADERS,
      'content-type': TEXT_TYPE,
      'content-length': text.length,
      connection: 'close',
    };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`HTTP/1.1 ${status} ${text.trimEnd()}\r\n${lines.join('')}\r\n${text}`);
  }
  socket.destroy(error);
}

/** Clients get the status alone; details of our own faults go to the log. */
function createErrorHandler(log: Logger) {
  return (error: unknown, { method, routeOptions }: FastifyRequest, reply: FastifyReply): void => {
    const claimed =
      error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 500;
    const status = claimed >= 400 && claimed < 500 ? claimed : 500;
    if (status === 500) {
      log.error('request failed', { method, path: routeOptions.url, error: messageOf(error) });
    }
    void sendText(reply.headers(COMMON_HEADERS), status);
  };
}
