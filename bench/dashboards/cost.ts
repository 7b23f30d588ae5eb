/**
 * `npm run dashboards:cost`: what each query of the dashboards costs in a real Prometheus, for libraries with
 * branches that are well, scraped once a minute. Prints each dashboard with its slowest query.
 */
import { once } from 'node:events';
import { createWriteStream, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { parseDuration } from '../../src/base/duration.ts';
import { debianProgram, finished } from '../../test/e2e/support/processes.ts';
import { startPrometheus } from '../../test/e2e/support/prometheus.ts';
import { labelsOf } from '../../test/grafana/contract-metrics.ts';
import { asPromql } from '../../test/grafana/dashboard.ts';
import { selectorsOf } from '../../test/grafana/promql.ts';
import { readRecordings } from '../../test/prometheus/rules.ts';
import { alignTable } from '../table.ts';

const NOW_SECONDS = Date.UTC(2026, 11, 10, 12) / 1_000;
/** As far back as months are written: to the start of the last year. */
const FIRST_MONTH = Date.UTC(2025, 0);
const LAST_YEAR = 'now-1y/y';
/** Where Statistics begins by default. */
const MONTH_A_YEAR_AGO = Date.UTC(2025, 11);
const SCRAPE_SECONDS = 60;
const RECORDED_SECONDS = 4 * 3_600;
const DAY_SECONDS = 86_400;
const TIMES_MEASURED = 3;
/** Width of a panel on a desk: so many points has a line. */
const POINTS = 700;
/** What one library reads of four weeks. */
const OF_FOUR_WEEKS = ['library_people_entered_hour', 'library_utc_offset_seconds'];

const PANEL = z.object({
  title: z.string(),
  interval: z.string().optional(),
  timeFrom: z.string().optional(),
  targets: z
    .array(z.object({ expr: z.string(), range: z.boolean(), legendFormat: z.string() }))
    .default([]),
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
  },
});
const libraries = Number(flags.libraries);
const branches = Number(flags.branches);

/** All libraries by name, as Grafana writes them. */
const ALL = Array.from({ length: libraries }, (_, i) => `library-${i}`).join('|');

