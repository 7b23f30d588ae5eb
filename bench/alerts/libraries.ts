/**
 * What `npm run alerts:replay` simulates: how many visitors, on which days, what is wrong, and what the doors and
 * stations of a library count.
 */
import { DAY_MS, MINUTE_MS, parseDuration } from '../../src/base/duration.ts';
import { seededRandom } from '../../src/base/random.ts';
import * as simulator from '../../src/simulator/libraries.ts';
import type { Library } from '../../src/simulator/libraries.ts';
import { countPasses, dayTraffic } from '../../src/simulator/traffic.ts';
import { createZones } from '../../src/simulator/zone.ts';
import { readAlerts } from '../../test/prometheus/rules.ts';

/** The shares of entries, exits and logins that are counted, and the alert that should find it. */
type Fault = readonly [counts: readonly number[], finds: string];

/** The only fault of one door alone. */
export const ONE_DOOR = 'one of several doors dead';

export const FAULTS: Readonly<Record<string, Fault>> = {
  'dead door': [[0, 0, 1], 'LibraryZeroTraffic'],
  'dead entries': [[0, 1, 1], 'LibraryDirectionSilent'],
  'dead exits': [[1, 0, 1], 'LibraryDirectionSilent'],
  'dead logins': [[1, 1, 0], 'LibraryZeroLogins'],
  [ONE_DOOR]: [[0, 0, 1], 'LibraryDoorSilent'],
  '70 % of entries missed': [[0.3, 1, 1], 'LibraryDirectionsUnbalanced'],
  '20 % of exits missed': [[1, 0.8, 1], 'LibraryDoorRatioOff'],
};

/** The alerts about the problems of what a library counts. */
export const ALERTS = [...new Set(Object.values(FAULTS).map(([, finds]) => finds))];

/** As they are shipped: the kinds of problems for which they fire, and how long they wait. */
export const RULES = readAlerts()
  .filter(({ alert }) => ALERTS.includes(alert))
  .map(({ alert, expr, for: wait = '0', keep_firing_for: keep = '0' }) => ({
    alert,
    kinds: new RegExp(`^(${/problem=~?"(.*)"/.exec(expr)?.[1]})$`),
    forMs: parseDuration(wait) ?? NaN,
    keepMs: parseDuration(keep) ?? NaN,
  }));

/** Libraries from 3 to 6,000 visitors a day; one in six is half an hour late. Days are counted since 1970. */
export const YEAR = {
  name: 'a year',
  /** Visitors a day of the smallest and of the largest library. */
  visits: { from: 3, to: 6_000 },
  libraries: 30,
  /** How many libraries a customer has: its branches, if there are several. */
  branches: 1,
  /** Copies of each library are made with these faults. */
  faults: Object.keys(FAULTS),
  /** Public holidays, Easter 2026 among them. */
  holidays: daysOf('1-1 4-3 4-5 4-6 5-1 5-14 5-25 10-3 12-25 12-26'),
  /** Whether the opening hours, where an exporter knows them, have the public holidays. */
  knowsHolidays: true,
  /** Closed, and the opening hours tell it. */
  summer: daysOf('7-13', 21),
  /** Closed, and nobody tells. */
  closing: daysOf('9-7', 0),
  /** It closes at 14:00, and nobody tells. */
  short: daysOf('2-16 4-2 6-23 12-23 12-24 12-31'),
  /** 40 % of the visitors come. */
  quiet: daysOf('7-6', 0),
  hasLogins: true,
  /** How many minutes late the service shows counts, for a number of a customer. */
  lagMinutes: (customer: number): number => (customer % 6 === 5 ? 30 : 0),
};

export type Scenario = typeof YEAR;

const WELL: Scenario = { ...YEAR, libraries: 15, faults: [] };
const DEAD: Scenario = { ...WELL, faults: ['dead door'] };

