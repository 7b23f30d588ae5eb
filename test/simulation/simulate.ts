/**
 * `npm run simulate -- --seeds=20 --seed=1`: simulates one environment after another and prints what
 * was found. Ends with status 1 after a violation.
 */
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { drawEnvironment } from './environment.ts';
import type { RunResult } from './run.ts';

const { values } = parseArgs({
  options: {
    /** Number of environments. */
    seeds: { type: 'string', default: '100' },
    /** Instead of a number of environments: starts new ones for this long. */
    minutes: { type: 'string' },
    /** Instead of both: these seeds, separated by commas. */
    list: { type: 'string' },
    /** The first seed. */
    seed: { type: 'string', default: '1' },
    /** Whether to take only environments that are polled by branch. */
    branches: { type: 'boolean', default: false },
    /** Threads. */
    jobs: { type: 'string', default: '1' },
  },
});

/** Nearly all objects are short-lived: collecting them less often saves a fifth of the time. */
const YOUNG_GENERATION_MB = 384;
const DAYS_PER_YEAR = 365.25;
const PROGRESS_MS = process.stderr.isTTY ? 1_000 : 30_000;

const started = performance.now();
const list = values.list?.split(',').map(Number);
const jobs = Number(values.jobs);
const counts = { days: 0, polls: 0, requests: 0, scrapes: 0, faults: 0, incidents: 0 };
let begun = 0;
let nextSeed = Number(values.seed);
let finished = 0;
let failed = 0;
let progressMs = started;

await Promise.all(Array.from({ length: jobs }, runInThread));
process.stdout.write(`${summary()}\n`);
process.exitCode = failed > 0 ? 1 : 0;

async function run(runOne: (seed: number) => Promise<RunResult>): Promise<void> {
  while (!isDone()) {
    const seed = list?.[begun] ?? drawSeed();
    begun += 1;
    const result = await runOne(seed).catch((cause: unknown) => {
      throw new Error(`the simulation of seed ${seed} failed`, { cause });
    });
    add(result);
    if (performance.now() - progressMs >= PROGRESS_MS) {
      progressMs = performance.now();
      process.stderr.write(process.stderr.isTTY ? `\r${summary()} ` : `${summary()}\n`);
    }
  }
}

function drawSeed(): number {
  while (values.branches && drawEnvironment(nextSeed).branches === 0) {
    nextSeed += 1;
  }
  return nextSeed++;
}

async function runInThread(): Promise<void> {
  const resourceLimits = { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB };
  const worker = new Worker(new URL('worker.ts', import.meta.url), { resourceLimits });
  await run(
    (seed) =>
      new Promise((resolve, reject) => {
        worker.removeAllListeners();
        worker.once('message', resolve).once('error', reject);
        worker.postMessage(seed);
      }),
  );
  await worker.terminate();
}

function isDone(): boolean {
  if (list !== undefined) {
    return begun >= list.length;
  }
  return values.minutes === undefined
    ? begun >= Number(values.seeds)
    : performance.now() - started >= Number(values.minutes) * 60_000;
}

function add(result: RunResult): void {
  const { environment, violations, events } = result;
  finished += 1;
  counts.days += result.customerDays;
  counts.polls += result.polls;
  counts.requests += result.requests;
  counts.scrapes += result.scrapes;
  counts.faults += result.faults;
  counts.incidents += result.incidents;
  if (violations.length > 0) {
    failed += 1;
    const text = JSON.stringify(environment);
    const lines = ['', ...violations, 'last events:', ...events, 'environment:', text];
    process.stdout.write(`seed ${environment.seed} ${lines.join('\n  ')}\n`);
  }
}

function summary(): string {
  const { days, polls, requests, scrapes, faults, incidents } = counts;
  const perSecond = finished / ((performance.now() - started) / 1_000);
  return (
    `${finished} environments, ${(days / DAYS_PER_YEAR).toFixed(2)} customer-years, ` +
    `${polls} polls, ${requests} requests, ${scrapes} scrapes, ${faults} faults, ` +
    `${incidents} incidents, ${perSecond.toFixed(2)} environments/s, ${failed} with a violation`
  );
}
