/** Libraries from a seed: branches, devices with their sensors, opening hours, number of visitors. */
import { seededRandom } from '../base/random.ts';
import type { Random } from '../base/random.ts';
import { mixSeeds, pick } from './chance.ts';

/** Open between two minutes of the local day on some weekdays; Monday is 0. */
export interface OpeningInterval {
  readonly weekdays: readonly number[];
  readonly fromMinute: number;
  readonly toMinute: number;
}

export interface Branch {
  readonly id: number;
  readonly name: string;
  /** Within the opening hours of the library. Default: those. */
  readonly opening?: readonly OpeningInterval[];
  /** Its share of the visitors relative to other open branches. Default: 1. */
  readonly weight?: number;
}

/** How people who pass in one direction are counted. */
export interface Detection {
  /** Share of passes that are counted. */
  readonly counted: number;
  /** Share of passes that are counted twice. */
  readonly twice: number;
}

/** How a device counts from an instant on, until its next setting. */
export interface SensorSetting {
  readonly fromMs: number;
  /** Entries, or logins. */
  readonly in: Detection;
  readonly out: Detection;
}

/** A people counter above a door, or a self-service station for logins. */
export interface Device {
  readonly id: number;
  readonly name: string;
  readonly kind: 'door' | 'station';
  readonly branchId: number;
  readonly clientId: number;
  /** Its share of the traffic relative to devices of the same kind. */
  readonly weight: number;
  /** Settings in the order of time; before the first one nothing is counted. */
  readonly sensor: readonly SensorSetting[];
}

