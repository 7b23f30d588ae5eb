/**
 * `npm run alerts:replay`: a year of simulated libraries, with and without faults, polled by the exporter's
 * own code, and the shipped alerts evaluated over it by a real Prometheus. Counts false alarms and
 * measures delays. With `--seeds=5 --scenarios` it replaces the tables in docs/alerts.md. It needs
 * Prometheus and promtool.
 */
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { writeResult } from '../table.ts';
import type { Part } from './replay-part.ts';
import { report } from './report.ts';
import type { Replayed } from './report.ts';
import { SCENARIOS, YEAR } from './scenarios.ts';

/** The alerts about what a library counts. The others do not depend on traffic. */
const REPLAYED = [
  'LibraryZeroTraffic',
  'LibraryDirectionSilent',
  'LibraryZeroLogins',
  'LibraryFarBelowUsual',
  'LibraryEntriesExitsDrift',
  'LibraryDataDelayed',
];
const FIRST_SEED = 7;
const THREADS = 2;

const { values: flags } = parseArgs({
  options: {
    days: { type: 'string', default: '365' },
    libraries: { type: 'string', default: '30' },
    seeds: { type: 'string', default: '1' },
    scenarios: { type: 'boolean', default: false },
  },
});
const days = Number(flags.days);
const libraries = Number(flags.libraries);

const years: Replayed[] = [];
for (let seed = FIRST_SEED; seed < FIRST_SEED + Number(flags.seeds); seed++) {
  years.push(...(await replay(YEAR.name, seed, libraries)));
}
const scenarios: (readonly [string, readonly Replayed[]])[] = [];
for (const scenario of flags.scenarios ? SCENARIOS.filter((one) => one !== YEAR) : []) {
  const { name, branches } = scenario;
  scenarios.push([name, await replay(name, FIRST_SEED, Math.max(libraries / 2, 2 * branches))]);
}
const text = report(REPLAYED, years, scenarios, days);
process.stdout.write(`${text}\n`);
if (days === 365 && libraries === 30 && flags.seeds === '5' && flags.scenarios) {
  writeResult(new URL('../../docs/alerts.md', import.meta.url), text);
}

/** Returns when alerts fired for each library of a scenario. */
async function replay(scenario: string, seed: number, count: number): Promise<readonly Replayed[]> {
  const parts = await Promise.all(
    Array.from({ length: THREADS }, (_, part) =>
      runPart({ scenario, seed, days, libraries: count, part, parts: THREADS, alerts: REPLAYED }),
    ),
  );
  process.stderr.write(`${process.uptime().toFixed(0)} s: ${scenario}, seed ${seed}\n`);
  return parts.flat();
}

function runPart(part: Part): Promise<readonly Replayed[]> {
  const worker = new Worker(new URL('replay-part.ts', import.meta.url), { workerData: part });
  return new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
}
