/** A customer's access token (service-interface.md, 4.1 and 5): requested, cached, renewed early. */
import type { Clock } from '../base/clock.ts';
import { ServiceError } from '../base/errors.ts';
import type { Random } from '../base/random.ts';
import { Secret } from '../base/secret.ts';
import { untilAborted } from './limits.ts';
import { decodeRefusal, decodeToken } from './decode.ts';
import { statusError } from './transport.ts';
import type { ExchangeAnswer, ExchangeRequest } from './transport.ts';
import type { CustomerAccess, ServiceObserver } from './types.ts';

const MINUTE_MS = 60_000;
/** A wrong life costs one 401, after which the token is requested again. */
const MIN_LIFE_SECONDS = 60;
const MAX_LIFE_SECONDS = 86_400;
/** As the document shows it (service-interface.md, 8). */
const DEFAULT_LIFE_SECONDS = 3_600;
const RENEWAL_RETRY_MS = MINUTE_MS;
/** An identity server may lock out a client that tries too often: the pause doubles. */
const MIN_REFUSAL_PAUSE_MS = MINUTE_MS;
const MAX_REFUSAL_PAUSE_MS = 15 * MINUTE_MS;
/** A 403 does not invalidate a younger token: a customer without rights must not cost a token per poll. */
const MIN_AGE_TO_DOUBT_MS = 15 * MINUTE_MS;

const REQUEST_TITLE = 'POST /connect/token';

export interface AccessToken {
  readonly value: Secret;
  /** The client secret that it was requested with. */
  readonly clientSecret: Secret;
  readonly fromMs: number;
  readonly endsMs: number;
}

interface Refusal {
  readonly clientSecret: Secret;
  readonly error: ServiceError;
  readonly pauseMs: number;
  readonly untilMs: number;
}

export interface TokenCacheOptions {
  readonly access: CustomerAccess;
  readonly authUrl: string;
  readonly scope: string;
  readonly clock: Clock;
  readonly random: Random;
  /** One request within the limits. Returns answers with status 200, 400, 401 and 403, throws for others. */
  readonly send: (request: ExchangeRequest) => Promise<ExchangeAnswer>;
  readonly observer: ServiceObserver;
}

export class TokenCache {
  readonly #options: TokenCacheOptions;
  #token: AccessToken | undefined;
  #renewAtMs = Infinity;
  #refusal: Refusal | undefined;
  #pending: Promise<AccessToken> | undefined;
  #reportedValid: boolean | undefined;

  constructor(options: TokenCacheOptions) {
    this.#options = options;
  }

  /**
   * A token that the service should accept. Throws a ServiceError: `auth`, without a request, while the same
   * credentials are known to be refused; else why the token request failed.
   */
  async get(signal: AbortSignal): Promise<AccessToken> {
    const nowMs = this.#options.clock.monotonicMs();
    const token = this.#token;
    if (token === undefined || nowMs >= token.endsMs) {
      return untilAborted(this.#request(), signal);
    }
    if (nowMs >= this.#renewAtMs && this.#pending === undefined) {
      void this.#renew();
    }
    return token;
  }

  /** Discards a token that the service did not accept, unless there is a newer one. */
  invalidate(token: AccessToken): void {
    if (this.#token === token) {
      this.#token = undefined;
    }
  }

  /** After a 403: the service may have forgotten an old token; a new one is valid but lacks rights. */
  invalidateIfOld(token: AccessToken): void {
    if (this.#options.clock.monotonicMs() - token.fromMs >= MIN_AGE_TO_DOUBT_MS) {
      this.invalidate(token);
    }
  }

  /** One request at a time, shared by all callers. It goes on when a caller aborts. */
  #request(): Promise<AccessToken> {
    this.#pending ??= this.#requestToken().finally(() => {
      this.#pending = undefined;
    });
    return this.#pending;
  }

  /** In the background: the current token serves until its end. */
  async #renew(): Promise<void> {
    try {
      await this.#request();
    } catch {
      this.#renewAtMs = this.#options.clock.monotonicMs() + RENEWAL_RETRY_MS;
    }
  }

  async #requestToken(): Promise<AccessToken> {
    const { access, authUrl, scope, clock, random, send, observer } = this.#options;
    const clientSecret = await readSecret(access);
    const refusal = this.#refusal;
    if (
      refusal?.clientSecret.equals(clientSecret) === true &&
      clock.monotonicMs() < refusal.untilMs
    ) {
      throw refusal.error;
    }
    // The service counts the life from a moment after this one.
    const fromMs = clock.monotonicMs();
    const answer = await send({
      url: `${authUrl}/connect/token`,
      title: REQUEST_TITLE,
      form: {
        client_id: access.clientId,
        client_secret: clientSecret,
        grant_type: 'client_credentials',
        scope,
      },
    });
    if (answer.status !== 200) {
      throw this.#refused(answer, clientSecret);
    }
    const { value, expiresInSeconds = DEFAULT_LIFE_SECONDS } = decodeToken(answer);
    const lifeMs = 1_000 * Math.min(Math.max(expiresInSeconds, MIN_LIFE_SECONDS), MAX_LIFE_SECONDS);
    const token = { value: new Secret(value), clientSecret, fromMs, endsMs: fromMs + lifeMs };
    this.#refusal = undefined;
    this.#token = token;
    this.#renewAtMs = fromMs + renewAfterMs(lifeMs, random);
    observer.token?.(access.name, lifeMs);
    this.#report(true);
    return token;
  }

  #refused(answer: ExchangeAnswer, clientSecret: Secret): ServiceError {
    const { clock } = this.#options;
    const { status } = answer;
    const code = decodeRefusal(answer) ?? (status === 401 ? 'no reason given' : undefined);
    // Without an error object it may be a proxy that answers.
    if (code === undefined) {
      return statusError(REQUEST_TITLE, answer);
    }
    const before = this.#refusal;
    const pauseMs =
      before?.clientSecret.equals(clientSecret) === true
        ? Math.min(before.pauseMs * 2, MAX_REFUSAL_PAUSE_MS)
        : MIN_REFUSAL_PAUSE_MS;
    const error = new ServiceError(
      'auth',
      `the service refused the credentials (status ${status}, ${code}): ` +
        'check client_id and client secret against the API module',
      { status },
    );
    this.#refusal = { clientSecret, error, pauseMs, untilMs: clock.monotonicMs() + pauseMs };
    this.#report(false);
    return error;
  }

  #report(valid: boolean): void {
    if (this.#reportedValid !== valid) {
      this.#reportedValid = valid;
      this.#options.observer.credentials(this.#options.access.name, valid);
    }
  }
}

async function readSecret(access: CustomerAccess): Promise<Secret> {
  try {
    return await access.readSecret();
  } catch {
    // The reader's error may contain a part of what it read.
    throw new ServiceError('auth', 'the client secret could not be read');
  }
}

/**
 * At 0.8 of the life or a minute before its end, whichever is first, but not in the first half; up to a
 * tenth earlier, to spread customers that started together.
 */
function renewAfterMs(lifeMs: number, random: Random): number {
  const latestMs = Math.max(Math.min(0.8 * lifeMs, lifeMs - MINUTE_MS), lifeMs / 2);
  return latestMs * (1 - 0.1 * random.next());
}
