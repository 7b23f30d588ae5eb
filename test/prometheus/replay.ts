/**
 * `npm run alerts:replay`: a year of simulated libraries, with and without faults, in a real Prometheus.
 * Evaluates the rules over the whole time, counts false alarms and measures delays. A run of the whole
 * year replaces the table in docs/alerts.md. It needs Prometheus and promtool.
 */
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { format } from 'prettier';
import { z } from 'zod';
import { debianProgram, finished } from '../e2e/support/processes.ts';
import { startPrometheus } from '../e2e/support/prometheus.ts';
import type { Prometheus } from '../e2e/support/prometheus.ts';
import { selectorsOf } from '../grafana/promql.ts';
import { FAULTS, LEARNING_DAYS, replayedLibraries } from './replay-libraries.ts';
import type { ReplayedLibrary, Steps } from './replay-libraries.ts';
import { RULE_FILES, readAlerts, readRuleFile, recordingsFor, secondsOf } from './rules.ts';
import type { Alert } from './rules.ts';
import { ruleFileOf } from './story.ts';

const STEP_SECONDS = 300;
const DAY_SECONDS = 86_400;
/** A duration of blocks that promtool makes. Queries and files have the same limits in time. */
const BLOCK_SECONDS = 162 * 3_600;
/** Monday, 5 January 2026, so that a year has both changes of the clocks, Easter and a summer. */
const START_SECONDS = Date.UTC(2026, 0, 5) / 1_000;
/** Programs and queries that run at the same time. */
const MAX_PARALLEL = 2;

/** The alerts about what a library counts, and about its polls. The others do not depend on traffic. */
const REPLAYED = [
  'LibraryZeroTraffic',
  'LibraryDirectionSilent',
  'LibraryZeroLogins',
  'LibraryFarBelowUsual',
  'LibraryOverCapacity',
  'LibraryPeopleAfterClosing',
  'LibraryEntriesExitsDrift',
  'LibraryDataDelayed',
  'LibraryCustomerDown',
  'LibraryDataStale',
];
/** The sizes of the tables, with the visitors a day from which they begin. */
const SIZES = { 'below 30': 0, '30 to 300': 30, 'above 300': 300 } as const;
/** The alerts wait for an hour at least, so as not to report a fire drill. */
const SOON_SECONDS = 5_400;
/** Relative: promtool evaluates at a second that depends on this name, and must be the same each time. */
const RULE_FILE = 'rules.yml';
const TABLE = { start: '<!-- replay -->', end: '<!-- end of replay -->' };

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
const steps: Steps = {
  startSeconds: START_SECONDS,
  stepSeconds: STEP_SECONDS,
  count: (days * DAY_SECONDS) / STEP_SECONDS,
};
const endSeconds = START_SECONDS + days * DAY_SECONDS;
/** Pieces of the whole time, each in one block. */
const chunks = Array.from(
  { length: Math.ceil(endSeconds / BLOCK_SECONDS) - Math.floor(START_SECONDS / BLOCK_SECONDS) },
  (_, i) => {
    const from = (Math.floor(START_SECONDS / BLOCK_SECONDS) + i) * BLOCK_SECONDS;
    return {
      fromSeconds: Math.max(START_SECONDS, from),
      toSeconds: Math.min(endSeconds, from + BLOCK_SECONDS),
    };
  },
);
const folder = mkdtempSync(join(tmpdir(), 'alerts-replay-'));
const storage = join(folder, 'storage');
/** New blocks are not put beneath a running Prometheus: it would merge them again and again. */
const newBlocks = join(folder, 'new');
mkdirSync(storage);
process.chdir(folder);
try {
  await replay();
} finally {
  rmSync(folder, { recursive: true });
}

