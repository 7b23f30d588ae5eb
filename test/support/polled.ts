/** A customer whose people are polled, and a scheduler as it is by default, for tests of polling. */
import { silentLogger } from '../../src/base/log.ts';
import { Calendar } from '../../src/counting/calendar/calendar.ts';
import { Customer } from '../../src/counting/customer.ts';
import type { CustomerOptions } from '../../src/counting/customer.ts';
import { counterOwner, HighWaterMarks } from '../../src/counting/high-water-marks.ts';
import { Zone } from '../../src/counting/calendar/zone.ts';
import { LogLimiter } from '../../src/base/log-limiter.ts';
import { Scheduler } from '../../src/polling/scheduler.ts';
import type { SchedulerOptions } from '../../src/polling/scheduler.ts';
import type { VirtualClock } from './virtual-clock.ts';

const MINUTE_MS = 60_000;
const UNDESCRIBED = {
  labels: {},
  capacity: undefined,
  openingHours: undefined,
  staffedHours: undefined,
};
/** Series of a customer whose occupancy is estimated. */
export const ESTIMATED = { ...UNDESCRIBED, estimate: true };

export function customerNamed(
  name: string,
  marks = new HighWaterMarks(),
  { zone = new Zone('Europe/Copenhagen'), ...options }: CustomerChanges = {},
): Customer {
  return new Customer({
    name,
    timezone: zone.name,
    description: { ...UNDESCRIBED, estimate: false },
    calendar: new Calendar(zone, { hour: 4, minute: 0 }),
    keyTimes: 'local',
    streams: ['people'],
    owner: counterOwner('s', name, name),
    marks,
    ...options,
  });
}

interface CustomerChanges extends Partial<CustomerOptions> {
  readonly zone?: Zone;
}

/** Streams every minute, baselines every hour, breakdowns every five minutes. */
export function schedulerOn(
  clock: VirtualClock,
  options: Partial<SchedulerOptions> = {},
): Scheduler {
  return new Scheduler({
    clock,
    log: silentLogger,
    limiter: new LogLimiter({ log: silentLogger, clock }),
    observer: { pollEnded() {}, changed() {} },
    intervalMs: MINUTE_MS,
    reconcileIntervalMs: 60 * MINUTE_MS,
    breakdownIntervalMs: 5 * MINUTE_MS,
    maxConcurrency: 32,
    maxRequestsPerSecond: 1_000,
    ...options,
  });
}
