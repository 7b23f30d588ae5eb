/**
 * The people who pass the doors of a library on a local date, and what its sensors count of them.
 * Both are pure functions of library and date, so a day can be made again at any time.
 */
import { seededRandom } from '../base/random.ts';
import type { Random } from '../base/random.ts';
import { drawPoisson, mixSeeds, weightedPicker } from './chance.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../base/duration.ts';
import { openInterval } from './libraries.ts';
import type { Branch, Device, Library, OpeningInterval, SensorSetting } from './libraries.ts';
import { minuteOfDay, weekdayOf } from './zone.ts';
import type { Zone } from './zone.ts';

/** Somebody who passes a door, or logs in. */
export interface Pass {
  readonly timeMs: number;
  /** Index in the library's devices. */
  readonly device: number;
  /** Positive: people in, or a login; negative: people out. */
  readonly people: number;
  /** Drawn from [0, 1): decides whether the sensor counts the pass. */
  readonly detectionDraw: number;
}

/** What a sensor counted; `people` as in {@link Pass}. */
export type CountedPass = Omit<Pass, 'detectionDraw'>;

export interface DayTraffic {
  readonly people: readonly Pass[];
  readonly logins: readonly Pass[];
}

export const MAX_VISIT_MS = 4 * HOUR_MS;
/** Everybody has left this long after closing. */
const MAX_LEAVING_MS = 4 * MINUTE_MS;
const SLOT_MS = 30 * MINUTE_MS;

/** Relative traffic by hour of the local day, and by weekday from Monday. */
const HOURS = [
  0.1, 0.05, 0.05, 0.05, 0.1, 0.2, 0.4, 0.6, 0.9, 1.2, 1.5, 1.6, 1.4, 1.5, 1.8, 2, 1.9, 1.6, 1.2,
  0.9, 0.7, 0.5, 0.3, 0.2,
];
const WEEKDAYS = [1.1, 1.05, 1.1, 1, 0.95, 0.9, 0.8];
/** Relative traffic by month, of coarse traffic: people read less in the summer. */
const MONTHS = [1.05, 1.1, 1.1, 1, 0.95, 0.85, 0.7, 0.85, 1.05, 1.1, 1.15, 0.95];

/** A half hour in which the library is open. */
interface Slot {
  readonly startMs: number;
  readonly weight: number;
  /** At least one. */
  readonly open: readonly OpenBranch[];
  readonly pickBranch: (random: Random) => OpenBranch;
}

interface EquippedBranch extends Branch {
  readonly door: DevicePicker;
  readonly station: DevicePicker;
}

/** A branch that is open in a slot. */
interface OpenBranch {
  readonly branch: EquippedBranch;
  readonly closesMs: number;
}

/** Returns all passes and logins of the visits that begin on a local date, in order of time. */
export function dayTraffic(library: Library, zone: Zone, day: number): DayTraffic {
  const { meanVisitMinutes, loginShare, groupChance, visitsPerDay } = library;
  const random = seededRandom(mixSeeds(library.seed, library.customerId, day));
  const slots = openSlots(library, zone, day);
  const people: Pass[] = [];
  const logins: Pass[] = [];

  function pass(door: DevicePicker, timeMs: number, count: number): void {
    people.push({ timeMs, device: door(random), people: count, detectionDraw: random.next() });
  }

  function visit({ startMs, pickBranch }: Slot): void {
    const enterMs = startMs + Math.floor(random.next() * SLOT_MS);
    const size = random.next() < 0.04 ? 2 + Math.floor(random.next() * 3) : 1;
    const { branch, closesMs } = pickBranch(random);
    const stayMs = drawStayMs(random, meanVisitMinutes);
    const leavesMs = closesMs + Math.floor(random.next() * MAX_LEAVING_MS);
    const exitMs = Math.min(enterMs + stayMs, leavesMs);
    pass(branch.door, enterMs, size);
    pass(branch.door, Math.max(exitMs, enterMs + SECOND_MS), -size);
    const timeMs = enterMs + MINUTE_MS + Math.floor(random.next() * 10 * MINUTE_MS);
    const draw = random.next();
    if (draw < loginShare && timeMs < exitMs) {
      // Below loginShare, draw / loginShare is uniform in [0, 1).
      const detectionDraw = draw / loginShare;
      logins.push({ timeMs, device: branch.station(random), people: 1, detectionDraw });
    }
  }

  /** All enter within a minute, and leave together about an hour later. */
  function visitOfSchoolClass({ startMs, open: [first] }: Slot): void {
    if (first === undefined) {
      return;
    }
    const { branch, closesMs } = first;
    const enterMs = startMs + Math.floor(random.next() * SLOT_MS);
    const stayMs = (40 + random.next() * 30) * MINUTE_MS;
    const size = 15 + Math.floor(random.next() * 45);
    for (let i = 0; i < size; i++) {
      const inMs = enterMs + Math.floor(random.next() * MINUTE_MS);
      const leaveMs = Math.min(enterMs + stayMs, closesMs) + random.next() * MINUTE_MS;
      pass(branch.door, inMs, 1);
      pass(branch.door, Math.floor(Math.max(inMs + SECOND_MS, leaveMs)), -1);
    }
  }

  if (slots.length > 0) {
    const factor = (WEEKDAYS[weekdayOf(day)] ?? 1) * (0.85 + random.next() * 0.3);
    const visits = drawPoisson(random, visitsPerDay * factor);
    const pickSlot = weightedPicker(slots, ({ weight }) => weight);
    for (let i = 0; i < visits; i++) {
      visit(pickSlot(random));
    }
    if (visitsPerDay >= 20 && random.next() < groupChance) {
      visitOfSchoolClass(pickSlot(random));
    }
  }
  return { people: people.sort(byTime), logins: logins.sort(byTime) };
}

