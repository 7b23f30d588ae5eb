/**
 * `npm run bench`: measures the exporter beside its peers, and the accuracy of the occupancy estimate,
 * and prints a table of each. A bar that is missed is shown there; the exit status is 0 whenever all
 * was measured.
 */
import { readFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { measureBranches, measureDayStart } from './branches/measure.ts';
import type { Measured, Progress } from './measured.ts';
import { measureContainer } from './memory/container.ts';
import { measureMemory } from './memory/measure.ts';
import { measureOccupancy } from './occupancy/measure.ts';
import { measureReload } from './reload/measure.ts';
import { measureRequests } from './requests/measure.ts';
import { measureScrape } from './scrape.ts';
import { measureStart } from './start/measure.ts';
import { measureFirstValues } from './start/values.ts';
import { tableOf, writeResult } from './table.ts';
import { measureDelay, measureFirstMinute, measureTraffic } from './traffic/measure.ts';

const { values } = parseArgs({
  options: {
    /** Replaces the tables in docs/bench.md and docs/occupancy.md. */
    write: { type: 'boolean', default: false },
    /** Ten minutes a run of traffic in the place of half a minute, and the estimates of all branches. */
    full: { type: 'boolean', default: false },
    /** Some parts only, with commas between them. */
    only: { type: 'string' },
  },
});

type Measure = (progress: Progress) => Promise<readonly Measured[]>;

const PARTS: Readonly<Record<string, Measure>> = {
  // First, because it fails at once where no memory cgroup can be made.
  container: measureContainer,
  scrape: measureScrape,
  start: measureStart,
  values: measureFirstValues,
  reload: measureReload,
  traffic: (progress) => measureTraffic(progress, values.full ? 600 : undefined),
  'delay of the event loop': measureDelay,
  'first minute': measureFirstMinute,
  branches: (progress) => measureBranches(progress, values.full),
  'branches when a day starts': measureDayStart,
  // No time is measured in these two, so that they share the machine.
  'memory and requests': async (progress) =>
    (await Promise.all([measureMemory(progress), measureRequests(progress)])).flat(),
};

const startMs = performance.now();
const rows: Measured[] = [];
for (const [name, measure] of Object.entries(PARTS)) {
  if (isWanted(name)) {
    print(`${name} …`);
    rows.push(...(await measure(print)));
  }
}
if (rows.length > 0) {
  report('../docs/bench.md', tableOf(rows), `, on: ${machineText()}`);
}
if (isWanted('occupancy')) {
  report('../docs/occupancy.md', await measureOccupancy(print), '');
}

function isWanted(part: string): boolean {
  return values.only?.split(',').some((name) => part.includes(name)) ?? true;
}

function report(document: string, table: string, where: string): void {
  const minutes = ((performance.now() - startMs) / 60_000).toFixed(1);
  const date = new Date().toISOString().slice(0, 10);
  const text = `${table}\n\n${date}, in ${minutes} minutes${where}`;
  process.stdout.write(`${text}\n`);
  if (values.write) {
    writeResult(new URL(document, import.meta.url), text);
  }
}

function print(line: string): void {
  const seconds = ((performance.now() - startMs) / 1_000).toFixed(0).padStart(4);
  process.stderr.write(`${seconds} s  ${line}\n`);
}

/** One line: the processor, its cores, the memory, the system and the version of Node. */
function machineText(): string {
  const processors = cpus();
  const model = processors[0]?.model.trim() ?? 'unknown processor';
  const gib = Math.round(totalmem() / 2 ** 30);
  return `${model}, ${processors.length} cores, ${gib} GiB, ${systemName()}, Node ${process.version}`;
}

function systemName(): string {
  try {
    return (
      /^PRETTY_NAME="?([^"\n]+)/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'Linux'
    );
  } catch {
    return process.platform;
  }
}