async function replay(): Promise<void> {
  const libraries = [...replayedLibraries(Number(flags.libraries), steps)];
  progress(`${libraries.length} libraries and copies drawn`);
  await inParallel(chunks, (chunk) => writeSamples(libraries, chunk));
  progress('samples written');
  const alerts = REPLAYED.map((name) => readAlerts().find(({ alert }) => alert === name)).filter(
    (alert) => alert !== undefined,
  );
  await writeRecordings(alerts);
  const falseRows: string[] = [];
  const delayRows: string[] = [];
  await withPrometheus(async (prometheus) => {
    const offsetSeconds = await evaluationOffset(prometheus);
    for (const alert of alerts) {
      const firings = await firingsOf(prometheus, alert, offsetSeconds);
      const seen = libraries.map((library) => ({
        library,
        firings: firings.filter(
          ({ customer, fromSeconds, toSeconds }) =>
            customer === library.customer &&
            toSeconds >= library.faultSeconds &&
            fromSeconds < library.endSeconds,
        ),
      }));
      falseRows.push(falseRow(alert.alert, seen));
      delayRows.push(...delayRowsOf(alert.alert, seen));
      progress(alert.alert);
    }
  });
  const well = libraries.filter(({ fault }) => fault === undefined).length;
  const table = [
    `${well} libraries, ${days} days, the first ${LEARNING_DAYS} of them for learning; ` +
      `${libraries.length - well} copies with a fault.`,
    '',
    `| false alarms per library and year, by visitors a day | ${Object.keys(SIZES).join(' | ')} | caused by other faults |`,
    '|---|--:|--:|--:|--:|',
    ...falseRows,
    '',
    '| fault: alert | visitors a day | found | delay: median | 90 % | visitors missed: median | 90 % | 30 at most | within an open day |',
    '|---|---|--:|--:|--:|--:|--:|--:|--:|',
    ...delayRows,
    '',
  ].join('\n');
  process.stdout.write(`${table}\n`);
  if (flags.days === '365' && flags.libraries === '30') {
    await writeTable(table);
  }
}

/** Replaces the table in docs/alerts.md. */
async function writeTable(table: string): Promise<void> {
  const path = new URL('../../docs/alerts.md', import.meta.url);
  const text = readFileSync(path, 'utf8');
  const [before = '', , after] = text.split(new RegExp(`${TABLE.start}|${TABLE.end}`));
  if (after === undefined) {
    throw new Error(`docs/alerts.md lacks ${TABLE.start} and ${TABLE.end}`);
  }
  const written = `${before}${TABLE.start}\n\n${table}\n${TABLE.end}${after}`;
  writeFileSync(path, await format(written, { parser: 'markdown', printWidth: 110 }));
}

interface Chunk {
  readonly fromSeconds: number;
  readonly toSeconds: number;
}

/** Makes a block of the samples of a time. */
async function writeSamples(
  libraries: readonly ReplayedLibrary[],
  { fromSeconds, toSeconds }: Chunk,
): Promise<void> {
  const file = join(folder, `${fromSeconds}.om`);
  for (const { customer, series, firstStep } of libraries) {
    for (const [metric, values] of series) {
      const name = metric.endsWith('}')
        ? metric.replace('}', `,customer="${customer}"}`)
        : `${metric}{customer="${customer}"}`;
      let text = '';
      for (let seconds = fromSeconds; seconds < toSeconds; seconds += STEP_SECONDS) {
        const value = values[(seconds - START_SECONDS) / STEP_SECONDS - firstStep];
        if (value !== undefined && !Number.isNaN(value)) {
          text += `${name} ${value} ${seconds}\n`;
        }
      }
      appendFileSync(file, text);
    }
  }
  appendFileSync(file, '# EOF\n');
  await createBlocks(['openmetrics', '--quiet', file, storage]);
  rmSync(file);
}

