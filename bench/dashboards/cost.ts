/**
 * `npm run dashboards:cost`: what each query of the dashboards costs in a real Prometheus, for libraries with
 * branches that are well, scraped once a minute. Prints each dashboard with its slowest query.
 */
import { createWriteStream, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { debianProgram, finished } from '../../test/e2e/support/processes.ts';
import { startPrometheus } from '../../test/e2e/support/prometheus.ts';
import { labelsOf } from '../../test/grafana/contract-metrics.ts';
import { asPromql } from '../../test/grafana/dashboard.ts';
import { selectorsOf } from '../../test/grafana/promql.ts';
import { readGroups, readRecordings } from '../../test/prometheus/rules.ts';
import { secondsOf } from '../alerts/seconds.ts';
import { alignTable } from '../table.ts';

const NOW_SECONDS = Date.UTC(2026, 5, 10, 12) / 1_000;
const SCRAPE_SECONDS = 60;
const DAY_SECONDS = 86_400;
const TIMES_MEASURED = 3;
/** Width of a panel on a desk: so many points has a line. */
const POINTS = 700;
/** The libraries that are chosen where All is not possible: about ten branches. */
const CHOSEN = ['library-0', 'library-1', 'library-2'];
/** What Patterns reads of four weeks. */
const OF_FOUR_WEEKS = ['today', 'occupancy', 'open', 'suspect', 'capacity', 'utc_offset', 'info'];

const TARGET = z.object({
  expr: z.string().optional(),
  instant: z.boolean().optional(),
  refId: z.string(),
});
const PANEL = z.object({
  title: z.string(),
  interval: z.string().optional(),
  timeFrom: z.string().optional(),
  targets: z.array(TARGET).default([]),
});
const DASHBOARD = z.object({
  uid: z.string(),
  panels: z.array(PANEL.extend({ panels: z.array(PANEL).default([]) })),
  time: z.object({ from: z.string() }),
});
const ANSWER = z.object({
  data: z.object({ stats: z.object({ timings: z.object({ evalTotalTime: z.number() }) }) }),
});

const { values: flags } = parseArgs({
  options: {
    libraries: { type: 'string', default: '50' },
    branches: { type: 'string', default: '4' },
    /** Statistics and Patterns of about ten branches, not of all. */
    chosen: { type: 'boolean', default: false },
  },
});
const libraries = Number(flags.libraries);
const branches = Number(flags.branches);

const FOLDER = new URL('../../grafana/dashboards/', import.meta.url);
const dashboards = readdirSync(FOLDER).map((name) =>
  DASHBOARD.parse(JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8'))),
);
const queries = dashboards.flatMap(({ panels }) =>
  panels.flatMap((panel) => [panel, ...panel.panels]).flatMap(({ targets }) => targets),
);
const folder = mkdtempSync(join(tmpdir(), 'dashboards-cost-'));
try {
  await writeHistory();
  await measure();
} finally {
  rmSync(folder, { recursive: true });
}

async function measure(): Promise<void> {
  const flagsOfServer = ['--query.max-samples=200000000'];
  const prometheus = await startPrometheus({}, { storage: blocks(), flags: flagsOfServer });
  const rows: string[][] = [];
  try {
    for (const { uid, panels, time } of dashboards) {
      const measured: { readonly name: string; readonly seconds: number }[] = [];
      for (const panel of panels.flatMap((one) => [one, ...one.panels])) {
        for (const { expr, instant = false, refId } of panel.targets) {
          if (expr !== undefined) {
            const range = rangeOf(panel.timeFrom ?? time.from);
            const step = Math.max(secondsOf(panel.interval ?? '15s'), Math.ceil(range / POINTS));
            const query = filledIn(uid, expr, range, step);
            const runs: number[] = [];
            for (let i = 0; i < TIMES_MEASURED; i += 1) {
              runs.push(
                await secondsFor(prometheus.url, query, instant ? undefined : { range, step }),
              );
            }
            measured.push({ name: `${panel.title}, ${refId}`, seconds: Math.min(...runs) });
          }
        }
      }
      const [slowest] = measured.toSorted((a, b) => b.seconds - a.seconds);
      const total = measured.reduce((sum, { seconds }) => sum + seconds, 0);
      rows.push([
        uid,
        String(measured.length),
        slowest?.name ?? '',
        slowest?.seconds.toFixed(2) ?? '',
        total.toFixed(2),
      ]);
    }
  } finally {
    await prometheus.stop();
  }
  const table = alignTable([
    ['dashboard', 'queries', 'slowest query', 'seconds', 'all, one after another'],
    ...rows,
  ]);
  process.stdout.write(`${libraries} libraries with ${branches} branches\n\n${table}\n`);
}

async function secondsFor(
  url: string,
  query: string,
  over: { readonly range: number; readonly step: number } | undefined,
): Promise<number> {
  const times =
    over === undefined
      ? { time: `${NOW_SECONDS}` }
      : { start: `${NOW_SECONDS - over.range}`, end: `${NOW_SECONDS}`, step: `${over.step}` };
  const body = new URLSearchParams({ query, ...times, stats: 'all' });
  const path = over === undefined ? 'query' : 'query_range';
  const response = await fetch(`${url}/api/v1/${path}`, { method: 'POST', body });
  const text = await response.text();
  if (!response.ok) {
    throw new Error(`Prometheus refuses ${query}: ${text}`);
  }
  return ANSWER.parse(JSON.parse(text)).data.stats.timings.evalTotalTime;
}

/** Seconds of the time range until now. */
function rangeOf(from: string): number {
  if (from.includes('/y')) {
    return NOW_SECONDS - Date.UTC(2025, 0, 1) / 1_000;
  }
  const duration = /^(?:now-)?(\d+\w)/.exec(from)?.[1];
  return duration === undefined ? DAY_SECONDS / 2 : secondsOf(duration);
}

function filledIn(uid: string, expression: string, range: number, step: number): string {
  const isChosen = flags.chosen || uid === 'library-patterns';
  const some = isChosen && ['library-patterns', 'library-statistics'].includes(uid);
  const one = ['library-customer', 'library-now'].includes(uid);
  const all = one ? 'library-0' : '.+';
  return expression
    .replaceAll(/\$__range\b/g, `${range}s`)
    .replaceAll(/\$__(rate_interval|interval)\b/g, `${Math.max(step, 4 * SCRAPE_SECONDS)}s`)
    .replaceAll('${__from:date:seconds}', String(NOW_SECONDS - range))
    .replaceAll('$rows', uid === 'library-statistics' ? 'customer, name' : 'customer, branch')
    .replaceAll('$label', 'region')
    .replaceAll(/\$(job|instance)\b/g, '.+')
    .replaceAll(/\$(value|branch)\b/g, '.*')
    .replaceAll('$customer', some ? `(${CHOSEN.join('|')})` : all);
}

function blocks(): string {
  return join(folder, 'blocks');
}

/** Each metric that a dashboard reads: a day of each, four weeks or years where a dashboard reads so much. */
async function writeHistory(): Promise<void> {
  const recordings = new Set(readRecordings().map(({ record }) => record));
  const metrics = new Set(
    queries.flatMap(({ expr = '' }) => selectorsOf(asPromql(expr)).map(({ metric }) => metric)),
  );
  for (const metric of metrics) {
    if (recordings.has(metric)) {
      await writeMonths(metric);
    } else {
      await writeScrapes(metric);
    }
  }
}

async function writeScrapes(metric: string): Promise<void> {
  const isOfWeeks = OF_FOUR_WEEKS.some((word) => metric.includes(word));
  const isDense = isOfWeeks || metric.includes('expected') || metric.includes('_total');
  await inFile(async (write) => {
    for (const [labels, customer] of labelSets(labelsOf(metric) ?? [])) {
      const isChosen = isOfWeeks && CHOSEN.includes(customer);
      const longest = isChosen ? 28 * DAY_SECONDS : isDense ? 1.1 * DAY_SECONDS : 600;
      let text = '';
      for (let age = longest; age >= 0; age -= SCRAPE_SECONDS) {
        const seconds = NOW_SECONDS - age;
        text += `${metric}{${labels}} ${valueOf(metric, seconds)} ${seconds}\n`;
      }
      await write(text);
    }
  });
}

/** Recordings of this year and the last one, as often as their rules are evaluated. */
async function writeMonths(metric: string): Promise<void> {
  const own = metric.split(':')[0]?.split('_') ?? [];
  const labels = own.filter((label) => label !== 'month');
  const group = readGroups().find(({ rules }) =>
    rules.some((rule) => 'record' in rule && rule.record === metric),
  );
  const interval = secondsOf(group?.interval);
  for (let month = 0; Date.UTC(2025, month) / 1_000 < NOW_SECONDS; month += 1) {
    const start = Date.UTC(2025, month) / 1_000;
    const end = Math.min(Date.UTC(2025, month + 1) / 1_000, NOW_SECONDS);
    const name = new Date(start * 1_000).toISOString().slice(0, 7);
    await inFile(async (write) => {
      for (const [set, customer] of labelSets(labels)) {
        const isOld = end < NOW_SECONDS - 40 * DAY_SECONDS;
        let text = '';
        const from = flags.chosen && isOld && !CHOSEN.includes(customer) ? end : start;
        for (let seconds = from; seconds <= end; seconds += interval) {
          text += `${metric}{${set},month="${name}"} ${valueOf(metric, seconds)} ${seconds}\n`;
        }
        await write(text);
      }
    });
  }
}

/** Makes a block of what is written. */
async function inFile(
  fill: (write: (text: string) => Promise<void>) => Promise<void>,
): Promise<void> {
  const path = join(folder, 'samples.om');
  const file = createWriteStream(path);
  await fill(async (text) => {
    if (!file.write(text)) {
      await once(file, 'drain');
    }
  });
  file.end('# EOF\n');
  await once(file, 'finish');
  await finished(debianProgram('/usr/bin/promtool'), [
    'tsdb',
    'create-blocks-from',
    '--max-block-duration=2592h',
    'openmetrics',
    '--quiet',
    path,
    blocks(),
  ]);
}

/** The label sets of the series of a metric with these labels, each with its customer. */
function labelSets(
  labels: readonly string[],
): readonly (readonly [labels: string, customer: string])[] {
  const owners = labels.includes('customer') ? libraries : 1;
  return Array.from({ length: owners }, (_, i) => i).flatMap((i) => {
    const values: Readonly<Record<string, readonly string[]>> = {
      job: ['library'],
      instance: ['exporter'],
      customer: [`library-${i}`],
      branch: Array.from({ length: branches }, (__, branch) => `${i}-${branch}`),
      timezone: ['Europe/Copenhagen'],
      stream: ['people', 'logins', 'branch'],
      counter: ['people_entered', 'people_exited', 'logins'],
      direction: ['in', 'out'],
      device: [],
      client: [],
      kind: ['entries_missing', 'exits_missing', 'silent', 'unbalanced'],
    };
    const sets = labels.reduce<readonly (readonly string[])[]>(
      (all, label) =>
        all.flatMap((set) =>
          (values[label] ?? ['1']).map((value) => [...set, `${label}="${value}"`]),
        ),
      [[]],
    );
    return sets.map((set) => [set.join(','), `library-${i}`] as const);
  });
}

/** A library that is well: one person a minute. */
function valueOf(metric: string, seconds: number): number {
  const known: Readonly<Record<string, number>> = {
    library_utc_offset_seconds: 7_200,
    library_capacity_people: 1_000,
    library_period_start_timestamp_seconds: Date.UTC(2026, 5, 1, 2) / 1_000,
    library_count_excess: 0,
    library_poll_failures_total: 0,
    library_door_suspect: 0,
    library_people_expected_since_last_seen: 0,
    library_people_direction_expected_since_last_seen: 0,
    'job_customer_branch_month:library_people_missed:count': 0,
  };
  if (metric in known) {
    return known[metric] ?? NaN;
  }
  if (metric.endsWith('timestamp_seconds') || metric.endsWith(':timestamp')) {
    return seconds;
  }
  if (/_?total$/.test(metric)) {
    return Math.floor(seconds / 60) % 40_000;
  }
  return metric.includes('today') ? Math.floor((seconds % DAY_SECONDS) / 60) : 1;
}
