/** The simulated libraries of `npm run alerts:replay`, and what an exporter shows of them. */
import { seededRandom } from '../../src/base/random.ts';
import type { Random } from '../../src/base/random.ts';
import {
  ALWAYS_OPEN,
  OFFICE_HOURS,
  OPEN_EARLY_AND_LATE,
  drawLibrary,
  openInterval,
} from '../../src/simulator/libraries.ts';
import type { Library } from '../../src/simulator/libraries.ts';
import { countPasses, dayTraffic } from '../../src/simulator/traffic.ts';
import { createZones, minuteOfDay, weekdayOf } from '../../src/simulator/zone.ts';
import type { Zone } from '../../src/simulator/zone.ts';

export type Fault = 'dead door' | 'dead entries' | 'dead logins' | 'outage';

/** Each fault, the alerts that should find it, and the alerts that may fire. */
export const FAULTS: Readonly<
  Record<Fault, { readonly finds: readonly string[]; readonly fires: readonly string[] }>
> = {
  'dead door': {
    finds: ['LibraryZeroTraffic'],
    fires: ['LibraryZeroTraffic', 'LibraryFarBelowUsual'],
  },
  'dead entries': {
    finds: ['LibraryDirectionSilent'],
    fires: [
      'LibraryDirectionSilent',
      'LibraryEntriesExitsDrift',
      'LibraryFarBelowUsual',
      // Where few pass, those who leave are few as well.
      'LibraryZeroTraffic',
    ],
  },
  'dead logins': { finds: ['LibraryZeroLogins'], fires: ['LibraryZeroLogins'] },
  outage: {
    finds: ['LibraryCustomerDown', 'LibraryDataStale'],
    fires: ['LibraryCustomerDown', 'LibraryDataStale'],
  },
};

/** A library without a fault over the whole time, or a copy of it around a fault. */
export interface ReplayedLibrary {
  readonly customer: string;
  readonly visitsPerDay: number;
  readonly fault: Fault | undefined;
  /** When the fault begins; without one, when four weeks are known. */
  readonly faultSeconds: number;
  readonly endSeconds: number;
  /** How many came in between two times; how many logged in, where logins are dead. */
  readonly visitors: (fromSeconds: number, toSeconds: number) => number;
  readonly openSecondsOfDay: number;
  readonly openSeconds: (fromSeconds: number, toSeconds: number) => number;
  /** By name and labels: a value for each step from `firstStep` on, NaN where it is absent. */
  readonly series: ReadonlyMap<string, Float64Array>;
  readonly firstStep: number;
}

export const STEP_SECONDS = 300;
export const DAY_SECONDS = 86_400;
/** Monday, 5 January 2026, so that a year has both changes of the clocks, Easter and a summer. */
export const START_SECONDS = Date.UTC(2026, 0, 5) / 1_000;
/** What is usual is the median of four weeks. */
export const LEARNING_DAYS = 28;

const DAY_MS = 86_400_000;
const STEPS_OF_DAY = DAY_SECONDS / STEP_SECONDS;
const FAULT_DAYS = 10;
const OUTAGE_SECONDS = 26 * 3_600;
const LAG_SECONDS = 1_800;
const TWO_DAYS_A_WEEK = [{ weekdays: [1, 3], fromMinute: 14 * 60, toMinute: 18 * 60 }];
const OPENINGS = [OFFICE_HOURS, OPEN_EARLY_AND_LATE, TWO_DAYS_A_WEEK, ALWAYS_OPEN];
const ZONES = ['Europe/Copenhagen', 'America/New_York', 'Pacific/Auckland'];
/** Month and day: public holidays, Easter 2026 among them. */
const HOLIDAYS = new Set('1-1 4-3 4-5 4-6 5-1 5-14 5-25 10-3 12-25 12-26'.split(' '));
const CLOSES_AT_14 = new Set('2-16 4-2 6-23 12-23 12-24 12-31'.split(' '));
const SUMMER = { fromDay: Date.UTC(2026, 6, 13) / DAY_MS, days: 21 };