/**
 * Returns traffic of the same volume in a hundredth of the time: all who pass a door in one direction within a
 * half hour are one pass. For days so long ago that nobody looks at their minutes.
 */
export function coarseTraffic(library: Library, zone: Zone, day: number): DayTraffic {
  const { devices, loginShare, visitsPerDay } = library;
  const random = seededRandom(mixSeeds(library.seed, library.customerId, day));
  const slots = openSlots(library, zone, day);
  const season = MONTHS[new Date(day * DAY_MS).getUTCMonth()] ?? 1;
  const factor = season * (WEEKDAYS[weekdayOf(day)] ?? 1) * (0.85 + random.next() * 0.3);
  const weights = slots.reduce((sum, { weight }) => sum + weight, 0);
  const people: Pass[] = [];
  const logins: Pass[] = [];
  for (const { startMs, weight, open } of slots) {
    const openWeight = open.reduce((sum, one) => sum + weightOf(one), 0);
    for (const [device, { kind, branchId, weight: own }] of devices.entries()) {
      const found = open.find(({ branch }) => branch.id === branchId);
      const branchShare = found === undefined ? 0 : weightOf(found) / openWeight;
      const visits = visitsPerDay * factor * branchShare * (weight / weights);
      const all = devices.filter((one) => one.kind === kind && one.branchId === branchId);
      const share = own / all.reduce((sum, one) => sum + one.weight, 0);
      const passes = kind === 'door' ? people : logins;
      const mean = visits * share * (kind === 'door' ? 1 : loginShare);
      for (const sign of kind === 'door' ? [1, -1] : [1]) {
        const count = drawPoisson(random, mean);
        const timeMs = startMs + Math.floor(random.next() * SLOT_MS);
        if (count > 0) {
          passes.push({ timeMs, device, people: sign * count, detectionDraw: random.next() });
        }
      }
    }
  }
  return { people: people.sort(byTime), logins: logins.sort(byTime) };
}

/** Returns what the sensors of a library count of some passes. */
export function countPasses(
  { devices }: Pick<Library, 'devices'>,
  passes: readonly Pass[],
): readonly CountedPass[] {
  const counted: CountedPass[] = [];
  for (const { timeMs, device, people, detectionDraw } of passes) {
    const setting = settingAt(devices[device], timeMs);
    if (setting === undefined) {
      continue;
    }
    const detection = people > 0 ? setting.in : setting.out;
    if (detectionDraw >= 1 - detection.counted) {
      const times = detectionDraw >= 1 - detection.twice ? 2 : 1;
      counted.push({ timeMs, device, people: people * times });
    }
  }
  return counted;
}

function settingAt(device: Device | undefined, timeMs: number): SensorSetting | undefined {
  return device?.sensor.findLast(({ fromMs }) => fromMs <= timeMs);
}

function byTime(a: Pass, b: Pass): number {
  return a.timeMs - b.timeMs || a.device - b.device || a.people - b.people;
}

function weightOf({ branch }: OpenBranch): number {
  return branch.weight ?? 1;
}

/** Draws an index in the library's devices. */
type DevicePicker = (random: Random) => number;

/** Returns a picker for a branch, which has at least one door and one station. */
function devicePicker({ devices }: Library, branchId: number, kind: Device['kind']): DevicePicker {
  const own = devices.flatMap((device, i) =>
    device.branchId === branchId && device.kind === kind ? [{ i, weight: device.weight }] : [],
  );
  const draw = weightedPicker(own, ({ weight }) => weight);
  return (random) => draw(random).i;
}

/** Half hours of elapsed time: 46 or 50 on the days on which clocks change. */
function openSlots(library: Library, zone: Zone, day: number): readonly Slot[] {
  if (library.closedDays?.has(day) === true) {
    return [];
  }
  const branches = library.branches.map((branch) => ({
    ...branch,
    door: devicePicker(library, branch.id, 'door'),
    station: devicePicker(library, branch.id, 'station'),
  }));
  const slots: Slot[] = [];
  const weekday = weekdayOf(day);
  const endMs = zone.dayStartMs(day + 1);
  for (let startMs = zone.dayStartMs(day); startMs < endMs; startMs += SLOT_MS) {
    const minute = minuteOfDay(zone, startMs);
    const open = branches.flatMap((branch) => {
      const interval = openInterval(branch.opening ?? library.opening, weekday, minute);
      return interval === undefined ? [] : [{ branch, closesMs: closingMs(zone, day, interval) }];
    });
    if (open.length > 0) {
      const busy = HOURS[Math.floor(minute / 60)] ?? 1;
      const weight = library.quietHours + (1 - library.quietHours) * busy;
      slots.push({ startMs, weight, open, pickBranch: weightedPicker(open, weightOf) });
    }
  }
  return slots;
}

function closingMs(zone: Zone, day: number, open: OpeningInterval): number {
  const allDay = open.fromMinute === 0 && open.toMinute === 1440;
  return allDay ? Infinity : zone.instantOf((day * 1440 + open.toMinute) * MINUTE_MS);
}

/** Draws how long a visitor stays: a third for some minutes, the others longer; the mean is the library's. */
function drawStayMs(random: Random, meanMinutes: number): number {
  const mean = random.next() < 1 / 3 ? meanMinutes / 4 : (meanMinutes * 11) / 8;
  const minutes = 1 - mean * Math.log(1 - random.next());
  return Math.min(MAX_VISIT_MS - HOUR_MS, Math.floor(minutes * MINUTE_MS));
}
