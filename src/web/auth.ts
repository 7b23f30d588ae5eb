/** Basic authentication (RFC 7617) with bcrypt, for every request but health checks. */
import { createHmac, randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { verify } from '@node-rs/bcrypt';
import type { WebConfig } from '../base/web-config.ts';

interface Credentials {
  readonly user: string;
  /** Bcrypt uses the first 72 bytes. */
  readonly password: Uint8Array;
}

/** Comparisons run one at a time, off the event loop. At bcrypt's usual cost, 32 take two seconds. */
const MAX_PENDING_COMPARISONS = 32;
/** Limit for remembered credentials: only correct ones, so that guessing cannot replace them. */
const MAX_REMEMBERED = 256;

/** Compared for unknown users, so that the response time does not tell which users exist. */
const DECOY = '$2y$10$.DzGU/ut6wFJXSpL7Ccnluc8jztWSbzQmEmT8JDgmvu5kTWV5TaPS';

/**
 * Resolves with the status to refuse a request with, or undefined if it is authenticated. `openPaths`
 * need no password, because probes have none; only their exact spelling. Tests replace `compare`.
 */
export function createAuth(
  config: () => Pick<WebConfig, 'users'>,
  openPaths: readonly string[],
  compare: (password: Uint8Array, hash: string) => Promise<boolean> = verify,
): (request: IncomingMessage, response: ServerResponse) => Promise<401 | 503 | undefined> {
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

  /** Compares after the comparisons before it. False without comparing if the client left meanwhile. */
  function compareNext(password: Uint8Array, hash: string, response: ServerResponse) {
    pending += 1;
    const matches = last
      .then(() => !response.destroyed && compare(password, hash))
      .finally(() => (pending -= 1));
    last = matches.catch(() => {});
    return matches.catch(() => false);
  }

  return async (request, response) => {
    const { users } = config();
    if (users.size === 0 || openPaths.includes(request.url?.split('?', 1)[0] ?? '')) {
      return undefined;
    }
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
  };
}

function parseBasic(header = ''): Credentials | undefined {
  const [, encoded = ''] = /^basic +([\w+/-]+=*) *$/i.exec(header) ?? [];
  const bytes = Buffer.from(encoded, 'base64');
  const colon = bytes.indexOf(':');
  return colon === -1
    ? undefined
    : { user: bytes.subarray(0, colon).toString(), password: bytes.subarray(colon + 1) };
}
