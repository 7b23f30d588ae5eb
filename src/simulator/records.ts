/** Counted passes as records of the service: when each arrives, which times it has, how it is corrected. */
import type { MinuteStream } from '../base/model.ts';
import { seededRandom } from '../base/random.ts';
import { chance, mixSeeds } from './chance.ts';
import { HOUR_MS } from '../base/duration.ts';
import type { Conventions } from './conventions.ts';
import type { Library } from './libraries.ts';
import type { CountedPass } from './traffic.ts';

/** What is drawn for a device: a different last argument of chance() makes the draws independent. */
const IS_OFFLINE = 3;
const OFFLINE_AFTER_HOUR = 4;
const HAS_WRONG_CLOCK = 5;

/** People in and out; logins are `in`. */
export interface Counts {
  in: number;
  out: number;
}

/** One state of a record: a corrected record has one before and one after the correction. */
export interface ServiceRecord extends Readonly<Counts> {
  /** The local date that the record was made for, and its number there: its identity. */
  readonly day: number;
  readonly number: number;
  /** Index in the library's devices. */
  readonly device: number;
  readonly eventMs: number;
  readonly deliveredMs: number;
  /** The time that `from` and `to` are compared with. */
  readonly windowMs: number;
  readonly keyMs: number;
  /** The service shows this state from `knownFromMs` until `goneMs`. */
  readonly knownFromMs: number;
  readonly goneMs: number;
}

/** One of the three times of a record, rounded down to the service's resolution. */
export type TimeOf = (
  which: Conventions['windowTime'],
  record: Pick<ServiceRecord, 'eventMs' | 'deliveredMs' | 'device'>,
) => number;

/** Returns the records of what was counted on a date. */
export function dayRecords(
  library: Library,
  conventions: Conventions,
  timeOf: TimeOf,
  day: number,
  stream: MinuteStream,
  passes: readonly CountedPass[],
): ServiceRecord[] {
  const { corrections, lateness } = conventions;
  const seed = mixSeeds(library.seed, library.customerId, day, stream === 'people' ? 1 : 2);
  const random = seededRandom(seed);
  const records: ServiceRecord[] = [];
  passes.forEach(({ timeMs: eventMs, device, people }, number) => {
    const onlineMs = eventMs + Math.floor(random.next() * lateness.usualMs);
    const deliveredMs = Math.max(onlineMs, outageEndMs(library, conventions, device, eventMs));
    const isCorrected = corrections.share > 0 && random.next() < corrections.share;
    const goneMs = isCorrected
      ? deliveredMs + 1 + Math.floor(random.next() * corrections.withinMs)
      : Infinity;
    const draft = { day, number, device, eventMs, deliveredMs, knownFromMs: deliveredMs, goneMs };
    records.push(withTimes({ ...draft, ...countsOf(people) }, conventions, timeOf));
    const corrected = isCorrected && stream === 'people' ? correct(people, random.next()) : 0;
    if (corrected !== 0) {
      const after = { ...draft, ...countsOf(corrected), knownFromMs: goneMs, goneMs: Infinity };
      records.push(withTimes(after, conventions, timeOf));
    }
  });
  return records;
}

/** Returns the record with the times that its window and its key are made from. */
export function withTimes(
  record: Omit<ServiceRecord, 'windowMs' | 'keyMs'>,
  { windowTime, keyTime }: Conventions,
  timeOf: TimeOf,
): ServiceRecord {
  return { ...record, windowMs: timeOf(windowTime, record), keyMs: timeOf(keyTime, record) };
}

/** Returns a function that computes the times of a record from its event and its delivery. */
export function recordTimes(
  library: Library,
  { resolutionMs, serviceClockMs, deviceClocks }: Conventions,
): TimeOf {
  function aheadMs(id: number): number {
    return chance(library.seed, id, HAS_WRONG_CLOCK) < deviceClocks.share
      ? deviceClocks.aheadMs
      : 0;
  }
  const localAheadMs = library.devices.map(({ id }) => aheadMs(id));
  const clientAheadMs = library.devices.map(({ clientId }) => aheadMs(clientId));
  return (which, { eventMs, deliveredMs, device }) => {
    const ms =
      which === 'server'
        ? deliveredMs + serviceClockMs
        : eventMs + ((which === 'local' ? localAheadMs : clientAheadMs)[device] ?? 0);
    return Math.floor(ms / resolutionMs) * resolutionMs;
  };
}

/** Returns the most that the window time of a record can be after its event, and before it. */
export function windowSpread({
  lateness,
  serviceClockMs,
  deviceClocks,
  resolutionMs,
  windowTime,
}: Conventions): { readonly laterMs: number; readonly earlierMs: number } {
  const outageMs = lateness.offlineShare > 0 ? HOUR_MS + lateness.offlineMaxMs : 0;
  const deliveryMs = lateness.usualMs + outageMs;
  const isServer = windowTime === 'server';
  const clockMs = isServer ? serviceClockMs : deviceClocks.share > 0 ? deviceClocks.aheadMs : 0;
  return {
    laterMs: Math.max(0, clockMs + (isServer ? deliveryMs : 0)),
    earlierMs: Math.max(0, -clockMs) + resolutionMs,
  };
}

/** Returns a number of people as counts: positive ones are in, negative ones out. */
export function countsOf(people: number): Counts {
  return { in: Math.max(0, people), out: Math.max(0, -people) };
}

/** Adds to the counts under a key, which are 0 at first. */
export function addCounts<Key>(
  sums: Map<Key, Counts>,
  key: Key,
  more: Readonly<Counts> = { in: 0, out: 0 },
): void {
  const sum = sums.get(key);
  if (sum === undefined) {
    sums.set(key, { in: more.in, out: more.out });
  } else {
    sum.in += more.in;
    sum.out += more.out;
  }
}

/** When a device that is offline at an event delivers its records; -Infinity if it is online. */
function outageEndMs(
  library: Library,
  { lateness }: Conventions,
  deviceIndex: number,
  eventMs: number,
): number {
  const { id = 0 } = library.devices[deviceIndex] ?? {};
  const hour = Math.floor(eventMs / HOUR_MS);
  if (chance(library.seed, id, hour, IS_OFFLINE) >= lateness.offlineShare) {
    return -Infinity;
  }
  const afterMs = chance(library.seed, id, hour, OFFLINE_AFTER_HOUR) * lateness.offlineMaxMs;
  return (hour + 1) * HOUR_MS + Math.floor(afterMs);
}

/** Usually one person fewer (0: the record is removed), sometimes one more. */
function correct(people: number, drawn: number): number {
  return drawn < 0.2 ? people + Math.sign(people) : people - Math.sign(people);
}