/** The year, and the same with one thing changed. */
export const SCENARIOS: readonly Scenario[] = [
  YEAR,
  { ...WELL, name: 'holidays that the hours do not have', knowsHolidays: false },
  { ...WELL, name: 'closed for two weeks, unannounced', closing: daysOf('9-7', 14) },
  { ...WELL, name: 'six weeks of summer at 40 %', summer: [], quiet: daysOf('7-6', 42) },
  { ...DEAD, name: 'no logins', hasLogins: false },
  { ...DEAD, name: 'data 55 minutes late', lagMinutes: () => 55 },
  { ...DEAD, name: 'one to three visitors a day', visits: { from: 1, to: 3 } },
  { ...DEAD, name: '4 branches', faults: ['dead door', 'dead entries', ONE_DOOR], branches: 4 },
  { ...DEAD, name: '19 branches', faults: ['dead door', ONE_DOOR], branches: 19, libraries: 38 },
];

/** Returns so many successive days from each date on. */
function daysOf(dates: string, count = 1): readonly number[] {
  const days = dates.split(' ').map((date) => Date.parse(`2026-${date} UTC`) / DAY_MS);
  return days.flatMap((day) => Array.from({ length: count }, (_, i) => day + i));
}

/** How many a counter has counted before each minute since the start. */
export type Sums = Int32Array;

/** Entries and exits by door and of all doors, and logins. */
export interface LibraryCounts {
  readonly doors: readonly (readonly Sums[])[];
  readonly people: readonly Sums[];
  readonly logins: readonly Sums[];
}

/** Monday, 5 January 2026, so that a year has both changes of the clocks, Easter and a summer. */
export const START_MS = Date.UTC(2026, 0, 5);
export const DAYS = 365;
export const END_MS = START_MS + DAYS * DAY_MS;
export const FAULT_DAYS = 10;

const { ALWAYS_OPEN, OFFICE_HOURS, OPEN_EARLY_AND_LATE } = simulator;
const TWO_DAYS_A_WEEK = [{ weekdays: [1, 3], fromMinute: 14 * 60, toMinute: 18 * 60 }];
const OPENINGS = [OFFICE_HOURS, OPEN_EARLY_AND_LATE, TWO_DAYS_A_WEEK, ALWAYS_OPEN];
const ZONES = ['Europe/Copenhagen', 'America/New_York', 'Pacific/Auckland'];
const zones = createZones();

/** Draws a library of a customer. The higher its number, the larger it is. */
export function drawLibrary(scenario: Scenario, seed: number, i: number): Library {
  const { branches, visits, libraries, holidays, summer, closing } = scenario;
  const given = {
    visitsPerDay: Math.round(visits.from * (visits.to / visits.from) ** (i / (libraries - 1))),
    opening: OPENINGS[i % OPENINGS.length] ?? ALWAYS_OPEN,
    timezone: ZONES[Math.floor(i / branches) % ZONES.length] ?? 'UTC',
    closedDays: new Set([...holidays, ...summer, ...closing]),
  };
  return simulator.drawLibrary(seed, i + 1, given, branches === 1 ? undefined : 1);
}

/** Returns what a library counts in the whole time. */
export function countLibrary(scenario: Scenario, library: Library): LibraryCounts {
  const { devices, closedDays } = library;
  const zone = zones(library.timezone);
  const length = (END_MS - START_MS) / MINUTE_MS + 1;
  const sums = devices.map(() => [new Int32Array(length), new Int32Array(length)]);
  for (let day = zone.dayOf(START_MS); day <= zone.dayOf(END_MS); day++) {
    const { people, logins } = dayTraffic(onDay(scenario, library, day), zone, day);
    // A library that is always open leaves its visitors no time after closing.
    const endMs = closedDays?.has(day + 1) === true ? zone.dayStartMs(day + 1) : Infinity;
    for (const pass of countPasses(library, scenario.hasLogins ? [...people, ...logins] : people)) {
      const counter = sums[pass.device]?.[pass.people > 0 ? 0 : 1] ?? new Int32Array();
      const place = Math.floor((Math.min(pass.timeMs, endMs) - START_MS) / MINUTE_MS) + 1;
      if (place > 0 && place < length) {
        counter[place] = (counter[place] ?? 0) + Math.abs(pass.people);
      }
    }
  }
  for (const counter of sums.flat()) {
    counter.forEach((came, i) => (counter[i] = came + (counter[i - 1] ?? 0)));
  }
  const doors = sums.filter((_, i) => devices[i]?.kind === 'door');
  const stations = sums.filter((_, i) => devices[i]?.kind === 'station');
  const people = totalOf(doors);
  // Doors of several buildings are known by building only.
  const known = library.branches.length === 1 ? doors : [people];
  return { doors: known, people, logins: totalOf(stations).slice(0, 1) };
}

