/** A customer's access token (docs/service.md#tokens): requested, cached, renewed early. */
import type { Clock } from '../base/clock.ts';
import { MINUTE_MS } from '../base/duration.ts';
import { ServiceError } from '../base/errors.ts';
import { pastedWith, Secret } from '../base/secret.ts';
import { untilAborted } from './limits.ts';
import { decodeFor, decodeToken, decodeTokenError } from './decode.ts';
import { statusError, titleOf } from './transport.ts';
import type { ExchangeResponse, ExchangeRequest } from './transport.ts';
import type { CustomerAccess } from './types.ts';

/** Of a token whose lifetime is not above 0. If this is too long, a 401 renews the token. */
const ASSUMED_LIFETIME_SECONDS = 60;
/** The lifetime in the documentation's example (docs/service.md#tokens). */
const DEFAULT_LIFETIME_SECONDS = 3_600;
const RENEWAL_SHARE = 0.8;
const RENEWAL_RETRY_MS = MINUTE_MS;
/** An identity server may lock out a client that tries too often: the pause doubles. */
const MIN_REFUSAL_PAUSE_MS = MINUTE_MS;
const MAX_REFUSAL_PAUSE_MS = 15 * MINUTE_MS;
/** A service that has forgotten its tokens need not say so with 401. The pause doubles. */
const MIN_SUSPICION_PAUSE_MS = 5 * MINUTE_MS;
const MAX_SUSPICION_PAUSE_MS = 60 * MINUTE_MS;

export interface AccessToken {
  readonly value: Secret;
  /** The client secret that it was requested with. */
  readonly clientSecret: Secret;
  readonly requestedAtMs: number;
  readonly expiresAtMs: number;
}

export interface TokenOptions {
  /** URL of the token endpoint. */
  readonly url: string;
  readonly scope: string;
  readonly clock: Clock;
  /** Returns responses with a status below 500, and throws for others. */
  readonly send: (request: ExchangeRequest) => Promise<ExchangeResponse>;
  /** Called when the credentials are first accepted or refused, and at each change. */
  readonly credentialsChecked: (valid: boolean) => void;
}

interface Refusal {
  readonly clientSecret: Secret;
  readonly error: ServiceError;
  readonly pauseMs: number;
  readonly untilMs: number;
}

/**
 * The token of one customer. Requests, caches and renews it; reports whether the credentials are accepted.
 */
export class TokenCache {
  readonly #access: CustomerAccess;
  readonly #options: TokenOptions;
  #token: AccessToken | undefined;
  #renewAtMs = Infinity;
  #refusal: Refusal | undefined;
  #pending: Promise<AccessToken> | undefined;
  #suspectedAtMs = -Infinity;
  #suspicionPauseMs = MIN_SUSPICION_PAUSE_MS;
  #reportedValid: boolean | undefined;

  constructor(access: CustomerAccess, options: TokenOptions) {
    this.#access = access;
    this.#options = options;
  }

  /**
   * Returns a token that the service should accept. Throws a ServiceError: `auth`, without a request, while
   * the same credentials are known to be refused; else why the token request failed.
   */
  async get(signal: AbortSignal): Promise<AccessToken> {
    const nowMs = this.#options.clock.monotonicMs();
    const token = this.#token;
    if (token === undefined || nowMs >= token.expiresAtMs) {
      return untilAborted(
        this.#request(),
        signal,
        () => `POST ${this.#options.url}: no complete response`,
      );
    }
    if (nowMs >= this.#renewAtMs && this.#pending === undefined) {
      void this.#renew();
    }
    return token;
  }

  /** Discards a token that the service answered with 401. */
  invalidate(token: AccessToken): void {
    if (this.#token === token) {
      this.#token = undefined;
    }
  }

  /** The service accepted the token. */
  accepted(): void {
    this.#suspicionPauseMs = MIN_SUSPICION_PAUSE_MS;
  }

