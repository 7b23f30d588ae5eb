/**
 * What stands before every path, be there one or not: no spelling of a path, no method and no error
 * of the framework comes past it, for it sees requests before there is a path. It knows who gets in,
 * and nothing of what is inside.
 */
import { STATUS_CODES } from 'node:http';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Credentials, PasswordCheck, Users } from './passwords.ts';

/** The part of the protection that counts for each request. */
export interface GateRules {
  readonly users: Users;
  /** Added to every answer that has no such header of its own. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Spelt exactly so, they need no password: whoever watches over the process has none. */
const OPEN_PATHS: readonly string[] = ['/-/healthy', '/-/ready'];
const OPEN_METHODS: readonly string[] = ['GET', 'HEAD'];

export function createGate(
  inside: RequestListener,
  passwords: PasswordCheck,
  rules: () => GateRules,
): RequestListener {
  return (request, response) => {
    const { users, headers } = rules();
    for (const [name, value] of Object.entries(headers)) {
      response.setHeader(name, value);
    }
    if (users.size === 0) {
      inside(request, response);
      return;
    }
    if (isOpen(request)) {
      // Nobody without a password keeps a place among the connections.
      response.setHeader('connection', 'close');
      inside(request, response);
      return;
    }
    void admit(request, response, { users, passwords }).then((admitted) => {
      if (admitted) {
        inside(request, response);
      }
    });
  };
}

function isOpen({ method = '', url = '' }: IncomingMessage): boolean {
  return OPEN_METHODS.includes(method) && OPEN_PATHS.includes(url.split('?', 1)[0] ?? '');
}

/** Whether the request goes on; if not, it is answered. */
async function admit(
  request: IncomingMessage,
  response: ServerResponse,
  { users, passwords }: { readonly users: Users; readonly passwords: PasswordCheck },
): Promise<boolean> {
  const credentials = parseBasic(request.headers.authorization);
  if (credentials === undefined) {
    refuse(response, 401);
    return false;
  }
  const gone = new AbortController();
  function leave(): void {
    gone.abort();
  }
  response.once('close', leave);
  const verdict = await passwords.check(credentials, users, gone.signal).catch(() => 'wrong');
  response.off('close', leave);
  if (verdict !== 'right') {
    refuse(response, verdict === 'busy' ? 503 : 401);
  }
  return verdict === 'right' && !response.destroyed;
}

/** Undefined for what is not Basic (RFC 7617). */
function parseBasic(header: string | undefined): Credentials | undefined {
  const [, encoded] = /^basic +([\w+/-]+=*) *$/i.exec(header ?? '') ?? [];
  const bytes = Buffer.from(encoded ?? '', 'base64');
  const colon = bytes.indexOf(':');
  return colon === -1
    ? undefined
    : { user: bytes.subarray(0, colon).toString(), password: bytes.subarray(colon + 1) };
}

const CHALLENGE = 'Basic realm="library-stats-exporter", charset="UTF-8"';

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
