/**
 * `npm run bench`: measures the exporter beside its peers and prints one table. A bar that is missed
 * is shown there; the exit status is 0 whenever all was measured.
 */
import { parseArgs } from 'node:util';
import { machineText } from './machine.ts';
import type { Measured } from './measured.ts';
import { measureMemory } from './memory/measure.ts';
import { measureRequests } from './requests/measure.ts';
import { measureScrape } from './scrape.ts';
import { measureStart } from './start/measure.ts';
import { tableOf, writeResult } from './table.ts';
import { LONG_TRAFFIC, measureTraffic, USUAL_TRAFFIC } from './traffic/measure.ts';

const { values } = parseArgs({
  options: {
    /** Replaces the table in docs/bench.md. */
    write: { type: 'boolean', default: false },
    /** Ten minutes a run of traffic in the place of one. */
    full: { type: 'boolean', default: false },
    /** Some parts only, with commas between them. */
    only: { type: 'string' },
  },
});

type Measure = (progress: (line: string) => void) => Promise<readonly Measured[]>;

const PARTS: Readonly<Record<string, Measure>> = {
  scrape: measureScrape,
  start: measureStart,
  traffic: (progress) => measureTraffic(progress, values.full ? LONG_TRAFFIC : USUAL_TRAFFIC),
  // No time is measured in these two, so that they share the machine.
  'memory and requests': async (progress) =>
    (await Promise.all([measureMemory(progress), measureRequests(progress)])).flat(),
};

const RESULT = new URL('../docs/bench.md', import.meta.url);

const startMs = performance.now();
const rows: Measured[] = [];
const only = values.only?.split(',');
for (const [name, measure] of Object.entries(PARTS)) {
  if (only === undefined || only.some((part) => name.includes(part))) {
    tell(`${name} …`);
    rows.push(...(await measure(tell)));
  }
}
const minutes = ((performance.now() - startMs) / 60_000).toFixed(1);
const date = new Date().toISOString().slice(0, 10);
const text = `${tableOf(rows)}\n\n${date}, in ${minutes} minutes, on: ${machineText()}`;
process.stdout.write(`${text}\n`);
if (values.write) {
  writeResult(RESULT, text);
}

function tell(line: string): void {
  const seconds = ((performance.now() - startMs) / 1_000).toFixed(0).padStart(4);
  process.stderr.write(`${seconds} s  ${line}\n`);
}
