/**
 * The ways in which doors count wrongly: the regimes of the specification. The sensors are those of the
 * simulator; hidden members of groups, passes of cleaners and bursts of false counts are added. Where
 * the specification names no number, the error of the raw occupancy is about that of its table. The
 * raw error does not depend on the estimate.
 */
import { seededRandom } from '../../src/base/random.ts';
import type { Random } from '../../src/base/random.ts';
import { chance, mixSeeds, pick } from '../../src/simulator/chance.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/base/duration.ts';
import type { Detection, Device, SensorSetting } from '../../src/simulator/libraries.ts';
import type { CountedPass, Pass } from '../../src/simulator/traffic.ts';
import { DAY_STARTS_AT_HOUR, DAYS, openingHours } from './visitors.ts';
import type { BenchLibrary, OpenDay, VisitorPass } from './visitors.ts';

const CHANGE_DAY = 64;
/** Two weeks before the first day that is evaluated. */
const LOSS_DAY = 28;
/** Days from Monday to Wednesday, as in the test vectors. */
const DEAD_FROM_DAY = 56;
const DEAD_DAYS = 3;
/** Together as many entries as exits are missed, where there are two or four doors. */
const BIAS_BY_DOOR: readonly EachWay[] = [
  { entries: 0.97, exits: 0.94 },
  { entries: 0.9, exits: 0.97 },
  { entries: 0.945, exits: 0.915 },
  { entries: 0.945, exits: 0.915 },
];
const OUTAGE_SHARE = 0.2;
const OUTAGE_HOURS = 6;
/** An outage begins so long after the opening, at most. */
const MAX_OUTAGE_START_HOURS = 4;

/** A number for entries, and one for exits. */
interface EachWay {
  readonly entries: number;
  readonly exits: number;
}

/** A door of the bench on one day. */
export interface Door extends Device {
  /** A door that is offline keeps its counts, and delivers them at the end. */
  readonly outage: Outage | undefined;
}

interface Outage {
  readonly fromMs: number;
  readonly toMs: number;
}

export interface Regime {
  readonly entries: Partial<Detection>;
  readonly exits: Partial<Detection>;
  /** The share of a direction that a door counts on a day, if it is not the one above. */
  readonly changed?: (day: number, door: number, doors: number) => Partial<EachWay>;
  /** A door is offline for six hours on a fifth of the days. */
  readonly isLate?: true;
  readonly hasCleaners?: true;
  readonly hasBursts?: true;
  /** A third of the people come in groups; each one behind the first is missed with these shares. */
  readonly hiddenInGroups?: EachWay;
  /** Missed where twice the usual number of people pass; as much again for each further doubling. */
  readonly hiddenInCrowds?: EachWay;
}

function counted(entries: number, exits: number, more: Partial<Regime> = {}): Regime {
  return { entries: { counted: entries }, exits: { counted: exits }, ...more };
}

function isDead(day: number): boolean {
  return day >= DEAD_FROM_DAY && day < DEAD_FROM_DAY + DEAD_DAYS;
}

export const REGIMES: Readonly<Record<string, Regime>> = {
  perfect: counted(1, 1),
  'u98/98': counted(0.98, 0.98),
  'u95/95': counted(0.95, 0.95),
  'b97/95': counted(0.97, 0.95),
  'b95/97': counted(0.95, 0.97),
  'b90/95': counted(0.9, 0.95),
  'b95/90': counted(0.95, 0.9),
  bydoor: counted(1, 1, { changed: (_, door) => BIAS_BY_DOOR[door] ?? {} }),
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
  lossout: counted(0.97, 0.95, { changed: (day) => (day < LOSS_DAY ? {} : { exits: 0.6 }) }),
  lossin: counted(0.97, 0.95, { changed: (day) => (day < LOSS_DAY ? {} : { entries: 0.6 }) }),
  groups: counted(0.98, 0.98, { hiddenInGroups: { entries: 0.3, exits: 0.12 } }),
  groupsym: counted(0.98, 0.98, { hiddenInGroups: { entries: 0.15, exits: 0.15 } }),
  doubles: { entries: { counted: 0.97, twice: 0.03 }, exits: { counted: 0.97, twice: 0.03 } },
  dblbias: { entries: { counted: 0.99, twice: 0.04 }, exits: { counted: 0.99, twice: 0.01 } },
  bursts: counted(0.97, 0.97, { hasBursts: true }),
  late: counted(0.97, 0.95, { isLate: true }),
  lateu: counted(0.96, 0.96, { isLate: true }),
  flow: counted(0.98, 0.98, { hiddenInCrowds: { entries: 0.1, exits: 0.05 } }),
  flowsym: counted(0.98, 0.98, { hiddenInCrowds: { entries: 0.08, exits: 0.08 } }),
  cleaners: counted(0.96, 0.96, { hasCleaners: true }),
  cleanbias: counted(0.97, 0.95, { hasCleaners: true }),
};

const USUAL_GROUP_SHARE = 0.1;
const GROUP_REGIME_SHARE = 0.35;