/** What the service newly shows in a step. */
interface Counts {
  entered: number;
  exited: number;
  logins: number;
  /** The times of the last pass and of the last login, 0 for none. */
  seenSeconds: number;
  loginSeconds: number;
}

const NOBODY: Counts = { entered: 0, exited: 0, logins: 0, seenSeconds: 0, loginSeconds: 0 };

interface Simulated {
  readonly library: Library;
  readonly zone: Zone;
  /** Of the whole time. */
  readonly steps: number;
  /** Whether the exporter knows the opening hours. */
  readonly hasHours: boolean;
  /** By step. */
  readonly traffic: ReadonlyMap<number, Counts>;
  /** How many people were ever inside at once. */
  readonly maxInside: number;
}

/** Libraries from 3 to 6,000 visitors a day: each without a fault, and a copy with each fault. */
export function* replayedLibraries(count: number, days: number): Generator<ReplayedLibrary> {
  const zones = createZones();
  const steps = days * STEPS_OF_DAY;
  for (let i = 0; i < count; i++) {
    const visitsPerDay = Math.round(3 * 2_000 ** (i / Math.max(1, count - 1)));
    const opening = OPENINGS[i % OPENINGS.length] ?? ALWAYS_OPEN;
    const timezone = ZONES[i % ZONES.length] ?? 'UTC';
    const library = drawLibrary(7, i + 1, { visitsPerDay, opening, timezone });
    const hasHours = (i + Math.floor(i / OPENINGS.length)) % 2 === 0;
    const zone = zones(timezone);
    const counted = countedTraffic(library, zone, steps, i % 6 === 5 ? LAG_SECONDS : 0);
    const simulated = { library, zone, steps, hasHours, ...counted };
    const random = seededRandom(i);
    for (const fault of [undefined, ...(Object.keys(FAULTS) as Fault[])]) {
      yield replayed(simulated, fault, random);
    }
  }
}

function countedTraffic(
  library: Library,
  zone: Zone,
  steps: number,
  lagSeconds: number,
): Pick<Simulated, 'traffic' | 'maxInside'> {
  const traffic = new Map<number, Counts>();
  let maxInside = 0;
  const firstDay = zone.dayOf(START_SECONDS * 1_000);
  const lastDay = zone.dayOf(secondsOf(steps) * 1_000);
  for (let day = firstDay; day <= lastDay; day++) {
    if (isClosed(day)) {
      continue;
    }
    const { people: passes, logins } = dayTraffic(onDay(library, day), zone, day);
    // A library that is always open leaves its visitors no time after closing.
    const endMs = isClosed(day + 1) ? zone.dayStartMs(day + 1) : Infinity;
    let inside = 0;
    for (const { people } of passes) {
      inside += people;
      maxInside = Math.max(maxInside, inside);
    }
    for (const { timeMs, people } of countPasses(library, passes)) {
      const { counts, minuteSeconds } = shown(Math.min(timeMs, endMs));
      counts[people > 0 ? 'entered' : 'exited'] += Math.abs(people);
      counts.seenSeconds = Math.max(counts.seenSeconds, minuteSeconds);
    }
    for (const { timeMs, people } of countPasses(library, logins)) {
      const { counts, minuteSeconds } = shown(Math.min(timeMs, endMs));
      counts.logins += people;
      counts.loginSeconds = Math.max(counts.loginSeconds, minuteSeconds);
    }
  }
  return { traffic, maxInside };

  /** The counts of the step in which the service shows a time, and the minute of that time. */
  function shown(timeMs: number) {
    const step = stepAt(timeMs / 1_000 + lagSeconds);
    const counts = traffic.get(step) ?? { ...NOBODY };
    traffic.set(step, counts);
    return { counts, minuteSeconds: Math.floor(timeMs / 60_000) * 60 };
  }
}

