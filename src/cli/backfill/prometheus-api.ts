/** The two queries of Prometheus's HTTP API that are needed. Knows nothing of what is asked for. */
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { codeOf, messageOf } from '../../base/errors.ts';

/** An error to be thrown when Prometheus did not answer, or not what was asked. Exit status 1. */
class PrometheusError extends Error {
  override readonly name = 'PrometheusError';
}

export interface PrometheusSeries {
  readonly labels: Readonly<Record<string, string>>;
  readonly samples: readonly { readonly atMs: number; readonly value: number }[];
}

export interface PrometheusApi {
  /** What an expression gives at an instant: of a vector the one sample, of a matrix all as they are. */
  query(expression: string, atMs: number): Promise<readonly PrometheusSeries[]>;
  queryRange(
    expression: string,
    range: { readonly startMs: number; readonly endMs: number; readonly stepMs: number },
  ): Promise<readonly PrometheusSeries[]>;
}

const TIMEOUT_MS = 120_000;

/** `url` may have a path before /api, and a user and password, which no message shows. */
export function createPrometheusApi(url: URL, stop: AbortSignal): PrometheusApi {
  async function ask(
    path: string,
    parameters: Readonly<Record<string, string>>,
  ): Promise<readonly PrometheusSeries[]> {
    const where = `${url.origin}${url.pathname.replace(/\/$/, '')}/api/v1/${path}`;
    let answer: { readonly status: number; readonly body: string };
    try {
      answer = await post(url, where, new URLSearchParams(parameters).toString(), stop);
    } catch (error) {
      throw new PrometheusError(
        `${where} does not answer (${codeOf(error) ?? messageOf(error)}): is it the address of a Prometheus?`,
        { cause: error },
      );
    }
    const content = parse(answer.body);
    if (answer.status !== 200 || content === undefined) {
      const words = wordsOf(answer.body);
      throw new PrometheusError(
        `${where} answers ${answer.status}${words === undefined ? ', and not as Prometheus does' : `: ${words}`}`,
      );
    }
    return content;
  }
  return {
    query: (expression, atMs) => ask('query', { query: expression, time: seconds(atMs) }),
    queryRange: (expression, { startMs, endMs, stepMs }) =>
      ask('query_range', {
        query: expression,
        start: seconds(startMs),
        end: seconds(endMs),
        step: seconds(stepMs),
      }),
  };
}

function seconds(ms: number): string {
  return String(ms / 1_000);
}

/** By POST, for an expression that names many customers is longer than an address may be. */
async function post(
  { username, password }: URL,
  where: string,
  form: string,
  stop: AbortSignal,
): Promise<{ readonly status: number; readonly body: string }> {
  const request = where.startsWith('https:') ? requestHttps : requestHttp;
  const user = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  const headers = {
    'content-type': 'application/x-www-form-urlencoded',
    'content-length': Buffer.byteLength(form),
    ...(user === ':' ? {} : { authorization: `Basic ${Buffer.from(user).toString('base64')}` }),
  };
  return new Promise((resolve, reject) => {
    const signal = AbortSignal.any([stop, AbortSignal.timeout(TIMEOUT_MS)]);
    const outgoing = request(where, { method: 'POST', headers, signal }, (incoming) => {
      const chunks: Buffer[] = [];
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
      incoming.on('error', reject);
      incoming.on('end', () =>
        resolve({ status: incoming.statusCode ?? 0, body: Buffer.concat(chunks).toString() }),
      );
    });
    outgoing.on('error', reject);
    outgoing.end(form);
  });
}

/** Undefined for what is not a vector or a matrix. */
function parse(body: string): readonly PrometheusSeries[] | undefined {
  try {
    const { data } = JSON.parse(body) as { data?: { result?: unknown } };
    return Array.isArray(data?.result) ? data.result.map(seriesOf) : undefined;
  } catch {
    return undefined;
  }
}

type Pair = readonly [seconds: number, value: string];

function seriesOf(result: {
  readonly metric: Record<string, string>;
  readonly value?: Pair;
  readonly values?: readonly Pair[];
}): PrometheusSeries {
  const pairs = result.values ?? (result.value === undefined ? [] : [result.value]);
  return {
    labels: result.metric,
    samples: pairs.map(([at, value]) => ({ atMs: Math.round(at * 1_000), value: Number(value) })),
  };
}

/** What Prometheus says of an error. */
function wordsOf(body: string): string | undefined {
  try {
    const { error } = JSON.parse(body) as { error?: unknown };
    return typeof error === 'string' ? error : undefined;
  } catch {
    return undefined;
  }
}
