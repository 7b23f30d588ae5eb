/** Where the paths of the web server are: for its clients, and behind a reverse proxy. */
import { UsageError } from '../base/errors.ts';

export interface PathOptions {
  readonly telemetryPath: string;
  /**
   * URL at which clients reach the server, for example through a reverse proxy. Its path is the default
   * of `routePrefix`. May be a path alone.
   */
  readonly externalUrl?: string | undefined;
  readonly routePrefix?: string | undefined;
}

export interface WebPaths {
  /** Begins every path of the server, without a slash at its end. Empty, or such as `/library`. */
  readonly prefix: string;
  /** URL or path of the status page for clients, with a slash at its end. */
  readonly home: string;
  /** Path of the metrics for clients. */
  readonly metrics: string;
  /** Scheme, and host with port, at which clients reach the server. Undefined if not configured. */
  readonly address: { readonly scheme: string; readonly host: string } | undefined;
}

/** Below the prefix. Also those that need no password. */
export const HEALTH_PATHS = ['/-/healthy', '/-/ready'];
const RESERVED_PATHS = ['/config', '/sd', '/-/reload', ...HEALTH_PATHS];

/** Origin of an external URL that is a path alone. `.invalid` is reserved (RFC 6761). */
const NO_ORIGIN = 'http://path-alone.invalid';

/** Returns the paths. Throws a UsageError that names the flag. */
export function createPaths(options: PathOptions): WebPaths {
  const { telemetryPath, externalUrl = '', routePrefix = '' } = options;
  const { protocol, hostname, port, origin, pathname } = parseExternalUrl(externalUrl);
  const path = trimSlashes(externalUrl === '' ? routePrefix : pathname);
  const prefix = routePrefix === '' ? path : trimSlashes(routePrefix);
  requirePath('--web.telemetry-path', telemetryPath);
  requirePath(routePrefix === '' ? '--web.external-url' : '--web.route-prefix', `${prefix}/`);
  const metrics = path + telemetryPath;
  if (origin === NO_ORIGIN) {
    return { prefix, home: `${path}/`, metrics, address: undefined };
  }
  const scheme = protocol.slice(0, -1);
  const defaultPort = scheme === 'https' ? '443' : '80';
  const address = { scheme, host: `${hostname}:${port === '' ? defaultPort : port}` };
  return { prefix, home: `${origin}${path}/`, metrics, address };
}

function parseExternalUrl(text: string): URL {
  const url = /^(https?:\/\/|\/|$)/i.test(text) ? URL.parse(text, NO_ORIGIN) : null;
  if (url === null || `${url.username}${url.password}${url.search}${url.hash}` !== '') {
    throw new UsageError(
      '--web.external-url: expected a URL such as https://example.org/library, or a path, without a ' +
        `user, a query and a fragment, got ${JSON.stringify(text)}`,
    );
  }
  return url;
}

/** Clients resolve the segments `.` and `..`. Anything else might be escaped by some clients. */
const PLAIN_PATH = /^(?!.*\/\.\.?(\/|$))\/[\w.~/-]*$/;

function requirePath(flag: string, path: string): void {
  if (!PLAIN_PATH.test(path) || RESERVED_PATHS.includes(path)) {
    throw new UsageError(
      `${flag}: expected a path of letters, digits and -._~/, other than ` +
        `${RESERVED_PATHS.join(', ')}, got ${JSON.stringify(path)}`,
    );
  }
}

/** Returns `/library` for `library` and `/library/`, and nothing for a slash. */
function trimSlashes(path: string): string {
  const trimmed = path.replaceAll(/^\/+|\/+$/g, '');
  return trimmed === '' ? '' : `/${trimmed}`;
}