/** On some days it closes at 14:00, and nobody has told the exporter. */
function onDay(library: Library, day: number): Library {
  if (!CLOSES_AT_14.has(monthAndDay(day)) || library.opening === ALWAYS_OPEN) {
    return library;
  }
  const opening = library.opening
    .map((interval) => ({ ...interval, toMinute: Math.min(interval.toMinute, 14 * 60) }))
    .filter(({ fromMinute, toMinute }) => fromMinute < toMinute);
  return { ...library, opening, visitsPerDay: library.visitsPerDay / 2 };
}

function replayed(simulated: Simulated, fault: Fault | undefined, random: Random): ReplayedLibrary {
  const { library, zone, steps, hasHours, traffic, maxInside } = simulated;
  const { visitsPerDay, opening } = library;

  function isOpen(seconds: number): boolean {
    const day = zone.dayOf(seconds * 1_000);
    const minute = minuteOfDay(zone, seconds * 1_000);
    return !isClosed(day) && openInterval(opening, weekdayOf(day), minute) !== undefined;
  }

  let [faultStep, firstStep, endStep] = [LEARNING_DAYS * STEPS_OF_DAY, 0, steps];
  if (fault !== undefined) {
    const spare = steps - (LEARNING_DAYS + FAULT_DAYS + 7) * STEPS_OF_DAY;
    faultStep += Math.floor(random.next() * spare);
    while (!isOpen(secondsOf(faultStep))) {
      faultStep++;
    }
    firstStep = faultStep - LEARNING_DAYS * STEPS_OF_DAY;
    endStep = Math.min(steps, faultStep + FAULT_DAYS * STEPS_OF_DAY);
  }
  const series = new Map<string, Float64Array>();
  const exporter = simulatedExporter(zone);
  let row: Readonly<Record<string, number>> = {};
  for (let step = firstStep; step < endStep; step++) {
    const seconds = secondsOf(step);
    const active = step >= faultStep ? fault : undefined;
    const counted = exporter(seconds, withFault(traffic.get(step) ?? NOBODY, active));
    const isOut = active === 'outage' && seconds < secondsOf(faultStep) + OUTAGE_SECONDS;
    row = {
      // While no poll succeeds, the exporter shows what it has.
      ...(isOut ? row : counted),
      'library_up{stream="people"}': isOut ? 0 : 1,
      'library_up{stream="logins"}': isOut ? 0 : 1,
      library_utc_offset_seconds: zone.offsetMsAt(seconds * 1_000) / 1_000,
      // A fifth more than were ever inside: an alarm is false.
      library_capacity_people: Math.ceil(1.2 * maxInside),
      ...(hasHours ? { library_open: isOpen(seconds) ? 1 : 0 } : {}),
    };
    for (const [metric, value] of Object.entries(row)) {
      const values = series.get(metric) ?? new Float64Array(endStep - firstStep).fill(NaN);
      values[step - firstStep] = value;
      series.set(metric, values);
    }
  }

  function sumOfSteps(from: number, to: number, valueOf: (step: number) => number): number {
    let sum = 0;
    for (let step = stepAt(from); step < stepAt(to); step++) {
      sum += valueOf(step);
    }
    return sum;
  }
  const visits = fault === 'dead logins' ? 'logins' : 'entered';
  const openDays = new Set(opening.flatMap(({ weekdays }) => weekdays)).size;
  const openMinutes = opening.reduce(
    (sum, { weekdays, fromMinute, toMinute }) => sum + weekdays.length * (toMinute - fromMinute),
    0,
  );
  return {
    customer: `library-${library.customerId}${fault === undefined ? '' : `-${fault.replace(' ', '-')}`}`,
    visitsPerDay,
    fault,
    faultSeconds: secondsOf(faultStep),
    endSeconds: secondsOf(endStep),
    visitors: (from, to) => sumOfSteps(from, to, (step) => traffic.get(step)?.[visits] ?? 0),
    openSecondsOfDay: (openMinutes * 60) / openDays,
    openSeconds: (from, to) =>
      sumOfSteps(from, to, (step) => (isOpen(secondsOf(step)) ? STEP_SECONDS : 0)),
    firstStep,
    series,
  };
}

