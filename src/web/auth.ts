/**
 * Basic authentication (RFC 7617) with bcrypt, for every request but health checks. It runs before the
 * router: hooks of the framework, and so @fastify/basic-auth, do not see requests with a malformed path.
 */
import { createHmac, randomBytes } from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { verify } from '@node-rs/bcrypt';
import type { Secret } from '../base/secret.ts';

export interface AuthRules {
  /** The bcrypt hash of each user's password. Empty: no authentication. */
  readonly users: ReadonlyMap<string, Secret>;
}

interface Credentials {
  readonly user: string;
  /** Bcrypt uses the first 72 bytes. */
  readonly password: Uint8Array;
}

/** Probes have no password. Only this exact spelling is open. */
const OPEN_PATHS: readonly string[] = ['/-/healthy', '/-/ready'];
const OPEN_METHODS: readonly string[] = ['GET', 'HEAD'];

const CHALLENGE = 'Basic realm="library-stats-exporter", charset="UTF-8"';

/** Comparisons run one at a time, off the event loop. At bcrypt's usual cost, 32 take two seconds. */
const MAX_PENDING_COMPARISONS = 32;
/** Only correct credentials are remembered, so that guessing cannot replace them. */
const MAX_REMEMBERED = 256;

/** Compared for unknown users, so that the response time does not tell which users exist. */
const DECOY = '$2y$10$.DzGU/ut6wFJXSpL7Ccnluc8jztWSbzQmEmT8JDgmvu5kTWV5TaPS';

/** Calls `inside` for authenticated requests, and answers the others. Tests replace `compare`. */
export function createAuth(
  inside: RequestListener,
  rules: () => AuthRules,
  compare: (password: Uint8Array, hash: string) => Promise<boolean> = verify,
): RequestListener {
  const key = randomBytes(32);
  const remembered = new Set<string>();
  let pending = 0;
  let last: Promise<unknown> = Promise.resolve();

  /** Includes the hash, so that a changed password is forgotten. The key never leaves the process. */
  function digestOf(hash: string, { user, password }: Credentials): string {
    const hmac = createHmac('sha256', key).update(JSON.stringify([user, hash]));
    return hmac.update(password).digest('base64');
  }

  function remember(digest: string): void {
    remembered.add(digest);
    const [oldest] = remembered;
    if (oldest !== undefined && remembered.size > MAX_REMEMBERED) {
      remembered.delete(oldest);
    }
  }

  /** After the comparisons before it; false without comparing if the client left meanwhile. */
  function compareNext(password: Uint8Array, hash: string, client: ServerResponse) {
    pending += 1;
    const matches = last
      .then(() => !client.destroyed && compare(password, hash))
      .finally(() => (pending -= 1));
    last = matches.catch(() => {});
    return matches;
  }

  /** The status to refuse with, or undefined if the request is authenticated. */
  async function check(
    request: IncomingMessage,
    response: ServerResponse,
    { users }: AuthRules,
  ): Promise<401 | 503 | undefined> {
    const credentials = parseBasic(request.headers.authorization);
    if (credentials === undefined) {
      return 401;
    }
    const hash = users.get(credentials.user)?.reveal();
    if (hash !== undefined && remembered.has(digestOf(hash, credentials))) {
      return undefined;
    }
    if (pending >= MAX_PENDING_COMPARISONS) {
      return 503;
    }
    const matches = await compareNext(credentials.password, hash ?? DECOY, response);
    // A NUL would end the password for bcrypt, which then repeats what is before it.
    if (hash === undefined || !matches || credentials.password.includes(0)) {
      return 401;
    }
    remember(digestOf(hash, credentials));
    return undefined;
  }

  return (request, response) => {
    const current = rules();
    if (current.users.size === 0 || isOpen(request)) {
      inside(request, response);
      return;
    }
    void check(request, response, current)
      .catch((): 401 => 401)
      .then((status) => {
        if (status === undefined) {
          inside(request, response);
        } else {
          refuse(response, status);
        }
      });
  };
}

function isOpen({ method = '', url = '' }: IncomingMessage): boolean {
  return OPEN_METHODS.includes(method) && OPEN_PATHS.includes(url.split('?', 1)[0] ?? '');
}

function parseBasic(header: string | undefined): Credentials | undefined {
  const [, encoded] = /^basic +([\w+/-]+=*) *$/i.exec(header ?? '') ?? [];
  const bytes = Buffer.from(encoded ?? '', 'base64');
  const colon = bytes.indexOf(':');
  return colon === -1
    ? undefined
    : { user: bytes.subarray(0, colon).toString(), password: bytes.subarray(colon + 1) };
}

function refuse(response: ServerResponse, status: 401 | 503): void {
  const body = `${STATUS_CODES[status]}\n`;
  response.writeHead(status, {
    ...(status === 401 ? { 'www-authenticate': CHALLENGE } : { 'retry-after': '1' }),
    'content-type': 'text/plain; charset=utf-8',
    'content-length': body.length,
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    connection: 'close',
  });
  response.end(body);
}
