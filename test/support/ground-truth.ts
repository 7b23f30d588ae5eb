/** What a perfect reader would know of a customer's people, record by record and minute by minute. */
import { MINUTE_MS } from '../../src/base/duration.ts';
import { groupId, openWindow } from '../../src/simulator/ground-truth.ts';
import type { Totals } from '../../src/simulator/ground-truth.ts';
import type { ServiceRecord } from '../../src/simulator/records.ts';
import type { SimulatedService } from '../../src/simulator/simulated-service.ts';

/** A state of a record of people, with its branch. */
export interface BranchRecord
  extends
    Pick<ServiceRecord, 'windowMs' | 'keyMs' | 'knownFromMs' | 'goneMs'>,
    Omit<Totals, 'logins'> {
  readonly branchId: number;
}

/** Returns the records of people in a window from `fromMs`, as they were known at any instant since `knownSinceMs`. */
export function branchRecords(
  service: SimulatedService,
  customer: string,
  fromMs: number,
  knownSinceMs: number,
  nowMs: number,
): readonly BranchRecord[] {
  const ledger = service.ledgerOf(customer);
  return ledger
    .records({ ...openWindow(ledger, 'people', fromMs, nowMs), knownSinceMs })
    .map(({ device, in: entered, out: exited, windowMs, keyMs, knownFromMs, goneMs }) => {
      const branchId = groupId(ledger, 'branch', device);
      return { branchId, entered, exited, windowMs, keyMs, knownFromMs, goneMs };
    });
}

export type OccupancyMinute = ReturnType<typeof countedOccupancy>[number];

/**
 * Returns the counts of the minutes of the records that a window from `dayStartMs` has, and the people inside at the
 * end of each, clamped at 0. Minutes without records are left out.
 */
export function countedOccupancy(
  service: SimulatedService,
  customer: string,
  dayStartMs: number,
  nowMs: number,
) {
  const ledger = service.ledgerOf(customer);
  const minutes = ledger.sumsBy(openWindow(ledger, 'people', dayStartMs, nowMs), {
    name: undefined,
    numberOf: ({ keyMs }) => Math.floor(keyMs / MINUTE_MS) * MINUTE_MS,
  });
  let people = 0;
  return [...minutes]
    .toSorted(([a], [b]) => a - b)
    .map(([minuteMs, { in: entered, out: exited }]) => {
      people = Math.max(0, people + entered - exited);
      return { minuteMs, entered, exited, people };
    });
}