/** What the service still counts of a step. */
function withFault(counts: Counts, fault: Fault | undefined): Counts {
  switch (fault) {
    case 'dead door':
      return { ...counts, entered: 0, exited: 0, seenSeconds: 0 };
    case 'dead entries':
      return { ...counts, entered: 0, seenSeconds: counts.exited > 0 ? counts.seenSeconds : 0 };
    case 'dead logins':
      return { ...counts, logins: 0, loginSeconds: 0 };
    case 'outage':
    case undefined:
      return counts;
  }
}

/** Adds up counts as the exporter does. Days start at 04:00, counting periods with the month. */
function simulatedExporter(
  zone: Zone,
): (seconds: number, counts: Counts) => Readonly<Record<string, number>> {
  let [entered, exited, enteredToday, exitedToday, loginsToday, inside] = [0, 0, 0, 0, 0, 0];
  let [day, month, seenSeconds, loginSeconds] = [NaN, NaN, 0, 0];
  return (seconds, counts) => {
    const nowDay = countingDay(seconds);
    if (nowDay !== day) {
      [enteredToday, exitedToday, loginsToday, inside, day] = [0, 0, 0, 0, nowDay];
      const nowMonth = new Date(nowDay * DAY_MS).getUTCMonth();
      if (nowMonth !== month) {
        [entered, exited, month] = [0, 0, nowMonth];
      }
    }
    entered += counts.entered;
    exited += counts.exited;
    enteredToday += counts.entered;
    exitedToday += counts.exited;
    loginsToday += counts.logins;
    inside = Math.max(0, inside + counts.entered - counts.exited);
    seenSeconds = Math.max(seenSeconds, counts.seenSeconds);
    loginSeconds = Math.max(loginSeconds, counts.loginSeconds);
    return {
      library_people_entered_total: entered,
      library_people_exited_total: exited,
      library_people_entered_today: enteredToday,
      library_people_exited_today: exitedToday,
      library_logins_today: loginsToday,
      library_people_last_seen_timestamp_seconds: knownSeconds(seenSeconds),
      library_logins_last_seen_timestamp_seconds: knownSeconds(loginSeconds),
      library_occupancy_people: inside,
      'library_poll_last_success_timestamp_seconds{stream="people"}': seconds,
      'library_values_accepted_timestamp_seconds{stream="people"}': seconds,
      'library_poll_last_success_timestamp_seconds{stream="logins"}': seconds,
      'library_values_accepted_timestamp_seconds{stream="logins"}': seconds,
    };
  };

  function countingDay(seconds: number): number {
    return zone.dayOf(seconds * 1_000 - 4 * 3_600_000);
  }
  /** The exporter knows the last count of today and of the day before. */
  function knownSeconds(lastSeconds: number): number {
    return countingDay(lastSeconds) >= day - 1 ? lastSeconds : NaN;
  }
}

function secondsOf(step: number): number {
  return START_SECONDS + step * STEP_SECONDS;
}

/** The first step that is not before a time. */
function stepAt(seconds: number): number {
  return Math.ceil((seconds - START_SECONDS) / STEP_SECONDS);
}

function isClosed(day: number): boolean {
  return (
    HOLIDAYS.has(monthAndDay(day)) || (day >= SUMMER.fromDay && day < SUMMER.fromDay + SUMMER.days)
  );
}

function monthAndDay(day: number): string {
  const date = new Date(day * DAY_MS);
  return `${date.getUTCMonth() + 1}-${date.getUTCDate()}`;
}
