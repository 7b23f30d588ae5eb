/**
 * The web server: its paths and their responses. It is given functions, knows neither metrics nor
 * customers, and never waits for the service.
 */
import { STATUS_CODES } from 'node:http';
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import Negotiator from 'negotiator';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import { listen, parseListenAddress } from '../base/listen.ts';
import type { Logger } from '../base/log.ts';
import type { WebConfig } from '../base/web-config.ts';
import { createAuth } from './auth.ts';
import { createListener, replaceCertificates } from './listener.ts';
import { createPaths, HEALTH_PATHS } from './paths.ts';
import type { PathOptions, WebPaths } from './paths.ts';
import { CONTENT_SECURITY_POLICY, renderStatusPage } from './status-page.ts';
import type { StatusData } from './status-page.ts';

type ExpositionFormat = 'text' | 'openmetrics';

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
  readonly customers: () => readonly {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
  }[];
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
const FAULT = 'A fault of the exporter. A bug report needs the line `request failed` of its log';

const COMMON_HEADERS = { 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' };
const TEXT_TYPE = 'text/plain; charset=utf-8';
const CHALLENGE = { 'www-authenticate': 'Basic realm="library-stats-exporter", charset="UTF-8"' };

const NAME = 'library-stats-exporter';

interface Answer {
  readonly status: number;
  readonly headers: OutgoingHttpHeaders;
  readonly body: readonly (string | Uint8Array)[];
}

type Route = (
  request: IncomingMessage,
  query: URLSearchParams,
  response: ServerResponse,
) => Answer | Promise<Answer>;

/** Returns a server that opens nothing before `start`. Throws a UsageError for an invalid address or path. */
export function createWebServer(options: WebServerOptions) {
  const { clock, log } = options;
  const listenAddress = parseListenAddress(options.listenAddress);
  const paths = createPaths(options);
  const routes = routesOf(options, paths);
  // Probes have no password. Only their exact spelling is open.
  const openPaths = HEALTH_PATHS.map((path) => paths.prefix + path);
  let protection = options.protection ?? { tls: undefined, users: new Map() };
  const server = createListener(protection.tls, log);
  const authenticate = createAuth(() => protection);
  const responding = new WeakSet<Socket>();

  async function answerTo(request: IncomingMessage, response: ServerResponse): Promise<Answer> {
    // A second question mark is part of a value.
    const [, path = '', query] = /^([^?]*)\??(.*)$/.exec(request.url ?? '') ?? [];
    const refusal = openPaths.includes(path)
      ? undefined
      : await authenticate(request.headers.authorization);
    if (refusal !== undefined) {
      const headers = refusal === 401 ? CHALLENGE : {};
      return text(refusal, undefined, { ...headers, connection: 'close' });
    }
    return routes.get(path)?.(request, new URLSearchParams(query), response) ?? text(404);
  }

  server.on('request', (request, response) => {
    const { socket, method, url } = request;
    if (responding.has(socket)) {
      // Scrapers and browsers await a response first. Each could hold a whole exposition.
      send(response, text(503, 'One request at a time', { connection: 'close' }));
      return;
    }
    responding.add(socket);
    const cancel = clock.after(RESPONSE_TIMEOUT_MS, () => socket.destroy());
    response.once('close', () => {
      cancel();
      responding.delete(socket);
    });
    void answerTo(request, response)
      .catch((error: unknown) => {
        // Details of our own faults go to the log.
        const path = url?.split('?', 1)[0];
        log.error('request failed', { method, path, error: messageOf(error) });
        return text(500, FAULT);
      })
      .then((answer) => send(response, answer));
  });
  return {
    /** Resolves with the real address. Throws an Error with a message for the user. */
    async start(): Promise<{ readonly url: string }> {
      const scheme = protection.tls === undefined ? 'http' : 'https';
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
      replaceCertificates(server, next.tls);
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
  const { config, healthy, ready, telemetryPath } = options;
  const { prefix, home } = paths;
  function toHome(): Answer {
    return { status: 302, headers: { location: home }, body: [] };
  }
  function readiness(): Answer {
    return probe('ready', ready().ready, ready().why);
  }
  // Prometheus would take a response without customers for the end of all their series, or of all its targets.
  function whenReady(route: Route): Route {
    return (...request) => (ready().ready ? route(...request) : readiness());
  }
  return new Map<string, Route>([
    // Without a prefix, the status page replaces this.
    ['/', toHome],
    [prefix, toHome],
    [`${prefix}/`, statusRoute(options)],
    [prefix + telemetryPath, whenReady(scrapeRoute(options))],
    [`${prefix}/config`, () => text(200, config().trimEnd())],
    [`${prefix}/sd`, whenReady(discoveryRoute(options, paths))],
    [`${prefix}/-/healthy`, () => probe('healthy', healthy(), STUCK)],
    [`${prefix}/-/ready`, readiness],
    [`${prefix}/-/reload`, reloadRoute(options)],
  ]);
}

const STUCK = 'the polling loop makes no progress.';

function probe(state: string, isGood: boolean, why: string): Answer {
  return isGood ? text(200, `${NAME} is ${state}.`) : text(503, `${NAME} is not ${state}: ${why}`);
}

function scrapeRoute({ exposition }: WebServerOptions): Route {
  let scrapes = 0;
  return async ({ headers }, query, response) => {
    if (scrapes >= MAX_SCRAPES) {
      return text(503, `Too many scrapes in progress: the limit is ${MAX_SCRAPES}`);
    }
    scrapes += 1;
    response.once('close', () => (scrapes -= 1));
    const format = negotiateFormat(headers.accept);
    const gzip = new Negotiator({ headers }).encoding(['gzip', 'identity']) === 'gzip';
    const customers = query.getAll('customer');
    const body = await exposition(format, gzip, customers);
    if (body === undefined) {
      return text(404, `Unknown customer among ${JSON.stringify(customers)}`);
    }
    const type = { 'content-type': CONTENT_TYPES[format], vary: 'Accept, Accept-Encoding' };
    return { status: 200, headers: { ...type, ...(gzip && { 'content-encoding': 'gzip' }) }, body };
  };
}

/** Returns what the scraper asked for (RFC 9110, 12.5), else plain text. */
function negotiateFormat(accept: string | undefined): ExpositionFormat {
  // Prometheus 3 sends `escaping`. negotiator accepts no parameter that we do not offer.
  const headers = { accept: accept?.replaceAll(/;\s*escaping=[^;,]*/g, '') };
  const [best] = new Negotiator({ headers }).mediaTypes(Object.values(CONTENT_TYPES));
  return best === CONTENT_TYPES.openmetrics ? 'openmetrics' : 'text';
}

function statusRoute({ status, version, telemetryPath }: WebServerOptions): Route {
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': CONTENT_SECURITY_POLICY,
    'referrer-policy': 'no-referrer',
  };
  return (_, query) => {
    const body = [renderStatusPage(status(), version, telemetryPath, query)];
    return { status: 200, headers, body };
  };
}

/**
 * Prometheus's HTTP service discovery: one target for each customer. Each has an `instance` of its own: `up`
 * of a thousand targets would otherwise be one series.
 */
function discoveryRoute({ customers }: WebServerOptions, { address, metrics }: WebPaths): Route {
  return (request) => {
    const host = address?.host ?? request.headers.host;
    if (host === undefined) {
      return text(400);
    }
    const targets = customers().map(({ name, labels }) => ({
      targets: [host],
      labels: {
        // Without an external URL, a proxy may add TLS: the scheme is the one of the scrape configuration.
        ...(address && { __scheme__: address.scheme }),
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

function text(status: number, line = STATUS_CODES[status], headers: OutgoingHttpHeaders = {}) {
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