export interface Library {
  /** The customer's id at the service. */
  readonly customerId: number;
  readonly seed: number;
  readonly name: string;
  readonly timezone: string;
  readonly region: string;
  readonly capacity: number;
  /** When any of its branches is open. */
  readonly opening: readonly OpeningInterval[];
  /** Local dates on which it is closed, as days since 1970-01-01. */
  readonly closedDays?: ReadonlySet<number>;
  readonly branches: readonly Branch[];
  readonly devices: readonly Device[];
  /** Visits on an average open day. */
  readonly visitsPerDay: number;
  /** Traffic of a quiet hour relative to the average hour. */
  readonly quietHours: number;
  readonly meanVisitMinutes: number;
  /** Share of visitors who log in. */
  readonly loginShare: number;
  /** Probability of a school class on a day. */
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

function open(weekdays: readonly number[], fromHour: number, toHour: number): OpeningInterval {
  return { weekdays, fromMinute: fromHour * 60, toMinute: toHour * 60 };
}

export const ALWAYS_OPEN = [open(WEEK, 0, 24)];
export const OPEN_EARLY_AND_LATE = [open(WEEK, 6, 24)];
export const SHORTER_ON_WEEKENDS = [open([0, 1, 2, 3, 4], 6, 24), open([5, 6], 8, 22)];
export const OFFICE_HOURS = [open([0, 1, 2, 3, 4], 8, 20), open([5], 10, 17), open([6], 11, 16)];
const CLOSED_ON_SUNDAY = [open([0, 1, 2, 3], 9.5, 19), open([4], 9.5, 17), open([5], 10, 15)];
const WITH_A_LUNCH_BREAK = [
  open([1, 2, 3, 4], 9, 12),
  open([1, 2, 3, 4], 14, 18),
  open([5], 10, 13),
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

/** A library from a seed and a number; `given` overrides what is drawn, and `branches` their number. */
export function drawLibrary(
  seed: number,
  customerId: number,
  given: Partial<Library>,
  branchCount = given.branches?.length,
): Library {
  const random = seededRandom(mixSeeds(seed, customerId));
  const drawn = Array.from({ length: branchCount ?? pick(random, [1, 1, 1, 2, 3]) }, (_, i) => ({
    id: customerId * 10 + i + 1,
    name: BRANCH_NAMES[i] ?? `Branch ${i + 1}`,
  }));
  const visitsPerDay = Math.round(40 * 2 ** (random.next() * 3.5));
  const meanVisitMinutes = 20 + Math.round(random.next() * 30);
  const opening = pick(random, OPENINGS);
  const branches = given.branches ?? drawHours(seed, customerId, drawn, given.opening ?? opening);
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

/** Draws shorter hours and fewer visitors for each branch but the first. */
export function drawHours(
  seed: number,
  customerId: number,
  branches: readonly Branch[],
  opening: readonly OpeningInterval[],
): readonly Branch[] {
  const random = seededRandom(mixSeeds(seed, customerId, 2));
  return branches.map((branch, i) => {
    if (i === 0) {
      return branch;
    }
    const closedOn = Math.floor(random.next() * 14);
    const lateMinutes = 60 * Math.floor(random.next() * 3);
    const earlyMinutes = 60 * Math.floor(random.next() * 3);
    const shorter = opening.map(({ weekdays, fromMinute, toMinute }) => ({
      weekdays: weekdays.filter((weekday) => weekday !== closedOn),
      fromMinute: fromMinute + lateMinutes,
      toMinute: toMinute - earlyMinutes,
    }));
    return {
      ...branch,
      opening: shorter.filter(({ fromMinute, toMinute }) => fromMinute < toMinute),
      weight: 0.3 + 0.7 * random.next(),
    };
  });
}

/** Returns a setting that counts these shares of entries and exits from an instant on, no pass twice. */
export function sensorSetting(fromMs: number, entries: number, exits = entries): SensorSetting {
  return {
    fromMs,
    in: { counted: entries, twice: 0 },
    out: { counted: exits, twice: 0 },
  };
}

/** Returns the device with a sensor that counts nothing from an instant on. */
export function deadFrom(device: Device, fromMs: number): Device {
  const before = device.sensor.filter((setting) => setting.fromMs < fromMs);
  return { ...device, sensor: [...before, sensorSetting(fromMs, 0)] };
}

/** Returns the device with a sensor that counts from an instant on as it did before it died. */
export function aliveFrom(device: Device, fromMs: number): Device {
  const before = device.sensor.filter((setting) => setting.fromMs < fromMs);
  const works = before.findLast((setting) => setting.in.counted > 0) ?? sensorSetting(fromMs, 1);
  return { ...device, sensor: [...before, { ...works, fromMs }] };
}

/** Returns the device with a sensor that counts nothing between two instants. */
export function deadBetween(device: Device, fromMs: number, toMs: number): Device {
  const repaired = device.sensor.findLast((setting) => setting.fromMs <= toMs);
  const after = device.sensor.filter((setting) => setting.fromMs > toMs);
  const { sensor } = deadFrom(device, fromMs);
  return {
    ...device,
    sensor: [...sensor, ...(repaired ? [{ ...repaired, fromMs: toMs }] : []), ...after],
  };
}

/** Draws the devices of a branch: one to three doors, each with a client, and one or two stations. */
export function drawDevices(random: Random, branch: Branch, doors?: number): readonly Device[] {
  const { id: branchId } = branch;
  const doorDevices = Array.from(
    { length: doors ?? pick(random, [1, 1, 2, 3]) },
    (_, i): Device => ({
      id: branchId * 100 + i + 1,
      name: DOOR_NAMES[i] ?? `Door ${i + 1}`,
      kind: 'door',
      branchId,
      clientId: branchId * 10 + i + 1,
      weight: 1 / (i + 1),
      sensor: [sensorSetting(-Infinity, 1 - random.next() * 0.04)],
    }),
  );
  const stations = Array.from({ length: pick(random, [1, 2]) }, (_, i): Device => ({
    id: branchId * 100 + 50 + i,
    name: `Self-service ${i + 1}`,
    kind: 'station',
    branchId,
    clientId: branchId * 10 + 1,
    weight: 1,
    sensor: [sensorSetting(-Infinity, 1)],
  }));
  return [...doorDevices, ...stations];
}

/** Returns opening hours in OpenStreetMap's syntax: `Mo-Fr 08:00-20:00; Sa 10:00-17:00`. */
export function openingHoursText(opening: readonly OpeningInterval[]): string {
  if (opening === ALWAYS_OPEN) {
    return '24/7';
  }
  const byDays = Map.groupBy(opening, ({ weekdays }) => daysText(weekdays));
  return Array.from(byDays, ([days, intervals]) => {
    const times = intervals.map(
      ({ fromMinute, toMinute }) => `${clockText(fromMinute)}-${clockText(toMinute)}`,
    );
    return `${days} ${times.join(',')}`;
  }).join('; ');
}

/** Returns the opening interval at a weekday and a minute of the local day. */
export function openInterval(
  opening: readonly OpeningInterval[],
  weekday: number,
  minute: number,
): OpeningInterval | undefined {
  return opening.find(
    ({ weekdays, fromMinute, toMinute }) =>
      minute >= fromMinute && minute < toMinute && weekdays.includes(weekday),
  );
}

function daysText(weekdays: readonly number[]): string {
  const names = weekdays.map((weekday) => WEEKDAY_NAMES[weekday]);
  const isRow = weekdays.every((weekday, i) => weekday === (weekdays[0] ?? 0) + i);
  return isRow && names.length > 2 ? `${names[0]}-${names.at(-1)}` : names.join(',');
}

function clockText(minute: number): string {
  const hour = String(Math.floor(minute / 60)).padStart(2, '0');
  return `${hour}:${String(minute % 60).padStart(2, '0')}`;
}