const FOLDER = new URL('../../grafana/dashboards/', import.meta.url);
const dashboards = readdirSync(FOLDER)
  .map((name) => DASHBOARD.parse(JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8'))))
  .map(({ panels, ...one }) => ({ ...one, panels: panels.flatMap((it) => [it, ...it.panels]) }));
const folder = mkdtempSync(join(tmpdir(), 'dashboards-cost-'));
const blocks = join(folder, 'blocks');
try {
  await writeHistory();
  await measure();
} finally {
  rmSync(folder, { recursive: true });
}

async function measure(): Promise<void> {
  const prometheus = await startPrometheus(
    {},
    { storage: blocks, flags: ['--query.max-samples=200000000'] },
  );
  const rows: string[][] = [['dashboard', 'queries', 'slowest query', 'seconds', 'all']];
  try {
    for (const { uid, name, panels, time } of dashboards.flatMap(inItsRanges)) {
      const measured: { readonly name: string; readonly seconds: number }[] = [];
      for (const { title, interval = '15s', timeFrom = time.from, targets } of panels) {
        const range = rangeOf(timeFrom);
        const step = Math.max(secondsOf(interval), Math.ceil(range / POINTS));
        for (const { expr, range: isOverTime, legendFormat } of targets) {
          const query = filledIn(uid, expr, range, step);
          const runs: number[] = [];
          for (let i = 0; i < TIMES_MEASURED; i += 1) {
            const over = isOverTime ? { range, step } : undefined;
            runs.push(await secondsFor(prometheus.url, query, over));
          }
          measured.push({ name: `${title}, ${legendFormat}`, seconds: Math.min(...runs) });
        }
      }
      const [slowest] = measured.toSorted((a, b) => b.seconds - a.seconds);
      const all = measured.reduce((sum, { seconds }) => sum + seconds, 0);
      const numbers = [slowest?.seconds ?? NaN, all].map((seconds) => seconds.toFixed(2));
      rows.push([name, String(measured.length), slowest?.name ?? '', ...numbers]);
    }
  } finally {
    await prometheus.stop();
  }
  const head = `${libraries} libraries with ${branches} branches`;
  process.stdout.write(`${head}\n\n${alignTable(rows)}\n`);
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

/** Months are read for the default range, and for all that are written. */
function inItsRanges<Dashboard extends (typeof dashboards)[number]>(it: Dashboard) {
  const byDefault = { ...it, name: it.uid };
  return it.time.from.endsWith('/M')
    ? [byDefault, { ...it, name: `${it.uid}, two years`, time: { from: LAST_YEAR } }]
    : [byDefault];
}

/** Seconds of the time range until now. */
function rangeOf(from: string): number {
  if (/\/[My]$/.test(from)) {
    return NOW_SECONDS - (from === LAST_YEAR ? FIRST_MONTH : MONTH_A_YEAR_AGO) / 1_000;
  }
  const [, duration] = /^(?:now-)?(\d+\w)/.exec(from) ?? [];
  return duration === undefined ? DAY_SECONDS / 2 : secondsOf(duration);
}

function secondsOf(duration: string): number {
  return (parseDuration(duration) ?? NaN) / 1_000;
}

function filledIn(uid: string, expression: string, range: number, step: number): string {
  return expression
    .replaceAll('$__range', `${range}s`)
    .replaceAll(/\$__(rate_interval|interval)\b/g, `${Math.max(step, 4 * SCRAPE_SECONDS)}s`)
    .replaceAll(/\$(job|instance)\b/g, '.+')
    .replaceAll('$branch', uid === 'library-now' ? '0-0' : '.*')
    .replaceAll('customer="$customer"', 'customer="library-0"')
    .replaceAll('$customer', `(${ALL})`);
}

/** Each metric that a dashboard reads: as far back as one does. */
async function writeHistory(): Promise<void> {
  const recordings = new Set(readRecordings().map(({ record }) => record));
  const queries = dashboards.flatMap(({ panels }) => panels.flatMap(({ targets }) => targets));
  const metrics = new Set(
    queries.flatMap(({ expr }) => selectorsOf(asPromql(expr)).map(({ metric }) => metric)),
  );
  await writeMonths([...metrics].filter((it) => recordings.has(it)));
  for (const metric of [...metrics].filter((it) => !recordings.has(it))) {
    await writeScrapes(metric);
  }
}

async function writeScrapes(metric: string): Promise<void> {
  await inFile(async (write) => {
    for (const [labels, customer] of labelSets(labelsOf(metric) ?? [])) {
      const isOfWeeks = customer === 'library-0' && OF_FOUR_WEEKS.includes(metric);
      let text = '';
      for (let age = (isOfWeeks ? 28 : 1.1) * DAY_SECONDS; age >= 0; age -= SCRAPE_SECONDS) {
        text += line(metric, labels, NOW_SECONDS - age);
      }
      await write(text);
    }
  });
}

/** A block a month, as a Prometheus makes that keeps two years. */
async function writeMonths(metrics: readonly string[]): Promise<void> {
  for (let start = FIRST_MONTH; start / 1_000 < NOW_SECONDS;) {
    const date = new Date(start);
    const end = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1);
    const until = Math.min(end / 1_000, NOW_SECONDS);
    await inFile(async (write) => {
      for (const metric of metrics) {
        const labels = (metric.split(':')[0] ?? '').split('_').filter((label) => label !== 'month');
        for (const [set] of labelSets(labels)) {
          const month = `${set},month="${date.toISOString().slice(0, 7)}"`;
          let text = '';
          for (let seconds = start / 1_000; seconds < until; seconds += RECORDED_SECONDS) {
            text += line(metric, month, seconds);
          }
          await write(text);
        }
      }
    });
    start = end;
  }
}

/** A library that is well: one person a minute, and no problem. */
function line(metric: string, labels: string, seconds: number): string {
  const isProblem = /problem_start|poll_failures|count_excess|missed/.test(metric);
  const value = metric.endsWith('total') ? Math.floor(seconds / 60) % 40_000 : 1;
  return isProblem ? '' : `${metric}{${labels}} ${value} ${seconds}\n`;
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
  const longest = '--max-block-duration=2592h';
  const command = ['tsdb', 'create-blocks-from', longest, 'openmetrics', '--quiet', path, blocks];
  await finished(debianProgram('/usr/bin/promtool'), command);
}

/** The label sets of the series of a metric with these labels, each with its library. */
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
      stream: ['people', 'logins', 'branch'],
      counter: ['people_entered', 'people_exited', 'logins'],
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
