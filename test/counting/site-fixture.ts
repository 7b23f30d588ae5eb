/** A building whose counts, and those of the four weeks before, a test says by the minute. */
import type { MinuteStream } from '../../src/base/model.ts';
import type { Span } from '../../src/counting/calendar/calendar.ts';
import type { Customer } from '../../src/counting/customer.ts';
import type { CustomerDescription, CustomerMetrics } from '../../src/counting/customer-metrics.ts';
import { createPast, daysBefore } from '../../src/counting/past/past.ts';
import type { Past } from '../../src/counting/past/past.ts';
import { lastSeenIn } from '../../src/counting/rows/day-counts.ts';
import type { DayCounts } from '../../src/counting/rows/day-counts.ts';
import { INITIAL_STATE } from '../../src/counting/totals/state.ts';
import type { Snapshot } from '../../src/counting/totals/state.ts';
import { countedDay } from '../support/day-counts.ts';
import { CALENDAR, NOVEMBER } from '../support/owner.ts';
import { customerNamed, ESTIMATED } from '../support/polled.ts';
import { MINUTE_MS } from './fixture.ts';

export const TODAY = CALENDAR.dayAt(Date.UTC(2026, 10, 25, 12));
export const TOMORROW = CALENDAR.dayAt(TODAY.endMs);
export const UNESTIMATED: CustomerDescription = { ...ESTIMATED, estimate: false };

/** Counts of one day, by minutes since its start. */
export type Minutes = Readonly<Record<number, readonly number[]>>;

function dayOf(day: Span, minutes: Minutes): DayCounts {
  const people = Object.entries(minutes).map(([minute, counts]) => {
    return [day.startMs + Number(minute) * MINUTE_MS, counts] as const;
  });
  return countedDay(CALENDAR, day, people);
}

/** 20 people enter and leave each hour from 08:00 to 16:00. */
export const USUAL_DAY = passes(240, 720, [5, 5]);

export function historyBefore(day: Span, minutes: Minutes = USUAL_DAY): Past {
  return historyOf(day, () => minutes);
}

/** Four weeks before a day, each day with its own counts. */
export function historyOf(day: Span, minutesOf: (past: Span) => Minutes): Past {
  const days = daysBefore(CALENDAR, day).map((past) => dayOf(past, minutesOf(past)));
  return createPast(CALENDAR, day, days);
}

export function customer(
  streams: Customer['streams'] = ['people'],
  description: CustomerDescription = UNESTIMATED,
): Customer {
  const created = customerNamed('riverside', undefined, { streams });
  created.setDescription(description);
  return created;
}

/** A poll that is accepted at a minute of the day, after these counts. */
export function poll(
  of: Customer,
  minute: number,
  minutes: Minutes | undefined,
  { day = TODAY, stream = 'people' }: { day?: Span | undefined; stream?: MinuteStream } = {},
): void {
  const atMs = day.startMs + minute * MINUTE_MS;
  const counts = minutes && dayOf(day, minutes);
  const endMs = atMs + 1;
  const snapshot: Snapshot = {
    period: NOVEMBER,
    day,
    atMs,
    totals: [0, 0],
    today: [0, 0],
    minutes: counts && { counts, atMs, endMs, lastSeenMs: lastSeenIn(counts, endMs) },
  };
  of.pollSucceeded(stream, { state: { ...INITIAL_STATE, snapshot }, result: 'accepted' }, atMs);
}

/** Returns what it says at a minute of the day. */
export function metricsAt(of: Customer, minute: number, day = TODAY): CustomerMetrics {
  return of.metricsAt(day.startMs + minute * MINUTE_MS);
}

/** So many people in each quarter-hour between two minutes of the day. */
export function passes(from: number, until: number, counts: readonly number[]): Minutes {
  const quarters = Array.from({ length: (until - from) / 15 }, (_, i) => from + 15 * i);
  return Object.fromEntries(quarters.map((minute) => [minute, counts]));
}

/** The usual day until 14:00, and nobody after. */
export const NOBODY = passes(240, 600, [5, 5]);
