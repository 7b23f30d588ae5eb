/**
 * `npm run simulate -- --years=10 --seed=1`: plays one world after another, and says what was played
 * and found. Ends with status 1 if anything was found, or if a long run has not met all there is.
 */
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { allThereIs, ENOUGH_SEEDS } from './coverage.ts';
import { play } from './play.ts';
import type { Played } from './play.ts';
import { Tally } from './tally.ts';

const { values } = parseArgs({
  options: {
    /** Customer-years to be simulated. */
    years: { type: 'string' },
    /** Worlds to be played, where neither years nor minutes are given. */
    seeds: { type: 'string', default: '100' },
    /** For so many minutes new worlds are begun. */
    minutes: { type: 'string' },
    /** The first seed; the others follow it. */
    seed: { type: 'string', default: '1' },
    /** These seeds alone, with commas between them. */
    list: { type: 'string' },
    /** Worlds at once, each in a thread of its own. */
    jobs: { type: 'string', default: '1' },
    /** Ends at the first world in which something was found. */
    'first-only': { type: 'boolean', default: false },
  },
});

const PROGRESS_MS = process.stderr.isTTY ? 1_000 : 30_000;

const started = performance.now();
const tally = new Tally();
let told = started;
const list = values.list?.split(',').map(Number);
let begun = 0;
const jobs = Number(values.jobs);
await Promise.all(Array.from({ length: jobs }, () => (jobs === 1 ? run(play) : runInThread())));
process.stdout.write(`${summary()}\n`);
const missing = tally.seeds < ENOUGH_SEEDS ? [] : tally.missing(allThereIs());
if (missing.length > 0) {
  process.stdout.write(`never met: ${missing.join('; ')}\n`);
}
process.exitCode = tally.bad > 0 || missing.length > 0 ? 1 : 0;

async function run(playOne: (seed: number) => Promise<Played>): Promise<void> {
  while (!isDone()) {
    const seed = list?.[begun] ?? Number(values.seed) + begun;
    begun += 1;
    const played = await playOne(seed).catch((cause: unknown) => {
      throw new Error(`the world of seed ${seed} could not be played to its end`, { cause });
    });
    tally.add(played);
    if (played.violations.length > 0) {
      tell(played);
    }
    if (performance.now() - told >= PROGRESS_MS) {
      told = performance.now();
      process.stderr.write(process.stderr.isTTY ? `\r${summary()} ` : `${summary()}\n`);
    }
  }
}

async function runInThread(): Promise<void> {
  const worker = new Worker(new URL('play-worker.ts', import.meta.url));
  await run(
    (next) =>
      new Promise((resolve, reject) => {
        worker.removeAllListeners();
        worker.once('message', resolve).once('error', reject);
        worker.postMessage(next);
      }),
  );
  await worker.terminate();
}

function isDone(): boolean {
  if (values['first-only'] && tally.bad > 0) {
    return true;
  }
  if (values.years !== undefined) {
    return tally.years >= Number(values.years);
  }
  if (list !== undefined) {
    return begun >= list.length;
  }
  return values.minutes === undefined
    ? begun >= Number(values.seeds)
    : performance.now() - started >= Number(values.minutes) * 60_000;
}

function tell({ world, violations, events }: Played): void {
  const lines = ['', ...violations, 'last events:', ...events, 'world:', JSON.stringify(world)];
  process.stdout.write(`seed ${world.seed} ${lines.join('\n  ')}\n`);
}

function summary(): string {
  const seconds = (performance.now() - started) / 1000;
  return `${tally.summary()}, ${(tally.seeds / seconds).toFixed(2)} seeds/s, ${tally.bad} with a violation`;
}
