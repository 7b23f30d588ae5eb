/**
 * One customer's access token: asked for when needed, renewed early, thrown away when refused. Knows
 * the token request (service-interface.md, 4.1 and 5) and nothing of the data endpoints.
 */
import type { Clock } from '../base/clock.ts';
import { ServiceError } from '../base/errors.ts';
import type { Random } from '../base/random.ts';
import { Secret } from '../base/secret.ts';
import { untilAborted } from './deadline.ts';
import { statusError } from './status.ts';
import type { ExchangeAnswer, ExchangeRequest } from './transport.ts';
import type { CustomerAccess } from './types.ts';
import { decodeRefusal, decodeToken } from './wire.ts';

export interface TokensOptions {
  readonly access: CustomerAccess;
  readonly authUrl: string;
  readonly scope: string;
  readonly clock: Clock;
  readonly random: Random;
  /** One exchange within the limits; gives answers with status 200, 400, 401 or 403 only. */
  readonly send: (request: ExchangeRequest) => Promise<ExchangeAnswer>;
  /** Told at the first time and at each change. */
  readonly onCredentials: (valid: boolean) => void;
}

const REQUEST_TITLE = 'POST /connect/token';

const MINUTE_MS = 60_000;
const SHORTEST_LIFE_MS = MINUTE_MS;
const LONGEST_LIFE_MS = 24 * 60 * MINUTE_MS;
/** What the service's document shows (8), for an answer that does not say. */
const USUAL_LIFE_MS = 60 * MINUTE_MS;
/** A renewal that failed is tried again after this, as long as the old token lives. */
const RENEWAL_PAUSE_MS = MINUTE_MS;
const FIRST_REFUSAL_MS = MINUTE_MS;
const LONGEST_REFUSAL_MS = 15 * MINUTE_MS;

/** A token that is forbidden to ask is new for so long, so that a customer without rights costs few tokens. */
const NEW_MS = 15 * MINUTE_MS;

interface HeldToken {
  readonly value: Secret;
  readonly fromMs: number;
  readonly endsMs: number;
  /** Put off when a renewal fails. */
  renewMs: number;
}

interface Refusal {
  readonly secret: Secret;
  readonly error: ServiceError;
  readonly pauseMs: number;
  readonly untilMs: number;
}

/** The tokens of one customer. */
export class Tokens {
  readonly #options: TokensOptions;
  #held: HeldToken | undefined;
  #refusal: Refusal | undefined;
  #request: Promise<HeldToken> | undefined;
  #told: boolean | undefined;

  constructor(options: TokensOptions) {
    this.#options = options;
  }