/** Evaluates the recording rules that alerts read, in the order in which they read each other. */
async function writeRecordings(alerts: readonly Alert[]): Promise<void> {
  const needed = new Set(
    alerts.flatMap(({ expr }) => recordingsFor(expr)).map(({ record }) => record),
  );
  let waiting = RULE_FILES.flatMap((path) => readRuleFile(path).groups).flatMap(
    ({ interval, rules }) =>
      rules.flatMap((rule) =>
        'record' in rule && needed.has(rule.record) ? [{ ...rule, interval }] : [],
      ),
  );
  const half = Math.ceil(chunks.length / MAX_PARALLEL);
  const parts = Array.from({ length: MAX_PARALLEL }, (_, i) =>
    chunks.slice(i * half, (i + 1) * half),
  ).filter((part) => part.length > 0);
  while (waiting.length > 0) {
    const ready = waiting.filter(({ expr }) =>
      selectorsOf(expr).every(({ metric }) => waiting.every(({ record }) => record !== metric)),
    );
    await withPrometheus(async ({ url }) => {
      const byInterval = Map.groupBy(ready, ({ interval }) =>
        Math.max(secondsOf(interval), STEP_SECONDS),
      );
      for (const [interval, rules] of byInterval) {
        const quick = rules.map(({ record, expr }) => ({ record, expr: withoutReplicas(expr) }));
        writeFileSync(RULE_FILE, JSON.stringify(ruleFileOf(quick)));
        await inParallel(parts, async (part) => {
          await createBlocks([
            'rules',
            `--url=${url}`,
            `--start=${part[0]?.fromSeconds ?? 0}`,
            `--end=${(part.at(-1)?.toSeconds ?? 0) - 1}`,
            `--eval-interval=${interval}s`,
            `--output-dir=${newBlocks}`,
            RULE_FILE,
          ]);
        });
      }
    });
    for (const block of readdirSync(newBlocks)) {
      renameSync(join(newBlocks, block), join(storage, block));
    }
    progress(ready.map(({ record }) => record).join(' '));
    waiting = waiting.filter((recording) => !ready.includes(recording));
  }
}

/**
 * Each customer has one series of a metric here: its maximum is itself, and takes half of the time.
 */
function withoutReplicas(expr: string): string {
  return expr.replaceAll(/max by \(customer\) \((library_\w+(?: offset \w+)?)\)/g, '($1 + 0)');
}

async function createBlocks(args: readonly string[]): Promise<void> {
  await finished(debianProgram('/usr/bin/promtool'), [
    'tsdb',
    'create-blocks-from',
    `--max-block-duration=${BLOCK_SECONDS / 3_600}h`,
    ...args,
  ]);
}

async function withPrometheus(use: (prometheus: Prometheus) => Promise<void>): Promise<void> {
  const prometheus = await startPrometheus(
    {},
    {
      storage,
      flags: [
        '--query.max-samples=500000000',
        '--query.timeout=10m',
        // A value that is absent is not seen any more one step later.
        `--query.lookback-delta=${STEP_SECONDS - 1}s`,
        // No compaction.
        `--storage.tsdb.min-block-duration=${BLOCK_SECONDS / 3_600}h`,
        `--storage.tsdb.max-block-duration=${BLOCK_SECONDS / 3_600}h`,
      ],
    },
  );
  try {
    await use(prometheus);
  } finally {
    await prometheus.stop();
  }
}

/** How long after each step promtool evaluated the rules. */
async function evaluationOffset(prometheus: Prometheus): Promise<number> {
  const [sample] = await prometheus.query(
    'max(timestamp(customer:library_people_poll_age:seconds))',
    (START_SECONDS + DAY_SECONDS) * 1_000,
  );
  return ((sample?.value ?? NaN) - START_SECONDS) % STEP_SECONDS;
}

/** When an alert fires, by its `for` and `keep_firing_for`. */
async function firingsOf(
  prometheus: Prometheus,
  { expr, for: pending, keep_firing_for: keep }: Alert,
  offsetSeconds: number,
): Promise<readonly Firing[]> {
  const pendingSeconds = secondsOf(pending);
  const keepSeconds = secondsOf(keep);
  const parts: z.infer<typeof MATRIX>['data']['result'] = [];
  await inParallel(chunks, async ({ fromSeconds, toSeconds }) => {
    const body = new URLSearchParams({
      query: withoutReplicas(expr),
      start: `${fromSeconds + offsetSeconds}`,
      end: `${toSeconds - 1}`,
      step: `${STEP_SECONDS}`,
    });
    const response = await fetch(`${prometheus.url}/api/v1/query_range`, { method: 'POST', body });
    if (!response.ok) {
      throw new Error(`Prometheus refuses ${expr}: ${await response.text()}`);
    }
    parts.push(...MATRIX.parse(await response.json()).data.result);
  });
  // As for Prometheus, the name of the metric is no label of the alert.
  const bySeries = Map.groupBy(parts, ({ metric }) => JSON.stringify({ ...metric, __name__: '' }));
  return [...bySeries.values()].flatMap((series) => {
    const times = series.flatMap(({ values }) => values.map(([seconds]) => seconds));
    const firings: { customer: string; fromSeconds: number; toSeconds: number }[] = [];
    let [since, before] = [NaN, NaN];
    for (const seconds of times.toSorted((a, b) => a - b)) {
      since = seconds - before === STEP_SECONDS ? since : seconds;
      before = seconds;
      const last = firings.at(-1);
      if (last !== undefined && seconds <= last.toSeconds + STEP_SECONDS) {
        last.toSeconds = seconds + keepSeconds;
      } else if (seconds - since >= pendingSeconds) {
        const customer = series[0]?.metric['customer'] ?? '';
        firings.push({ customer, fromSeconds: seconds, toSeconds: seconds + keepSeconds });
      }
    }
    return firings;
  });
}

