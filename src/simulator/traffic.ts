/**
 * What happens in a library on one local day: a pure function of the library and the date, so that
 * any day can be made when it is asked for and forgotten again. It knows no record: times are true
 * ones, and who was not counted by a door is already gone.
 */
import { seededRandom } from '../base/random.ts';
import type { Random } from '../base/random.ts';
import { createWheel, drawPoisson, turn } from './chance.ts';
import type { Wheel } from './chance.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from './conventions.ts';
import { openSpell } from './libraries.ts';
import type { Device, Library, OpenSpell } from './libraries.ts';
import { mixSeeds } from './seeds.ts';
import type { Zone } from './zone.ts';

/** Events in the order of time, one array for each property. */
export interface Events {
  readonly timeMs: Float64Array;
  /** Place in the library's devices. */
  readonly device: Uint8Array;
  /** People in is positive, people out negative; logins are positive. */
  readonly amount: Int8Array;
}

export interface LibraryDay {
  readonly people: Events;
  readonly logins: Events;
}

/** Nobody stays longer; so a day's visits are over this long after its end. */
export const LONGEST_VISIT_MS = 4 * HOUR_MS;
/** Those who are asked to leave are out this long after closing. */
const LEAVING_MS = 4 * MINUTE_MS;
const SLOT_MS = 30 * MINUTE_MS;

/** How busy the hours of a local day are, and the days of a week from Monday. */
const HOURS = [
  0.1, 0.05, 0.05, 0.05, 0.1, 0.2, 0.4, 0.6, 0.9, 1.2, 1.5, 1.6, 1.4, 1.5, 1.8, 2, 1.9, 1.6, 1.2,
  0.9, 0.7, 0.5, 0.3, 0.2,
];
const WEEKDAYS = [1.1, 1.05, 1.1, 1, 0.95, 0.9, 0.8];

/** A half hour in which the library is open. */
interface Slot {
  readonly startMs: number;
  readonly closesMs: number;
  readonly weight: number;
}

/** Of every branch, the places of its doors and of its stations in the library's devices. */
type Groups = readonly {
  readonly doors: Wheel<number>;
  readonly stations: Wheel<number>;
}[];

/** The visits that begin on the local date `day` (days since 1970-01-01), and all that comes of them. */
export function libraryDay(library: Library, zone: Zone, day: number): LibraryDay {
  const random = seededRandom(mixSeeds(library.seed, library.customerId, day));
  const dayStartMs = zone.dayStartMs(day);
  const slots = openSlots(library, zone, day);
  const people = new Collector(dayStartMs);
  const logins = new Collector(dayStartMs);
  if (slots.length > 0) {
    const groups = groupDevices(library);
    const factor = (WEEKDAYS[weekdayOf(day)] ?? 1) * (0.85 + random.next() * 0.3);
    const visits = drawPoisson(random, library.visitsPerDay * factor);
    const making = { library, groups, random, people, logins };
    const slotWheel = createWheel(slots, (slot) => slot.weight);
    for (let i = 0; i < visits; i++) {
      const slot = turn(slotWheel, random.next());
      const enterMs = slot.startMs + Math.floor(random.next() * SLOT_MS);
      const size = random.next() < 0.04 ? 2 + Math.floor(random.next() * 3) : 1;
      addVisit(making, enterMs, slot.closesMs, size);
    }
    if (library.visitsPerDay >= 20 && random.next() < library.groupChance) {
      addGroup(making, turn(slotWheel, random.next()));
    }
  }
  return { people: people.finish(), logins: logins.finish() };
}

/** Monday is 0. The first of January 1970 was a Thursday. */
export function weekdayOf(day: number): number {
  return (((day + 3) % 7) + 7) % 7;
}

interface Making {
  readonly library: Library;
  readonly groups: Groups;
  readonly random: Random;
  readonly people: Collector;
  readonly logins: Collector;
}

function addVisit(making: Making, enterMs: number, closesMs: number, size: number): void {
  const { library, groups, random } = making;
  const branch = groups[Math.floor(random.next() * groups.length)];
  if (branch === undefined) {
    return;
  }
  const stayMs = drawStayMs(random, library.meanVisitMinutes);
  const exitMs = Math.min(enterMs + stayMs, closesMs + Math.floor(random.next() * LEAVING_MS));
  addPass(making, branch.doors, enterMs, size);
  addPass(making, branch.doors, Math.max(exitMs, enterMs + SECOND_MS), -size);
  const logInMs = enterMs + MINUTE_MS + Math.floor(random.next() * 10 * MINUTE_MS);
  if (random.next() < library.loginShare && logInMs < exitMs) {
    addLogin(making, branch.stations, logInMs);
  }
}

