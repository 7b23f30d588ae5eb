/** The simulated libraries of `npm run alerts:replay`: what their doors and stations count, well and with a fault. */
import { DAY_MS, MINUTE_MS } from '../../src/base/duration.ts';
import { seededRandom } from '../../src/base/random.ts';
import type { Random } from '../../src/base/random.ts';
import type { Calendar, Span } from '../../src/counting/calendar/calendar.ts';
import { packSteps, weekdayOf as weekdayOfSpan } from '../../src/counting/rows/day-counts.ts';
import type { DayCounts } from '../../src/counting/rows/day-counts.ts';
import * as simulator from '../../src/simulator/libraries.ts';
import type { Library } from '../../src/simulator/libraries.ts';
import { countPasses, dayTraffic } from '../../src/simulator/traffic.ts';
import { createZones, minuteOfDay, weekdayOf } from '../../src/simulator/zone.ts';
import { closedDays, FAULTS, ONE_DOOR, QUIET_SHARE, SHORT_DAYS } from './scenarios.ts';
import type { Scenario } from './scenarios.ts';

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
export const FAULT_DAYS = 10;
export const END_MS = START_MS + DAYS * DAY_MS;

const { ALWAYS_OPEN, OFFICE_HOURS, OPEN_EARLY_AND_LATE } = simulator;
const TWO_DAYS_A_WEEK = [{ weekdays: [1, 3], fromMinute: 14 * 60, toMinute: 18 * 60 }];
const OPENINGS = [OFFICE_HOURS, OPEN_EARLY_AND_LATE, TWO_DAYS_A_WEEK, ALWAYS_OPEN];
const zones = createZones();

/** Draws a library, of which `share` are smaller. */
export function drawLibrary(
  scenario: Scenario,
  seed: number,
  [i, share]: readonly [number: number, share: number],
  timezone: string,
): Library {
  const [smallest, largest] = scenario.visits;
  const visitsPerDay = Math.round(smallest * (largest / smallest) ** share);
  const opening = OPENINGS[i % OPENINGS.length] ?? ALWAYS_OPEN;
  const given = { visitsPerDay, opening, timezone, closedDays: closedDays(scenario) };
  return simulator.drawLibrary(seed, i + 1, given, scenario.branches === 1 ? undefined : 1);
}

/** Returns what a library counts in the whole time. */
export function countLibrary(scenario: Scenario, library: Library): LibraryCounts {
  const zone = zones(library.timezone);
  const byDevice = library.devices.map(({ kind }) => ({ kind, sums: [noSums(), noSums()] }));
  for (let day = zone.dayOf(START_MS); day <= zone.dayOf(END_MS); day++) {
    const { people, logins } = dayTraffic(onDay(scenario, library, day), zone, day);
    // A library that is always open leaves its visitors no time after closing.
    const endMs = library.closedDays?.has(day + 1) ? zone.dayStartMs(day + 1) : Infinity;
    for (const pass of countPasses(library, scenario.hasLogins ? [...people, ...logins] : people)) {
      const sums = byDevice[pass.device]?.sums[pass.people > 0 ? 0 : 1];
      const place = Math.floor((Math.min(pass.timeMs, endMs) - START_MS) / MINUTE_MS) + 1;
      if (sums !== undefined && place > 0 && place < sums.length) {
        sums[place] = (sums[place] ?? 0) + Math.abs(pass.people);
      }
    }
  }
  for (const sums of byDevice.flatMap((one) => one.sums)) {
    for (let i = 1; i < sums.length; i += 1) {
      sums[i] = (sums[i] ?? 0) + (sums[i - 1] ?? 0);
    }
  }
  const { door: doors = [], station = [] } = Object.groupBy(byDevice, ({ kind }) => kind);
  const byDoor = doors.map(({ sums }) => sums);
  return withTotals(
    // Doors of several buildings are known by building only.
    library.branches.length === 1 ? byDoor : [totalOf(byDoor)],
    totalOf(station.map(({ sums }) => sums)).slice(0, 1),
  );
}

function noSums(): Sums {
  return new Int32Array((END_MS - START_MS) / MINUTE_MS + 1);
}

function withTotals(doors: LibraryCounts['doors'], logins: LibraryCounts['logins']): LibraryCounts {
  return { doors, people: totalOf(doors), logins };
}

