/**
 * Finds the first live samples in Prometheus. The history must end before them, and its counters
 * must not be higher: Prometheus would take the difference for a reset.
 */
import { once } from 'node:events';
import { request as requestHttp } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import { text } from 'node:stream/consumers';
import { codeOf, messageOf, UsageError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { ALL_COUNTERS, COUNTERS } from '../../base/model.ts';
import type { Breakdown, CounterName } from '../../base/model.ts';
import type { CustomerConfig } from '../../config/types.ts';
import { DAY_MS, MINUTE_MS } from '../../counting/calendar.ts';
import type { Span } from '../../counting/calendar.ts';
import { Zone } from '../../counting/zone.ts';
import type { LabelPair } from '../../metrics/family.ts';
import { writeLabel } from '../../metrics/format.ts';
import type { BackfillFlags } from '../backfill.ts';

export interface Sample {
  readonly atMs: number;
  readonly value: number;
}

export interface LiveStart {
  /** The first sample of any counter of the customer. */
  readonly atMs: number;
  /** The first sample of each counter, by {@link counterId}. */
  readonly counters: Readonly<Record<string, Sample>>;
}

type Labels = Readonly<Record<string, string>>;

interface Series {
  readonly labels: Labels;
  readonly samples: readonly Sample[];
}

interface Counter {
  readonly metric: string;
  readonly name: CounterName;
  readonly breakdown?: Breakdown;
}

/** Prometheus has written samples of this age to disk. */
const SETTLED_AGE_MS = 4 * 3_600_000;
const REQUEST_TIMEOUT_MS = 120_000;
/** Prometheus limits the samples that one query may read. */
const MAX_CUSTOMERS_PER_QUERY = 100;
/** The day of the first sample is searched for, then its five minutes. */
const SEARCH_STEPS_MS = [DAY_MS, 5 * MINUTE_MS];

/** A counter within its customer. */
export function counterId(name: CounterName, breakdown?: Breakdown, key?: string): string {
  return breakdown === undefined ? name : JSON.stringify([breakdown, key, name]);
}

/**
 * By customer; none without --prometheus.url, and none for a customer without samples. Throws a
 * UsageError if Prometheus has none of these series, or has them with other labels.
 */
export async function findLiveStarts(
  { 'prometheus.url': url, from }: BackfillFlags,
  customers: readonly CustomerConfig[],
  scrapeLabels: readonly LabelPair[],
  nowMs: number,
  log: Logger,
  stop: AbortSignal,
): Promise<ReadonlyMap<string, LiveStart>> {
  const starts = new Map<string, { atMs: number; counters: Record<string, Sample> }>();
  if (url === undefined) {
    return starts;
  }
  const prometheus = new PrometheusClient(url, stop);
  const fromMs = customers.map(({ timezone }) => from.time(new Zone(timezone), nowMs));
  const range = { startMs: Math.min(...fromMs), endMs: nowMs };
  for (let i = 0; i < customers.length; i += MAX_CUSTOMERS_PER_QUERY) {
    const some = customers.slice(i, i + MAX_CUSTOMERS_PER_QUERY);
    const names = some.map(({ name }) => name.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`));
    const customer = writeLabel(['customer', names.join('|')]).replace('=', '=~');
    const matchers = [...scrapeLabels.map(writeLabel), customer].join(',');
    for (const counter of countersOf(some)) {
      const selector = `${counter.metric}{${matchers}}`;
      for (const series of await findFirst(prometheus, selector, range, SEARCH_STEPS_MS)) {
        rejectOtherLabels(series.labels, counter, scrapeLabels);
        addStart(starts, series, counter);
      }
    }
  }
  if (starts.size === 0) {
    throw await noSeriesError(prometheus, scrapeLabels, range);
  }
  const unknown = customers.filter(({ name }) => !starts.has(name));
  if (unknown.length > 0) {
    log.warn('customers without samples in Prometheus, their history ends three hours ago', {
      customers: unknown.length,
      first: unknown[0]?.name,
    });
  }
  const newestMs = Math.max(...Array.from(starts.values(), ({ atMs }) => atMs));
  if (nowMs - newestMs < SETTLED_AGE_MS) {
    log.warn('Prometheus still changes the hours of its first samples, load the blocks later', {
      not_before: new Date(newestMs + SETTLED_AGE_MS).toISOString(),
    });
  }
  return starts;
}

function countersOf(customers: readonly CustomerConfig[]): readonly Counter[] {
  const breakdowns = new Set(customers.flatMap((customer) => customer.breakdowns));
  return [
    ...ALL_COUNTERS.map((name) => ({ metric: `library_${name}_total`, name })),
    ...[...breakdowns].flatMap((breakdown) =>
      COUNTERS.people.map((name) => ({
        metric: `library_${breakdown}_${name}_total`,
        name,
        breakdown,
      })),
    ),
  ];
}

function addStart(
  starts: Map<string, { atMs: number; counters: Record<string, Sample> }>,
  { labels, samples: [first] }: Series,
  { name, breakdown }: Counter,
): void {
  const { customer = '' } = labels;
  if (first !== undefined) {
    const start = starts.get(customer) ?? { atMs: Infinity, counters: {} };
    start.atMs = Math.min(start.atMs, first.atMs);
    start.counters[counterId(name, breakdown, breakdown && labels[breakdown])] = first;
    starts.set(customer, start);
  }
}

/** Each series of the selector from its first sample on; `wanted` limits which series. */
async function findFirst(
  prometheus: PrometheusClient,
  selector: string,
  { startMs, endMs }: Span,
  [stepMs, ...finerMs]: readonly number[],
  wanted?: ReadonlySet<string>,
): Promise<readonly Series[]> {
  function isWanted({ labels }: Series): boolean {
    return wanted?.has(identityOf(labels)) ?? true;
  }
  if (stepMs === undefined) {
    return (await prometheus.query(`${selector}[${endMs - startMs}ms]`, endMs)).filter(isWanted);
  }
  const counts = await prometheus.queryRange(
    `count_over_time(${selector}[${stepMs}ms])`,
    { startMs: startMs + stepMs, endMs: endMs + stepMs - 1 },
    stepMs,
  );
  const windows = Map.groupBy(counts.filter(isWanted), ({ samples }) => samples[0]?.atMs ?? 0);
  const found: Series[] = [];
  for (const [windowEndMs, series] of windows) {
    const window = { startMs: windowEndMs - stepMs, endMs: windowEndMs };
    const identities = new Set(series.map(({ labels }) => identityOf(labels)));
    found.push(...(await findFirst(prometheus, selector, window, finerMs, identities)));
  }
  return found;
}

/** Prometheus's functions drop `__name__`, and `__type__` and `__unit__` where these are enabled. */
function identityOf(labels: Labels): string {
  return JSON.stringify(ownLabels(labels).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function ownLabels(labels: Labels): [string, string][] {
  return Object.entries(labels).filter(([name]) => !name.startsWith('__'));
}

/** A series with another label is another series: the history would not join it. */
function rejectOtherLabels(
  labels: Labels,
  { breakdown }: Counter,
  scrapeLabels: readonly LabelPair[],
): void {
  const known = new Set(['customer', breakdown, ...scrapeLabels.map(([name]) => name)]);
  const others = ownLabels(labels).filter(([name]) => !known.has(name));
  if (others.length > 0) {
    const flags = others.map(([name, value]) => `--label=${name}=${value}`);
    throw new UsageError(`the series in Prometheus have more labels: add ${flags.join(' ')}`);
  }
}

async function noSeriesError(
  prometheus: PrometheusClient,
  scrapeLabels: readonly LabelPair[],
  { startMs, endMs }: Span,
): Promise<UsageError> {
  const found = await prometheus.query(
    `group by (job, instance) (last_over_time(library_people_entered_total[${endMs - startMs}ms]))`,
    endMs,
  );
  if (found.length === 0) {
    return new UsageError(
      'Prometheus has no library_people_entered_total since --from: ' +
        'omit --prometheus.url, or wait until it has scraped the exporter',
    );
  }
  const others = found.map(
    ({ labels }) => `--job=${labels['job'] ?? ''} --instance=${labels['instance'] ?? ''}`,
  );
  return new UsageError(
    `Prometheus has no series of these customers with ${scrapeLabels.map(writeLabel).join(', ')}; ` +
      `it has series with ${others.join(', and with ')}`,
  );
}

/** The HTTP API of Prometheus. The URL may have a path, a user and a password. */
class PrometheusClient {
  readonly #url: URL;
  readonly #signal: AbortSignal;

  constructor(url: URL, signal: AbortSignal) {
    this.#url = url;
    this.#signal = signal;
  }

  query(expression: string, atMs: number): Promise<readonly Series[]> {
    return this.#post('query', { query: expression, time: String(atMs / 1_000) });
  }

  queryRange(
    expression: string,
    { startMs, endMs }: Span,
    stepMs: number,
  ): Promise<readonly Series[]> {
    const [start, end, step] = [startMs, endMs, stepMs].map((ms) => String(ms / 1_000));
    return this.#post('query_range', { query: expression, start, end, step });
  }

  /** Messages show the URL without user and password. */
  async #post(
    path: string,
    form: Readonly<Record<string, string | undefined>>,
  ): Promise<readonly Series[]> {
    const url = new URL(this.#url);
    url.pathname = `${url.pathname.replace(/\/$/, '')}/api/v1/${path}`;
    const shown = `${url.origin}${url.pathname}`;
    let response: { readonly status: number | undefined; readonly body: string };
    try {
      response = await post(url, new URLSearchParams(form as Record<string, string>), this.#signal);
    } catch (error) {
      this.#signal.throwIfAborted();
      const reason = codeOf(error) ?? messageOf(error);
      throw new Error(`${shown}: no response (${reason})`, { cause: error });
    }
    const { series, error } = parse(response.body);
    if (response.status !== 200 || series === undefined) {
      const reason = error ?? 'not a response of Prometheus';
      throw new Error(`${shown}: status ${response.status}: ${reason}`);
    }
    return series;
  }
}

/** POST, because a query with many customers is longer than a URL may be. */
async function post(
  url: URL,
  form: URLSearchParams,
  stop: AbortSignal,
): Promise<{ readonly status: number | undefined; readonly body: string }> {
  const signal = AbortSignal.any([stop, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]);
  const send = url.protocol === 'https:' ? requestHttps : requestHttp;
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const request = send(url, { method: 'POST', headers, signal });
  request.end(form.toString());
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  // An error from now on is also an error of the response.
  request.on('error', () => {});
  return { status: response.statusCode, body: await text(response) };
}

type Pair = readonly [seconds: number, value: string];

interface ApiResponse {
  readonly error?: string;
  readonly data?: {
    readonly result?: readonly {
      readonly metric: Labels;
      /** Of a vector. */
      readonly value?: Pair;
      /** Of a matrix. */
      readonly values?: readonly Pair[];
    }[];
  };
}

function parse(body: string): { readonly series?: readonly Series[]; readonly error?: string } {
  try {
    const { data, error } = JSON.parse(body) as ApiResponse;
    const series = data?.result?.map(({ metric, value, values = value ? [value] : [] }) => ({
      labels: metric,
      samples: values.map(([at, v]) => ({ atMs: Math.round(at * 1_000), value: Number(v) })),
    }));
    return { ...(series && { series }), ...(error !== undefined && { error }) };
  } catch {
    return {};
  }
}
