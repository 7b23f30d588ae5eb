/** The libraries of `npm run alerts:replay`, and what an exporter shows of them. */
import { seededRandom } from '../../src/base/random.ts';
import type { Random } from '../../src/base/random.ts';
import {
  ALWAYS_OPEN,
  OFFICE_HOURS,
  OPEN_EARLY_AND_LATE,
  drawLibrary,
  openInterval,
} from '../../src/simulator/libraries.ts';
import type { Library, OpeningInterval } from '../../src/simulator/libraries.ts';
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

/** The evenly spaced times of a replay. */
export interface Steps {
  readonly startSeconds: number;
  readonly stepSeconds: number;
  readonly count: number;
}

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

const DAY_SECONDS = 86_400;
const DAY_MS = 86_400_000;
/** What is usual is the median of four weeks. */
export const LEARNING_DAYS = 28;
const FAULT_DAYS = 10;
const OUTAGE_SECONDS = 26 * 3_600;
const LAG_SECONDS = 1_800;
const TWO_DAYS_A_WEEK: readonly OpeningInterval[] = [
  { weekdays: [1, 3], fromMinute: 14 * 60, toMinute: 18 * 60 },
];
const OPENINGS = [OFFICE_HOURS, OPEN_EARLY_AND_LATE, TWO_DAYS_A_WEEK, ALWAYS_OPEN];
const ZONES = ['Europe/Copenhagen', 'America/New_York', 'Pacific/Auckland'];
/** Month and day: public holidays, Easter 2026 among them. */
const HOLIDAYS = new Set('1-1 4-3 4-5 4-6 5-1 5-14 5-25 10-3 12-25 12-26'.split(' '));
const CLOSES_AT_14 = new Set('2-16 4-2 6-23 12-23 12-24 12-31'.split(' '));
const SUMMER = { fromDay: Date.UTC(2026, 6, 13) / DAY_MS, days: 21 };

/** Libraries from 3 to 6,000 visitors a day: each without a fault, and a copy with each fault. */
export function* replayedLibraries(count: number, steps: Steps): Generator<ReplayedLibrary> {
  const zones = createZones();
  for (let i = 0; i < count; i++) {
    const visitsPerDay = Math.round(3 * 2_000 ** (i / Math.max(1, count - 1)));
    const opening = OPENINGS[i % OPENINGS.length] ?? ALWAYS_OPEN;
    const timezone = ZONES[i % ZONES.length] ?? 'UTC';
    const library = drawLibrary(7, i + 1, { visitsPerDay, opening, timezone });
    const hasHours = (i + Math.floor(i / OPENINGS.length)) % 2 === 0;
    const lagSeconds = i % 6 === 5 ? LAG_SECONDS : 0;
    const zone = zones(timezone);
    const traffic = countedTraffic(library, zone, steps, lagSeconds);
    const random = seededRandom(i);
    for (const fault of [undefined, ...(Object.keys(FAULTS) as Fault[])]) {
      yield replayed(library, zone, steps, traffic, { hasHours, fault, random });
    }
  }
}

/** By step: what the service has newly shown. */
interface Traffic {
  readonly entered: Float64Array;
  readonly exited: Float64Array;
  readonly logins: Float64Array;
  /** The times of the last pass and of the last login, 0 for none. */
  readonly seenSeconds: Float64Array;
  readonly loginSeconds: Float64Array;
  /** How many people were ever inside at once. */
  readonly maxInside: number;
}

