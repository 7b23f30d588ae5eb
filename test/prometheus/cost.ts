/**
 * `npm run alerts:cost`: what the rules cost in a real Prometheus. Customers that are well, scraped every
 * 30 seconds, each rule evaluated by itself; prints samples and time for 10,000 customers.
 */
import { mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { makeBlocks } from '../e2e/support/history-prometheus.ts';
import { startPrometheus } from '../e2e/support/prometheus.ts';
import { labelsOf } from '../grafana/contract-metrics.ts';
import { selectorsOf } from '../grafana/promql.ts';
import { RULE_FILES, readRecordings, readRuleFile, secondsOf } from './rules.ts';

const SCRAPE_SECONDS = 30;
const TIMES_MEASURED = 3;
const SCALED_TO_CUSTOMERS = 10_000;
/** One customer in ten has four devices. */
const CUSTOMERS_WITH_DEVICES = 0.1;
/** Recordings that have series only after a change of the clocks or a closing. */
const EMPTY = [
  'customer_weeks:library_utc_offset_seconds:delta',
  'customer_weeks:library_people_entered:none1d',
];
const NOW_SECONDS = Date.UTC(2026, 5, 10, 12) / 1_000;

const ANSWER = z.object({
  data: z.object({
    stats: z.object({
      timings: z.object({ evalTotalTime: z.number() }),
      samples: z.object({ totalQueryableSamples: z.number(), peakSamples: z.number() }),
    }),
  }),
});

const { values: flags } = parseArgs({
  options: { customers: { type: 'string', default: '1000' } },
});
const customers = Number(flags.customers);
const groups = RULE_FILES.flatMap((path) => readRuleFile(path).groups);
const expressions = groups.flatMap(({ rules }) => rules.map(({ expr }) => expr));
const folder = mkdtempSync(join(tmpdir(), 'alerts-cost-'));
try {
  mkdirSync(join(folder, 'openmetrics'));
  writeSamples(join(folder, 'openmetrics', 'samples.om'));
  await makeBlocks(join(folder, 'openmetrics'), join(folder, 'blocks'));
  await measure();
} finally {
  rmSync(folder, { recursive: true });
}

async function measure(): Promise<void> {
  const prometheus = await startPrometheus({}, { blocks: join(folder, 'blocks') });
  const scale = SCALED_TO_CUSTOMERS / customers;
  let [samplesPerSecond, cores] = [0, 0];
  const rows: (readonly [seconds: number, row: string])[] = [];
  try {
    for (const { interval, rules } of groups) {
      for (const rule of rules) {
        const seconds: number[] = [];
        let samples = { totalQueryableSamples: 0, peakSamples: 0 };
        for (let i = 0; i < TIMES_MEASURED; i++) {
          const body = new URLSearchParams({
            query: rule.expr,
            time: `${NOW_SECONDS}`,
            stats: 'all',
          });
          const response = await fetch(`${prometheus.url}/api/v1/query`, { method: 'POST', body });
          const { stats } = ANSWER.parse(await response.json()).data;
          seconds.push(stats.timings.evalTotalTime);
          samples = stats.samples;
        }
        const best = Math.min(...seconds) * scale;
        const every = secondsOf(interval);
        samplesPerSecond += (samples.totalQueryableSamples * scale) / every;
        cores += best / every;
        const name = 'record' in rule ? rule.record : rule.alert;
        const read = ((samples.totalQueryableSamples * scale) / 1e6).toFixed(2);
        const peak = ((samples.peakSamples * scale) / 1e6).toFixed(2);
        rows.push([best, `| ${name} | ${interval} | ${read} | ${peak} | ${best.toFixed(2)} |`]);
      }
    }
  } finally {
    await prometheus.stop();
  }
  print(`measured with ${customers} customers, scaled to ${SCALED_TO_CUSTOMERS}\n`);
  print('| rule | every | samples read, millions | at once, millions | seconds |');
  print('|---|--:|--:|--:|--:|');
  rows.toSorted(([a], [b]) => b - a).forEach(([, row]) => print(row));
  print(`\n${Math.round(samplesPerSecond)} samples a second, ${cores.toFixed(2)} of a core`);
}

/** Each metric that a rule reads: densely as far back as ranges reach, and at each offset. */
function writeSamples(path: string): void {
  const file = openSync(path, 'w');
  const offsets = expressions
    .flatMap((expr) => [...expr.matchAll(/offset (\w+)/g)])
    .map(([, offset]) => secondsOf(offset));
  const selectors = expressions.flatMap((expr) => selectorsOf(expr));
  for (const metric of new Set(selectors.map((selector) => selector.metric))) {
    const ranges = selectors
      .filter((selector) => selector.metric === metric)
      .map(({ range }) => secondsOf(range));
    const recording = groups.find(({ rules }) =>
      rules.some((rule) => 'record' in rule && rule.record === metric),
    );
    const step = recording === undefined ? SCRAPE_SECONDS : secondsOf(recording.interval);
    const times = new Set(offsets.map((offset) => NOW_SECONDS - offset - (step % 300)));
    for (let age = 0; age <= Math.max(step, ...ranges); age += step) {
      times.add(NOW_SECONDS - age);
    }
    const sorted = [...times].toSorted((a, b) => a - b);
    for (const labels of labelSets(metric)) {
      const lines = sorted.map(
        (seconds) => `${metric}{${labels}} ${valueOf(metric, seconds)} ${seconds}\n`,
      );
      writeSync(file, lines.join(''));
    }
  }
  writeSync(file, '# EOF\n');
}

/** The label sets of a metric's series. */
function labelSets(metric: string): readonly string[] {
  const labels =
    readRecordings().some(({ record }) => record === metric) && metric.includes(':')
      ? (metric.split(':')[0] ?? '').split('_')
      : (labelsOf(metric) ?? []).filter((label) => label !== 'job' && label !== 'instance');
  if (EMPTY.includes(metric) || metric === 'ALERTS') {
    return [];
  }
  if (!labels.includes('customer')) {
    return [labels.map((label) => `${label}="1"`).join(',')];
  }
  return Array.from({ length: customers }, (_, i) => i).flatMap((i) => {
    const hasDevices = i < CUSTOMERS_WITH_DEVICES * customers;
    const values: Readonly<Record<string, readonly string[]>> = {
      customer: [`library-${i}`],
      stream: ['people', 'logins', ...(hasDevices ? ['device'] : [])],
      counter: ['people_entered', 'people_exited', 'logins'],
      weeks: ['1', '2', '3', '4'],
      device: hasDevices ? ['1', '2', '3', '4'] : [],
      kind: ['entries_missing', 'exits_missing'],
    };
    return labels.reduce<readonly string[]>(
      (sets, label) =>
        sets.flatMap((set) =>
          (values[label] ?? ['1']).map((value) => `${set}${set && ','}${label}="${value}"`),
        ),
      [''],
    );
  });
}

/** A library that is well: one person a minute. */
function valueOf(metric: string, seconds: number): number {
  const known: Readonly<Record<string, number>> = {
    library_utc_offset_seconds: 3_600,
    library_capacity_people: 1_000,
    library_counter_start_timestamp_seconds: Date.UTC(2026, 5, 1, 2) / 1_000,
    process_start_time_seconds: 1,
    library_counter_excess: 0,
    library_poll_failures_total: 0,
    library_polls_skipped_total: 0,
    library_door_suspect: 0,
    'customer:library_people_silence:seconds': 60,
    'customer:library_people_poll_age:seconds': 30,
    'customer_device:library_device_people:share1w': 0.25,
    'customer:library_people_drift:ratio1d': 0.01,
    'service:library_up:down_ratio': 0,
  };
  if (metric in known) {
    return known[metric] ?? 0;
  }
  if (metric.endsWith('_timestamp_seconds')) {
    return seconds;
  }
  if (/_total$|:sum$/.test(metric)) {
    return Math.floor(seconds / 60) % 40_000;
  }
  if (/today/.test(metric)) {
    return Math.floor((seconds % 86_400) / 60);
  }
  return /:(increase|usual)/.test(metric) ? 60 : 1;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