/** A school class: all in within a minute, all out together an hour later. */
function addGroup(making: Making, slot: Slot): void {
  const { groups, random } = making;
  const doors = groups[0]?.doors;
  if (doors === undefined) {
    return;
  }
  const enterMs = slot.startMs + Math.floor(random.next() * SLOT_MS);
  const stayMs = (40 + random.next() * 30) * MINUTE_MS;
  const size = 15 + Math.floor(random.next() * 45);
  for (let i = 0; i < size; i++) {
    const inMs = enterMs + Math.floor(random.next() * MINUTE_MS);
    const outMs = Math.max(
      inMs + SECOND_MS,
      Math.min(enterMs + stayMs, slot.closesMs) + random.next() * MINUTE_MS,
    );
    addPass(making, doors, inMs, 1);
    addPass(making, doors, Math.floor(outMs), -1);
  }
}

function addPass(making: Making, doors: Wheel<number>, atMs: number, amount: number): void {
  const { library, random } = making;
  const at = turn(doors, random.next());
  const device = library.devices[at];
  const missed = random.next() < (device?.missRate ?? 1);
  if (device !== undefined && !missed && atMs < device.diedAtMs) {
    making.people.add(atMs, at, amount);
  }
}

function addLogin(making: Making, stations: Wheel<number>, atMs: number): void {
  const at = turn(stations, making.random.next());
  const device = making.library.devices[at];
  if (device !== undefined && atMs < device.diedAtMs) {
    making.logins.add(atMs, at, 1);
  }
}

/** Branches without a door or without a station have no visits. */
function groupDevices(library: Library): Groups {
  function wheelOf(branchId: number, kind: Device['kind']): Wheel<number> {
    const places = library.devices.flatMap((device, at) =>
      device.branchId === branchId && device.kind === kind ? [at] : [],
    );
    return createWheel(places, (at) => library.devices[at]?.weight ?? 0);
  }
  return library.branches
    .map(({ id }) => ({ doors: wheelOf(id, 'door'), stations: wheelOf(id, 'station') }))
    .filter(({ doors, stations }) => doors.choices.length > 0 && stations.choices.length > 0);
}

/** Half hours of real time, so that a day of 23 or 25 hours has as many as it has. */
function openSlots(library: Library, zone: Zone, day: number): readonly Slot[] {
  const slots: Slot[] = [];
  const weekday = weekdayOf(day);
  const endMs = zone.dayStartMs(day + 1);
  for (let startMs = zone.dayStartMs(day); startMs < endMs; startMs += SLOT_MS) {
    const minute = minuteOfDay(zone, startMs);
    const spell = openSpell(library.opening, weekday, minute);
    if (spell !== undefined) {
      const busy = HOURS[Math.floor(minute / 60)] ?? 1;
      const weight = library.quietHours + (1 - library.quietHours) * busy;
      slots.push({ startMs, closesMs: closingMs(zone, day, spell), weight });
    }
  }
  return slots;
}

function closingMs(zone: Zone, day: number, spell: OpenSpell): number {
  const allDay = spell.fromMinute === 0 && spell.toMinute === 1440;
  return allDay ? Infinity : zone.instantOf((day * 1440 + spell.toMinute) * MINUTE_MS);
}

function minuteOfDay(zone: Zone, instantMs: number): number {
  const wallMinute = Math.floor((instantMs + zone.offsetMsAt(instantMs)) / MINUTE_MS);
  return ((wallMinute % 1440) + 1440) % 1440;
}

/** A third comes for a few minutes, the others stay; the mean is the library's. */
function drawStayMs(random: Random, meanMinutes: number): number {
  const mean = random.next() < 1 / 3 ? meanMinutes / 4 : (meanMinutes * 11) / 8;
  const minutes = 1 - mean * Math.log(1 - random.next());
  return Math.min(LONGEST_VISIT_MS - HOUR_MS, Math.floor(minutes * MINUTE_MS));
}

/** Gathers events in any order. Each is one number, for typed arrays sort numbers fast. */
class Collector {
  readonly #startMs: number;
  readonly #packed: number[] = [];

  constructor(startMs: number) {
    this.#startMs = startMs;
  }

  add(atMs: number, device: number, amount: number): void {
    this.#packed.push((atMs - this.#startMs) * 65_536 + device * 256 + (amount + 128));
  }

  finish(): Events {
    const count = this.#packed.length;
    const packed = new Float64Array(count);
    for (let i = 0; i < count; i++) {
      packed[i] = this.#packed[i] ?? 0;
    }
    packed.sort();
    const events = {
      timeMs: new Float64Array(count),
      device: new Uint8Array(count),
      amount: new Int8Array(count),
    };
    for (let i = 0; i < count; i++) {
      const value = packed[i] ?? 0;
      events.timeMs[i] = this.#startMs + Math.floor(value / 65_536);
      events.device[i] = (value % 65_536) >> 8;
      events.amount[i] = (value & 255) - 128;
    }
    return events;
  }
}
