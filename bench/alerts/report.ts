/** The tables of `npm run alerts:replay`: false alarms, and how soon faults are found. */
import { alignTable } from '../table.ts';
import { LEARNING_DAYS, START_SECONDS } from './libraries.ts';
import { FAULTS } from './scenarios.ts';
import type { Fault } from './scenarios.ts';

/** The sizes of the tables, with the visitors a day from which they begin; the largest first. */
const SIZES = { 'above 300': 300, '30 to 300': 30, 'below 30': 0 } as const;
const SIZE_NAMES = Object.keys(SIZES).toReversed();
/** No alert comes sooner than an hour after the last count. */
const SOON_SECONDS = 5_400;
const NEVER = { openSeconds: Infinity, visitors: Infinity };

export interface Firing {
  readonly alert: string;
  readonly fromSeconds: number;
  readonly toSeconds: number;
  /** Opening time, and visitors who were not counted, since the fault began. */
  readonly openSeconds: number;
  readonly visitors: number;
}

/** A library, and when alerts fired for it. */
export interface Replayed {
  readonly visitsPerDay: number;
  readonly fault: Fault | undefined;
  readonly faultSeconds: number;
  readonly endSeconds: number;
  readonly openSecondsOfDay: number;
  readonly firings: readonly Firing[];
}

type Scenario = readonly [name: string, replayed: readonly Replayed[]];

/** Returns the tables of years, of which there may be several seeds, and of scenarios. */
export function report(
  alerts: readonly string[],
  years: readonly Replayed[],
  scenarios: readonly Scenario[],
  days: number,
): string {
  const well = years.filter(({ fault }) => fault === undefined).length;
  const sizes = SIZE_NAMES.join(' / ');
  return [
    `${well} libraries, ${days} days, the first ${LEARNING_DAYS} of them for learning; ` +
      `${years.length - well} copies with a fault.`,
    alignTable([
      ['false alarms per library and year, by visitors a day', ...SIZE_NAMES, 'by other faults'],
      ...alerts.map((alert) => [
        alert,
        ...falseAlarms(alert, years, days - LEARNING_DAYS),
        String(firingsByOtherFaults(alert, years)),
      ]),
    ]),
    alignTable([
      [`false alarms per library and year, ${sizes} visitors a day`, ...alerts],
      [
        'the first four weeks',
        ...alerts.map((alert) =>
          falseAlarms(alert, years.map(firstWeeks), LEARNING_DAYS).join(' / '),
        ),
      ],
      ...scenarios.map(([name, replayed]) => [
        name,
        ...alerts.map((alert) => falseAlarms(alert, replayed, days - LEARNING_DAYS).join(' / ')),
      ]),
    ]),
    alignTable([
      [
        'fault: alert',
        'visitors a day',
        'found',
        'delay: median',
        '90 %',
        'visitors missed: median',
        '90 %',
        '30 at most',
        'within an open day',
      ],
      ...delays('', years),
      ...scenarios.flatMap(([name, replayed]) => delays(`${name}: `, replayed)),
    ]),
  ].join('\n\n');
}

/** The same library, as if its four weeks of learning were all. */
function firstWeeks(library: Replayed): Replayed {
  return { ...library, faultSeconds: START_SECONDS, endSeconds: library.faultSeconds };
}

/** The firings from the fault on, or after learning. */
function firingsOf(
  alert: string,
  { faultSeconds, endSeconds, firings }: Replayed,
): readonly Firing[] {
  return firings.filter(
    (firing) =>
      firing.alert === alert && firing.toSeconds >= faultSeconds && firing.fromSeconds < endSeconds,
  );
}

/** The rate of each size. */
function falseAlarms(
  alert: string,
  replayed: readonly Replayed[],
  days: number,
): readonly string[] {
  return SIZE_NAMES.map((size) => {
    const some = replayed.filter((library) => !library.fault && sizeOf(library) === size);
    const firings = some.flatMap((one) => firingsOf(alert, one));
    return some.length === 0 ? '-' : ((firings.length / some.length / days) * 365).toFixed(2);
  });
}

function firingsByOtherFaults(alert: string, replayed: readonly Replayed[]): number {
  return replayed
    .filter(({ fault }) => fault && !FAULTS[fault].fires.includes(alert))
    .flatMap((one) => firingsOf(alert, one)).length;
}

/** A row for each fault and size. */
function delays(prefix: string, replayed: readonly Replayed[]): readonly (readonly string[])[] {
  return Object.entries(FAULTS).flatMap(([fault, { finds }]) =>
    SIZE_NAMES.flatMap((size) => {
      const some = replayed.filter(
        (library) => library.fault === fault && sizeOf(library) === size,
      );
      return some.length === 0
        ? []
        : [[`${prefix}${fault}: ${finds}`, size, ...found(finds, some)]];
    }),
  );
}

function found(alert: string, replayed: readonly Replayed[]): readonly string[] {
  const results = replayed.map((library) => {
    const [first] = firingsOf(alert, library).toSorted((a, b) => a.fromSeconds - b.fromSeconds);
    const { openSeconds: seconds, visitors: missed } = first ?? NEVER;
    return {
      isFound: first !== undefined,
      hours: seconds / 3_600,
      missed,
      isSoon: seconds <= SOON_SECONDS || missed <= 30,
      isInADay: seconds <= library.openSecondsOfDay,
    };
  });
  const hours = results.map((one) => one.hours).toSorted(byValue);
  const missed = results.map((one) => one.missed).toSorted(byValue);
  return [
    `${results.filter(({ isFound }) => isFound).length} of ${results.length}`,
    ...[0.5, 0.9].map((share) => decimal(quantile(hours, share), ' h')),
    ...[0.5, 0.9].map((share) => decimal(quantile(missed, share))),
    String(results.filter(({ isSoon }) => isSoon).length),
    String(results.filter(({ isInADay }) => isInADay).length),
  ];
}

function sizeOf({ visitsPerDay }: Replayed): string | undefined {
  return Object.entries(SIZES).find(([, from]) => visitsPerDay >= from)?.[0];
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN;
}

/** Infinity, where an alert never fired, must not be subtracted. */
function byValue(a: number, b: number): number {
  return a < b ? -1 : Number(a > b);
}

function decimal(value: number, unit = ''): string {
  return value === Infinity ? 'never' : `${value.toFixed(unit === '' ? 0 : 1)}${unit}`;
}
