/**
 * `npm run alerts:replay`: a year of simulated libraries, with and without faults, with the problems that the exporter's
 * own code finds, and when the shipped alerts fire by that. Counts false alarms and measures delays. With `--write` it
 * replaces the tables in results.md, from which docs/alerts.md has its numbers.
 */
import { parseArgs } from 'node:util';
import { HOUR_MS } from '../../src/base/duration.ts';
import { HISTORY_DAYS } from '../../src/counting/occupancy/door-model.ts';
import { alignTable, writeResult } from '../table.ts';
import { runInThreads } from '../threads.ts';
import { ALERTS, DAYS, FAULTS, SCENARIOS, YEAR } from './libraries.ts';
import type { Job, Replayed } from './replay-part.ts';

const FIRST_SEED = 7;
/** Visitors a day from which a size begins. */
const SIZES = { 'below 30': 0, '30 to 300': 30, 'above 300': 300 };
const SIZE_NAMES = Object.keys(SIZES);
const COST_TITLES = ['delay: median', '90 %', 'visitors missed: median', '90 %'];
const NAMES = SCENARIOS.map(({ name }) => name);

const { values: flags } = parseArgs({
  options: {
    seeds: { type: 'string', default: '5' },
    write: { type: 'boolean', default: false },
  },
});
const jobs = SCENARIOS.flatMap(({ name, libraries, branches }) =>
  Array.from({ length: name === YEAR.name ? Number(flags.seeds) : 1 }, (_, i) =>
    Array.from({ length: Math.ceil(libraries / branches) }, (__, number): Job => {
      return { scenario: name, seed: FIRST_SEED + i, number };
    }),
  ).flat(),
);
const part = new URL('replay-part.ts', import.meta.url);
const replayed = (await runInThreads<Job, readonly Replayed[]>(part, jobs.toReversed())).flat();
const text = report();
process.stdout.write(`${text}\n`);
if (flags.write) {
  writeResult(new URL('results.md', import.meta.url), text);
}

function report(): string {
  const year = replayed.filter(({ scenario }) => scenario === YEAR.name);
  const copies = year.filter(({ fault }) => fault !== undefined);
  return [
    `${year.length - copies.length} libraries, ${DAYS} days, the first ${HISTORY_DAYS} of them for learning; ` +
      `${copies.length} copies with a fault.`,
    alignTable([
      [`false alarms per library and year, ${SIZE_NAMES.join(' / ')} visitors a day`, ...ALERTS],
      ...NAMES.map(falseAlarms),
    ]),
    alignTable([
      ['fault: alert', 'visitors a day', 'found', ...COST_TITLES],
      ...NAMES.flatMap((name) => Object.keys(FAULTS).flatMap((fault) => delays(name, fault))),
    ]),
  ].join('\n\n');
}

/** The rates of each alert by size, once four weeks are known. */
function falseAlarms(name: string): readonly string[] {
  const years = (DAYS - HISTORY_DAYS) / 365;
  function rateOf(alert: string, size: string): string {
    const some = librariesOf(name, undefined, size);
    const alarms = some.flatMap(({ firings, faultMs }) =>
      firings.filter((one) => one.alert === alert && one.toMs >= faultMs),
    );
    return some.length === 0 ? '-' : (alarms.length / some.length / years).toFixed(2);
  }
  return [
    name,
    ...ALERTS.map((alert) => SIZE_NAMES.map((size) => rateOf(alert, size)).join(' / ')),
  ];
}

function librariesOf(name: string, fault: string | undefined, size: string): readonly Replayed[] {
  const all = replayed.filter((one) => one.scenario === name && one.fault === fault);
  return all.filter(
    (one) => Object.entries(SIZES).findLast(([, from]) => one.visitsPerDay >= from)?.[0] === size,
  );
}

/** A row for each size. */
function delays(name: string, fault: string): readonly (readonly string[])[] {
  const title = `${name === YEAR.name ? '' : `${name}: `}${fault}: ${FAULTS[fault]?.[1]}`;
  return SIZE_NAMES.flatMap((size) => {
    const some = librariesOf(name, fault, size);
    const hours = some.map(({ cost }) => (cost?.openMs ?? Infinity) / HOUR_MS);
    const missed = some.map(({ cost }) => cost?.missed ?? Infinity);
    const cells = [
      title,
      size,
      `${hours.filter((one) => one < Infinity).length} of ${some.length}`,
      ...[0.5, 0.9].map((share) => quantile(hours, share, 1, ' h')),
      ...[0.5, 0.9].map((share) => quantile(missed, share, 0, '')),
    ];
    return some.length === 0 ? [] : [cells];
  });
}

function quantile(values: readonly number[], share: number, digits: number, unit: string): string {
  const sorted = Float64Array.from(values).sort();
  const value = sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN;
  return value === Infinity ? 'never' : `${value.toFixed(digits)}${unit}`;
}
