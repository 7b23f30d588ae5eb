/**
 * `npm run alerts:replay`: a year of simulated libraries, with and without faults, with the problems that the exporter's own code finds,
 * and when the shipped alerts fire by that. Counts false alarms and measures delays. With `--write` it replaces the
 * tables in docs/alerts.md.
 */
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { DAY_MS, HOUR_MS } from '../../src/base/duration.ts';
import { HISTORY_DAYS } from '../../src/counting/occupancy/door-model.ts';
import { alignTable, writeResult } from '../table.ts';
import { DAYS, START_MS } from './libraries.ts';
import type { Job, Replayed } from './replay-part.ts';
import { ALERTS, FAULTS, SCENARIOS, YEAR } from './scenarios.ts';

const FIRST_SEED = 7;
const THREADS = 2;
const LIBRARIES = 30;
const LEARNED_MS = START_MS + HISTORY_DAYS * DAY_MS;
/** Visitors a day from which a size begins. */
const SIZES = { 'below 30': 0, '30 to 300': 30, 'above 300': 300 } as const;
const SIZE_NAMES = Object.keys(SIZES);

const { values: flags } = parseArgs({
  options: {
    seeds: { type: 'string', default: '5' },
    write: { type: 'boolean', default: false },
  },
});
const seeds = Array.from({ length: Number(flags.seeds) }, (_, i) => FIRST_SEED + i);
const jobs: Job[] = [];
for (const { name, branches } of [YEAR, ...SCENARIOS]) {
  const libraries = name === YEAR.name ? LIBRARIES : Math.max(LIBRARIES / 2, 2 * branches);
  for (const seed of name === YEAR.name ? seeds : seeds.slice(0, 1)) {
    for (let number = 0; number * branches < libraries; number++) {
      jobs.push({ scenario: name, seed, number, libraries });
    }
  }
}
const replayed = await run(jobs.toReversed());
const text = report();
process.stdout.write(`${text}\n`);
if (flags.write) {
  writeResult(new URL('../../docs/alerts.md', import.meta.url), text);
}

/** Returns the libraries of all jobs by scenario. */
async function run(queue: Job[]): Promise<ReadonlyMap<string, readonly Replayed[]>> {
  const results: (readonly [Job, readonly Replayed[]])[] = [];
  const workers = Array.from({ length: THREADS }, async () => {
    const worker = new Worker(new URL('replay-part.ts', import.meta.url));
    for (let job = queue.shift(); job !== undefined; job = queue.shift()) {
      worker.postMessage(job);
      const [libraries] = (await once(worker, 'message')) as [readonly Replayed[]];
      results.push([job, libraries]);
    }
    await worker.terminate();
  });
  await Promise.all(workers);
  const byScenario = Map.groupBy(results, ([{ scenario }]) => scenario);
  return new Map(
    Array.from(byScenario, ([name, some]) => [name, some.flatMap(([, libraries]) => libraries)]),
  );
}

function report(): string {
  const years = replayed.get(YEAR.name) ?? [];
  const well = years.filter(({ fault }) => fault === undefined);
  const others = years.filter(({ fault }) => fault !== undefined);
  const learned = [LEARNED_MS, START_MS + DAYS * DAY_MS] as const;
  const names = SCENARIOS.map(({ name }) => name);
  return [
    `${well.length} libraries, ${DAYS} days, the first ${HISTORY_DAYS} of them for learning; ` +
      `${others.length} copies with a fault.`,
    alignTable([
      [`false alarms per library and year, ${SIZE_NAMES.join(' / ')} visitors a day`, ...ALERTS],
      falseAlarms('a year', well, learned),
      falseAlarms('the first four weeks', well, [START_MS, LEARNED_MS]),
      ...names.map((name) => falseAlarms(name, replayed.get(name) ?? [], learned)),
      ['in all copies, by other faults', ...ALERTS.map((alert) => byOtherFaults(alert, others))],
    ]),
    alignTable([
      ['fault: alert', 'visitors a day', 'found', 'delay: median', '90 %'].concat([
        'visitors missed: median',
        '90 %',
        'within an open day',
      ]),
      ...delays('', years),
      ...names.flatMap((name) => delays(`${name}: `, replayed.get(name) ?? [])),
    ]),
  ].join('\n\n');
}

/** The rates of each alert, by size. */
function falseAlarms(
  name: string,
  libraries: readonly Replayed[],
  [fromMs, toMs]: readonly [number, number],
): readonly string[] {
  const years = (toMs - fromMs) / DAY_MS / 365;
  return [
    name,
    ...ALERTS.map((alert) =>
      SIZE_NAMES.map((size) => {
        const some = libraries.filter((one) => one.fault === undefined && sizeOf(one) === size);
        const firings = some
          .flatMap((one) => one.firings)
          .filter((one) => one.alert === alert && one.toMs >= fromMs && one.fromMs < toMs);
        return some.length === 0 ? '-' : (firings.length / some.length / years).toFixed(2);
      }).join(' / '),
    ),
  ];
}

function byOtherFaults(alert: string, libraries: readonly Replayed[]): string {
  const firings = libraries.flatMap(({ fault = '', faultMs, firings: all }) => {
    const { finds = '', fires = [] } = FAULTS[fault] ?? {};
    return [finds, ...fires].includes(alert)
      ? []
      : all.filter((one) => one.alert === alert && one.toMs >= faultMs);
  });
  return String(firings.length);
}

/** A row for each fault and size. */
function delays(prefix: string, libraries: readonly Replayed[]): readonly (readonly string[])[] {
  return Object.entries(FAULTS).flatMap(([fault, { finds }]) =>
    SIZE_NAMES.flatMap((size) => {
      const some = libraries.filter((one) => one.fault === fault && sizeOf(one) === size);
      return some.length === 0
        ? []
        : [[`${prefix}${fault}: ${finds}`, size, ...found(finds, some)]];
    }),
  );
}

function found(alert: string, libraries: readonly Replayed[]): readonly string[] {
  const firsts = libraries.map(({ firings, faultMs, openMsOfDay }) => {
    const first = firings.find((one) => one.alert === alert && one.toMs >= faultMs);
    const { openMs = Infinity, missed = Infinity } = first ?? {};
    return { openMs, missed, isInADay: openMs <= openMsOfDay };
  });
  const hours = firsts.map(({ openMs }) => openMs / HOUR_MS);
  const missed = firsts.map((one) => one.missed);
  return [
    `${hours.filter((one) => one < Infinity).length} of ${hours.length}`,
    ...[0.5, 0.9].map((share) => quantile(hours, share, 1, ' h')),
    ...[0.5, 0.9].map((share) => quantile(missed, share, 0, '')),
    String(firsts.filter(({ isInADay }) => isInADay).length),
  ];
}

function sizeOf({ visitsPerDay }: Replayed): string | undefined {
  return Object.entries(SIZES).findLast(([, from]) => visitsPerDay >= from)?.[0];
}

/** Infinity, where an alert never fired, must not be subtracted. */
function quantile(values: readonly number[], share: number, digits: number, unit: string): string {
  const sorted = values.toSorted((a, b) => (a < b ? -1 : Number(a > b)));
  const value = sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN;
  return value === Infinity ? 'never' : `${value.toFixed(digits)}${unit}`;
}
