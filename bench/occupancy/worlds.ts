/**
 * Five libraries, and the ways in which their doors count wrongly: the regimes of the specification.
 * The visitors are those of the simulator; passes of cleaners and bursts of false counts are added.
 */
import { seededRandom } from '../../src/base/random.ts';
import type { Random } from '../../src/base/random.ts';
import { chance, mixSeeds, pick } from '../../src/simulator/chance.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/simulator/conventions.ts';
import { ALWAYS_OPEN, drawLibrary } from '../../src/simulator/libraries.ts';
import type { Detection, Device, Library, SensorSetting } from '../../src/simulator/libraries.ts';
import { dayTraffic } from '../../src/simulator/traffic.ts';
import type { Pass } from '../../src/simulator/traffic.ts';
import { createZones } from '../../src/simulator/zone.ts';

/** A Monday; days start at 04:00 UTC. */
export const FIRST_DAY = Date.UTC(2026, 7, 31) / DAY_MS;
export const DAYS = 84;
const CHANGE_DAY = 64;
const DEAD_DAYS = 3;

const WEEKDAYS = [0, 1, 2, 3, 4];

function hours(weekdays: readonly number[], from: number, to: number): Library['opening'][number] {
  return { weekdays, fromMinute: from * 60, toMinute: to * 60 };
}

/** The visits of a day, the mean stay, and the share of passes of each door. */
export const LIBRARIES = {
  small: {
    visitsPerDay: 80,
    meanVisitMinutes: 60,
    opening: [hours([1, 2, 3, 4], 10, 18), hours([5], 10, 14)],
    doors: [1],
  },
  branch: {
    visitsPerDay: 320,
    meanVisitMinutes: 55,
    opening: [hours(WEEKDAYS, 10, 19), hours([5], 10, 15)],
    doors: [1],
  },
  town: {
    visitsPerDay: 900,
    meanVisitMinutes: 60,
    opening: [hours(WEEKDAYS, 9, 20), hours([5], 10, 16)],
    doors: [0.7, 0.3],
  },
  univ: {
    visitsPerDay: 6_000,
    meanVisitMinutes: 110,
    opening: [hours(WEEKDAYS, 8, 24), hours([5, 6], 9, 22)],
    doors: [0.4, 0.3, 0.2, 0.1],
  },
  open24: { visitsPerDay: 2_500, meanVisitMinutes: 110, opening: ALWAYS_OPEN, doors: [0.6, 0.4] },
} satisfies Record<string, Partial<Library> & { readonly doors: readonly number[] }>;

export type LibraryName = keyof typeof LIBRARIES;

export interface Regime {
  readonly entries: Partial<Detection>;
  readonly exits: Partial<Detection>;
  /** The share of a direction that a door counts on a day, if it is not the one above. */
  readonly changed?: (
    day: number,
    door: number,
    doors: number,
  ) => { readonly entries?: number; readonly exits?: number };
  /** On a fifth of the days a door is offline for six hours. */
  readonly isLate?: true;
  readonly hasCleaners?: true;
  readonly hasBursts?: true;
  /** A third of the people come in groups; each one behind the first is missed with these shares. */
  readonly hiddenInGroups?: { readonly entries: number; readonly exits: number };
  /** Additional misses in each direction at the usual number of people at a door. */
  readonly missedInCrowds?: { readonly entries: number; readonly exits: number };
}

function counted(entries: number, exits: number, more: Partial<Regime> = {}): Regime {
  return { entries: { counted: entries }, exits: { counted: exits }, ...more };
}

function isDead(day: number): boolean {
  return day >= CHANGE_DAY && day < CHANGE_DAY + DEAD_DAYS;
}

