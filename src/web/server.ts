/**
 * The HTTP face: which paths there are, and what each answers to those whom the gate lets in. It is
 * given functions and knows neither metrics nor customers; it never waits for the service.
 */
import type { OutgoingHttpHeaders } from 'node:http';
import { fastify } from 'fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../base/clock.ts';
import { UsageError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { bytesOf, writeParts } from './body.ts';
import { createConnections } from './connections.ts';
import type { Connections } from './connections.ts';
import { answerClientError, answerWith, createErrorHandler } from './errors.ts';
import { createGate } from './gate.ts';
import type { GateRules } from './gate.ts';
import { parseListenAddress, urlOf } from './listen-address.ts';
import { listen } from './listen.ts';
import { CONTENT_TYPES, acceptsGzip, negotiateFormat } from './negotiation.ts';
import type { ExpositionFormat } from './negotiation.ts';
import { createPasswordCheck } from './passwords.ts';
import { createScrapePlaces } from './scrape-places.ts';
import type { StatusData } from './status-data.ts';
import { renderStatusPage } from './status-page.ts';
import { parseStatusQuery } from './status-query.ts';
import { CONTENT_SECURITY_POLICY } from './status-style.ts';
import type { ServerTls } from './tls.ts';

export interface WebServerOptions {
  /** As in CONTRACT.md, 1: `:10096`, `127.0.0.1:0`, `[::1]:9000`. */
  readonly listenAddress: string;
  readonly telemetryPath: string;
  /** Whether `/-/reload` reloads. */
  readonly enableLifecycle: boolean;
  readonly version: string;
  readonly clock: Clock;
  readonly log: Logger;
  /** The parts of a scrape, compressed by gzip if asked. Must not wait for the service. */
  readonly exposition: (format: ExpositionFormat, gzip: boolean) => Promise<readonly Uint8Array[]>;
  /** Whether the polling loop makes progress. */
  readonly healthy: () => boolean;
  /** `why` is shown while it is not ready. */
  readonly ready: () => { readonly ready: boolean; readonly why: string };
  readonly status: () => StatusData;
  /** `problems` is shown as it is, so it must not hold any part of a secret. */
  readonly reload: () => Promise<ReloadResult>;
  /** Undefined: plain http, and everybody may come in. */
  readonly protection?: Protection | undefined;
}

/** As the configuration has it; see config/web-types.ts. */
export interface Protection extends GateRules {
  readonly tls: ServerTls | undefined;
}

export type ReloadResult =
  { readonly ok: true } | { readonly ok: false; readonly problems: string };

export interface WebServer {
  /** Takes connections; the real address. Throws an Error that says why it cannot. */
  start(): Promise<{ readonly url: string }>;
  /**
   * Counts as a whole from the next request, and of TLS from the next connection on. What a port
   * cannot change, http or https and `clientAuth`, is as it was.
   */
  protect(protection: Protection): void;
  /** Ends every connection, those with a request under way after a short grace. */
  stop(): Promise<void>;
}

/** No path here reads a body. */
const MAX_BODY_BYTES = 1_024;
const STOP_GRACE_MS = 500;

const NAME = 'library-stats-exporter';
const RESERVED_PATHS = ['/-/healthy', '/-/ready', '/-/reload'];

/** Throws a UsageError for an address or a path that cannot be. Opens nothing before `start`. */
export function createWebServer(options: WebServerOptions): WebServer {
  parseListenAddress(options.listenAddress);
  checkTelemetryPath(options.telemetryPath);
  const { app, protect } = createProtectedApp(options);
  const scheme = options.protection?.tls === undefined ? 'http' : 'https';
  return {
    async start() {
      const bound = await listen(app, options.listenAddress);
      return { url: urlOf(scheme, bound) };
    },
    protect,
    async stop() {
      const closed = new AbortController();
      const cut = options.clock.sleep(STOP_GRACE_MS, closed.signal).then(
        () => app.server.closeAllConnections(),
        () => undefined,
      );
      await app.close();
      closed.abort();
      await cut;
    },
  };
}

/** The routes without a socket and without the gate, for tests by injection. */
export function createApp(options: WebServerOptions): FastifyInstance {
  return createProtectedApp(options).app;
}

const OPEN: Protection = { tls: undefined, users: new Map(), headers: {} };

function createProtectedApp(options: WebServerOptions): {
  readonly app: FastifyInstance;
  readonly protect: (next: Protection) => void;
} {
  let protection = options.protection ?? OPEN;
  let connections: Connections | undefined;
  const handleError = createErrorHandler(options.log);
  const app = fastify({
    logger: false,
    bodyLimit: MAX_BODY_BYTES,
    exposeHeadRoutes: false,
    clientErrorHandler: answerClientError,
    frameworkErrors: handleError,
    serverFactory(inside) {
      const gate = createGate(inside, createPasswordCheck(), () => protection);
      connections = createConnections(gate, protection.tls, options.log);
      return connections.server;
    },
  });
  function protect(next: Protection): void {
    if (next.tls !== undefined) {
      connections?.exchangeTls(next.tls);
    }
    protection = next;
  }
  addHooks(app, handleError);
  addRoutes(app, options);
  return { app, protect };
}

function addHooks(app: FastifyInstance, handleError: ReturnType<typeof createErrorHandler>): void {
  // No path here reads a body: whatever is sent, within the limit, is taken and forgotten.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, _body, done) => done(null));
  app.addHook('onRequest', (_request, reply, done) => {
    reply.headers({ 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' });
    done();
  });
  app.setErrorHandler(handleError);
}

type Handler = (
  request: FastifyRequest,
  reply: FastifyReply,
) => FastifyReply | Promise<FastifyReply>;

function addRoutes(app: FastifyInstance, options: WebServerOptions): void {
  const methodsOf = new Map<string, readonly string[]>();
  function add(methods: readonly string[], url: string, handler: Handler): void {
    methodsOf.set(url, methods);
    app.route({ method: [...methods], url, handler });
  }

  add(['GET', 'HEAD'], options.telemetryPath, scrapeHandler(options));
  if (options.telemetryPath !== '/') {
    add(['GET', 'HEAD'], '/', statusHandler(options));
  }
  add(['GET', 'HEAD'], '/-/healthy', (_request, reply) =>
    options.healthy()
      ? answerWith(reply, 200, `${NAME} is healthy.`)
      : answerWith(reply, 503, `${NAME} is not healthy: the polling loop makes no progress.`),
  );
  add(['GET', 'HEAD'], '/-/ready', (_request, reply) => {
    const { ready, why } = options.ready();
    return ready
      ? answerWith(reply, 200, `${NAME} is ready.`)
      : answerWith(reply, 503, `${NAME} is not ready: ${why}`);
  });
  add(['POST', 'PUT'], '/-/reload', reloadHandler(options));
  app.setNotFoundHandler((request, reply) => {
    const methods = methodsOf.get(request.url.split('?', 1)[0] ?? '');
    if (methods === undefined) {
      return answerWith(reply, 404, 'Not Found');
    }
    reply.header('allow', methods.join(', '));
    return answerWith(reply, 405, `Method Not Allowed: use ${methods.join(' or ')}`);
  });
}

function scrapeHandler({ exposition, clock }: WebServerOptions): Handler {
  const places = createScrapePlaces(clock);
  return async (request, reply) => {
    if (!places.take(reply.raw)) {
      return answerWith(reply, 503, 'Too many scrapes are under way');
    }
    const format = negotiateFormat(request.headers.accept);
    const gzip = acceptsGzip(request.headers['accept-encoding']);
    const parts = await exposition(format, gzip);
    reply.headers({
      'content-type': CONTENT_TYPES[format],
      'content-length': String(bytesOf(parts)),
      vary: 'Accept, Accept-Encoding',
    });
    if (gzip) {
      reply.header('content-encoding', 'gzip');
    }
    reply.hijack();
    reply.raw.writeHead(200, reply.getHeaders() as OutgoingHttpHeaders);
    await writeParts(reply.raw, parts);
    return reply;
  };
}

function statusHandler({ status, version, telemetryPath }: WebServerOptions): Handler {
  return (request, reply) => {
    reply.headers({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': CONTENT_SECURITY_POLICY,
      'referrer-policy': 'no-referrer',
    });
    const query = parseStatusQuery(request.url);
    return reply.send(renderStatusPage(status(), { version, telemetryPath, query }));
  };
}

function reloadHandler({ enableLifecycle, reload }: WebServerOptions): Handler {
  return async (_request, reply) => {
    if (!enableLifecycle) {
      return answerWith(reply, 403, 'Reloading over HTTP is off: it needs --web.enable-lifecycle');
    }
    const result = await reload();
    return result.ok
      ? answerWith(reply, 200, 'The configuration was read again.')
      : answerWith(reply, 400, result.problems.trimEnd());
  };
}

/** Only plain characters: a router would take others for patterns. */
function checkTelemetryPath(path: string): void {
  if (!/^\/[\w.~/-]*$/.test(path) || RESERVED_PATHS.includes(path)) {
    throw new UsageError(
      `${JSON.stringify(path)} cannot be the path of the metrics: write one like /metrics, of letters, digits ` +
        `and -._~/, beginning with / and not ${RESERVED_PATHS.join(', ')}`,
    );
  }
}
