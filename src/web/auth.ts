/** Basic authentication (RFC 7617) with bcrypt. */
import { createHmac, randomBytes } from 'node:crypto';
import { verify } from '@node-rs/bcrypt';
import type { WebConfig } from '../base/web-config.ts';

/** Comparisons run one at a time, off the event loop. At bcrypt's usual cost, 32 take two seconds. */
const MAX_PENDING_COMPARISONS = 32;

/** Compared for unknown users, so that the response time does not tell which users exist. */
const DECOY = '$2y$10$.DzGU/ut6wFJXSpL7Ccnluc8jztWSbzQmEmT8JDgmvu5kTWV5TaPS';

/**
 * Returns a function of the header Authorization: it resolves with the status to refuse a request with, or
 * undefined if it is authenticated. Tests replace `compare`.
 */
export function createAuth(
  config: () => Pick<WebConfig, 'users'>,
  compare: (password: Uint8Array, hash: string) => Promise<boolean> = verify,
): (authorization: string | undefined) => Promise<401 | 503 | undefined> {
  const key = randomBytes(32);
  /** The last correct password of each user. Wrong ones are not remembered: guessing replaces nothing. */
  const remembered = new Map<string, string>();
  let pending = 0;
  let last: Promise<unknown> = Promise.resolve();

  /** Includes the hash, so that a changed password is forgotten. The key never leaves the process. */
  function digestOf(hash: string, password: Uint8Array): string {
    return createHmac('sha256', key).update(hash).update(password).digest('base64');
  }

  /** Compares after the comparisons before it. */
  function compareNext(password: Uint8Array, hash: string): Promise<boolean> {
    pending += 1;
    const matches = last
      .then(() => compare(password, hash))
      .catch(() => false)
      .finally(() => (pending -= 1));
    last = matches;
    return matches;
  }

  return async (authorization) => {
    const { users } = config();
    if (users.size === 0) {
      return undefined;
    }
    const { user, password } = parseBasic(authorization) ?? {};
    if (user === undefined || password === undefined) {
      return 401;
    }
    const hash = users.get(user)?.reveal();
    if (hash !== undefined && remembered.get(user) === digestOf(hash, password)) {
      return undefined;
    }
    if (pending >= MAX_PENDING_COMPARISONS) {
      return 503;
    }
    const matches = await compareNext(password, hash ?? DECOY);
    // A NUL would end the password for bcrypt, which then repeats what is before it.
    if (hash === undefined || !matches || password.includes(0)) {
      return 401;
    }
    remembered.set(user, digestOf(hash, password));
    return undefined;
  };
}

function parseBasic(header = '') {
  const [, encoded = ''] = /^basic +([\w+/-]+=*) *$/i.exec(header) ?? [];
  const bytes = Buffer.from(encoded, 'base64');
  const colon = bytes.indexOf(':');
  return colon === -1
    ? undefined
    : { user: bytes.subarray(0, colon).toString(), password: bytes.subarray(colon + 1) };
}
