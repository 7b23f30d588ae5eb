/**
 * Whether a user's password is right, by bcrypt off the event loop. Neither the time that an answer
 * takes nor what is remembered of earlier ones tells anything to somebody without a password. Must
 * not know HTTP.
 */
import { createHmac } from 'node:crypto';
import { verify } from '@node-rs/bcrypt';
import { randomKey } from '../base/random.ts';
import type { Secret } from '../base/secret.ts';

/** The bcrypt hash of each user's password. */
export type Users = ReadonlyMap<string, Secret>;

export interface Credentials {
  readonly user: string;
  /** As it was sent. Bcrypt looks at the first 72 bytes alone. */
  readonly password: Uint8Array;
}

/** `busy`: too many wait already to be looked at. */
export type Verdict = 'right' | 'wrong' | 'busy';

export interface PasswordCheck {
  /** A check whose signal aborts while it waits for its turn is `busy`. */
  check(credentials: Credentials, users: Users, signal?: AbortSignal): Promise<Verdict>;
}

/** Of the four threads that also read files and look up names. */
const MOST_AT_ONCE = 2;
const MOST_WAITING = 64;
/** Right ones alone are remembered, so that others cannot drive them out by guessing. */
const MOST_REMEMBERED = 256;

/** `compare` stands in for bcrypt where a test counts. */
export function createPasswordCheck(
  compare: (password: Uint8Array, hash: string) => Promise<boolean> = verify,
): PasswordCheck {
  const key = randomKey();
  const remembered = new Set<string>();
  const turns = createTurns();

  return {
    async check(credentials, users, signal) {
      const { user, password } = credentials;
      const hash = users.get(user)?.reveal();
      const compared = hash ?? decoyFor(user, users, key);
      const digest = digestOf(key, compared, credentials);
      if (hash !== undefined && remembered.has(digest)) {
        return 'right';
      }
      if (!(await turns.take(signal))) {
        return 'busy';
      }
      try {
        const matches = await compare(password, compared);
        // To bcrypt a NUL ends a password, and what comes after it begins the same one again.
        if (hash === undefined || !matches || password.includes(0)) {
          return 'wrong';
        }
      } finally {
        turns.giveBack();
      }
      remember(remembered, digest);
      return 'right';
    },
  };
}

/** Bound to the hash, so that a changed password is forgotten, and to a key that never leaves. */
function digestOf(key: Uint8Array, hash: string, { user, password }: Credentials): string {
  return createHmac('sha256', key)
    .update(JSON.stringify([user, hash]))
    .update(password)
    .digest('base64');
}

function remember(remembered: Set<string>, digest: string): void {
  remembered.add(digest);
  const [oldest] = remembered;
  if (oldest !== undefined && remembered.size > MOST_REMEMBERED) {
    remembered.delete(oldest);
  }
}

const DECOY = '.DzGU/ut6wFJXSpL7Ccnluc8jztWSbzQmEmT8JDgmvu5kTWV5TaPS';

/**
 * What an unknown user's password is compared with: a hash with the cost of a known user's, always
 * the same one's for the same name, so that the time is that of somebody who is there.
 */
function decoyFor(user: string, users: Users, key: Uint8Array): string {
  const hashes = [...users.values()];
  const drawn = createHmac('sha256', key).update(user).digest().readUInt32BE(0);
  const cost = hashes[drawn % hashes.length]?.reveal().slice(4, 6) ?? '10';
  return `$2y$${cost}$${DECOY}`;
}

interface Turns {
  /** False where there is no room to wait, or the signal aborted before it was one's turn. */
  take(signal?: AbortSignal): Promise<boolean>;
  giveBack(): void;
}

/** First come, first served. */
function createTurns(): Turns {
  const waiting = new Set<() => void>();
  let free = MOST_AT_ONCE;
  return {
    async take(signal) {
      if (free > 0) {
        free -= 1;
        return true;
      }
      if (waiting.size >= MOST_WAITING || signal?.aborted === true) {
        return false;
      }
      return new Promise((resolve) => {
        function leave(): void {
          waiting.delete(enter);
          resolve(false);
        }
        function enter(): void {
          signal?.removeEventListener('abort', leave);
          resolve(true);
        }
        waiting.add(enter);
        signal?.addEventListener('abort', leave, { once: true });
      });
    },
    giveBack() {
      const [next] = waiting;
      if (next === undefined) {
        free += 1;
      } else {
        waiting.delete(next);
        next();
      }
    },
  };
}
