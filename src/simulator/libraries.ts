/**
 * Plausible libraries from a seed: what stands where, when it is open, how many come. Nothing here
 * knows the service; what happens on a day is in traffic.ts.
 */
import { seededRandom } from '../base/random.ts';
import type { Random } from '../base/random.ts';
import { mixSeeds, pick } from './seeds.ts';

/** Open from one minute of the local day to another, on some days of the week; Monday is 0. */
export interface OpenSpell {
  readonly weekdays: readonly number[];
  readonly fromMinute: number;
  readonly toMinute: number;
}

export interface Branch {
  readonly id: number;
  readonly name: string;
}

/** A people counter over a door, or a self-service station where patrons log in. */
export interface Device {
  readonly id: number;
  readonly name: string;
  readonly kind: 'door' | 'station';
  readonly branchId: number;
  readonly clientId: number;
  /** How much of its kind's traffic goes over it, relative to the others. */
  readonly weight: number;
  /** The share of passes that it does not see. */
  readonly missRate: number;
  /** It counts nothing from this instant on; Infinity: it works. */
  readonly diedAtMs: number;
}

export interface Library {
  /** The service's number of the customer. */
  readonly customerId: number;
  readonly seed: number;
  readonly name: string;
  readonly timezone: string;
  readonly region: string;
  readonly capacity: number;
  readonly opening: readonly OpenSpell[];
  readonly branches: readonly Branch[];
  /** At most 250, no matter the branch. */
  readonly devices: readonly Device[];
  /** On an average day of opening. */
  readonly visitsPerDay: number;
  /** How much a quiet hour has of the mean one's traffic. */
  readonly quietHours: number;
  readonly meanVisitMinutes: number;
  /** The share of visitors that log in. */
  readonly loginShare: number;
  /** The chance that a group of many comes within a minute or two on a day. */
  readonly groupChance: number;
}

const TIMEZONES: readonly string[] = [
  'Europe/Copenhagen',
  'Europe/London',
  'America/New_York',
  'Asia/Kolkata',
  'Pacific/Auckland',
  'Europe/Berlin',
  'Africa/Abidjan',
  'Australia/Adelaide',
  'America/Sao_Paulo',
  'America/St_Johns',
];

const WEEK = [0, 1, 2, 3, 4, 5, 6];
const WEEKDAY_NAMES = ['Mo', 'Tu', 'We', 'Th', 'Fr', 'Sa', 'Su'];

export const ALWAYS_OPEN: readonly OpenSpell[] = [
  { weekdays: WEEK, fromMinute: 0, toMinute: 1440 },
];
/** Open without staff in the margins of the day, as many libraries are. */
export const OPEN_EARLY_AND_LATE: readonly OpenSpell[] = [
  { weekdays: WEEK, fromMinute: 6 * 60, toMinute: 1440 },
];
export const OFFICE_HOURS: readonly OpenSpell[] = [
  { weekdays: [0, 1, 2, 3, 4], fromMinute: 8 * 60, toMinute: 20 * 60 },
  { weekdays: [5], fromMinute: 10 * 60, toMinute: 17 * 60 },
  { weekdays: [6], fromMinute: 11 * 60, toMinute: 16 * 60 },
];
const CLOSED_ON_SUNDAY: readonly OpenSpell[] = [
  { weekdays: [0, 1, 2, 3], fromMinute: 9 * 60 + 30, toMinute: 19 * 60 },
  { weekdays: [4], fromMinute: 9 * 60 + 30, toMinute: 17 * 60 },
  { weekdays: [5], fromMinute: 10 * 60, toMinute: 15 * 60 },
];
const WITH_A_LUNCH_BREAK: readonly OpenSpell[] = [
  { weekdays: [1, 2, 3, 4], fromMinute: 9 * 60, toMinute: 12 * 60 },
  { weekdays: [1, 2, 3, 4], fromMinute: 14 * 60, toMinute: 18 * 60 },
  { weekdays: [5], fromMinute: 10 * 60, toMinute: 13 * 60 },
];

