/**
 * `npm run bench`: measures the exporter beside its peers, and the accuracy of the occupancy estimate,
 * and prints a table of each. A bar that is missed is shown there; the exit status is 0 whenever all
 * was measured.
 */
import { cpus, release, totalmem, type } from 'node:os';
import { parseArgs } from 'node:util';
import { measureOccupancy } from './occupancy/measure.ts';
import { measureBranches } from './speed/branches.ts';
import { measureFirstValues, measureStart } from './speed/start.ts';
import { measureTraffic } from './speed/traffic.ts';
import { progress, tableOf, writeResult } from './table.ts';
import type { Measured } from './table.ts';

const { values } = parseArgs({
  options: {
    /** Replaces the tables in docs/bench.md and docs/occupancy.md. */
    write: { type: 'boolean', default: false },
    /** Some parts only, with commas between them. */
    only: { type: 'string' },
  },
});

const PARTS: Readonly<Record<string, () => Promise<readonly Measured[]>>> = {
  start: measureStart,
  values: measureFirstValues,
  // On the same daemon.
  'traffic, scrape, memory, reload': measureTraffic,
  branches: measureBranches,
};

const rows: Measured[] = [];
for (const [name, measure] of Object.entries(PARTS)) {
  if (isWanted(name)) {
    progress(`${name} …`);
    rows.push(...(await measure()));
  }
}
if (rows.length > 0) {
  report('../docs/bench.md', tableOf(rows), `, on: ${machineText()}`);
}
if (isWanted('occupancy')) {
  report('../docs/occupancy.md', await measureOccupancy(), '');
}

function isWanted(part: string): boolean {
  return values.only?.split(',').some((name) => part.includes(name)) ?? true;
}

function report(document: string, table: string, where: string): void {
  const minutes = (performance.now() / 60_000).toFixed(1);
  const date = new Date().toISOString().slice(0, 10);
  const text = `${table}\n\n${date}, in ${minutes} minutes${where}`;
  process.stdout.write(`${text}\n`);
  if (values.write) {
    writeResult(new URL(document, import.meta.url), text);
  }
}

function machineText(): string {
  const [processor, ...others] = cpus();
  const gib = Math.round(totalmem() / 2 ** 30);
  return `${processor?.model.trim()}, ${others.length + 1} cores, ${gib} GiB, ${type()} ${release()}, Node ${process.version}`;
}
