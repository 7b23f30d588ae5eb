/**
 * `npm run alerts:replay`: a year of simulated libraries, with and without faults, in a real Prometheus.
 * Evaluates the rules over the whole time, counts false alarms and measures delays. A run of the whole
 * year replaces the tables in docs/alerts.md. It needs Prometheus and promtool.
 */
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { BLOCK_HOURS, createBlocks } from '../../test/e2e/support/promtool.ts';
import { startPrometheus } from '../../test/e2e/support/prometheus.ts';
import type { Prometheus } from '../../test/e2e/support/prometheus.ts';
import { selectorsOf } from '../../test/grafana/promql.ts';
import { readAlerts, readGroups, recordingsFor } from '../../test/prometheus/rules.ts';
import type { Alert } from '../../test/prometheus/rules.ts';
import { writeResult } from '../table.ts';
import { secondsOf } from './seconds.ts';
import { DAY_SECONDS, START_SECONDS, STEP_SECONDS, replayedLibraries } from './libraries.ts';
import type { ReplayedLibrary } from './libraries.ts';
import { report } from './report.ts';
import type { Firing, Replayed } from './report.ts';

/** Queries and files have the limits of the blocks. */
const BLOCK_SECONDS = BLOCK_HOURS * 3_600;
/** Programs and queries that run at the same time. */
const MAX_PARALLEL = 2;
/** Relative: promtool evaluates at a second that depends on this name, and must be the same each time. */
const RULE_FILE = 'rules.yml';

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

const SERIES = z.object({
  metric: z.record(z.string(), z.string()),
  values: z.array(z.tuple([z.number(), z.string()])),
});
const MATRIX = z.object({ data: z.object({ result: z.array(SERIES) }) });