/** Returns the sums of several doors, or libraries, by counter. */
function totalOf(all: readonly (readonly Sums[])[]): readonly Sums[] {
  return (all[0] ?? []).map((first, counter) => {
    const total = first.slice();
    for (const sums of all.slice(1).map((one) => one[counter] ?? noSums())) {
      for (let i = 0; i < total.length; i += 1) {
        total[i] = (total[i] ?? 0) + (sums[i] ?? 0);
      }
    }
    return total;
  });
}

function onDay(scenario: Scenario, library: Library, day: number): Library {
  const visits = library.visitsPerDay * (scenario.quiet.includes(day) ? QUIET_SHARE : 1);
  if (!SHORT_DAYS.includes(day) || library.opening === ALWAYS_OPEN) {
    return { ...library, visitsPerDay: visits };
  }
  const opening = library.opening
    .map((interval) => ({ ...interval, toMinute: Math.min(interval.toMinute, 14 * 60) }))
    .filter(({ fromMinute, toMinute }) => fromMinute < toMinute);
  return { ...library, opening, visitsPerDay: visits / 2 };
}

/** Returns what is counted with a fault from an instant on. */
export function withFault(counts: LibraryCounts, fault: string, fromMs: number): LibraryCounts {
  const random = seededRandom(fromMs / MINUTE_MS);
  const shares = FAULTS[fault]?.counts ?? [];
  const dead = fault === ONE_DOOR ? Math.floor(random.next() * counts.doors.length) : undefined;
  return withTotals(
    counts.doors.map((door, i) =>
      dead === undefined || i === dead
        ? door.map((sums, counter) => thinned(sums, shares[counter], fromMs, random))
        : door.map((sums) => thinned(sums, 1, fromMs, random)),
    ),
    counts.logins.map((sums) => thinned(sums, shares[2], fromMs, random)),
  );
}

/** Returns sums that grow by this share only from an instant on. */
function thinned(sums: Sums, share = 1, fromMs: number, random: Random): Sums {
  const all = sums.slice(0, placeOf(sums, fromMs + FAULT_DAYS * DAY_MS) + 1);
  for (let i = placeOf(sums, fromMs) + 1; share < 1 && i < all.length; i += 1) {
    let sum = all[i - 1] ?? 0;
    for (let came = (sums[i] ?? 0) - (sums[i - 1] ?? 0); came > 0; came -= 1) {
      sum += random.next() < share ? 1 : 0;
    }
    all[i] = sum;
  }
  return all;
}

/** Returns how many came between two instants. */
export function between(sums: Sums, fromMs: number, toMs: number): number {
  return (sums[placeOf(sums, toMs)] ?? 0) - (sums[placeOf(sums, fromMs)] ?? 0);
}

/** Returns the start of the newest minute before an instant that counted anybody; undefined if there is none. */
export function lastCount(sums: Sums, beforeMs: number): number | undefined {
  let high = placeOf(sums, beforeMs);
  const sum = sums[high] ?? 0;
  let width = 1;
  while (sums[high - width] === sum) {
    width *= 2;
  }
  let low = Math.max(0, high - width);
  while (low < high) {
    const middle = (low + high) >> 1;
    [low, high] = sums[middle] === sum ? [low, middle] : [middle + 1, high];
  }
  return low === 0 ? undefined : START_MS + (low - 1) * MINUTE_MS;
}

function placeOf({ length }: Sums, atMs: number): number {
  return Math.min(length - 1, Math.max(0, Math.floor((atMs - START_MS) / MINUTE_MS)));
}

/** Returns the counts of a day by step, until an instant. */
export function countsOfDay(
  calendar: Calendar,
  day: Span,
  sums: readonly Sums[],
  stepMs: number,
  untilMs = day.endMs,
): DayCounts {
  const length = Math.ceil((day.endMs - day.startMs) / stepMs);
  const steps = sums.map((one) => {
    const counts = new Float64Array(length);
    for (let i = 0; i < length; i += 1) {
      const fromMs = day.startMs + i * stepMs;
      counts[i] = fromMs < untilMs ? between(one, fromMs, Math.min(untilMs, fromMs + stepMs)) : 0;
    }
    return counts;
  });
  const weekday = weekdayOfSpan(calendar, day);
  return { day, weekday, stepMs, before: sums.map(() => 0), ...packSteps(steps) };
}

export function isOpenAt({ closedDays: off, opening, timezone }: Library, atMs: number): boolean {
  const day = zones(timezone).dayOf(atMs);
  const minute = minuteOfDay(zones(timezone), atMs);
  const interval = simulator.openInterval(opening, weekdayOf(day), minute);
  return interval !== undefined && off?.has(day) !== true;
}