const OPENINGS = [
  ALWAYS_OPEN,
  OPEN_EARLY_AND_LATE,
  OPEN_EARLY_AND_LATE,
  OFFICE_HOURS,
  OFFICE_HOURS,
  CLOSED_ON_SUNDAY,
  WITH_A_LUNCH_BREAK,
];
const BRANCH_NAMES = ['Main Library', 'West Branch', 'Harbour Branch', 'Station Branch'];
const DOOR_NAMES = ['Main entrance', 'Garden entrance', 'Car park entrance'];
const REGIONS = ['north', 'south', 'east', 'west'];

/** The library of a seed and a number; `given` wins over what is drawn. */
export function drawLibrary(seed: number, customerId: number, given: Partial<Library>): Library {
  const random = seededRandom(mixSeeds(seed, customerId));
  const branchCount = given.branches?.length ?? pick(random, [1, 1, 1, 2, 3]);
  const branches =
    given.branches ??
    BRANCH_NAMES.slice(0, branchCount).map((name, i) => ({ id: customerId * 10 + i + 1, name }));
  const visitsPerDay = Math.round(40 * 2 ** (random.next() * 3.5));
  const meanVisitMinutes = 20 + Math.round(random.next() * 30);
  const opening = pick(random, OPENINGS);
  return {
    customerId,
    seed,
    name: `library-${customerId}`,
    timezone: pick(random, TIMEZONES),
    region: pick(random, REGIONS),
    capacity: Math.ceil((visitsPerDay * meanVisitMinutes) / 300 / 10) * 10 + 20,
    opening,
    branches,
    devices: branches.flatMap((branch) => drawDevices(random, branch)),
    visitsPerDay,
    quietHours: 0.15,
    meanVisitMinutes,
    loginShare: 0.15 + random.next() * 0.35,
    groupChance: 0.3,
    ...given,
  };
}

/** The devices of a branch: one to three doors and one or two stations, each door with a client. */
export function drawDevices(random: Random, branch: Branch, doors?: number): readonly Device[] {
  const doorCount = doors ?? pick(random, [1, 1, 2, 3]);
  const devices: Device[] = [];
  for (let i = 0; i < doorCount; i++) {
    devices.push({
      id: branch.id * 100 + i + 1,
      name: DOOR_NAMES[i] ?? `Door ${i + 1}`,
      kind: 'door',
      branchId: branch.id,
      clientId: branch.id * 10 + i + 1,
      weight: 1 / (i + 1),
      missRate: random.next() * 0.04,
      diedAtMs: Infinity,
    });
  }
  const stationCount = pick(random, [1, 2]);
  for (let i = 0; i < stationCount; i++) {
    devices.push({
      id: branch.id * 100 + 50 + i,
      name: `Self-service ${i + 1}`,
      kind: 'station',
      branchId: branch.id,
      clientId: branch.id * 10 + 1,
      weight: 1,
      missRate: 0,
      diedAtMs: Infinity,
    });
  }
  return devices;
}

/** Opening hours in OpenStreetMap's syntax: `Mo-Fr 08:00-20:00; Sa 10:00-17:00`. */
export function openingHoursText(opening: readonly OpenSpell[]): string {
  if (opening === ALWAYS_OPEN) {
    return '24/7';
  }
  const byDays = new Map<string, string[]>();
  for (const spell of opening) {
    const days = daysText(spell.weekdays);
    const times = byDays.get(days) ?? [];
    times.push(`${clockText(spell.fromMinute)}-${clockText(spell.toMinute)}`);
    byDays.set(days, times);
  }
  return [...byDays].map(([days, times]) => `${days} ${times.join(',')}`).join('; ');
}

/** The spell that is open on a weekday at a minute of the local day, if any is. */
export function openSpell(
  opening: readonly OpenSpell[],
  weekday: number,
  minute: number,
): OpenSpell | undefined {
  return opening.find(
    (spell) =>
      minute >= spell.fromMinute && minute < spell.toMinute && spell.weekdays.includes(weekday),
  );
}

function daysText(weekdays: readonly number[]): string {
  const names = weekdays.map((weekday) => WEEKDAY_NAMES[weekday]);
  return names.length < 3 ? names.join(',') : `${names[0]}-${names.at(-1)}`;
}

function clockText(minute: number): string {
  const hour = String(Math.floor(minute / 60)).padStart(2, '0');
  return `${hour}:${String(minute % 60).padStart(2, '0')}`;
}
