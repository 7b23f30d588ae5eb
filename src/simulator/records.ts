/**
 * Events as the service keeps them: when each record arrived, which times stand in it, whether it
 * was changed later. One array for each property, in the order of the time that windows mean.
 */
import { seededRandom } from '../base/random.ts';
import { HOUR_MS } from './conventions.ts';
import type { Conventions, RecordTime } from './conventions.ts';
import type { Device, Library } from './libraries.ts';
import { chance, mixSeeds } from './seeds.ts';
import type { Events } from './traffic.ts';

export type RecordStream = 'people' | 'logins';

export interface Records {
  /** The date that they were made for: with `number`, what tells them apart. */
  readonly day: number;
  readonly number: Uint32Array;
  readonly eventMs: Float64Array;
  readonly deliveredMs: Float64Array;
  /** What `from` and `to` are compared with, and what makes the key. */
  readonly windowMs: Float64Array;
  readonly keyMs: Float64Array;
  /** The record says this from here (a corrected one later than its delivery) to there. */
  readonly knownFromMs: Float64Array;
  readonly goneMs: Float64Array | undefined;
  /** Place in the library's devices. */
  readonly device: Uint8Array;
  /** People in is positive, people out negative; logins are positive. */
  readonly amount: Int8Array;
}

/** One row of {@link Records}, before it has its place. */
export interface Draft {
  readonly number: number;
  readonly eventMs: number;
  readonly deliveredMs: number;
  readonly knownFromMs: number;
  readonly goneMs: number;
  readonly device: number;
  readonly amount: number;
}

/** The records of a day's events, as a service with these conventions keeps them. */
export function dayRecords(
  library: Library,
  conventions: Conventions,
  day: number,
  stream: RecordStream,
  events: Events,
): Records {
  const random = seededRandom(
    mixSeeds(library.seed, library.customerId, day, stream === 'people' ? 1 : 2),
  );
  const { corrections } = conventions;
  const drafts: Draft[] = [];
  for (let i = 0; i < events.timeMs.length; i++) {
    const eventMs = events.timeMs[i] ?? 0;
    const device = events.device[i] ?? 0;
    const amount = events.amount[i] ?? 0;
    const delayMs = Math.floor(random.next() * conventions.lateness.usualMs);
    const online = eventMs + delayMs;
    const deliveredMs = Math.max(
      online,
      deliveryAfterOutage(library, conventions, device, eventMs),
    );
    const draft = { number: i, eventMs, deliveredMs, knownFromMs: deliveredMs, device };
    if (corrections.share > 0 && random.next() < corrections.share) {
      const goneMs = deliveredMs + 1 + Math.floor(random.next() * corrections.withinMs);
      drafts.push({ ...draft, goneMs, amount });
      const corrected = stream === 'people' ? correctedAmount(amount, random.next()) : 0;
      if (corrected !== 0) {
        drafts.push({ ...draft, knownFromMs: goneMs, goneMs: Infinity, amount: corrected });
      }
    } else {
      drafts.push({ ...draft, goneMs: Infinity, amount });
    }
  }
  return arrange(library, conventions, day, drafts);
}

/** Drafts in their places. */
export function arrange(
  library: Library,
  conventions: Conventions,
  day: number,
  drafts: readonly Draft[],
): Records {
  const timeOf = recordTimes(library, conventions);
  const { windowTime, keyTime } = conventions;
  const unordered = column(drafts, (draft) => timeOf(windowTime, draft));
  const inOrder = unordered.every((value, i) => i === 0 || value >= (unordered[i - 1] ?? 0));
  const rows = inOrder
    ? drafts
    : drafts.toSorted((a, b) => timeOf(windowTime, a) - timeOf(windowTime, b));
  const windowMs = inOrder ? unordered : unordered.toSorted();
  const deliveredMs = column(rows, (row) => row.deliveredMs);
  const corrected = rows.some(
    (row) => row.goneMs !== Infinity || row.knownFromMs !== row.deliveredMs,
  );
  const records = {
    day,
    number: new Uint32Array(rows.length),
    eventMs: column(rows, (row) => row.eventMs),
    deliveredMs,
    windowMs,
    keyMs: keyTime === windowTime ? windowMs : column(rows, (row) => timeOf(keyTime, row)),
    knownFromMs: corrected ? column(rows, (row) => row.knownFromMs) : deliveredMs,
    goneMs: corrected ? column(rows, (row) => row.goneMs) : undefined,
    device: new Uint8Array(rows.length),
    amount: new Int8Array(rows.length),
  };
  rows.forEach(({ number, device, amount }, i) => {
    records.number[i] = number;
    records.device[i] = device;
    records.amount[i] = amount;
  });
  return records;
}

