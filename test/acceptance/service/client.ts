/**
 * A reader of the vendor's service, written from docs/service.md alone: it shares no code with src. It sends
 * GET requests and the token request, nothing else, and shows neither secret nor token.
 */
import { setTimeout as sleep } from 'node:timers/promises';

export type Endpoint = 'peoplecount' | 'login';
export type Parameters = Readonly<Record<string, string>>;

export interface Target {
  readonly dataUrl: string;
  readonly authUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly scope: string;
  /** Pause before each request, in milliseconds. */
  readonly pauseMs: number;
  /** Limit for a whole response, in milliseconds. */
  readonly timeoutMs: number;
}

type Row = Readonly<Record<string, unknown>>;

/** A response with any status. */
export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly bytes: number;
  /** Of the Date header; NaN without one. */
  readonly dateMs: number;
  readonly metadata: Row;
  readonly rows: readonly Row[];
}

/** The service does not answer as docs/service.md says, so that nothing can be learned. */
export class ServiceFailure extends Error {
  override readonly name = 'ServiceFailure';
}

const MAX_ATTEMPTS = 4;
const MAX_RETRY_AFTER_S = 60;
/** 401 is not among them: a new token follows. */
const RETRIED = new Set([408, 429, 500, 502, 503, 504]);

/** A piece of a secret that is this long is not shown. */
const MIN_SECRET_LENGTH = 8;

export class Client {
  readonly #target: Target;
  readonly #secrets: string[];
  #token: string | undefined;
  /** Responses with status 429 so far. */
  rateLimited = 0;
  requests = 0;

  constructor(target: Target) {
    this.#target = target;
    this.#secrets = [target.clientSecret];
  }

  /** Returns the text, unless it repeats a piece of the secret or of a token. */
  withoutSecrets(text: string): string {
    const repeats = this.#secrets.some((secret) =>
      Array.from(secret, (_, i) => secret.slice(i, i + MIN_SECRET_LENGTH)).some(
        (piece) => piece.length === MIN_SECRET_LENGTH && text.includes(piece),
      ),
    );
    return repeats ? '(hidden: the service repeats a secret)' : text;
  }

  /** Returns the response to a request with a token. Throws a ServiceFailure if there is none. */
  async get(endpoint: Endpoint, parameters: Parameters): Promise<Answer> {
    this.#token ??= await this.#requestToken();
    const answer = await this.#getWith(endpoint, parameters, `Bearer ${this.#token}`);
    if (answer.status !== 401) {
      return answer;
    }
    this.#token = await this.#requestToken();
    return this.#getWith(endpoint, parameters, `Bearer ${this.#token}`);
  }

  /** Returns the response to a request without a token. */
  getWithoutToken(endpoint: Endpoint, parameters: Parameters): Promise<Answer> {
    return this.#getWith(endpoint, parameters, undefined);
  }

  async #getWith(
    endpoint: Endpoint,
    parameters: Parameters,
    authorization: string | undefined,
  ): Promise<Answer> {
    const url = new URL(`${this.#target.dataUrl}/v1/${endpoint}`);
    url.search = new URLSearchParams(parameters).toString();
    const headers = authorization === undefined ? {} : { authorization };
    return this.#send(url, { headers });
  }

  async #requestToken(): Promise<string> {
    const { authUrl, clientId, clientSecret, scope } = this.#target;
    const url = new URL(`${authUrl}/connect/token`);
    const form = {
      client_id: clientId,
      client_secret: clientSecret,
      grant_type: 'client_credentials',
      scope,
    };
    const answer = await this.#send(url, { method: 'POST', body: new URLSearchParams(form) });
    const token = answer.metadata['access_token'];
    if (answer.status !== 200) {
      throw new ServiceFailure(
        `${nameOf(url)} refuses the credentials: status ${answer.status}. Are ACCEPTANCE_CLIENT_ID, ` +
          'ACCEPTANCE_CLIENT_SECRET and ACCEPTANCE_AUTH_URL right?',
      );
    }
    if (typeof token !== 'string' || token === '') {
      throw new ServiceFailure(`${nameOf(url)} answers without an access_token`);
    }
    this.#secrets.push(token);
    return token;
  }

  /** Repeats a request that fails for a moment. Nothing of a body is shown: it may repeat a secret. */
  async #send(url: URL, init: RequestInit): Promise<Answer> {
    const { pauseMs, timeoutMs } = this.#target;
    for (let attempt = 1; ; attempt += 1) {
      await sleep(pauseMs);
      this.requests += 1;
      const sent = await fetch(url, {
        ...init,
        redirect: 'manual',
        signal: AbortSignal.timeout(timeoutMs),
      })
        .then(async (response) => ({ response, text: await response.text() }))
        .catch((error: unknown) => reasonOf(error));
      if (typeof sent === 'string') {
        if (attempt < MAX_ATTEMPTS) {
          continue;
        }
        throw new ServiceFailure(`${nameOf(url)} does not answer: ${sent}`);
      }
      const { response, text } = sent;
      const { status, headers } = response;
      this.rateLimited += status === 429 ? 1 : 0;
      if (RETRIED.has(status)) {
        if (attempt < MAX_ATTEMPTS) {
          const retryAfter = Number(headers.get('retry-after') ?? 1);
          await sleep(Math.min(MAX_RETRY_AFTER_S, retryAfter || 1) * 1_000);
          continue;
        }
        throw new ServiceFailure(`${nameOf(url)} fails: status ${status}, ${attempt} times`);
      }
      if (status >= 300 && status < 400) {
        throw new ServiceFailure(`${nameOf(url)} redirects (${status}): is the address right?`);
      }
      return answerOf(url, response, text);
    }
  }
}

function answerOf(url: URL, { status, headers }: Response, text: string): Answer {
  const contentType = headers.get('content-type') ?? '';
  const dateMs = Date.parse(headers.get('date') ?? '');
  const answer = { status, contentType, bytes: Buffer.byteLength(text), dateMs };
  if (status !== 200) {
    return { ...answer, metadata: {}, rows: [] };
  }
  const body = parsed(text);
  if (body === undefined) {
    throw new ServiceFailure(
      `${nameOf(url)} answers with ${mediaType(contentType)}, not with a JSON object`,
    );
  }
  if (url.pathname.endsWith('/connect/token')) {
    return { ...answer, metadata: body, rows: [] };
  }
  const { metadata, result } = body;
  if (!isObject(metadata) || !Array.isArray(result) || !result.every(isObject)) {
    throw new ServiceFailure(`${nameOf(url)} answers without metadata and result`);
  }
  return { ...answer, metadata, rows: result };
}

function parsed(text: string): Row | undefined {
  try {
    const body: unknown = JSON.parse(text);
    return isObject(body) ? body : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns a content type without its parameters, if it is a usual one: it is the service's text. */
export function mediaType(contentType: string): string {
  const [type = ''] = contentType.toLowerCase().split(/\s*;/);
  return /^(text|application)\/[a-z]+(\+json)?$/.test(type) ? type : 'another content type';
}

/** The address without its query, which may hold times only, but also what a user put there. */
function nameOf({ origin, pathname }: URL): string {
  return `${origin}${pathname}`;
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  const { code, name } = Object(cause) as { code?: unknown; name?: unknown };
  return name === 'TimeoutError' ? 'no complete response in time' : String(code ?? name);
}