  /**
   * Tries a new token after failures of another status. The old one serves until the new one arrives. Both
   * the token and the last try must be older than the pause: an outage must not cost a token per poll.
   */
  suspect(): void {
    const nowMs = this.#options.clock.monotonicMs();
    const sinceMs = Math.max(this.#token?.requestedAtMs ?? nowMs, this.#suspectedAtMs);
    if (nowMs - sinceMs >= this.#suspicionPauseMs) {
      this.#suspectedAtMs = nowMs;
      this.#suspicionPauseMs = Math.min(2 * this.#suspicionPauseMs, MAX_SUSPICION_PAUSE_MS);
      this.#request().catch(() => {});
    }
  }

  /** Requests a token, once for all callers. The request goes on when a caller aborts. */
  #request(): Promise<AccessToken> {
    this.#pending ??= this.#requestToken().finally(() => {
      this.#pending = undefined;
    });
    return this.#pending;
  }

  /** Renews the token in the background: the current one serves until its end. */
  async #renew(): Promise<void> {
    try {
      await this.#request();
    } catch {
      this.#renewAtMs = this.#options.clock.monotonicMs() + RENEWAL_RETRY_MS;
    }
  }

  async #requestToken(): Promise<AccessToken> {
    const { url, scope, clock, send } = this.#options;
    const { clientId } = this.#access;
    const clientSecret = await this.#access.readSecret();
    const refusal = this.#refusal;
    if (
      refusal?.clientSecret.equals(clientSecret) === true &&
      clock.monotonicMs() < refusal.untilMs
    ) {
      throw refusal.error;
    }
    // The service counts the lifetime from a moment after this one.
    const requestedAtMs = clock.monotonicMs();
    const request = {
      url,
      form: new Secret(
        new URLSearchParams({
          client_id: clientId,
          client_secret: clientSecret.reveal(),
          grant_type: 'client_credentials',
          scope,
        }).toString(),
      ),
    };
    const response = await send(request);
    const code = decodeTokenError(response);
    if (response.status !== 200 || code !== undefined) {
      throw this.#refused(request, response, clientSecret, code);
    }
    const { value, expiresInSeconds = DEFAULT_LIFETIME_SECONDS } = decodeFor(
      request,
      response,
      () => decodeToken(response),
    );
    const lifetimeMs = 1_000 * (expiresInSeconds > 0 ? expiresInSeconds : ASSUMED_LIFETIME_SECONDS);
    const token = {
      value: new Secret(value),
      clientSecret,
      requestedAtMs,
      expiresAtMs: requestedAtMs + lifetimeMs,
    };
    this.#refusal = undefined;
    this.#token = token;
    this.#renewAtMs = requestedAtMs + RENEWAL_SHARE * lifetimeMs;
    this.#report(true);
    return token;
  }

  #refused(
    request: ExchangeRequest,
    response: ExchangeResponse,
    clientSecret: Secret,
    code: string | undefined,
  ): ServiceError {
    const { status } = response;
    const failure = statusError(request, response);
    if (code === 'server_error' || code === 'temporarily_unavailable') {
      return new ServiceError('server', `${failure.message}, ${code}`, failure);
    }
    // Other texts, or none, may be those of a proxy.
    const isAnswer = [200, 400, 403].includes(status);
    if (status !== 401 && (code === undefined || (code === 'other' && !isAnswer))) {
      return failure;
    }
    const error = new ServiceError(
      'auth',
      `${titleOf(request)}: the service refused the credentials (status ${status}, ${code ?? 'no reason given'}): ` +
        ['check client_id and client secret against the API module', pastedWith(clientSecret)]
          .filter((part) => part !== undefined)
          .join('; '),
      { status },
    );
    const before = this.#refusal;
    const pauseMs =
      before?.clientSecret.equals(clientSecret) === true
        ? Math.min(before.pauseMs * 2, MAX_REFUSAL_PAUSE_MS)
        : MIN_REFUSAL_PAUSE_MS;
    const untilMs = this.#options.clock.monotonicMs() + pauseMs;
    this.#refusal = { clientSecret, error, pauseMs, untilMs };
    this.#report(false);
    return error;
  }

  #report(valid: boolean): void {
    if (this.#reportedValid !== valid) {
      this.#reportedValid = valid;
      this.#options.credentialsChecked(valid);
    }
  }
}
