/**
 * `npm run simulate -- --seeds=20 --seed=1`: simulates one environment after another and prints what
 * was found. Ends with status 1 after a violation, also one in the output file.
 */
import { once } from 'node:events';
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
    /** The first seed. */
    seed: { type: 'string', default: '1' },
    /** Whether to take only environments that are polled by branch. */
    branches: { type: 'boolean', default: false },
    /** Whether environments are months of polls every ten minutes. */
    long: { type: 'boolean', default: false },
    /** A file with a line for each environment. If it exists, its environments are not simulated again. */
    output: { type: 'string', default: '' },
    /** Threads. */
    jobs: { type: 'string', default: '1' },
  },
});

/** Nearly all objects are short-lived. With more, they leave the processor's cache; with less, they are copied. */
const YOUNG_GENERATION_MB = 32;
const DAYS_PER_YEAR = 365.25;
const PROGRESS_MS = 30_000;

/** A line of the output file. */
type Finished = Pick<RunResult, 'violations' | 'customerDays' | 'polls' | 'faults'> & {
  readonly seed: number;
};

const started = performance.now();
const lines = existsSync(values.output) ? readFileSync(values.output, 'utf8').split('\n') : [];
const finished = lines.filter(Boolean).map((line) => JSON.parse(line) as Finished);
const known = new Set(finished.map(({ seed }) => seed));
let begun = 0;
let nextSeed = Number(values.seed);

setInterval(() => process.stderr.write(`${summary()}\n`), PROGRESS_MS).unref();
await Promise.all(Array.from({ length: Number(values.jobs) }, runInThread));
process.stdout.write(`${summary()}\n`);
process.exitCode = finished.some(({ violations }) => violations.length > 0) ? 1 : 0;

async function runInThread(): Promise<void> {
  const worker = new Worker(new URL('worker.ts', import.meta.url), {
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
    workerData: values.long ? 'long' : 'short',
  });
  while (!isDone()) {
    const seed = drawSeed();
    begun += 1;
    worker.postMessage(seed);
    const [result] = await once(worker, 'message').catch((cause: unknown) => {
      throw new Error(`the simulation of seed ${seed} failed`, { cause });
    });
    add(result as RunResult);
  }
  await worker.terminate();
}

function drawSeed(): number {
  while (known.has(nextSeed) || (values.branches && drawEnvironment(nextSeed).branches === 0)) {
    nextSeed += 1;
  }
  return nextSeed++;
}

function isDone(): boolean {
  return values.minutes === undefined
    ? begun >= Number(values.seeds)
    : performance.now() - started >= Number(values.minutes) * 60_000;
}

function add({ environment, events, violations, ...rest }: RunResult): void {
  const { seed } = environment;
  const line = { seed, violations, ...rest };
  finished.push(line);
  if (values.output !== '') {
    appendFileSync(values.output, `${JSON.stringify(line)}\n`);
  }
  if (violations.length > 0) {
    const text = JSON.stringify(environment);
    const shown = ['', ...violations, 'last events:', ...events, 'environment:', text];
    process.stdout.write(`seed ${seed} ${shown.join('\n  ')}\n`);
  }
}

function summary(): string {
  const [days, polls, faults] = (['customerDays', 'polls', 'faults'] as const).map((name) =>
    finished.reduce((sum, one) => sum + one[name], 0),
  );
  const perSecond = (finished.length - known.size) / ((performance.now() - started) / 1_000);
  const failed = finished.filter(({ violations }) => violations.length > 0);
  return (
    `${finished.length} environments, ${((days ?? 0) / DAYS_PER_YEAR).toFixed(2)} customer-years, ` +
    `${polls} polls, ${faults} faults, ` +
    `${perSecond.toFixed(2)} environments/s, ${failed.length} with a violation`
  );
}