export const REGIMES: Readonly<Record<string, Regime>> = {
  perfect: counted(1, 1),
  'u98/98': counted(0.98, 0.98),
  'u95/95': counted(0.95, 0.95),
  'b97/95': counted(0.97, 0.95),
  'b95/97': counted(0.95, 0.97),
  'b90/95': counted(0.9, 0.95),
  'b95/90': counted(0.95, 0.9),
  bydoor: counted(0.97, 0.94, {
    changed: (_, door) => (door % 2 === 0 ? {} : { entries: 0.94, exits: 0.97 }),
  }),
  drift: counted(0.97, 0.97, { changed: (day) => ({ exits: 0.97 - (0.07 * day) / DAYS }) }),
  season: counted(0.96, 0.96, {
    changed: (day) => ({ entries: 0.96 + 0.02 * Math.sin((2 * Math.PI * day) / 57) }),
  }),
  sudden: counted(0.97, 0.96, { changed: (day) => (day < CHANGE_DAY ? {} : { entries: 0.9 }) }),
  deadout: counted(0.97, 0.95, {
    changed: (day, door) => (door === 0 && isDead(day) ? { exits: 0 } : {}),
  }),
  deadin: counted(0.97, 0.95, {
    changed: (day, door) => (door === 0 && isDead(day) ? { entries: 0 } : {}),
  }),
  deadpart: counted(0.97, 0.95, {
    changed: (day, door, doors) => (door === doors - 1 && isDead(day) ? { exits: 0 } : {}),
  }),
  groups: counted(0.98, 0.98, { hiddenInGroups: { entries: 0.25, exits: 0.1 } }),
  groupsym: counted(0.98, 0.98, { hiddenInGroups: { entries: 0.15, exits: 0.15 } }),
  doubles: { entries: { counted: 0.97, twice: 0.03 }, exits: { counted: 0.97, twice: 0.03 } },
  dblbias: { entries: { counted: 0.97, twice: 0.04 }, exits: { counted: 0.97, twice: 0.01 } },
  bursts: counted(0.97, 0.97, { hasBursts: true }),
  late: counted(0.97, 0.95, { isLate: true }),
  lateu: counted(0.96, 0.96, { isLate: true }),
  flow: counted(0.98, 0.98, { missedInCrowds: { entries: 0.05, exits: 0.025 } }),
  flowsym: counted(0.98, 0.98, { missedInCrowds: { entries: 0.04, exits: 0.04 } }),
  cleaners: counted(0.97, 0.97, { hasCleaners: true }),
  cleanbias: counted(0.97, 0.95, { hasCleaners: true }),
};

const zoneNamed = createZones();

/** The library without sensors. */
export function libraryOf(name: LibraryName, seed: number): Library {
  const { doors, ...given } = LIBRARIES[name];
  const branch = { id: 1, name };
  return drawLibrary(seed, 1, {
    ...given,
    name,
    timezone: 'UTC',
    groupChance: 0.1,
    branches: [branch],
    devices: [...doors, 0].map((weight, i): Device => ({
      id: i + 1,
      name: `Door ${i + 1}`,
      kind: i < doors.length ? 'door' : 'station',
      branchId: 1,
      clientId: i + 1,
      weight: Math.max(weight, 1e-9),
      sensor: [],
    })),
  });
}

/** What visitors do on a date: the same for every regime. */
export function visitorsOf(library: Library, date: number): readonly Pass[] {
  return dayTraffic(library, zoneNamed('UTC'), date).people;
}

/** The library with the sensors of a regime. */
export function equip(library: Library, regime: Regime): Library {
  const doors = library.devices.filter(({ kind }) => kind === 'door').length;
  const devices = library.devices.map((device, door): Device => ({
    ...device,
    sensor: Array.from({ length: regime.changed ? DAYS : 1 }, (_, day) =>
      settingOf(regime, library, day, door, doors),
    ),
    offline: regime.isLate ? outages(library, device, doors) : [],
  }));
  return { ...library, devices };
}

function settingOf(
  regime: Regime,
  library: Library,
  day: number,
  door: number,
  doors: number,
): SensorSetting {
  const { entries, exits } = regime.changed?.(day, door, doors) ?? {};
  const { entries: crowdedIn, exits: crowdedOut } = regime.missedInCrowds ?? NONE;
  const usual = usualCrowd(library);
  const perfect: Detection = { counted: 1, twice: 0, missedPerNeighbour: 0 };
  const [inward, outward] = [
    { ...perfect, missedPerNeighbour: crowdedIn / usual, ...regime.entries },
    { ...perfect, missedPerNeighbour: crowdedOut / usual, ...regime.exits },
  ];
  return {
    fromMs: day === 0 ? -Infinity : (FIRST_DAY + day) * DAY_MS + 4 * HOUR_MS,
    in: { ...inward, counted: entries ?? inward.counted },
    out: { ...outward, counted: exits ?? outward.counted },
  };
}

const NONE = { entries: 0, exits: 0 };

