/** The tables of `npm run alerts:replay`: false alarms, and how soon faults are found. */
import { alignTable } from '../table.ts';
import { FAULTS, LEARNING_DAYS } from './libraries.ts';
import type { ReplayedLibrary } from './libraries.ts';

/** The sizes of the tables, with the visitors a day from which they begin; the largest first. */
const SIZES = { 'above 300': 300, '30 to 300': 30, 'below 30': 0 } as const;
const SIZE_NAMES = Object.keys(SIZES).toReversed();
/** The alerts wait for an hour at least, so as not to report a fire drill. */
const SOON_SECONDS = 5_400;

export interface Firing {
  readonly customer: string;
  readonly fromSeconds: number;
  readonly toSeconds: number;
}

export interface Replayed {
  readonly alert: string;
  readonly firings: readonly Firing[];
}

interface Seen {
  readonly library: ReplayedLibrary;
  /** From the fault on, or after learning. */
  readonly firings: readonly Firing[];
}

export function report(
  libraries: readonly ReplayedLibrary[],
  alerts: readonly Replayed[],
  days: number,
): string {
  const well = libraries.filter(({ fault }) => fault === undefined).length;
  const replayed = alerts.map(({ alert, firings }) => [alert, seenBy(libraries, firings)] as const);
  return [
    `${well} libraries, ${days} days, the first ${LEARNING_DAYS} of them for learning; ` +
      `${libraries.length - well} copies with a fault.`,
    alignTable([
      [
        'false alarms per library and year, by visitors a day',
        ...SIZE_NAMES,
        'caused by other faults',
      ],
      ...replayed.map(([alert, seen]) => falseAlarms(alert, seen, days)),
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
      ...replayed.flatMap(([alert, seen]) => delays(alert, seen)),
    ]),
  ].join('\n\n');
}

function seenBy(
  libraries: readonly ReplayedLibrary[],
  firings: readonly Firing[],
): readonly Seen[] {
  return libraries.map((library) => ({
    library,
    firings: firings.filter(
      ({ customer, fromSeconds, toSeconds }) =>
        customer === library.customer &&
        toSeconds >= library.faultSeconds &&
        fromSeconds < library.endSeconds,
    ),
  }));
}

function falseAlarms(alert: string, seen: readonly Seen[], days: number): readonly string[] {
  const years = (days - LEARNING_DAYS) / 365;
  const rates = SIZE_NAMES.map((size) => {
    const some = seen.filter(({ library }) => !library.fault && sizeOf(library) === size);
    const rate = some.flatMap(({ firings }) => firings).length / some.length / years;
    return some.length === 0 ? '-' : rate.toFixed(2);
  });
  const caused = seen
    .filter(({ library: { fault } }) => fault && !FAULTS[fault].fires.includes(alert))
    .flatMap(({ firings }) => firings);
  return [alert, ...rates, String(caused.length)];
}

/** A row for each size, if there is a fault that the alert should find. */
function delays(alert: string, seen: readonly Seen[]): readonly (readonly string[])[] {
  return SIZE_NAMES.flatMap((size) => {
    const some = seen.filter(
      ({ library }) =>
        library.fault && FAULTS[library.fault].finds.includes(alert) && sizeOf(library) === size,
    );
    if (some.length === 0) {
      return [];
    }
    const found = some.map(({ library, firings: [first] }) => {
      const { faultSeconds, openSecondsOfDay } = library;
      const isFound = first !== undefined;
      const seconds = isFound ? library.openSeconds(faultSeconds, first.fromSeconds) : Infinity;
      const missed = isFound ? library.visitors(faultSeconds, first.fromSeconds) : Infinity;
      return {
        isFound,
        hours: seconds / 3_600,
        missed,
        isSoon: seconds <= SOON_SECONDS || missed <= 30,
        isInADay: seconds <= openSecondsOfDay,
      };
    });
    const hours = found.map((one) => one.hours).toSorted(byValue);
    const missed = found.map((one) => one.missed).toSorted(byValue);
    return [
      [
        `${some[0]?.library.fault}: ${alert}`,
        size,
        `${found.filter(({ isFound }) => isFound).length} of ${some.length}`,
        ...[0.5, 0.9].map((share) => decimal(quantile(hours, share), ' h')),
        ...[0.5, 0.9].map((share) => decimal(quantile(missed, share))),
        String(found.filter(({ isSoon }) => isSoon).length),
        String(found.filter(({ isInADay }) => isInADay).length),
      ],
    ];
  });
}

function sizeOf({ visitsPerDay }: ReplayedLibrary): string | undefined {
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
