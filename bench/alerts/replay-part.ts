/**
 * Replays some libraries of a scenario in a real Prometheus. A thread of `npm run alerts:replay`: two of them
 * take half as long.
 */
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { z } from 'zod';
import { BLOCK_HOURS, createBlocks } from '../../test/e2e/support/promtool.ts';
import { startPrometheus } from '../../test/e2e/support/prometheus.ts';
import type { Prometheus } from '../../test/e2e/support/prometheus.ts';
import { selectorsOf } from '../../test/grafana/promql.ts';
import { readAlerts } from '../../test/prometheus/rules.ts';
import type { Alert } from '../../test/prometheus/rules.ts';
import { secondsOf } from './seconds.ts';
import { DAY_SECONDS, START_SECONDS, STEP_SECONDS, replayedCustomers } from './libraries.ts';
import type { ReplayedCustomer, ReplayedLibrary } from './libraries.ts';
import type { Firing, Replayed } from './report.ts';
import { SCENARIOS } from './scenarios.ts';

/** Queries and files have the limits of the blocks. */
const BLOCK_SECONDS = BLOCK_HOURS * 3_600;

/** What a thread is given. */
export interface Part {
  readonly scenario: string;
  readonly seed: number;
  readonly days: number;
  readonly libraries: number;
  /** Every `parts`-th library, from this one on. */
  readonly part: number;
  readonly parts: number;
  readonly alerts: readonly string[];
}

const SERIES = z.object({
  metric: z.record(z.string(), z.string()),
  values: z.array(z.tuple([z.number(), z.string()])),
});
const MATRIX = z.object({ data: z.object({ result: z.array(SERIES) }) });

/** When an alert fired for a library. */
interface LibraryFiring {
  readonly alert: string;
  readonly customer: string;
  /** Empty if the library is a customer of its own. */
  readonly branch: string;
  readonly fromSeconds: number;
  toSeconds: number;
}

/** A piece of the whole time, in one block. */
interface Chunk {
  readonly fromSeconds: number;
  readonly toSeconds: number;
}

const given = workerData as Part;
const endSeconds = START_SECONDS + given.days * DAY_SECONDS;
const firstBlock = Math.floor(START_SECONDS / BLOCK_SECONDS);
const chunks = Array.from(
  { length: Math.ceil(endSeconds / BLOCK_SECONDS) - firstBlock },
  (_, i) => ({
    fromSeconds: Math.max(START_SECONDS, (firstBlock + i) * BLOCK_SECONDS),
    toSeconds: Math.min(endSeconds, (firstBlock + i + 1) * BLOCK_SECONDS),
  }),
);
parentPort?.postMessage(await replay());

/** Returns when alerts fired for each library. */
async function replay(): Promise<readonly Replayed[]> {
  const alerts = readAlerts().filter(({ alert }) => given.alerts.includes(alert));
  const metrics = new Set(
    alerts.flatMap(({ expr }) => selectorsOf(expr).map(({ metric }) => metric)),
  );
  const scenario = SCENARIOS.find(({ name }) => name === given.scenario);
  if (scenario === undefined) {
    throw new Error(`There is no scenario ${given.scenario}`);
  }
  const storage = mkdtempSync(join(tmpdir(), 'alerts-replay-'));
  try {
    const customers: ReplayedCustomer[] = [];
    for await (const customer of replayedCustomers(scenario, given, metrics)) {
      customers.push(customer);
    }
    for (const chunk of chunks) {
      await writeSamples(storage, customers, chunk);
    }
    const firings = await inPrometheus(storage, async (prometheus) => {
      const all: LibraryFiring[] = [];
      for (const alert of alerts) {
        all.push(...(await firingsOf(prometheus, alert)));
      }
      return all;
    });
    return customers.flatMap(({ customer, libraries }) =>
      libraries.map((library) => ({
        visitsPerDay: library.visitsPerDay,
        fault: library.fault,
        faultSeconds: library.faultSeconds,
        endSeconds: library.endSeconds,
        openSecondsOfDay: library.openSecondsOfDay,
        firings: firings
          .filter((firing) => firing.customer === customer && firing.branch === library.branch)
          .map((firing) => sinceFault(library, firing)),
      })),
    );
  } finally {
    rmSync(storage, { recursive: true });
  }
}

function sinceFault(
  { fault, faultSeconds, openSeconds, visitors }: ReplayedLibrary,
  { alert, fromSeconds, toSeconds }: LibraryFiring,
): Firing {
  return {
    alert,
    fromSeconds,
    toSeconds,
    openSeconds: fault === undefined ? NaN : openSeconds(faultSeconds, fromSeconds),
    visitors: fault === undefined ? NaN : visitors(faultSeconds, fromSeconds),
  };
}

/** Makes a block of the samples of a chunk. */
async function writeSamples(
  storage: string,
  customers: readonly ReplayedCustomer[],
  { fromSeconds, toSeconds }: Chunk,
): Promise<void> {
  const file = join(storage, `${fromSeconds}.om`);
  for (const { customer, series, firstStep } of customers) {
    for (const [metric, values] of series) {
      const name = metric.replace('{', `{customer="${customer}",`).replace(',}', '}');
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

async function inPrometheus<Result>(
  storage: string,
  use: (prometheus: Prometheus) => Promise<Result>,
): Promise<Result> {
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
    return await use(prometheus);
  } finally {
    await prometheus.stop();
  }
}

/** When an alert fires, by its `for` and `keep_firing_for`. */
async function firingsOf(
  { url }: Prometheus,
  { alert, expr, for: pending, keep_firing_for: keep }: Alert,
): Promise<readonly LibraryFiring[]> {
  const parts: z.infer<typeof SERIES>[] = [];
  for (const { fromSeconds, toSeconds } of chunks) {
    const body = new URLSearchParams({
      query: expr,
      start: `${fromSeconds}`,
      end: `${toSeconds - 1}`,
      step: `${STEP_SECONDS}`,
    });
    const response = await fetch(`${url}/api/v1/query_range`, { method: 'POST', body });
    if (!response.ok) {
      throw new Error(`Prometheus refuses ${expr}: ${await response.text()}`);
    }
    parts.push(...MATRIX.parse(await response.json()).data.result);
  }
  // As for Prometheus, the name of the metric is no label of the alert.
  const bySeries = Map.groupBy(parts, ({ metric }) => JSON.stringify({ ...metric, __name__: '' }));
  return [...bySeries.values()].flatMap((series) => {
    const { customer = '', branch = '' } = series[0]?.metric ?? {};
    const times = series.flatMap(({ values }) => values.map(([seconds]) => seconds));
    const firings: LibraryFiring[] = [];
    let [since, before] = [NaN, NaN];
    for (const seconds of times.toSorted((a, b) => a - b)) {
      since = seconds - before === STEP_SECONDS ? since : seconds;
      before = seconds;
      const toSeconds = seconds + secondsOf(keep);
      const last = firings.at(-1);
      if (last !== undefined && seconds <= last.toSeconds + STEP_SECONDS) {
        last.toSeconds = toSeconds;
      } else if (seconds - since >= secondsOf(pending)) {
        firings.push({ alert, customer, branch, fromSeconds: seconds, toSeconds });
      }
    }
    return firings;
  });
}
