/**
 * `npm run simulate -- --seeds=20 --seed=1`: simulates one environment after another and prints what
 * was found. Ends with status 1 after a violation, also one in the output file.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
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
    /** Instead of a number of environments: starts new ones until so many customer-years are simulated. */
    years: { type: 'string' },
    /** Instead of these: these seeds, separated by commas. */
    list: { type: 'string' },
    /** The first seed. */
    seed: { type: 'string', default: '1' },
    /** Whether to take only environments that are polled by branch. */
    branches: { type: 'boolean', default: false },
    /** Whether environments are months of polls every ten minutes. */
    long: { type: 'boolean', default: false },
    /** A file with a line for each environment. If it exists, its environments are not simulated again. */
    output: { type: 'string' },
    /** Threads. */
    jobs: { type: 'string', default: '1' },
  },
});

/** Nearly all objects are short-lived. With more, they leave the processor's cache; with less, they are copied. */
const YOUNG_GENERATION_MB = 32;
const DAYS_PER_YEAR = 365.25;
const PROGRESS_MS = process.stderr.isTTY ? 1_000 : 30_000;

/** A line of the output file. */
interface Finished extends Counts {
  readonly seed: number;
  readonly violations: readonly string[];
}

interface Counts {
  days: number;
  polls: number;
  requests: number;
  scrapes: number;
  faults: number;
  incidents: number;
}

const started = performance.now();
const list = values.list?.split(',').map(Number);
const jobs = Number(values.jobs);
const counts: Counts = { days: 0, polls: 0, requests: 0, scrapes: 0, faults: 0, incidents: 0 };
const known = new Set<number>();
let begun = 0;
let nextSeed = Number(values.seed);
let finished = 0;
let finishedBefore = 0;
let failed = 0;
let progressMs = started;

readOutput();
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
  while (known.has(nextSeed) || (values.branches && drawEnvironment(nextSeed).branches === 0)) {
    nextSeed += 1;
  }
  return nextSeed++;
}

async function runInThread(): Promise<void> {
  const resourceLimits = { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB };
  const worker = new Worker(new URL('worker.ts', import.meta.url), {
    resourceLimits,
    workerData: values.long ? 'long' : 'short',
  });
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
  const isLate =
    values.minutes !== undefined && performance.now() - started >= Number(values.minutes) * 60_000;
  const isEnough =
    values.years !== undefined && counts.days >= Number(values.years) * DAYS_PER_YEAR;
  return values.minutes === undefined && values.years === undefined
    ? begun >= Number(values.seeds)
    : isLate || isEnough;
}

/** Counts the environments of earlier runs. */
function readOutput(): void {
  if (values.output === undefined || !existsSync(values.output)) {
    return;
  }
  for (const line of readFileSync(values.output, 'utf8').split('\n').filter(Boolean)) {
    const before = JSON.parse(line) as Finished;
    known.add(before.seed);
    count(before);
  }
  finishedBefore = finished;
}

function count(one: Finished): void {
  finished += 1;
  failed += one.violations.length > 0 ? 1 : 0;
  for (const name of ['days', 'polls', 'requests', 'scrapes', 'faults', 'incidents'] as const) {
    counts[name] += one[name];
  }
}

function add(result: RunResult): void {
  const { environment, violations, events, customerDays: days, ...rest } = result;
  const { polls, requests, scrapes, faults, incidents } = rest;
  const { seed } = environment;
  const line = { seed, violations, days, polls, requests, scrapes, faults, incidents };
  count(line);
  if (values.output !== undefined) {
    appendFileSync(values.output, `${JSON.stringify(line)}\n`);
  }
  if (violations.length > 0) {
    const text = JSON.stringify(environment);
    const lines = ['', ...violations, 'last events:', ...events, 'environment:', text];
    process.stdout.write(`seed ${seed} ${lines.join('\n  ')}\n`);
  }
}

function summary(): string {
  const { days, polls, requests, scrapes, faults, incidents } = counts;
  const perSecond = (finished - finishedBefore) / ((performance.now() - started) / 1_000);
  return (
    `${finished} environments, ${(days / DAYS_PER_YEAR).toFixed(2)} customer-years, ` +
    `${polls} polls, ${requests} requests, ${scrapes} scrapes, ${faults} faults, ` +
    `${incidents} incidents, ${perSecond.toFixed(2)} environments/s, ${failed} with a violation`
  );
}