  /**
   * A token that the service should take. Throws a ServiceError: `auth` at once, without a request,
   * while the credentials are refused; else the reason for which none came.
   */
  async take(signal: AbortSignal): Promise<Secret> {
    const nowMs = this.#options.clock.monotonicMs();
    const held = this.#held;
    if (held !== undefined && nowMs < held.endsMs) {
      if (nowMs >= held.renewMs && this.#request === undefined) {
        void this.#renew(held);
      }
      return held.value;
    }
    return (await untilAborted(this.#requestShared(), signal)).value;
  }

  /** The service did not take this token. It is thrown away, unless there is a newer one already. */
  refuse(token: Secret): void {
    if (this.#held?.value === token) {
      this.#held = undefined;
    }
  }

  /**
   * The service forbids what was asked with this token. Maybe it has forgotten it, as others say with
   * 401: one that is not new is thrown away. With a new one it is the customer's rights.
   */
  mistrust(token: Secret): void {
    const held = this.#held;
    if (held?.value === token && this.#options.clock.monotonicMs() - held.fromMs >= NEW_MS) {
      this.#held = undefined;
    }
  }

  #tell(valid: boolean): void {
    if (this.#told !== valid) {
      this.#told = valid;
      this.#options.onCredentials(valid);
    }
  }

  /** One request at a time, shared by all who wait; it goes on when they leave. */
  #requestShared(): Promise<HeldToken> {
    this.#request ??= this.#requestToken().finally(() => {
      this.#request = undefined;
    });
    return this.#request;
  }

  async #requestToken(): Promise<HeldToken> {
    const { access, clock, random } = this.#options;
    const secret = await readSecret(access);
    const refusal = this.#refusal;
    if (refusal?.secret.equals(secret) === true && clock.monotonicMs() < refusal.untilMs) {
      throw refusal.error;
    }
    // The life is counted from before the request: the service counted from some moment after it.
    const askedMs = clock.monotonicMs();
    const answer = await this.#options.send(tokenRequest(this.#options, secret));
    if (answer.status !== 200) {
      const nowMs = clock.monotonicMs();
      const why = refusalIn(answer);
      if (why === undefined) {
        throw statusError(REQUEST_TITLE, answer, clock.nowMs());
      }
      this.#refusal = refused(why, answer.status, secret, this.#refusal, nowMs);
      this.#tell(false);
      throw this.#refusal.error;
    }
    const { value, expiresInSeconds } = decodeToken(answer);
    this.#refusal = undefined;
    this.#held = heldToken(new Secret(value), lifeFrom(expiresInSeconds), askedMs, random);
    this.#tell(true);
    return this.#held;
  }

  /** Nobody waits for a renewal: the old token serves until it ends, whatever becomes of this. */
  async #renew(old: HeldToken): Promise<void> {
    try {
      await this.#requestShared();
    } catch {
      old.renewMs = this.#options.clock.monotonicMs() + RENEWAL_PAUSE_MS;
    }
  }
}

async function readSecret(access: CustomerAccess): Promise<Secret> {
  try {
    return await access.readSecret();
  } catch {
    // Whatever the reader says may hold a part of what it read.
    throw new ServiceError('auth', 'the client secret could not be read');
  }
}

function tokenRequest({ access, authUrl, scope }: TokensOptions, secret: Secret): ExchangeRequest {
  return {
    url: `${authUrl}/connect/token`,
    title: REQUEST_TITLE,
    form: {
      client_id: access.clientId,
      client_secret: secret,
      grant_type: 'client_credentials',
      scope,
    },
  };
}

/** Why the credentials were refused; undefined where it was not them, but some proxy, say. */
function refusalIn(answer: ExchangeAnswer): string | undefined {
  return decodeRefusal(answer) ?? (answer.status === 401 ? 'no reason given' : undefined);
}

/** A minute, growing to a quarter of an hour: an identity server may lock who tries too often. */
function refused(
  why: string,
  status: number,
  secret: Secret,
  before: Refusal | undefined,
  nowMs: number,
): Refusal {
  const again = before?.secret.equals(secret) === true ? before.pauseMs * 2 : FIRST_REFUSAL_MS;
  const pauseMs = Math.min(again, LONGEST_REFUSAL_MS);
  const error = new ServiceError(
    'auth',
    `the service refused the credentials (status ${status}, ${why}); ` +
      'client_id and client secret must be those of the API module',
    { status },
  );
  return { secret, error, pauseMs, untilMs: nowMs + pauseMs };
}

/** Milliseconds. Too short and too long lives are clamped; a wrong guess costs one 401, which is mended. */
function lifeFrom(expiresInSeconds: number | undefined): number {
  return expiresInSeconds === undefined
    ? USUAL_LIFE_MS
    : Math.min(Math.max(expiresInSeconds * 1_000, SHORTEST_LIFE_MS), LONGEST_LIFE_MS);
}

/**
 * Renewed when 0.8 of the life is over or a minute before its end, what comes first, but not in its
 * first half; up to a tenth earlier, so that customers who started together do not stay together.
 */
function heldToken(value: Secret, lifeMs: number, fromMs: number, random: Random): HeldToken {
  const renewAfterMs = Math.max(Math.min(0.8 * lifeMs, lifeMs - MINUTE_MS), lifeMs / 2);
  return {
    value,
    fromMs,
    endsMs: fromMs + lifeMs,
    renewMs: fromMs + renewAfterMs * (1 - 0.1 * random.next()),
  };
}
