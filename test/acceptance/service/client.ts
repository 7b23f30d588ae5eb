/**
 * A reader of the vendor's people counts, written from docs/service.md alone: it shares no code with src. It sends
 * GET requests and the token request, nothing else, and shows neither secret nor token.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { offsetMs, wallMs } from '../local-time.ts';

export interface Target {
  readonly dataUrl: string;
  readonly authUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly zone: string;
  /** How from and to are written: `service.request_times`. */
  readonly requestTimes: 'offset' | 'utc' | 'local';
  /** Pause before each request, in milliseconds. */
  readonly pauseMs: number;
}

export type Row = Readonly<Record<string, unknown>>;
/** From and to, in milliseconds. */
export type Span = readonly [fromMs: number, toMs: number];

/** A response with any status. */
export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly metadata: Row;
  readonly rows: readonly Row[];
}

/** The service does not answer as docs/service.md says, so that nothing can be learned. */
export class ServiceFailure extends Error {
  override readonly name = 'ServiceFailure';
}

const TIMEOUT_MS = 60_000;
/** A piece of a secret that is this long is not shown. */
const MIN_SECRET_LENGTH = 8;

export class Client {
  readonly #target: Target;
  readonly #secrets: string[];
  #token: string | undefined;
  requests = 0;

  constructor(target: Target) {
    this.#target = target;
    this.#secrets = [target.clientSecret];
  }

  /** Returns the text, unless it repeats a piece of the secret or of the token. */
  withoutSecrets(text: string): string {
    const repeats = this.#secrets.some((secret) =>
      Array.from(secret, (_, i) => secret.slice(i, i + MIN_SECRET_LENGTH)).some(
        (piece) => piece.length === MIN_SECRET_LENGTH && text.includes(piece),
      ),
    );
    return repeats ? '(hidden: the service repeats a secret)' : text;
  }

  /** Returns people counts of a window. Throws a ServiceFailure if the service does not answer with them. */
  async rows(span: Span, aggregation: string): Promise<Answer> {
    const answer = await this.ask({ ...this.window(span), aggregation });
    if (answer.status !== 200) {
      throw new ServiceFailure(`aggregation=${aggregation} is refused: status ${answer.status}`);
    }
    return answer;
  }

  /** Returns the response of the service with any status. */
  async ask(parameters: Readonly<Record<string, string>>, withToken = true): Promise<Answer> {
    if (withToken) {
      this.#token ??= await this.#requestToken();
    }
    const headers = withToken ? { authorization: `Bearer ${this.#token}` } : {};
    const search = new URLSearchParams(parameters).toString();
    const { status, contentType, body } = await this.#send(
      `${this.#target.dataUrl}/v1/peoplecount`,
      `?${search}`,
      { headers },
    );
    const { metadata = {}, result = [] } = body;
    if (!isObject(metadata) || !Array.isArray(result) || !result.every(isObject)) {
      throw new ServiceFailure('the service answers without metadata and result');
    }
    return { status, contentType, metadata, rows: result };
  }

  /** Writes a window as the service reads it; milliseconds only if there are any. */
  window(span: Span): Readonly<Record<'from' | 'to', string>> {
    const { zone, requestTimes } = this.#target;
    function written(atMs: number): string {
      if (requestTimes === 'utc') {
        return new Date(atMs).toISOString().replace('.000', '');
      }
      const local = new Date(wallMs(atMs, zone)).toISOString().replace(/(\.000)?Z/, '');
      const offset = offsetMs(atMs, zone);
      const distance = new Date(Math.abs(offset)).toISOString().slice(11, 16);
      return requestTimes === 'local' ? local : `${local}${offset < 0 ? '-' : '+'}${distance}`;
    }
    return { from: written(span[0]), to: written(span[1]) };
  }

  async #requestToken(): Promise<string> {
    const { authUrl, clientId, clientSecret } = this.#target;
    const form = { client_id: clientId, client_secret: clientSecret, scope: 'ServiceAPI' };
    const url = `${authUrl}/connect/token`;
    const { status, body } = await this.#send(url, '', {
      method: 'POST',
      body: new URLSearchParams({ ...form, grant_type: 'client_credentials' }),
    });
    const token = body['access_token'];
    if (typeof token !== 'string' || token === '') {
      throw new ServiceFailure(
        `${url} refuses the credentials: status ${status}. Are ACCEPTANCE_CLIENT_ID, ` +
          'ACCEPTANCE_CLIENT_SECRET and ACCEPTANCE_AUTH_URL right?',
      );
    }
    this.#secrets.push(token);
    return token;
  }

  /** Returns the status, and the JSON of a good response. Nothing else of a body is shown: it may repeat a secret. */
  async #send(url: string, search: string, init: RequestInit) {
    await sleep(this.#target.pauseMs);
    this.requests += 1;
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    try {
      const response = await fetch(url + search, { ...init, redirect: 'manual', signal });
      const { status, headers } = response;
      const text = await response.text();
      const body: unknown = status === 200 ? JSON.parse(text) : {};
      const contentType = headers.get('content-type') ?? '';
      return { status, contentType, body: isObject(body) ? body : {} };
    } catch (error) {
      const cause = error instanceof Error ? (error.cause ?? error) : error;
      const { code, name } = Object(cause) as { code?: unknown; name?: unknown };
      throw new ServiceFailure(`${url} does not answer with JSON: ${String(code ?? name)}`);
    }
  }
}

function isObject(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
