/** The identity server: issues and checks tokens (service-interface.md, 4.1 and 5). */
import { SECOND_MS } from './conventions.ts';
import type { Conventions } from './conventions.ts';
import { hexadecimal } from './chance.ts';

export const SCOPE = 'ServiceAPI';

export interface Credentials {
  readonly customer: string;
  readonly clientId: string;
  secret: string;
  isRevoked: boolean;
  readonly conventions: Conventions;
}

interface Token {
  readonly customer: string;
  readonly expiresMs: number;
}

export class TokenServer {
  readonly #seed: number;
  readonly #byClientId: ReadonlyMap<string, Credentials>;
  readonly #tokens = new Map<string, Token>();
  #issued = 0;

  constructor(seed: number, credentials: readonly Credentials[]) {
    this.#seed = seed;
    this.#byClientId = new Map(credentials.map((each) => [each.clientId, each]));
  }

  /** Status and JSON of the answer to a token request. */
  issue(body: string, nowMs: number): { readonly status: number; readonly answer: object } {
    const form = new URLSearchParams(body);
    const credentials = this.#byClientId.get(form.get('client_id') ?? '');
    const isKnown = credentials !== undefined && !credentials.isRevoked;
    if (!isKnown || form.get('client_secret') !== credentials.secret) {
      const status = credentials?.conventions.status.invalidClient ?? 400;
      return { status, answer: { error: 'invalid_client' } };
    }
    if (form.get('grant_type') !== 'client_credentials') {
      return { status: 400, answer: { error: 'unsupported_grant_type' } };
    }
    if (form.get('scope') !== SCOPE) {
      return { status: 400, answer: { error: 'invalid_scope' } };
    }
    const lifetimeSeconds = credentials.conventions.tokenLifetimeSeconds;
    const token = `simulated.${hexadecimal(40, this.#seed, this.#issued++)}`;
    this.#forgetExpired(nowMs);
    this.#tokens.set(token, {
      customer: credentials.customer,
      expiresMs: nowMs + lifetimeSeconds * SECOND_MS,
    });
    const answer = {
      access_token: token,
      expires_in: lifetimeSeconds,
      token_type: 'Bearer',
      scope: SCOPE,
    };
    return { status: 200, answer };
  }

  /** The customer of a token, and whether it is still valid; undefined for an unknown token. */
  check(
    authorization: string | undefined,
    nowMs: number,
  ): { readonly customer: string; readonly isValid: boolean } | undefined {
    const token = this.#tokens.get(/^Bearer (\S+)$/i.exec(authorization ?? '')?.[1] ?? '');
    return token && { customer: token.customer, isValid: nowMs < token.expiresMs };
  }

  /** The customer that a token request names, valid or not. */
  customerAsking(body: string): string | undefined {
    return this.#byClientId.get(new URLSearchParams(body).get('client_id') ?? '')?.customer;
  }

  /** Expires the tokens of one customer, or of all. */
  drop(customer: string | undefined): void {
    for (const [name, token] of this.#tokens) {
      if (customer === undefined || token.customer === customer) {
        this.#tokens.set(name, { ...token, expiresMs: -Infinity });
      }
    }
  }

  /** Tokens are in order of issue, so the oldest come first. */
  #forgetExpired(nowMs: number): void {
    const keepMs = 86_400_000;
    for (const [name, token] of this.#tokens) {
      if (this.#tokens.size < 10_000 || token.expiresMs + keepMs > nowMs) {
        return;
      }
      this.#tokens.delete(name);
    }
  }
}
