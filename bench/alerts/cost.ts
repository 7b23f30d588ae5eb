/**
 * `npm run alerts:cost`: what the rules cost in a real Prometheus. Customers that are well, scraped every
 * 30 seconds, each rule evaluated by itself; prints samples and time for 10,000 customers.
 */
import { mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { createBlocks } from '../../test/e2e/support/promtool.ts';
import { startPrometheus } from '../../test/e2e/support/prometheus.ts';
import { labelsOf } from '../../test/grafana/contract-metrics.ts';
import { selectorsOf } from '../../test/grafana/promql.ts';
import { readGroups } from '../../test/prometheus/rules.ts';
import { alignTable } from '../table.ts';
import { secondsOf } from './seconds.ts';

const SCRAPE_SECONDS = 30;
const TIMES_MEASURED = 3;
const SCALED_TO_CUSTOMERS = 10_000;
/** One customer in ten has four devices. */
const CUSTOMERS_WITH_DEVICES = 0.1;
/** Series that are there only while an alert fires. */
const EMPTY = ['ALERTS'];
/** Labels that no series has here: customers are not polled by branch. */
const NO_LABELS = ['job', 'instance', 'branch'];
const NOW_SECONDS = Date.UTC(2026, 5, 10, 12) / 1_000;

const STATS = z.object({
  timings: z.object({ evalTotalTime: z.number() }),
  samples: z.object({ totalQueryableSamples: z.number(), peakSamples: z.number() }),
});
const ANSWER = z.object({ data: z.object({ stats: STATS }) });

const { values: flags } = parseArgs({
  options: { customers: { type: 'string', default: '1000' } },
});
const customers = Number(flags.customers);
const groups = readGroups();
const folder = mkdtempSync(join(tmpdir(), 'alerts-cost-'));
const blocks = join(folder, 'blocks');
try {
  const samples = join(folder, 'samples.om');
  writeSamples(samples);
  await createBlocks(['openmetrics', '--quiet', samples, blocks]);
  await measure();
} finally {
  rmSync(folder, { recursive: true });
}

async function measure(): Promise<void> {
  const prometheus = await startPrometheus({}, { blocks });
  const scale = SCALED_TO_CUSTOMERS / customers;
  let [samplesPerSecond, cores] = [0, 0];
  const rows: { readonly seconds: number; readonly cells: readonly string[] }[] = [];
  try {
    for (const { interval, rules } of groups) {
      for (const rule of rules) {
        const runs: z.infer<typeof STATS>[] = [];
        for (let i = 0; i < TIMES_MEASURED; i++) {
          runs.push(await statsOf(prometheus.url, rule.expr));
        }
        const seconds = scale * Math.min(...runs.map(({ timings }) => timings.evalTotalTime));
        const { totalQueryableSamples = NaN, peakSamples = NaN } = runs[0]?.samples ?? {};
        samplesPerSecond += (scale * totalQueryableSamples) / secondsOf(interval);
        cores += seconds / secondsOf(interval);
        const millions = [totalQueryableSamples, peakSamples].map((count) =>
          ((scale * count) / 1e6).toFixed(2),
        );
        const name = 'record' in rule ? rule.record : rule.alert;
        rows.push({ seconds, cells: [name, interval, ...millions, seconds.toFixed(2)] });
      }
    }
  } finally {
    await prometheus.stop();
  }
  const table = alignTable([
    ['rule', 'every', 'samples read, millions', 'at once, millions', 'seconds'],
    ...rows.toSorted((a, b) => b.seconds - a.seconds).map(({ cells }) => cells),
  ]);
  process.stdout.write(
    `measured with ${customers} customers, scaled to ${SCALED_TO_CUSTOMERS}\n\n${table}\n\n` +
      `${Math.round(samplesPerSecond)} samples a second, ${cores.toFixed(2)} of a core\n`,
  );
}

async function statsOf(url: string, query: string): Promise<z.infer<typeof STATS>> {
  const body = new URLSearchParams({ query, time: `${NOW_SECONDS}`, stats: 'all' });
  const response = await fetch(`${url}/api/v1/query`, { method: 'POST', body });
  return ANSWER.parse(await response.json()).data.stats;
}

/** Each metric that a rule reads: densely as far back as ranges reach, and at each offset. */
function writeSamples(path: string): void {
  const file = openSync(path, 'w');
  const expressions = groups.flatMap(({ rules }) => rules.map(({ expr }) => expr));
  const offsets = expressions
    .flatMap((expr) => [...expr.matchAll(/offset (\w+)/g)])
    .map(([, offset]) => secondsOf(offset));
  const selectors = expressions.flatMap((expr) => selectorsOf(expr));
  for (const [metric, readers] of Map.groupBy(selectors, (selector) => selector.metric)) {
    const recording = groups.find(({ rules }) =>
      rules.some((rule) => 'record' in rule && rule.record === metric),
    );
    const step = recording === undefined ? SCRAPE_SECONDS : secondsOf(recording.interval);
    const times = new Set(offsets.map((offset) => NOW_SECONDS - offset - (step % 300)));
    const longest = Math.max(step, ...readers.map(({ range }) => secondsOf(range)));
    for (let age = 0; age <= longest; age += step) {
      times.add(NOW_SECONDS - age);
    }
    const sorted = [...times].toSorted((a, b) => a - b);
    const labels = recording === undefined ? labelsOf(metric) : metric.split(':')[0]?.split('_');
    for (const set of EMPTY.includes(metric) ? [] : labelSets(labels ?? [])) {
      const lines = sorted.map(
        (seconds) => `${metric}{${set}} ${valueOf(metric, seconds)} ${seconds}\n`,
      );
      writeSync(file, lines.join(''));
    }
  }
  writeSync(file, '# EOF\n');
}

/** The label sets of the series of a metric with these labels. */
function labelSets(labels: readonly string[]): readonly string[] {
  const owners = labels.includes('customer') ? customers : 1;
  return Array.from({ length: owners }, (_, i) => i).flatMap((i) => {
    const hasDevices = i < CUSTOMERS_WITH_DEVICES * customers;
    const values: Readonly<Record<string, readonly string[]>> = {
      customer: [`library-${i}`],
      stream: ['people', 'logins', ...(hasDevices ? ['device'] : [])],
      counter: ['people_entered', 'people_exited', 'logins'],
      direction: ['in', 'out'],
      device: hasDevices ? ['1', '2', '3', '4'] : [],
      kind: ['entries_missing', 'exits_missing', 'silent', 'unbalanced'],
    };
    return labels
      .filter((label) => !NO_LABELS.includes(label))
      .reduce<readonly (readonly string[])[]>(
        (sets, label) =>
          sets.flatMap((set) =>
            (values[label] ?? ['1']).map((value) => [...set, `${label}="${value}"`]),
          ),
        [[]],
      )
      .map((set) => set.join(','));
  });
}

/** A library that is well: one person a minute. */
function valueOf(metric: string, seconds: number): number {
  const known: Readonly<Record<string, number>> = {
    library_utc_offset_seconds: 3_600,
    library_capacity_people: 1_000,
    library_period_start_timestamp_seconds: Date.UTC(2026, 5, 1, 2) / 1_000,
    process_start_time_seconds: 1,
    library_count_excess: 0,
    library_poll_failures_total: 0,
    library_polls_skipped_total: 0,
    library_door_suspect: 0,
    library_people_expected_since_last_seen: 0,
    library_people_direction_expected_since_last_seen: 0,
    library_logins_expected_since_last_seen: 0,
    library_open_seconds_since_last_seen: 0,
    library_people_entered_usual_hour: 60,
    'customer_device:library_device_people:share1w': 0.25,
    'service:library_up:down_ratio': 0,
  };
  if (metric in known) {
    return known[metric] ?? NaN;
  }
  if (metric.endsWith('_timestamp_seconds')) {
    return seconds;
  }
  if (/_total$|:sum$/.test(metric)) {
    return Math.floor(seconds / 60) % 40_000;
  }
  if (metric.includes('today')) {
    return Math.floor((seconds % 86_400) / 60);
  }
  return metric.includes(':increase') ? 60 : 1;
}
