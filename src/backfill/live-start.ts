/**
 * Finds the first live samples in Prometheus. The history must end before them, and its counters must
 * not be higher: Prometheus would take the difference for a reset.
 */
import { once } from 'node:events';
import { request as requestHttp } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { request as requestHttps } from 'node:https';
import { text } from 'node:stream/consumers';
import { z } from 'zod';
import { HOUR_MS, MINUTE_MS } from '../base/duration.ts';
import { codeOf, messageOf, UsageError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { ALL_COUNTERS } from '../base/model.ts';
import type { Breakdown, CounterName } from '../base/model.ts';
import type { CustomerConfig } from '../config/types.ts';
import { contains } from '../counting/calendar/calendar.ts';
import type { Span } from '../counting/calendar/calendar.ts';
import type { CounterValues } from '../counting/customer-metrics.ts';
import { Zone } from '../counting/calendar/zone.ts';
import { writeLabels } from '../metrics/family.ts';
import type { LabelPair } from '../metrics/family.ts';
import type { BackfillFlags, LiveStart, Sample } from './targets.ts';

interface Series {
  readonly labels: Readonly<Record<string, string>>;
  /** The first one of the queried range. */
  readonly sample: Sample;
}

const COUNTERS = 'library_((branch|client|device)_)?(people_entered|people_exited|logins)_total';
const STEP_MS = 5 * MINUTE_MS;
/** Counters that come later than this after the first one are not compared. */
const FIRST_VALUES_MS = HOUR_MS;
/** Prometheus has written samples of this age to disk. */
const SETTLED_AGE_MS = 4 * HOUR_MS;
const REQUEST_TIMEOUT_MS = 2 * MINUTE_MS;

/** A counter within its customer. */
function counterId(name: string, breakdown = '', key = ''): string {
  return `${name} ${breakdown} ${key}`;
}

/** Upper limits of the counters. */
export type MaxValues = Readonly<Partial<Record<CounterName, number>>>;

/** Returns the first live values of a customer, or of one key, as far as they are of a period. */
export function firstValues(
  liveStart: LiveStart | undefined,
  period: Span,
  breakdown?: Breakdown,
  key?: string,
): MaxValues {
  const first = ALL_COUNTERS.flatMap((name) => {
    const sample = liveStart?.counters.get(counterId(name, breakdown, key));
    return sample !== undefined && contains(period, sample.atMs) ? [[name, sample.value]] : [];
  });
  return Object.fromEntries(first);
}

/** Returns the values of a counter of the past. */
export function limited(total = 0, maxValue = Infinity, today?: number): CounterValues {
  return { total: Math.min(total, maxValue), excess: undefined, today };
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
  const starts = new Map<string, LiveStart>();
  if (url === undefined) {
    return starts;
  }
  const endMs = Math.ceil(nowMs / STEP_MS) * STEP_MS;
  for (const { name, timezone } of customers) {
    const labels = [['customer', name] as const, ...scrapeLabels];
    const selector = `{__name__=~"${COUNTERS}",${writeLabels(...labels)}}`;
    const rangeMs = endMs - from.toInstantMs(new Zone(timezone), nowMs);
    const steps = `count(last_over_time(${selector}[${STEP_MS}ms]))`;
    const search = `min_over_time(timestamp(${steps})[${rangeMs}ms:${STEP_MS}ms])`;
    const [found] = await query(url, search, endMs, stop);
    if (found !== undefined) {
      const lastMs = found.sample.value * 1_000 + FIRST_VALUES_MS;
      const range = `${selector}[${STEP_MS + FIRST_VALUES_MS}ms]`;
      starts.set(name, liveStartOf(await query(url, range, lastMs, stop), labels));
    }
  }
  if (starts.size === 0) {
    throw new UsageError(
      `Prometheus has no counters of these customers with ${writeLabels(...scrapeLabels)} since --from: ` +
        'check --job, --instance and --label, or use --to instead of --prometheus.url',
    );
  }
  const newestMs = Math.max(...Array.from(starts.values(), ({ atMs }) => atMs));
  if (nowMs - newestMs < SETTLED_AGE_MS) {
    log.warn('Prometheus still changes the hours of its first samples, load the blocks later', {
      not_before: new Date(newestMs + SETTLED_AGE_MS).toISOString(),
    });
  }
  return starts;
}

/** A series with another label is another series: the history would not join it. */
function liveStartOf(series: readonly Series[], ownLabels: readonly LabelPair[]): LiveStart {
  const counters = series.map(({ labels, sample }) => {
    const [, , breakdown = '', name = ''] =
      new RegExp(COUNTERS).exec(labels['__name__'] ?? '') ?? [];
    // Prometheus may add __type__ and __unit__.
    const others = Object.entries(labels).filter(
      ([label]) =>
        !label.startsWith('__') && label !== breakdown && !ownLabels.some(([own]) => own === label),
    );
    if (others.length > 0) {
      const flags = others.map((label) => `--label=${label.join('=')}`);
      throw new UsageError(`the series in Prometheus have more labels: add ${flags.join(' ')}`);
    }
    return [counterId(name, breakdown, labels[breakdown]), sample] as const;
  });
  return {
    atMs: Math.min(...counters.map(([, { atMs }]) => atMs)),
    counters: new Map(counters),
  };
}

const SAMPLE = z
  .tuple([z.number(), z.string()])
  .transform(([seconds, value]) => ({ atMs: Math.round(seconds * 1_000), value: Number(value) }));

/** A response to an instant query: `data` after success, else `error`. */
const RESPONSE = z.object({
  error: z.string().optional(),
  data: z
    .object({
      result: z.array(
        // A vector has `value`, a matrix `values`.
        z.object({
          metric: z.record(z.string(), z.string()),
          value: SAMPLE.optional(),
          values: z.array(SAMPLE).optional(),
        }),
      ),
    })
    .optional(),
});

/** `base` may have a path, a user and a password. Messages show neither user nor password. */
async function query(
  base: URL,
  expression: string,
  atMs: number,
  stop: AbortSignal,
): Promise<readonly Series[]> {
  const url = new URL(base);
  url.pathname = `${url.pathname.replace(/\/$/, '')}/api/v1/query`;
  const shown = `${url.origin}${url.pathname}`;
  const form = new URLSearchParams({ query: expression, time: String(atMs / 1_000) });
  const signal = AbortSignal.any([stop, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]);
  const { status, body } = await post(url, form, signal).catch((error: unknown) => {
    const reason = codeOf(error) ?? messageOf(error);
    throw new Error(`${shown}: no response (${reason})`, { cause: error });
  });
  const { data, error = 'not a response of Prometheus' } = parseResponse(body);
  if (status !== 200 || data === undefined) {
    throw new Error(`${shown}: status ${status}: ${error}`);
  }
  return data.result.flatMap(({ metric: labels, value, values = [] }) => {
    const sample = values[0] ?? value;
    return sample === undefined ? [] : [{ labels, sample }];
  });
}

/** Empty if it is not a response of Prometheus. */
function parseResponse(body: string): z.output<typeof RESPONSE> {
  try {
    return RESPONSE.parse(JSON.parse(body));
  } catch {
    return {};
  }
}

async function post(url: URL, form: URLSearchParams, signal: AbortSignal) {
  const send = url.protocol === 'https:' ? requestHttps : requestHttp;
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const request = send(url, { method: 'POST', headers, signal });
  request.end(form.toString());
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  // From now on, an error of the request is also one of the response.
  request.on('error', () => {});
  return { status: response.statusCode, body: await text(response) };
}