/** People who pass the busiest door in an average minute of the opening hours. */
function usualCrowd({ visitsPerDay, devices, opening }: Library): number {
  const [{ fromMinute, toMinute }] = opening as [Library['opening'][number]];
  const share = devices[0]?.weight ?? 1;
  return (2 * visitsPerDay * share) / (toMinute - fromMinute);
}

function outages({ seed }: Library, { id }: Device, doors: number): NonNullable<Device['offline']> {
  return Array.from({ length: DAYS }, (_, day) => day).flatMap((day) => {
    const isOffline =
      chance(seed, day, 1) < 0.2 && Math.floor(chance(seed, day, 2) * doors) + 1 === id;
    const fromMs = (FIRST_DAY + day) * DAY_MS + (10 + 5 * chance(seed, day, 3)) * HOUR_MS;
    return isOffline ? [{ fromMs, toMs: fromMs + 6 * HOUR_MS }] : [];
  });
}

/** Those who pass on a date: visitors, and with some regimes groups and cleaners. */
export function peopleOf(
  { hasCleaners, hiddenInGroups }: Regime,
  library: Library,
  date: number,
  visitors: readonly Pass[],
): readonly Pass[] {
  const random = seededRandom(mixSeeds(library.seed, date, 7));
  const [first, last] = [visitors[0], visitors.at(-1)];
  if (first === undefined || last === undefined) {
    return visitors;
  }
  return [
    ...visitors,
    ...(hasCleaners ? cleanersOf(random, first.timeMs, last.timeMs) : []),
    ...(hiddenInGroups ? groupsOf(random, library, visitors, hiddenInGroups) : []),
  ];
}

/** Groups of two to four, a third of all people. A luck below 0 hides somebody from the sensor. */
function groupsOf(
  random: Random,
  { meanVisitMinutes }: Library,
  visitors: readonly Pass[],
  hidden: { readonly entries: number; readonly exits: number },
): readonly Pass[] {
  const entries = visitors.filter(({ people }) => people > 0);
  const lastMs = visitors.at(-1)?.timeMs ?? 0;
  return Array.from({ length: Math.round(entries.length * 0.18) }).flatMap(() => {
    const entry = pick(random, entries);
    const exit = pick(random, visitors);
    const stayMs = -Math.log(1 - random.next()) * meanVisitMinutes * MINUTE_MS;
    const exitMs = Math.max(entry.timeMs + 1, Math.min(lastMs, entry.timeMs + stayMs));
    const size = 2 + Math.floor(random.next() * 3);
    return Array.from({ length: size }, (_, i) => i === 0).flatMap((isFirst): Pass[] => {
      const [inLuck, outLuck] = [hidden.entries, hidden.exits].map((share) =>
        !isFirst && random.next() < share ? -1 : random.next(),
      );
      return [
        { ...entry, people: 1, luck: inLuck ?? 0 },
        { timeMs: exitMs, device: exit.device, people: -1, luck: outLuck ?? 0 },
      ];
    });
  });
}

/** On 40 % of the days, some false counts in one direction within a quarter of an hour. */
export function burstsOf(
  { hasBursts }: Regime,
  { seed, visitsPerDay }: Library,
  date: number,
  visitors: readonly Pass[],
): readonly Pass[] {
  const random = seededRandom(mixSeeds(seed, date, 8));
  if (hasBursts === undefined || visitors.length === 0 || random.next() >= 0.4) {
    return [];
  }
  const size = Math.ceil(random.next() * Math.min(80, 4 + 0.06 * visitsPerDay));
  const { timeMs } = pick(random, visitors);
  const people = random.next() < 0.5 ? 1 : -1;
  return Array.from({ length: size }, () => ({
    timeMs: timeMs + random.next() * 15 * MINUTE_MS,
    device: 0,
    people,
    luck: 0.5,
  }));
}

/** Two to four people, five passes each, before the first visitor or after the last one. */
function cleanersOf(random: Random, firstMs: number, lastMs: number): Pass[] {
  const isEarly = random.next() < 0.5;
  const startMs = isEarly ? firstMs - 100 * MINUTE_MS : lastMs + 10 * MINUTE_MS;
  return Array.from({ length: 2 + Math.floor(random.next() * 3) }).flatMap(() => {
    const times = Array.from({ length: 6 }, () => startMs + random.next() * 80 * MINUTE_MS);
    return times
      .toSorted((a, b) => a - b)
      .map((timeMs, i) => ({
        timeMs,
        device: 0,
        people: i % 2 === 0 ? 1 : -1,
        luck: random.next(),
      }));
  });
}