/** Filled by hand: `Float64Array.from` takes ten times as long, and days are made by the thousand. */
function column(rows: readonly Draft[], of: (row: Draft) => number): Float64Array {
  const values = new Float64Array(rows.length);
  rows.forEach((row, i) => {
    values[i] = of(row);
  });
  return values;
}

/** The three times that stand in a record, as instants, cut to the service's resolution. */
export function recordTimes(
  library: Library,
  conventions: Conventions,
): (which: RecordTime, record: Pick<Draft, 'eventMs' | 'deliveredMs' | 'device'>) => number {
  const { resolutionMs, serviceClockMs } = conventions;
  const deviceAheadMs = library.devices.map((device) =>
    clockAheadMs(library, conventions, device.id),
  );
  const clientAheadMs = library.devices.map((device) =>
    clockAheadMs(library, conventions, device.clientId),
  );
  return (which, record) => {
    const ms =
      which === 'server'
        ? record.deliveredMs + serviceClockMs
        : record.eventMs +
          ((which === 'local' ? deviceAheadMs : clientAheadMs)[record.device] ?? 0);
    return resolutionMs === 1 ? ms : Math.floor(ms / resolutionMs) * resolutionMs;
  };
}

/** How far the time that windows mean can be from the true one: at most so much later, or earlier. */
export function windowSpread(conventions: Conventions): {
  readonly laterMs: number;
  readonly earlierMs: number;
} {
  const { lateness, serviceClockMs, deviceClocks, resolutionMs } = conventions;
  if (conventions.windowTime === 'server') {
    const outageMs = lateness.offlineShare > 0 ? HOUR_MS + lateness.offlineMaxMs : 0;
    return {
      laterMs: Math.max(0, lateness.usualMs + outageMs + serviceClockMs),
      earlierMs: Math.max(0, -serviceClockMs) + resolutionMs,
    };
  }
  const aheadMs = deviceClocks.share > 0 ? deviceClocks.aheadMs : 0;
  return { laterMs: Math.max(0, aheadMs), earlierMs: Math.max(0, -aheadMs) + resolutionMs };
}

/** A device is offline for whole hours, and delivers all of such an hour at one instant after it. */
function deliveryAfterOutage(
  library: Library,
  { lateness }: Conventions,
  deviceAt: number,
  eventMs: number,
): number {
  const device: Device | undefined = library.devices[deviceAt];
  if (lateness.offlineShare === 0 || device === undefined) {
    return -Infinity;
  }
  const hour = Math.floor(eventMs / HOUR_MS);
  if (chance(library.seed, device.id, hour, 3) >= lateness.offlineShare) {
    return -Infinity;
  }
  const afterMs = chance(library.seed, device.id, hour, 4) * lateness.offlineMaxMs;
  return (hour + 1) * HOUR_MS + Math.floor(afterMs);
}

function clockAheadMs(library: Library, { deviceClocks }: Conventions, id: number): number {
  return chance(library.seed, id, 5) < deviceClocks.share ? deviceClocks.aheadMs : 0;
}

/** 0: the record is taken back. Sometimes there was one more. */
function correctedAmount(amount: number, drawn: number): number {
  return drawn < 0.2 ? amount + Math.sign(amount) : amount - Math.sign(amount);
}
