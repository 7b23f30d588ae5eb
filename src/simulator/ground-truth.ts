/** What a perfect reader would know of a customer: sums of records, and who really is inside. */
import type { Breakdown } from '../base/model.ts';
import { MINUTE_MS } from './conventions.ts';
import type { Ledger, Span } from './ledger.ts';
import { addCounts, windowSpread } from './records.ts';
import type { ByStream, Counts, RecordStream } from './records.ts';
import { MAX_VISIT_MS } from './traffic.ts';

export interface Totals {
  readonly entered: number;
  readonly exited: number;
  readonly logins: number;
}

/**
 * Totals of all records that the service knows whose event took place at or after an instant.
 * `served`: of those that a window from this instant has at the service, by the time that its windows
 * use, at its resolution and with its edge.
 */
export interface Truth extends Totals {
  readonly served: Totals;
}

/** One minute of {@link countedOccupancy}. */
export interface OccupancyMinute {
  readonly minuteMs: number;
  readonly entered: number;
  readonly exited: number;
  /** People inside at the end of the minute. */
  readonly people: number;
}

export function truthOf(ledger: Ledger, fromMs: number, nowMs: number): Truth {
  const { earlierMs } = windowSpread(ledger.library, ledger.conventions);
  const known = { people: { in: 0, out: 0 }, logins: { in: 0, out: 0 } };
  for (const stream of ['people', 'logins'] as const) {
    const span = { stream, fromMs: fromMs - earlierMs, toMs: Infinity, nowMs };
    ledger.forEachRecord(span, (record) => {
      if (record.eventMs >= fromMs) {
        addCounts(known[stream], record);
      }
    });
  }
  return { ...totals(known), served: servedTotals(ledger, fromMs, nowMs) };
}

/** {@link Truth.served} alone, which is much cheaper. */
export function servedTotals(ledger: Ledger, fromMs: number, nowMs: number): Totals {
  const served = { people: { in: 0, out: 0 }, logins: { in: 0, out: 0 } };
  for (const stream of ['people', 'logins'] as const) {
    ledger.forEachDateCount(openWindow(ledger, stream, fromMs, nowMs), (counted) =>
      addCounts(served[stream], counted),
    );
  }
  return totals(served);
}

/** People of {@link Truth.served} by the id of branch, client or device; ids without records are absent. */
export function breakdownTotals(
  ledger: Ledger,
  breakdown: Breakdown,
  fromMs: number,
  nowMs: number,
): ReadonlyMap<number, Omit<Totals, 'logins'>> {
  const groups = new Map<number, { entered: number; exited: number }>();
  ledger.forEachDateCount(openWindow(ledger, 'people', fromMs, nowMs), (counted) => {
    const id = groupId(ledger, breakdown, counted.device);
    const sum = groups.get(id) ?? { entered: 0, exited: 0 };
    groups.set(id, sum);
    sum.entered += counted.in;
    sum.exited += counted.out;
  });
  return groups;
}

/** The id of the branch, client or device that a device belongs to. */
export function groupId({ library }: Ledger, breakdown: Breakdown, index: number): number {
  const device = library.devices[index];
  switch (breakdown) {
    case 'branch':
      return device?.branchId ?? 0;
    case 'client':
      return device?.clientId ?? 0;
    case 'device':
      return device?.id ?? 0;
  }
}

/**
 * Counted in minus counted out over the minutes of the records that a window from `dayStartMs` has,
 * clamped at 0 in every minute. Minutes without records are left out.
 */
export function countedOccupancy(
  ledger: Ledger,
  dayStartMs: number,
  nowMs: number,
): readonly OccupancyMinute[] {
  const minutes = new Map<number, Counts>();
  ledger.forEachRecord(openWindow(ledger, 'people', dayStartMs, nowMs), (record) => {
    const minuteMs = Math.floor(record.keyMs / MINUTE_MS) * MINUTE_MS;
    const sum = minutes.get(minuteMs) ?? { in: 0, out: 0 };
    minutes.set(minuteMs, sum);
    addCounts(sum, record);
  });
  let people = 0;
  return [...minutes]
    .toSorted(([a], [b]) => a - b)
    .map(([minuteMs, { in: entered, out: exited }]) => {
      people = Math.max(0, people + entered - exited);
      return { minuteMs, entered, exited, people };
    });
}

/**
 * How many people really are inside at the end of each minute from `fromMs` on, whatever the sensors
 * count. The last item is the minute that ends at or before `toMs`.
 */
export function trueOccupancy(ledger: Ledger, fromMs: number, toMs: number): readonly number[] {
  const { zone } = ledger;
  const changes = new Map<number, number>();
  for (let date = zone.dayOf(fromMs - MAX_VISIT_MS); date <= zone.dayOf(toMs); date++) {
    for (const { timeMs, people } of ledger.traffic(date).people) {
      const minute = Math.max(0, Math.floor((timeMs - fromMs) / MINUTE_MS));
      changes.set(minute, (changes.get(minute) ?? 0) + people);
    }
  }
  let people = 0;
  return Array.from({ length: Math.floor((toMs - fromMs) / MINUTE_MS) }, (_, minute) => {
    people += changes.get(minute) ?? 0;
    return people;
  });
}

function openWindow(ledger: Ledger, stream: RecordStream, fromMs: number, nowMs: number): Span {
  const isExclusive = ledger.conventions.fromEdge === 'exclusive';
  return { stream, fromMs: isExclusive ? fromMs + 1 : fromMs, toMs: Infinity, nowMs };
}

function totals({ people, logins }: ByStream<Counts>): Totals {
  return { entered: people.in, exited: people.out, logins: logins.in };
}
