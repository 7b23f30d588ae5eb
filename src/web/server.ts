/**
 * The web server: its paths and their responses. It is given functions, knows neither metrics nor
 * customers, and never waits for the service.
 */
import { STATUS_CODES } from 'node:http';
import type {
  IncomingHttpHeaders,
  IncomingMessage,
  OutgoingHttpHeaders,
  ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import Negotiator from 'negotiator';
import type { Clock } from '../base/clock.ts';
import { codeOf, messageOf } from '../base/errors.ts';
import { listen, parseListenAddress } from '../base/listen.ts';
import type { Logger } from '../base/log.ts';
import type { WebConfig } from '../base/web-config.ts';
import { createAuth } from './auth.ts';
import { createListener } from './listener.ts';
import { createPaths, HEALTH_PATHS } from './paths.ts';
import type { PathOptions, WebPaths } from './paths.ts';
import { CONTENT_SECURITY_POLICY, renderStatusPage } from './status-page.ts';
import type { StatusData } from './status-page.ts';

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
  /** `:10096`, `127.0.0.1:0` or `[::1]:9000` (`run --help`). */
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
/** Limit from the request until the client has read the whole response. */
const RESPONSE_TIMEOUT_MS = 30_000;
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

interface Answer {
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  readonly body: readonly (string | Uint8Array)[];
}

type Route = (request: IncomingMessage, response: ServerResponse) => Answer | Promise<Answer>;

/** Returns a server that opens nothing before `start`. Throws a UsageError for an invalid address or path. */
export function createWebServer(options: WebServerOptions) {
  const { clock, log } = options;
  const listenAddress = parseListenAddress(options.listenAddress);
  const paths = createPaths(options);
  const routes = routesOf(options, paths);
  let protection = options.protection ?? { tls: undefined, users: new Map() };
  const scheme = protection.tls === undefined ? 'http' : 'https';
  const { server, setTls } = createListener(protection.tls, log);
  const authenticate = createAuth(
    () => protection,
    HEALTH_PATHS.map((path) => paths.prefix + path),
  );
  const responding = new WeakSet<Socket>();

  async function answerTo(
    request: IncomingMessage,
    response: ServerResponse,
    isPipelined: boolean,
  ): Promise<Answer> {
    if (isPipelined) {
      // Scrapers and browsers await a response first. Each could hold a whole exposition.
      return text(503, 'One request at a time', { connection: 'close' });
    }
    const refusal = protocolRefusal(request) ?? (await authenticate(request, response));
    if (refusal !== undefined) {
      return text(refusal, undefined, { ...REFUSAL_HEADERS[refusal], connection: 'close' });
    }
    const [path = ''] = urlOf(request).split('?', 1);
    const route = routes.get(path);
    return route === undefined ? text(404) : route(request, response);
  }

  function respond(request: IncomingMessage, response: ServerResponse): void {
    const { socket, method, url } = request;
    const isPipelined = responding.has(socket);
    responding.add(socket);
    const cancel = clock.after(RESPONSE_TIMEOUT_MS, () => socket.destroy());
    response.once('close', () => {
      cancel();
      responding.delete(socket);
      if (!server.listening) {
        server.closeIdleConnections();
      }
    });
    void answerTo(request, response, isPipelined)
      .catch((error: unknown) => {
        // Details of our own faults go to the log.
        log.error('request failed', {
          method,
          path: url?.split('?', 1)[0],
          error: messageOf(error),
        });
        return text(500);
      })
      .then((answer) => send(response, answer));
  }

  server.on('request', respond);
  // Node would refuse it without a text.
  server.on('checkExpectation', respond);
  server.on('clientError', (error, socket: Socket) => {
    refuseUnparsed(error, socket, responding.has(socket));
  });
  return {
    /** Resolves with the real address. Throws an Error with a message for the user. */
    async start(): Promise<{ readonly url: string }> {
      try {
        return { url: `${scheme}://${await listen(server, listenAddress)}` };
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
        setTls(next.tls);
      }
      protection = next;
    },
    /** Ends all connections; requests in progress have half a second to finish. */
    async stop(): Promise<void> {
      const cancel = clock.after(STOP_GRACE_MS, () => server.closeAllConnections());
      await new Promise((resolve) => server.close(resolve));
      cancel();
    },
  };
}

/** Any method reads, as in Prometheus's own exporters. */
function routesOf(options: WebServerOptions, paths: WebPaths): ReadonlyMap<string, Route> {
  const { prefix, home } = paths;
  function toHome(): Answer {
    return { status: 302, headers: { location: home }, body: [] };
  }
  return new Map<string, Route>([
    ...(prefix === '' ? [] : (['/', prefix] as const).map((path) => [path, toHome] as const)),
    [`${prefix}/`, statusRoute(options)],
    [prefix + options.telemetryPath, scrapeRoute(options)],
    [`${prefix}/config`, () => text(200, options.config().trimEnd())],
    [`${prefix}/sd`, discoveryRoute(options, paths)],
    [
      `${prefix}/-/healthy`,
      () =>
        options.healthy()
          ? text(200, `${NAME} is healthy.`)
          : text(503, `${NAME} is not healthy: the polling loop makes no progress.`),
    ],
    [
      `${prefix}/-/ready`,
      () => {
        const { ready, why } = options.ready();
        return ready ? text(200, `${NAME} is ready.`) : text(503, `${NAME} is not ready: ${why}`);
      },
    ],
    [`${prefix}/-/reload`, reloadRoute(options)],
  ]);
}

function scrapeRoute({ exposition, ready }: WebServerOptions): Route {
  let scrapes = 0;
  return async (request, response) => {
    // Prometheus would take a response without customers for the end of all their series.
    if (!ready().ready) {
      return text(503, `${NAME} is not ready: ${ready().why}`);
    }
    if (scrapes >= MAX_SCRAPES) {
      return text(503, `Too many scrapes in progress: the limit is ${MAX_SCRAPES}`);
    }
    scrapes += 1;
    response.once('close', () => (scrapes -= 1));
    const format = negotiateFormat(request.headers);
    const gzip = acceptsGzip(request.headers);
    const customers = queryOf(request).getAll('customer');
    const body = await exposition(format, gzip, customers);
    if (body === undefined) {
      return text(404, `Unknown customer among ${JSON.stringify(customers)}`);
    }
    const headers = {
      'content-type': CONTENT_TYPES[format],
      vary: 'Accept, Accept-Encoding',
      ...(gzip ? { 'content-encoding': 'gzip' } : {}),
    };
    return { status: 200, headers, body };
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

function statusRoute({ status, version, telemetryPath }: WebServerOptions): Route {
  return (request) => ({
    status: 200,
    headers: {
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': CONTENT_SECURITY_POLICY,
      'referrer-policy': 'no-referrer',
    },
    body: [renderStatusPage(status(), version, telemetryPath, queryOf(request))],
  });
}

/**
 * Prometheus's HTTP service discovery: one target for each customer. Each has an `instance` of its own: `up`
 * of a thousand targets would otherwise be one series.
 */
function discoveryRoute(
  { ready, customers }: WebServerOptions,
  { address, metrics }: WebPaths,
): Route {
  // Without an external URL, a proxy may add TLS: the scheme is the one of the scrape configuration.
  const scheme = address === undefined ? {} : { __scheme__: address.scheme };
  return (request) => {
    const host = address?.host ?? request.headers.host;
    if (host === undefined) {
      return text(400);
    }
    // An empty list before the customers are known would make Prometheus drop its targets.
    if (!ready().ready) {
      return text(503);
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
    const headers = { 'content-type': 'application/json; charset=utf-8' };
    return { status: 200, headers, body: [JSON.stringify(targets)] };
  };
}

function reloadRoute({ enableLifecycle, reload }: WebServerOptions): Route {
  return async ({ method }) => {
    if (method !== 'POST' && method !== 'PUT') {
      return text(405, 'Use POST or PUT', { allow: 'POST, PUT' });
    }
    if (!enableLifecycle) {
      return text(403, 'Reload over HTTP is disabled: set --web.enable-lifecycle');
    }
    const result = await reload();
    return result.ok ? text(200, 'Configuration reloaded.') : text(400, result.problems.trimEnd());
  };
}

function urlOf({ url = '' }: IncomingMessage): string {
  return url;
}

function queryOf(request: IncomingMessage): URLSearchParams {
  // A second question mark is part of a value.
  return new URLSearchParams(urlOf(request).replace(/^[^?]*/, ''));
}

function text(
  status: number,
  line = STATUS_CODES[status],
  headers: OutgoingHttpHeaders = {},
): Answer {
  return { status, headers: { ...headers, 'content-type': TEXT_TYPE }, body: [`${line}\n`] };
}

/** Node leaves the body out of a response to HEAD. */
function send(response: ServerResponse, { status, headers, body }: Answer): void {
  if (response.destroyed) {
    return;
  }
  const length = body.reduce((sum, part) => sum + Buffer.byteLength(part), 0);
  response.writeHead(status, { ...COMMON_HEADERS, ...headers, 'content-length': length });
  body.forEach((part) => response.write(part));
  response.end();
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
  ['HPE_HEADER_OVERFLOW', 431],
]);

/**
 * Refuses what is not a request, in the form of {@link text}, and disconnects. A client that awaits the response
 * to an earlier request would take the refusal for that response.
 */
function refuseUnparsed(error: Error, socket: Socket, isResponding: boolean): void {
  if (socket.writable && !isResponding) {
    const { status, headers, body } = text(PARSER_REFUSALS.get(codeOf(error)) ?? 400);
    const line = body.join('');
    const all = {
      ...COMMON_HEADERS,
      ...headers,
      'content-length': line.length,
      connection: 'close',
    };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${String(value)}\r\n`);
    socket.write(`HTTP/1.1 ${status} ${line.trimEnd()}\r\n${lines.join('')}\r\n${line}`);
  }
  socket.destroy(error);
}