/** A piece of the whole time, in one block. */
interface Chunk {
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
const firstBlock = Math.floor(START_SECONDS / BLOCK_SECONDS);
const chunks = Array.from(
  { length: Math.ceil(endSeconds / BLOCK_SECONDS) - firstBlock },
  (_, i) => ({
    fromSeconds: Math.max(START_SECONDS, (firstBlock + i) * BLOCK_SECONDS),
    toSeconds: Math.min(endSeconds, (firstBlock + i + 1) * BLOCK_SECONDS),
  }),
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
  const libraries = [...replayedLibraries(Number(flags.libraries), days)];
  progress(`${libraries.length} libraries and copies drawn`);
  await inParallel(chunks, (chunk) => writeSamples(libraries, chunk));
  progress('samples written');
  const alerts = readAlerts()
    .filter(({ alert }) => REPLAYED.includes(alert))
    .toSorted((a, b) => REPLAYED.indexOf(a.alert) - REPLAYED.indexOf(b.alert));
  await writeRecordings(alerts);
  const replayed: Replayed[] = [];
  await withPrometheus(async (prometheus) => {
    const offsetSeconds = await evaluationOffset(prometheus);
    for (const alert of alerts) {
      const firings = await firingsOf(prometheus, alert, offsetSeconds);
      replayed.push({ alert: alert.alert, firings });
      progress(alert.alert);
    }
  });
  const text = report(libraries, replayed, days);
  process.stdout.write(`${text}\n`);
  if (flags.days === '365' && flags.libraries === '30') {
    writeResult(new URL('../../docs/alerts.md', import.meta.url), text);
  }
}

/** Makes a block of the samples of a chunk. */
async function writeSamples(
  libraries: readonly ReplayedLibrary[],
  { fromSeconds, toSeconds }: Chunk,
): Promise<void> {
  const file = join(folder, `${fromSeconds}.om`);
  for (const { customer, series, firstStep } of libraries) {
    for (const [metric, values] of series) {
      const label = `customer="${customer}"}`;
      const name = metric.endsWith('}') ? metric.replace('}', `,${label}`) : `${metric}{${label}`;
      let text = '';
      for (let seconds = fromSeconds; seconds < toSeconds; seconds += STEP_SECONDS) {
        const value = values[(seconds - START_SECONDS) / STEP_SECONDS - firstStep] ?? NaN;
        if (!Number.isNaN(value)) {
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
  let waiting = readGroups().flatMap(({ interval, rules }) =>
    rules.flatMap((rule) =>
      'record' in rule && needed.has(rule.record) ? [{ ...rule, interval }] : [],
    ),
  );
  const half = Math.ceil(chunks.length / MAX_PARALLEL);
  const parts = [chunks.slice(0, half), chunks.slice(half)].filter(({ length }) => length > 0);
  while (waiting.length > 0) {
    const ready = waiting.filter(({ expr }) =>
      selectorsOf(expr).every(({ metric }) => waiting.every(({ record }) => record !== metric)),
    );
    const byInterval = Map.groupBy(ready, ({ interval }) =>
      Math.max(secondsOf(interval), STEP_SECONDS),
    );
    await withPrometheus(async ({ url }) => {
      for (const [interval, group] of byInterval) {
        const rules = group.map(({ record, expr }) => ({ record, expr: withoutReplicas(expr) }));
        writeFileSync(RULE_FILE, JSON.stringify({ groups: [{ name: 'replayed', rules }] }));
        await inParallel(parts, (part) =>
          createBlocks([
            'rules',
            `--url=${url}`,
            `--start=${part[0]?.fromSeconds}`,
            `--end=${(part.at(-1)?.toSeconds ?? NaN) - 1}`,
            `--eval-interval=${interval}s`,
            `--output-dir=${newBlocks}`,
            RULE_FILE,
          ]),
        );
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
        `--storage.tsdb.min-block-duration=${BLOCK_HOURS}h`,
        `--storage.tsdb.max-block-duration=${BLOCK_HOURS}h`,
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
    'max(timestamp(customer:library_people_values_age:seconds))',
    (START_SECONDS + DAY_SECONDS) * 1_000,
  );
  return ((sample?.value ?? NaN) - START_SECONDS) % STEP_SECONDS;
}

/** When an alert fires, by its `for` and `keep_firing_for`. */
async function firingsOf(
  { url }: Prometheus,
  { expr, for: pending, keep_firing_for: keep }: Alert,
  offsetSeconds: number,
): Promise<readonly Firing[]> {
  const parts: z.infer<typeof SERIES>[] = [];
  await inParallel(chunks, async ({ fromSeconds, toSeconds }) => {
    const body = new URLSearchParams({
      query: withoutReplicas(expr),
      start: `${fromSeconds + offsetSeconds}`,
      end: `${toSeconds - 1}`,
      step: `${STEP_SECONDS}`,
    });
    const response = await fetch(`${url}/api/v1/query_range`, { method: 'POST', body });
    if (!response.ok) {
      throw new Error(`Prometheus refuses ${expr}: ${await response.text()}`);
    }
    parts.push(...MATRIX.parse(await response.json()).data.result);
  });
  // As for Prometheus, the name of the metric is no label of the alert.
  const bySeries = Map.groupBy(parts, ({ metric }) => JSON.stringify({ ...metric, __name__: '' }));
  return [...bySeries.values()].flatMap((series) => {
    const customer = series[0]?.metric['customer'] ?? '';
    const times = series.flatMap(({ values }) => values.map(([seconds]) => seconds));
    const firings: { customer: string; fromSeconds: number; toSeconds: number }[] = [];
    let [since, before] = [NaN, NaN];
    for (const seconds of times.toSorted((a, b) => a - b)) {
      since = seconds - before === STEP_SECONDS ? since : seconds;
      before = seconds;
      const toSeconds = seconds + secondsOf(keep);
      const last = firings.at(-1);
      if (last !== undefined && seconds <= last.toSeconds + STEP_SECONDS) {
        last.toSeconds = toSeconds;
      } else if (seconds - since >= secondsOf(pending)) {
        firings.push({ customer, fromSeconds: seconds, toSeconds });
      }
    }
    return firings;
  });
}

/** Calls `use` for each item, for two at a time. */
async function inParallel<Item>(
  items: readonly Item[],
  use: (item: Item) => Promise<unknown>,
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
