/**
 * Ten thousand customers as the daemon has them, and their polls without a service: what a poll
 * would have found is made up, and all that follows from it is the real thing.
 */
import { strict as assert } from 'node:assert';
import { COUNTERS } from '../../src/base/model.ts';
import type { MinuteStream } from '../../src/base/model.ts';
import { Calendar } from '../../src/counting/calendar/calendar.ts';
import { Customer } from '../../src/counting/customer.ts';
import { counterOwner, HighWaterMarks } from '../../src/counting/high-water-marks.ts';
import { createOpeningHoursParser } from '../../src/counting/calendar/opening-hours.ts';
import { DayCounter } from '../../src/counting/rows/day-counts.ts';
import type { DayCounts } from '../../src/counting/rows/day-counts.ts';
import { INITIAL_STATE } from '../../src/counting/totals/state.ts';
import { Zone } from '../../src/counting/calendar/zone.ts';

const STREAMS: readonly MinuteStream[] = ['people', 'logins'];
const ZONES = ['Europe/Copenhagen', 'Europe/London', 'America/New_York', 'Australia/Sydney'];

/** Objects that a request of the daemon leaves behind, in got and Node for the most part: 110 KB. */
const OBJECTS_OF_A_REQUEST = 2_200;

/** So many customers, of which nothing is known yet. Each shows 28 series once it was polled. */
export function createCustomers(customers: number): readonly Customer[] {
  const marks = new HighWaterMarks();
  const parse = createOpeningHoursParser();
  const calendars = ZONES.map((zone) => new Calendar(new Zone(zone), { hour: 4, minute: 0 }));
  return Array.from({ length: customers }, (_, i) => {
    const name = `library-${String(i).padStart(5, '0')}`;
    const calendar = calendars[i % ZONES.length];
    assert(calendar !== undefined);
    const customer = new Customer({
      name,
      timezone: calendar.zone.name,
      keyTimes: 'local',
      description: {
        labels: { region: i % 2 === 0 ? 'north' : 'south' },
        capacity: 100 + (i % 400),
        openingHours: parse('Mo-Su 08:00-20:00', undefined),
        staffedHours: undefined,
        estimate: false,
      },
      calendar,
      streams: STREAMS,
      owner: counterOwner('https://statistics.example.org', name, name),
      marks,
    });
    customer.credentialsChecked(true, 0);
    return customer;
  });
}

function oneMinute({ calendar }: Customer, nowMs: number, inside: number): DayCounts {
  const counter = new DayCounter(calendar, [calendar.dayAt(nowMs)], 'people');
  counter.add(nowMs, [inside, 0]);
  const [minutes] = counter.days();
  assert(minutes !== undefined);
  return minutes;
}

/** What follows from one good poll of each of the customer's streams. `polls` is how many there were before. */
export function poll(customer: Customer, number: number, polls: number, nowMs: number): void {
  const period = customer.periodAt(nowMs);
  const day = customer.calendar.dayAt(nowMs);
  const counted = 1_000 + ((number * 7_919) % 90_000) + polls * 3;
  for (const stream of STREAMS) {
    const { length } = Array.from({ length: OBJECTS_OF_A_REQUEST }, (_, i) => [i]);
    const counts = COUNTERS[stream].map((_, kind) => counted + length - kind * 17);
    const snapshot = {
      period,
      day,
      atMs: nowMs,
      totals: counts,
      today: counts.map((count) => count % 1_000),
      minutes: {
        atMs: nowMs,
        counts: oneMinute(customer, nowMs, counted % 211),
        endMs: nowMs + 1,
        lastSeenMs: Math.floor(nowMs / 60_000) * 60_000,
      },
    };
    customer.pollSucceeded(
      stream,
      { state: { ...INITIAL_STATE, snapshot }, result: 'accepted' },
      nowMs,
    );
  }
}
