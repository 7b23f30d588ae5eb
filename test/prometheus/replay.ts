/**
 * `npm run alerts:replay`: simulated libraries in a real Prometheus, every rule evaluated over the whole
 * time, with and without faults. Prints false alarms and delays as the table of docs/alerts.md.
 * It needs Prometheus and promtool.
 */
import { createWriteStream, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { makeBlocks } from '../e2e/support/history-prometheus.ts';
import { startPrometheus } from '../e2e/support/prometheus.ts';
import type { Prometheus } from '../e2e/support/prometheus.ts';
import { selectorsOf } from '../grafana/promql.ts';
import { FAULTS, replayedLibraries } from './replay-libraries.ts';
import type { ReplayedLibrary } from './replay-libraries.ts';
import { readAlerts, readRecordings } from './rules.ts';
import type { Alert, Recording } from './rules.ts';

const STEP_SECONDS = 300;
const DAY_SECONDS = 86_400;
const CHUNK_DAYS = 14;
/** What is usual needs four weeks; the weeks before count as learning. */
const LEARNING_DAYS = 28;
/** Monday, 5 January 2026, so that a year has both changes of the clocks, Easter and a summer. */
const START_SECONDS = Date.UTC(2026, 0, 5) / 1_000;

const MATRIX = z.object({
  data: z.object({
    result: z.array(
      z.object({
        metric: z.record(z.string(), z.string()),
        values: z.array(z.tuple([z.number(), z.string()])),
      }),
    ),
  }),
});

interface Firing {
  readonly customer: string;
  readonly fromSeconds: number;
  readonly toSeconds: number;
}

const { values: flags } = parseArgs({
  options: {
    days: { type: 'string', default: '365' },
    libraries: { type: 'string', default: '30' },
  },
});
const days = Number(flags.days);
const endSeconds = START_SECONDS + days * DAY_SECONDS;
const libraries = replayedLibraries(Number(flags.libraries), START_SECONDS, days);
const folder = mkdtempSync(join(tmpdir(), 'alerts-replay-'));
const storage = join(folder, 'storage');
mkdirSync(storage);
try {
  await replay();
} finally {
  rmSync(folder, { recursive: true });
}

async function replay(): Promise<void> {
  await writeBlocks(libraries.flatMap((library) => library.series(STEP_SECONDS)));
  const alerts = readAlerts().filter(isOfTraffic);
  const recordings = recordingsFor(alerts);
  const inlined = recordings.filter((recording) => !needsHistory(recording, recordings, alerts));
  const written = new Set<string>();
  let waiting = recordings.filter((recording) => !inlined.includes(recording));
  // A recording can be evaluated once everything that it reads is written.
  while (waiting.length > 0) {
    const ready = waiting.filter(({ record, expr }) =>
      readings(inline(expr, inlined), waiting).every((name) => name === record),
    );
    await withPrometheus(async (prometheus) => {
      for (const { record, expr } of ready) {
        await writeBlocks(await seriesOf(prometheus, record, inline(expr, inlined)));
        written.add(record);
      }
    });
    waiting = waiting.filter(({ record }) => !written.has(record));
  }
  await withPrometheus(async (prometheus) => {
    printHeader();
    for (const alert of alerts) {
      printRow(alert, await firingsOf(prometheus, alert, inline(alert.expr, inlined)));
    }
  });
}

/** Alerts about what a library counts. The others do not depend on traffic. */
function isOfTraffic({ alert }: Alert): boolean {
  return [
    'LibraryZeroTraffic',
    'LibraryDirectionSilent',
    'LibraryZeroLogins',
    'LibraryFarBelowUsual',
    'LibraryPeopleAfterClosing',
    'LibraryEntriesExitsDrift',
    'LibraryDataDelayed',
  ].includes(alert);
}

/** The recordings that alerts read, directly or through others. */
function recordingsFor(alerts: readonly Alert[]): readonly Recording[] {
  const all = readRecordings();
  const needed = new Set<string>();
  const expressions = alerts.map(({ expr }) => expr);
  for (
    let expression = expressions.pop();
    expression !== undefined;
    expression = expressions.pop()
  ) {
    for (const name of readings(expression, all).filter((one) => !needed.has(one))) {
      needed.add(name);
      expressions.push(all.find(({ record }) => record === name)?.expr ?? '');
    }
  }
  return all.filter(({ record }) => needed.has(record));
}

function readings(expression: string, recordings: readonly Recording[]): readonly string[] {
  const metrics = new Set(selectorsOf(expression).map(({ metric }) => metric));
  return recordings.map(({ record }) => record).filter((record) => metrics.has(record));
}

/** Whether a rule reads the past of a recording. Where none does, its expression stands in its place. */
function needsHistory(
  { record }: Recording,
  recordings: readonly Recording[],
  alerts: readonly Alert[],
): boolean {
  const past = new RegExp(`${record}(\\[| offset )`);
  return [...recordings, ...alerts].some(({ expr }) => past.test(expr));
}

function inline(expression: string, inlined: readonly Recording[]): string {
  return inlined.reduceRight(
    (text, { record, expr }) =>
      text.replaceAll(new RegExp(`(?<![\\w:])${record}(?![\\w:])`, 'g'), () => `(${expr})`),
    expression,
  );
}

async function withPrometheus(use: (prometheus: Prometheus) => Promise<void>): Promise<void> {
  const prometheus = await startPrometheus(
    {},
    { storage, flags: ['--query.max-samples=500000000'] },
  );
  try {
    await use(prometheus);
  } finally {
    await prometheus.stop();
  }
}

export interface Series {
  readonly name: string;
  readonly samples: Iterable<readonly [seconds: number, value: number | string]>;
}

/** Writes series as OpenMetrics, one file for two weeks, and makes blocks of them. */
async function writeBlocks(series: readonly Series[]): Promise<void> {
  const openMetrics = join(folder, 'openmetrics');
  mkdirSync(openMetrics);
  const files = Array.from({ length: Math.ceil(days / CHUNK_DAYS) }, (_, i) =>
    createWriteStream(join(openMetrics, `${String(i)}.om`)),
  );
  for (const { name, samples } of series) {
    let chunk = 0;
    let text = '';
    for (const [seconds, value] of samples) {
      const next = Math.floor((seconds - START_SECONDS) / DAY_SECONDS / CHUNK_DAYS);
      if (next !== chunk) {
        files[chunk]?.write(text);
        [chunk, text] = [next, ''];
      }
      text += `${name} ${value} ${seconds}\n`;
    }
    files[chunk]?.write(text);
    await new Promise(setImmediate);
  }
  await Promise.all(
    files.map((file) => new Promise((resolve) => file.end('# EOF\n', () => resolve(undefined)))),
  );
  await makeBlocks(openMetrics, storage);
  rmSync(openMetrics, { recursive: true });
}

async function seriesOf(
  prometheus: Prometheus,
  record: string,
  expression: string,
): Promise<readonly Series[]> {
  return (await rangeOf(prometheus, expression)).map(({ labels, values }) => {
    const pairs = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
    return { name: `${record}{${pairs.join(',')}}`, samples: values };
  });
}

/** The values of an expression over the whole time, in chunks that Prometheus accepts. */
async function rangeOf(
  prometheus: Prometheus,
  expression: string,
): Promise<
  readonly {
    readonly labels: Readonly<Record<string, string>>;
    readonly values: readonly (readonly [number, string])[];
  }[]
> {
  const chunks = [];
  for (let from = START_SECONDS; from < endSeconds; from += CHUNK_DAYS * DAY_SECONDS) {
    const to = Math.min(endSeconds, from + CHUNK_DAYS * DAY_SECONDS) - STEP_SECONDS;
    const parameters = {
      query: expression,
      start: `${from}`,
      end: `${to}`,
      step: `${STEP_SECONDS}`,
    };
    const response = await fetch(`${prometheus.url}/api/v1/query_range`, {
      method: 'POST',
      body: new URLSearchParams(parameters),
    });
    if (!response.ok) {
      throw new Error(`Prometheus refuses ${expression}: ${await response.text()}`);
    }
    chunks.push(...MATRIX.parse(await response.json()).data.result);
  }
  const bySeries = Map.groupBy(chunks, ({ metric }) => JSON.stringify(metric));
  return [...bySeries.values()].map((parts) => ({
    labels: parts[0]?.metric ?? {},
    values: parts.flatMap(({ values }) => values),
  }));
}

/** When an alert fires, by its `for` and `keep_firing_for`. */
async function firingsOf(
  prometheus: Prometheus,
  { for: pending, keep_firing_for: keep }: Alert,
  expression: string,
): Promise<readonly Firing[]> {
  const pendingSeconds = secondsOf(pending);
  const keepSeconds = secondsOf(keep);
  return (await rangeOf(prometheus, expression)).flatMap(({ labels, values }) => {
    const customer = labels['customer'] ?? '';
    const firings: { customer: string; fromSeconds: number; toSeconds: number }[] = [];
    let since = NaN;
    let before = NaN;
    for (const [seconds] of values) {
      since = seconds - before === STEP_SECONDS ? since : seconds;
      before = seconds;
      const last = firings.at(-1);
      if (last !== undefined && seconds <= last.toSeconds + STEP_SECONDS) {
        last.toSeconds = seconds + keepSeconds;
      } else if (seconds - since >= pendingSeconds) {
        firings.push({ customer, fromSeconds: seconds, toSeconds: seconds + keepSeconds });
      }
    }
    return firings;
  });
}

function secondsOf(duration = '0s'): number {
  const [, count = '0', unit = 's'] = /^(\d+)([smhd])$/.exec(duration) ?? [];
  return Number(count) * { s: 1, m: 60, h: 3_600, d: DAY_SECONDS }[unit as 's' | 'm' | 'h' | 'd'];
}

function printHeader(): void {
  const well = libraries.filter(({ fault }) => fault === undefined);
  print(
    `${well.length} libraries, ${days} days, of which ${LEARNING_DAYS} for learning; ` +
      `${libraries.length - well.length} more with a fault.\n`,
  );
  print(
    '| alert | false alarms per library and year | most at one library | found | delay: median | 90 % | ÷ time of ten visitors: median | 90 % |',
  );
  print('|---|--:|--:|--:|--:|--:|--:|--:|');
}

function printRow({ alert }: Alert, firings: readonly Firing[]): void {
  const fromSeconds = START_SECONDS + LEARNING_DAYS * DAY_SECONDS;
  const well = libraries.filter(({ fault }) => fault === undefined);
  const perLibrary = well.map(
    ({ name }) =>
      firings.filter((one) => one.customer === name && one.fromSeconds >= fromSeconds).length,
  );
  const years = (days - LEARNING_DAYS) / 365;
  const faulty = libraries.filter(({ fault }) => fault !== undefined && FAULTS[fault] === alert);
  const delays = faulty.flatMap((library) => delayOf(library, firings));
  const most = Math.max(...perLibrary);
  const worst = well[perLibrary.indexOf(most)];
  const hours = delays.map(({ openSeconds }) => openSeconds / 3_600);
  const relative = delays.map(
    ({ openSeconds, tenVisitorsSeconds }) => openSeconds / tenVisitorsSeconds,
  );
  const cells = [
    (perLibrary.reduce((sum, count) => sum + count, 0) / well.length / years).toFixed(2),
    most === 0 ? '0' : `${most} (${worst?.description ?? ''})`,
    faulty.length === 0 ? '' : `${delays.length} of ${faulty.length}`,
    ...[quantile(hours, 0.5), quantile(hours, 0.9)].map((value) =>
      value === undefined ? '' : `${value.toFixed(1)} h`,
    ),
    ...[quantile(relative, 0.5), quantile(relative, 0.9)].map((value) => value?.toFixed(1) ?? ''),
  ];
  print(`| ${alert} | ${cells.join(' | ')} |`);
}

/** How long the library was open from the fault to the alert; nothing if it was not found. */
function delayOf(
  { name, faultSeconds, openSeconds, visitsPerOpenHour }: ReplayedLibrary,
  firings: readonly Firing[],
): readonly { readonly openSeconds: number; readonly tenVisitorsSeconds: number }[] {
  const first = firings.find(
    ({ customer, fromSeconds, toSeconds }) =>
      customer === name &&
      toSeconds >= faultSeconds &&
      fromSeconds < faultSeconds + 7 * DAY_SECONDS,
  );
  return first === undefined
    ? []
    : [
        {
          openSeconds: openSeconds(faultSeconds, Math.max(faultSeconds, first.fromSeconds)),
          tenVisitorsSeconds: (10 / visitsPerOpenHour) * 3_600,
        },
      ];
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function quantile(values: readonly number[], share: number): number | undefined {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}