function countedTraffic(
  library: Library,
  zone: Zone,
  { startSeconds, stepSeconds, count }: Steps,
  lagSeconds: number,
): Traffic {
  const [entered, exited, logins, seenSeconds, loginSeconds] = Array.from(
    { length: 5 },
    () => new Float64Array(count),
  ) as [Float64Array, Float64Array, Float64Array, Float64Array, Float64Array];
  let maxInside = 0;
  const firstDay = zone.dayOf(startSeconds * 1_000);
  const lastDay = zone.dayOf((startSeconds + count * stepSeconds) * 1_000);
  for (let day = firstDay; day <= lastDay; day++) {
    if (isClosed(day)) {
      continue;
    }
    const drawn = dayTraffic(onDay(library, day), zone, day);
    // A library that is always open leaves its visitors no time after closing.
    const endMs = isClosed(day + 1) ? zone.dayStartMs(day + 1) : Infinity;
    let inside = 0;
    for (const { people } of drawn.people) {
      inside += people;
      maxInside = Math.max(maxInside, inside);
    }
    for (const { timeMs, people } of countPasses(library, drawn.people)) {
      add(people > 0 ? entered : exited, seenSeconds, Math.min(timeMs, endMs), Math.abs(people));
    }
    for (const { timeMs, people } of countPasses(library, drawn.logins)) {
      add(logins, loginSeconds, Math.min(timeMs, endMs), people);
    }
  }
  return { entered, exited, logins, seenSeconds, loginSeconds, maxInside };

  function add(
    counts: Float64Array,
    lastSeconds: Float64Array,
    timeMs: number,
    people: number,
  ): void {
    const step = Math.ceil((timeMs / 1_000 + lagSeconds - startSeconds) / stepSeconds);
    if (step >= 0 && step < count) {
      counts[step] = (counts[step] ?? 0) + people;
      lastSeconds[step] = Math.max(lastSeconds[step] ?? 0, Math.floor(timeMs / 60_000) * 60);
    }
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

function replayed(
  library: Library,
  zone: Zone,
  steps: Steps,
  traffic: Traffic,
  given: {
    readonly fault: Fault | undefined;
    readonly hasHours: boolean;
    readonly random: Random;
  },
): ReplayedLibrary {
  const { visitsPerDay, opening } = library;
  const { fault, hasHours, random } = given;
  const { stepSeconds } = steps;
  const stepsOfDay = DAY_SECONDS / stepSeconds;

  function secondsOf(step: number): number {
    return steps.startSeconds + step * stepSeconds;
  }
  function isOpen(seconds: number): boolean {
    const day = zone.dayOf(seconds * 1_000);
    const minute = minuteOfDay(zone, seconds * 1_000);
    return !isClosed(day) && openInterval(opening, weekdayOf(day), minute) !== undefined;
  }

  let [faultStep, firstStep, endStep] = [LEARNING_DAYS * stepsOfDay, 0, steps.count];
  if (fault !== undefined) {
    const spare = steps.count - (LEARNING_DAYS + FAULT_DAYS + 7) * stepsOfDay;
    faultStep += Math.floor(random.next() * spare);
    while (!isOpen(secondsOf(faultStep))) {
      faultStep++;
    }
    firstStep = faultStep - LEARNING_DAYS * stepsOfDay;
    endStep = Math.min(steps.count, faultStep + FAULT_DAYS * stepsOfDay);
  }
  const openDays = new Set(opening.flatMap(({ weekdays }) => weekdays)).size;
  const openMinutes = opening.reduce(
    (sum, { weekdays, fromMinute, toMinute }) => sum + weekdays.length * (toMinute - fromMinute),
    0,
  );
  const openSecondsOfDay = (openMinutes * 60) / openDays;
  const visits = fault === 'dead logins' ? traffic.logins : traffic.entered;

  const customer = `library-${library.customerId}${fault === undefined ? '' : `-${fault.replace(' ', '-')}`}`;
  const series = new Map<string, Float64Array>();
  let row: Readonly<Record<string, number>> = {};
  const exporter = simulatedExporter(zone);
  for (let step = firstStep; step < endStep; step++) {
    const seconds = secondsOf(step);
    const active = step >= faultStep ? fault : undefined;
    const counted = exporter(seconds, countsAt(traffic, step, active));
    const isOut = active === 'outage' && seconds < secondsOf(faultStep) + OUTAGE_SECONDS;
    row = {
      // While no poll succeeds, the exporter shows what it has.
      ...(isOut ? row : counted),
      'library_up{stream="people"}': isOut ? 0 : 1,
      'library_up{stream="logins"}': isOut ? 0 : 1,
      library_utc_offset_seconds: zone.offsetMsAt(seconds * 1_000) / 1_000,
      // A fifth more than were ever inside: an alarm is false.
      library_capacity_people: Math.ceil(1.2 * traffic.maxInside),
      ...(hasHours ? { library_open: isOpen(seconds) ? 1 : 0 } : {}),
    };
    for (const [metric, value] of Object.entries(row)) {
      let values = series.get(metric);
      if (values === undefined) {
        values = new Float64Array(endStep - firstStep).fill(NaN);
        series.set(metric, values);
      }
      values[step - firstStep] = value;
    }
  }
  return {
    customer,
    visitsPerDay,
    fault,
    faultSeconds: secondsOf(faultStep),
    endSeconds: secondsOf(endStep),
    visitors: (fromSeconds, toSeconds) =>
      visits
        .subarray(
          Math.ceil((fromSeconds - steps.startSeconds) / stepSeconds),
          Math.ceil((toSeconds - steps.startSeconds) / stepSeconds),
        )
        .reduce((sum, count) => sum + count, 0),
    openSecondsOfDay,
    openSeconds: (fromSeconds, toSeconds) => {
      let open = 0;
      for (let seconds = fromSeconds; seconds < toSeconds; seconds += stepSeconds) {
        open += isOpen(seconds) ? stepSeconds : 0;
      }
      return open;
    },
    firstStep,
    series,
  };
}

interface Counts {
  readonly entered: number;
  readonly exited: number;
  readonly logins: number;
  readonly seenSeconds: number;
  readonly loginSeconds: number;
}

/** What is counted in a step, with a fault. */
function countsAt(traffic: Traffic, step: number, fault: Fault | undefined): Counts {
  const isDead = fault === 'dead door';
  const entered = isDead || fault === 'dead entries' ? 0 : (traffic.entered[step] ?? 0);
  const exited = isDead ? 0 : (traffic.exited[step] ?? 0);
  const logins = fault === 'dead logins' ? 0 : (traffic.logins[step] ?? 0);
  return {
    entered,
    exited,
    logins,
    seenSeconds: entered + exited > 0 ? (traffic.seenSeconds[step] ?? 0) : 0,
    loginSeconds: logins > 0 ? (traffic.loginSeconds[step] ?? 0) : 0,
  };
}

/** Adds up counts as the exporter does. Days start at 04:00, counting periods with the month. */
function simulatedExporter(
  zone: Zone,
): (seconds: number, counts: Counts) => Readonly<Record<string, number>> {
  let [entered, exited, enteredToday, exitedToday, loginsToday, inside] = [0, 0, 0, 0, 0, 0];
  let [day, month, seenSeconds, loginSeconds] = [NaN, NaN, 0, 0];
  return (seconds, counts) => {
    const nowDay = zone.dayOf(seconds * 1_000 - 4 * 3_600_000);
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
      'library_poll_last_success_timestamp_seconds{stream="logins"}': seconds,
    };
  };

  /** The exporter knows the last count of today and of the day before. */
  function knownSeconds(lastSeconds: number): number {
    return zone.dayOf(lastSeconds * 1_000 - 4 * 3_600_000) >= day - 1 ? lastSeconds : NaN;
  }
}

function isClosed(day: number): boolean {
  return (
    HOLIDAYS.has(monthAndDay(day)) || (day >= SUMMER.fromDay && day < SUMMER.fromDay + SUMMER.days)
  );
}

function monthAndDay(day: number): string {
  const date = new Date(day * DAY_MS);
  return `${String(date.getUTCMonth() + 1)}-${String(date.getUTCDate())}`;
}