interface Seen {
  readonly library: ReplayedLibrary;
  /** From the fault on, or after learning. */
  readonly firings: readonly Firing[];
}

function falseRow(alert: string, seen: readonly Seen[]): string {
  const years = (days - LEARNING_DAYS) / 365;
  const well = seen.filter(({ library }) => library.fault === undefined);
  const others = seen.filter(
    ({ library: { fault } }) => fault !== undefined && !FAULTS[fault].fires.includes(alert),
  );
  const rates = bySize(well).map(([, some]) =>
    (some.flatMap(({ firings }) => firings).length / some.length / years).toFixed(2),
  );
  const caused = others.flatMap(({ firings }) => firings).length;
  return `| ${[alert, ...rates, caused].join(' | ')} |`;
}

/** A row for each size, if there is a fault that the alert should find. */
function delayRowsOf(alert: string, seen: readonly Seen[]): readonly string[] {
  const faulty = seen.filter(
    ({ library: { fault } }) => fault !== undefined && FAULTS[fault].finds.includes(alert),
  );
  return bySize(faulty).map(([size, some]) => {
    const delays = some.map(({ library, firings: [first] }) => {
      const { faultSeconds, openSecondsOfDay } = library;
      const isFound = first !== undefined;
      const seconds = isFound ? library.openSeconds(faultSeconds, first.fromSeconds) : Infinity;
      const missed = isFound ? library.visitors(faultSeconds, first.fromSeconds) : Infinity;
      return {
        hours: seconds / 3_600,
        missed,
        isSoon: seconds <= SOON_SECONDS || missed <= 30,
        isInADay: seconds <= openSecondsOfDay,
      };
    });
    const hours = delays.map((delay) => delay.hours);
    const missed = delays.map((delay) => delay.missed);
    const cells = [
      `${some[0]?.library.fault ?? ''}: ${alert}`,
      size,
      `${hours.filter((value) => value !== Infinity).length} of ${some.length}`,
      decimal(quantile(hours, 0.5), ' h'),
      decimal(quantile(hours, 0.9), ' h'),
      decimal(quantile(missed, 0.5)),
      decimal(quantile(missed, 0.9)),
      delays.filter(({ isSoon }) => isSoon).length,
      delays.filter(({ isInADay }) => isInADay).length,
    ];
    return `| ${cells.join(' | ')} |`;
  });
}

function decimal(value: number, unit = ''): string {
  return value === Infinity ? 'never' : `${value.toFixed(unit === '' ? 0 : 1)}${unit}`;
}

/** The names of the sizes that there are, each with its libraries. */
function bySize(seen: readonly Seen[]): readonly (readonly [string, readonly Seen[]])[] {
  const sizes = Object.entries(SIZES).toReversed();
  return Object.keys(SIZES).flatMap((name) => {
    const some = seen.filter(
      ({ library }) => sizes.find(([, from]) => library.visitsPerDay >= from)?.[0] === name,
    );
    return some.length === 0 ? [] : [[name, some] as const];
  });
}

function quantile(values: readonly number[], share: number): number {
  // Infinity, where an alert never fired, must not be subtracted.
  const sorted = values.toSorted((a, b) => (a < b ? -1 : Number(a > b)));
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN;
}

/** Calls `use` for each item, for two at a time. */
async function inParallel<Item>(
  items: readonly Item[],
  use: (item: Item) => Promise<void>,
): Promise<void> {
  const waiting = items.values();
  await Promise.all(
    Array.from({ length: MAX_PARALLEL }, async () => {
      for (const item of waiting) {
        await use(item);
      }
    }),
  );
}

function progress(what: string): void {
  process.stderr.write(`${process.uptime().toFixed(0)} s: ${what}\n`);
}
