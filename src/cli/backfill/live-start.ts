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
  const query = createQuery(url, stop);
  const fromMs = customers.map(({ timezone }) => from.time(new Zone(timezone), nowMs));
  const range = { startMs: Math.min(...fromMs), endMs: nowMs };
  for (let i = 0; i < customers.length; i += MAX_CUSTOMERS_PER_QUERY) {
    const some = customers.slice(i, i + MAX_CUSTOMERS_PER_QUERY);
    const names = some.map(({ name }) => name.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`));
    const customer = writeLabel(['customer', names.join('|')]).replace('=', '=~');
    const matchers = [...scrapeLabels.map(writeLabel), customer].join(',');
    for (const counter of countersOf(some)) {
      const selector = `${counter.metric}{${matchers}}`;
      for (const series of await findFirst(query, selector, range, SEARCH_STEPS_MS)) {
        rejectOtherLabels(series.labels, counter, scrapeLabels);
        addStart(starts, series, counter);
      }
    }
  }
  if (starts.size === 0) {
    throw await noSeriesError(query, scrapeLabels, range);
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
  query: Query,
  selector: string,
  { startMs, endMs }: Span,
  [stepMs, ...finerMs]: readonly number[],
  wanted?: ReadonlySet<string>,
): Promise<readonly Series[]> {
  function isWanted({ labels }: Series): boolean {
    return wanted?.has(identityOf(labels)) ?? true;
  }
  if (stepMs === undefined) {
    const range = `${selector}[${endMs - startMs}ms]`;
    return (await query('query', { query: range, time: seconds(endMs) })).filter(isWanted);
  }
  const counts = await query('query_range', {
    query: `count_over_time(${selector}[${stepMs}ms])`,
    start: seconds(startMs + stepMs),
    end: seconds(endMs + stepMs - 1),
    step: seconds(stepMs),
  });
  const windows = Map.groupBy(counts.filter(isWanted), ({ samples }) => samples[0]?.atMs ?? 0);
  const found: Series[] = [];
  for (const [windowEndMs, series] of windows) {
    const window = { startMs: windowEndMs - stepMs, endMs: windowEndMs };
    const identities = new Set(series.map(({ labels }) => identityOf(labels)));
    found.push(...(await findFirst(query, selector, window, finerMs, identities)));
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
  query: Query,
  scrapeLabels: readonly LabelPair[],
  { startMs, endMs }: Span,
): Promise<UsageError> {
  const metric = 'library_people_entered_total';
  const latest = `last_over_time(${metric}[${endMs - startMs}ms])`;
  const found = await query('query', {
    query: `group by (job, instance) (${latest})`,
    time: seconds(endMs),
  });
  if (found.length === 0) {
    return new UsageError(
      `Prometheus has no ${metric} since --from: ` +
        'omit --prometheus.url, or wait until it has scraped the exporter',
    );
  }
  const others = found.map(
    ({ labels }) => `--job=${labels['job']} --instance=${labels['instance']}`,
  );
  return new UsageError(
    `Prometheus has no series of these customers with ${scrapeLabels.map(writeLabel).join(', ')}; ` +
      `it has series with ${others.join(', and with ')}`,
  );
}

/** A query of Prometheus's HTTP API. Rejects unless the result is a vector or a matrix. */
type Query = (
  path: 'query' | 'query_range',
  form: Readonly<Record<string, string>>,
) => Promise<readonly Series[]>;

/** `base` may have a path, a user and a password. Messages show neither user nor password. */
function createQuery(base: URL, stop: AbortSignal): Query {
  return async (path, form) => {
    const url = new URL(base);
    url.pathname = `${url.pathname.replace(/\/$/, '')}/api/v1/${path}`;
    const shown = `${url.origin}${url.pathname}`;
    let response: { readonly status: number | undefined; readonly body: string };
    try {
      response = await post(url, new URLSearchParams(form).toString(), stop);
    } catch (error) {
      throw new Error(`${shown}: no response (${codeOf(error) ?? messageOf(error)})`, {
        cause: error,
      });
    }
    const { data, error = 'not a response of Prometheus' } = parse(response.body);
    if (response.status !== 200 || !Array.isArray(data?.result)) {
      throw new Error(`${shown}: status ${response.status}: ${error}`);
    }
    return data.result.map(({ metric, value, values = value ? [value] : [] }) => ({
      labels: metric,
      samples: values.map(([at, text]) => ({ atMs: Math.round(at * 1_000), value: Number(text) })),
    }));
  };
}

function seconds(ms: number): string {
  return String(ms / 1_000);
}

/** POST, because a query with many customers is longer than a URL may be. */
async function post(
  url: URL,
  body: string,
  stop: AbortSignal,
): Promise<{ readonly status: number | undefined; readonly body: string }> {
  const signal = AbortSignal.any([stop, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]);
  const send = url.protocol === 'https:' ? requestHttps : requestHttp;
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const request = send(url, { method: 'POST', headers, signal });
  request.end(body);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  // From now on, an error of the request is also one of the response.
  request.on('error', () => {});
  return { status: response.statusCode, body: await text(response) };
}

type Pair = readonly [seconds: number, value: string];

interface ApiResponse {
  readonly error?: string;
  readonly data?: {
    /** A vector has `value`, a matrix `values`. */
    readonly result?: { metric: Labels; value?: Pair; values?: Pair[] }[];
  };
}

function parse(body: string): ApiResponse {
  try {
    return (JSON.parse(body) as ApiResponse | null) ?? {};
  } catch {
    return {};
  }
}