/** Returns the sums of several devices by counter. */
function totalOf([first = [], ...others]: readonly (readonly Sums[])[]): readonly Sums[] {
  return first.map((own, counter) => {
    const total = own.slice();
    for (const sums of others.flatMap((one) => one[counter] ?? [])) {
      for (let i = 0; i < total.length; i += 1) {
        total[i] = (total[i] ?? 0) + (sums[i] ?? 0);
      }
    }
    return total;
  });
}

function onDay({ quiet, short }: Scenario, library: Library, day: number): Library {
  const visitsPerDay = library.visitsPerDay * (quiet.includes(day) ? 0.4 : 1);
  if (!short.includes(day) || library.opening === ALWAYS_OPEN) {
    return { ...library, visitsPerDay };
  }
  const opening = library.opening
    .map((interval) => ({ ...interval, toMinute: Math.min(interval.toMinute, 14 * 60) }))
    .filter(({ fromMinute, toMinute }) => fromMinute < toMinute);
  return { ...library, opening, visitsPerDay: visitsPerDay / 2 };
}

/** Returns what is counted with a fault from an instant on. */
export function withFault(counts: LibraryCounts, fault: string, fromMs: number): LibraryCounts {
  const random = seededRandom(fromMs / MINUTE_MS);
  const [shares] = FAULTS[fault] ?? [[]];
  const one = fault === ONE_DOOR ? Math.floor(random.next() * counts.doors.length) : undefined;
  function thinned(sums: Sums, share = 1): Sums {
    const all = sums.slice(0, placeOf(sums, fromMs + FAULT_DAYS * DAY_MS) + 1);
    for (let i = placeOf(sums, fromMs) + 1; share < 1 && i < all.length; i += 1) {
      all[i] = all[i - 1] ?? 0;
      for (let came = (sums[i] ?? 0) - (sums[i - 1] ?? 0); came > 0; came -= 1) {
        all[i] = (all[i] ?? 0) + (random.next() < share ? 1 : 0);
      }
    }
    return all;
  }
  const doors = counts.doors.map((door, i) =>
    door.map((sums, counter) => thinned(sums, (one ?? i) === i ? shares[counter] : 1)),
  );
  const logins = counts.logins.map((sums) => thinned(sums, shares[2]));
  return { doors, people: totalOf(doors), logins };
}

/** Returns how many came between two instants. */
export function between(counters: readonly Sums[], fromMs: number, toMs: number): number {
  let came = 0;
  for (const sums of counters) {
    came += (sums[placeOf(sums, toMs)] ?? 0) - (sums[placeOf(sums, fromMs)] ?? 0);
  }
  return came;
}

/** Returns the start of the newest minute before an instant that counted anybody; -Infinity if there is none. */
export function lastCount(counters: readonly Sums[], beforeMs: number): number {
  const lastMs = counters.map((sums) => {
    let [low, high] = [0, placeOf(sums, beforeMs)];
    const sum = sums[high];
    while (low < high) {
      const middle = (low + high) >> 1;
      [low, high] = sums[middle] === sum ? [low, middle] : [middle + 1, high];
    }
    return high === 0 ? -Infinity : START_MS + (high - 1) * MINUTE_MS;
  });
  return Math.max(...lastMs);
}

function placeOf({ length }: Sums, atMs: number): number {
  return Math.min(length - 1, Math.max(0, Math.floor((atMs - START_MS) / MINUTE_MS)));
}