/** The share of people who come in groups. */
export function groupShareOf({ hiddenInGroups }: Regime): number {
  return hiddenInGroups === undefined ? USUAL_GROUP_SHARE : GROUP_REGIME_SHARE;
}

/** The doors of a library on a day, with the sensors of a regime. */
export function equip(
  library: BenchLibrary,
  regime: Regime,
  seed: number,
  day: number,
): readonly Door[] {
  const { doors } = library;
  return doors.map((weight, door) => {
    const changed = regime.changed?.(day, door, doors.length);
    const sensor: SensorSetting = {
      fromMs: 0,
      in: detection(regime.entries, changed?.entries),
      out: detection(regime.exits, changed?.exits),
    };
    return {
      id: door,
      name: `Door ${door + 1}`,
      kind: 'door',
      branchId: 1,
      clientId: door,
      weight,
      sensor: [sensor],
      outage: regime.isLate && drawOutage(library, seed, day, door),
    };
  });
}

function detection(usual: Partial<Detection>, changed: number | undefined): Detection {
  return { twice: 0, ...usual, counted: changed ?? usual.counted ?? 1 };
}

function drawOutage(
  library: BenchLibrary,
  seed: number,
  day: number,
  door: number,
): Outage | undefined {
  const [opens = 0] = openingHours(library, day) ?? [];
  const isOffline =
    chance(seed, day, 3) < OUTAGE_SHARE &&
    Math.floor(chance(seed, day, 4) * library.doors.length) === door;
  const startHours = opens - DAY_STARTS_AT_HOUR + MAX_OUTAGE_START_HOURS * chance(seed, day, 5);
  const fromMs = day * DAY_MS + startHours * HOUR_MS;
  return isOffline ? { fromMs, toMs: fromMs + OUTAGE_HOURS * HOUR_MS } : undefined;
}

/** The passes of a day with cleaners; no sensor counts those with a `detectionDraw` of -1, who are hidden. */
export function passesFor(
  library: BenchLibrary,
  { hasCleaners, hiddenInGroups, hiddenInCrowds }: Regime,
  open: OpenDay,
  seed: number,
  visitors: readonly VisitorPass[],
): readonly Pass[] {
  const random = seededRandom(mixSeeds(seed, open.opensMs / HOUR_MS, 6));
  const usual = usualCrowd(library);
  const crowds = Map.groupBy(hiddenInCrowds === undefined ? [] : visitors, doorMinute);
  const seen = visitors.map((pass) => {
    const direction = pass.people > 0 ? 'entries' : 'exits';
    const crowd = crowds.get(doorMinute(pass))?.length ?? 0;
    const doublings = Math.log2(Math.max(1, crowd / usual));
    const hidden =
      doublings * (hiddenInCrowds?.[direction] ?? 0) +
      (pass.isBehind ? (hiddenInGroups?.[direction] ?? 0) : 0);
    return random.next() < hidden ? { ...pass, detectionDraw: -1 } : pass;
  });
  return hasCleaners ? [...seen, ...drawCleaners(random, open)] : seen;
}

function doorMinute({ device, timeMs }: Pass): string {
  return `${device} ${Math.floor(timeMs / MINUTE_MS)}`;
}

/** Entries and exits through all doors in a minute of an average weekday. */
function usualCrowd(library: BenchLibrary): number {
  const [opens, closes] = openingHours(library, 2) ?? [0, 24];
  return (2 * library.visitsPerDay) / ((closes - opens) * 60);
}

/** Two to four people, each five times in and out, before the opening or after closing. */
function drawCleaners(random: Random, { opensMs, closesMs }: OpenDay): readonly Pass[] {
  if (closesMs === Infinity) {
    return [];
  }
  const startMs = random.next() < 0.5 ? opensMs - 100 * MINUTE_MS : closesMs + 10 * MINUTE_MS;
  return Array.from({ length: 2 + Math.floor(random.next() * 3) }).flatMap(() => {
    const times = Array.from({ length: 10 }, () => startMs + random.next() * 80 * MINUTE_MS);
    return times
      .toSorted((a, b) => a - b)
      .map((timeMs, i) => ({
        timeMs,
        device: 0,
        people: i % 2 === 0 ? 1 : -1,
        detectionDraw: random.next(),
      }));
  });
}

/** Draws false counts in one direction on 40 % of the days, in a quarter of an hour after some pass. */
export function drawBurst(
  { hasBursts }: Regime,
  { visitsPerDay }: BenchLibrary,
  { opensMs }: OpenDay,
  seed: number,
  visitors: readonly Pass[],
): readonly CountedPass[] {
  const random = seededRandom(mixSeeds(seed, opensMs / HOUR_MS, 7));
  if (hasBursts === undefined || random.next() >= 0.4) {
    return [];
  }
  const size = Math.round((0.5 + random.next()) * 0.8 * Math.sqrt(visitsPerDay));
  const { timeMs } = pick(random, visitors);
  const people = random.next() < 0.5 ? 1 : -1;
  return Array.from({ length: size }, () => ({
    timeMs: timeMs + random.next() * 15 * MINUTE_MS,
    device: 0,
    people,
  }));
}
