/**
 * Where a Prometheus has the first samples of the running exporter. The day of each is found first,
 * then its five minutes, then the sample itself: three requests where all customers began together.
 */
import { UsageError } from '../../base/errors.ts';
import { ALL_COUNTERS, COUNTERS } from '../../base/model.ts';
import type { Breakdown, CounterName } from '../../base/model.ts';
import { literally } from '../../config/schema.ts';
import type { CustomerConfig } from '../../config/types.ts';
import { DAY_MS } from '../../counting/calendar.ts';
import type { LabelPair } from '../../metrics/family.ts';
import { writeLabel } from '../../metrics/format.ts';
import { counterName } from './plan.ts';
import type { FirstSample, Joint } from './plan.ts';
import type { PrometheusApi, PrometheusSeries } from './prometheus-api.ts';

export interface JointOptions {
  readonly api: PrometheusApi;
  readonly customers: readonly CustomerConfig[];
  /** The labels that the scrape adds. */
  readonly target: readonly LabelPair[];
  readonly fromMs: number;
  readonly nowMs: number;
}

const FIVE_MINUTES_MS = 300_000;
/** More at once would be more samples than Prometheus reads for one query. */
const CUSTOMERS_AT_ONCE = 100;

interface Counter {
  readonly metric: string;
  readonly kind: CounterName;
  readonly breakdown?: Breakdown;
}

/**
 * By customer; those of whom there is nothing are not there. Throws a PrometheusError, and a
 * UsageError where the labels are not those of the series that there are.
 */
export async function firstSamples(options: JointOptions): Promise<ReadonlyMap<string, Joint>> {
  const { customers } = options;
  const joints = new Map<string, { atMs: number; counters: Record<string, FirstSample> }>();
  for (let i = 0; i < customers.length; i += CUSTOMERS_AT_ONCE) {
    const some = customers.slice(i, i + CUSTOMERS_AT_ONCE);
    for (const counter of countersOf(some)) {
      for (const { labels, samples } of await firstOf(options, counter.metric, some)) {
        refuseOtherLabels(labels, counter, options.target);
        const { customer = '' } = labels;
        const [first] = samples;
        if (first !== undefined) {
          const joint = joints.get(customer) ?? { atMs: Infinity, counters: {} };
          joint.atMs = Math.min(joint.atMs, first.atMs);
          joint.counters[nameOf(counter, labels)] = first;
          joints.set(customer, joint);
        }
      }
    }
  }
  if (joints.size === 0) {
    await refuseOtherTarget(options);
  }
  return joints;
}

function countersOf(customers: readonly CustomerConfig[]): readonly Counter[] {
  const breakdowns = new Set(customers.flatMap((customer) => customer.breakdowns));
  return [
    ...ALL_COUNTERS.map((kind) => ({ metric: `library_${kind}_total`, kind })),
    ...[...breakdowns].flatMap((breakdown) =>
      COUNTERS.people.map((kind) => ({
        metric: `library_${breakdown}_${kind}_total`,
        kind,
        breakdown,
      })),
    ),
  ];
}

function nameOf({ kind, breakdown }: Counter, labels: Readonly<Record<string, string>>): string {
  return breakdown === undefined
    ? counterName(kind)
    : counterName(kind, [breakdown, labels[breakdown] ?? '']);
}

/** Each series from its first sample on. */
async function firstOf(
  { api, target, fromMs, nowMs }: JointOptions,
  metric: string,
  customers: readonly CustomerConfig[],
): Promise<readonly PrometheusSeries[]> {
  const names = customers.map(({ name }) => literally(name));
  const matchers = [...target.map(writeLabel), matcherOf('customer', names)].join(',');
  const selector = `${metric}{${matchers}}`;
  const days = await firstWindows(api, selector, fromMs, nowMs, DAY_MS);
  const found: PrometheusSeries[] = [];
  for (const [dayEndMs, ofDay] of days) {
    const startMs = dayEndMs - DAY_MS;
    const windows = await firstWindows(api, selector, startMs, dayEndMs, FIVE_MINUTES_MS);
    for (const [endMs, ofWindow] of windows) {
      const wanted = new Set([...ofWindow].filter((series) => ofDay.has(series)));
      if (wanted.size > 0) {
        const series = await api.query(`${selector}[5m]`, endMs);
        found.push(...series.filter(({ labels }) => wanted.has(identityOf(labels))));
      }
    }
  }
  return found;
}

function matcherOf(label: string, patterns: readonly string[]): string {
  return writeLabel([label, patterns.join('|')]).replace('=', '=~');
}

/** The ends of the windows in which series are there for the first time, and which these are. */
async function firstWindows(
  api: PrometheusApi,
  selector: string,
  fromMs: number,
  toMs: number,
  lengthMs: number,
): Promise<ReadonlyMap<number, ReadonlySet<string>>> {
  const windows = new Map<number, Set<string>>();
  const series = await api.queryRange(`count_over_time(${selector}[${lengthMs}ms])`, {
    startMs: fromMs + lengthMs,
    endMs: toMs + lengthMs - 1,
    stepMs: lengthMs,
  });
  for (const { labels, samples } of series) {
    const endMs = samples[0]?.atMs ?? 0;
    const ofWindow = windows.get(endMs) ?? new Set();
    windows.set(endMs, ofWindow.add(identityOf(labels)));
  }
  return windows;
}

/** A function of Prometheus takes the name away, and so do we. */
function identityOf({ __name__: _name, ...labels }: Readonly<Record<string, string>>): string {
  return JSON.stringify(Object.entries(labels).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** A series with another label is another series: the history would not be joined to it. */
function refuseOtherLabels(
  labels: Readonly<Record<string, string>>,
  { breakdown }: Counter,
  target: readonly LabelPair[],
): void {
  const own = new Set(['__name__', 'customer', breakdown, ...target.map(([name]) => name)]);
  const others = Object.entries(labels).filter(([name]) => !own.has(name));
  if (others.length > 0) {
    const flags = others.map(([name, value]) => `--label=${name}=${value}`);
    throw new UsageError(
      `the series in Prometheus have labels that the history would not have: add ${flags.join(' ')}`,
    );
  }
}

async function refuseOtherTarget({ api, target, fromMs, nowMs }: JointOptions): Promise<void> {
  const range = Math.ceil((nowMs - fromMs) / 1_000);
  const there = await api.query(
    `group by (job, instance) (last_over_time(library_people_entered_total[${range}s]))`,
    nowMs,
  );
  const asked = target.map(writeLabel).join(', ');
  if (there.length === 0) {
    throw new UsageError(
      'Prometheus has no library_people_entered_total in all that time: ' +
        'leave --prometheus.url out, or wait until it has scraped the exporter',
    );
  }
  const others = there.map(
    ({ labels }) => `--job=${labels['job'] ?? ''} --instance=${labels['instance'] ?? ''}`,
  );
  throw new UsageError(
    `Prometheus has no series of these customers with ${asked}; it has those of ${others.join(', and of ')}`,
  );
}
