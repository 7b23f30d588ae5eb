/** What a perfect reader would know of a customer: sums of records. */
import type { Breakdown } from '../base/model.ts';
import { MINUTE_MS } from './conventions.ts';
import type { Ledger, Span } from './ledger.ts';
import { addCounts, countsAt } from './records.ts';
import type { Counts, RecordStream } from './records.ts';

export interface Totals {
  readonly entered: number;
  readonly exited: number;
  readonly logins: number;
}

/** One minute of counted occupancy. */
export interface OccupancyMinute {
  readonly minuteMs: number;
  readonly entered: number;
  readonly exited: number;
  /** People inside at the end of the minute. */
  readonly people: number;
}

/** `nowMs` is by default the clock's; the past is answered as it was then. */
export function createGroundTruth(ledgerOf: (customer: string) => Ledger, clockMs: () => number) {
  /**
   * Totals of the records that a window from `fromMs` has at the service: by the time that its windows
   * use, at its resolution and with its edge.
   */
  function served(customer: string, fromMs: number, nowMs = clockMs()): Totals {
    const ledger = ledgerOf(customer);
    return totals((stream, sum) =>
      ledger.forEachRecord(openWindow(ledger, stream, fromMs, nowMs), (record) =>
        addCounts(sum, record),
      ),
    );
  }
  return {
    served,
    /** Totals of all records that the service knows whose event took place at or after `fromMs`. */
    truth(customer: string, fromMs: number, nowMs = clockMs()): Totals & { served: Totals } {
      const ledger = ledgerOf(customer);
      const known = totals((stream, sum) => {
        const span = { stream, fromMs: fromMs - ledger.spread.earlierMs, toMs: Infinity, nowMs };
        ledger.forEachRecord(span, (record) => {
          if (record.eventMs >= fromMs) {
            addCounts(sum, record);
          }
        });
      });
      return { ...known, served: served(customer, fromMs, nowMs) };
    },
    /** People of `served` by the id of branch, client or device; ids without records are absent. */
    breakdownTotals(
      customer: string,
      breakdown: Breakdown,
      fromMs: number,
      nowMs = clockMs(),
    ): ReadonlyMap<number, Omit<Totals, 'logins'>> {
      const ledger = ledgerOf(customer);
      const groups = new Map<number, Counts>();
      ledger.forEachRecord(openWindow(ledger, 'people', fromMs, nowMs), (record) => {
        addCounts(countsAt(groups, groupId(ledger, breakdown, record.device)), record);
      });
      return new Map(
        Array.from(groups, ([id, { in: entered, out: exited }]) => [id, { entered, exited }]),
      );
    },
    /**
     * Counted in minus counted out over the minutes of the records that a window from `dayStartMs` has,
     * clamped at 0 in every minute. Minutes without records are left out.
     */
    countedOccupancy(
      customer: string,
      dayStartMs: number,
      nowMs = clockMs(),
    ): readonly OccupancyMinute[] {
      const ledger = ledgerOf(customer);
      const minutes = new Map<number, Counts>();
      ledger.forEachRecord(openWindow(ledger, 'people', dayStartMs, nowMs), (record) => {
        addCounts(countsAt(minutes, Math.floor(record.keyMs / MINUTE_MS) * MINUTE_MS), record);
      });
      let people = 0;
      return [...minutes]
        .toSorted(([a], [b]) => a - b)
        .map(([minuteMs, { in: entered, out: exited }]) => {
          people = Math.max(0, people + entered - exited);
          return { minuteMs, entered, exited, people };
        });
    },
  };
}

/** The id of the branch, client or device that a device belongs to. */
export function groupId({ library }: Ledger, breakdown: Breakdown, index: number): number {
  const { id = 0, branchId = 0, clientId = 0 } = library.devices[index] ?? {};
  return { branch: branchId, client: clientId, device: id }[breakdown];
}

function openWindow(ledger: Ledger, stream: RecordStream, fromMs: number, nowMs: number): Span {
  const isExclusive = ledger.conventions.fromEdge === 'exclusive';
  return { stream, fromMs: isExclusive ? fromMs + 1 : fromMs, toMs: Infinity, nowMs };
}

function totals(add: (stream: RecordStream, sum: Counts) => void): Totals {
  const people = { in: 0, out: 0 };
  const logins = { in: 0, out: 0 };
  add('people', people);
  add('logins', logins);
  return { entered: people.in, exited: people.out, logins: logins.in };
}
