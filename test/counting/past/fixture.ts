/** Weeks made by hand: a library that counts the same people in each quarter-hour from 9 to 17 o'clock. */
import { HOUR_MS } from '../../../src/base/duration.ts';
import type { KeyTimes } from '../../../src/base/model.ts';
import { Calendar } from '../../../src/counting/calendar/calendar.ts';
import { parseOpeningHours } from '../../../src/counting/calendar/opening-hours.ts';
import { QUARTER_MS } from '../../../src/counting/occupancy/door-model.ts';
import { createPast, daysBefore } from '../../../src/counting/past/past.ts';
import type { Past } from '../../../src/counting/past/past.ts';
import type { PastSource } from '../../../src/counting/past/read-past.ts';
import type { SitePast } from '../../../src/counting/past/usual.ts';
import { DayCounter } from '../../../src/counting/rows/day-counts.ts';
import type { CountsToday } from '../../../src/counting/rows/day-counts.ts';
import { countedDay } from '../../support/day-counts.ts';
import { CALENDAR, COPENHAGEN } from '../../support/owner.ts';
import { queryFrom } from '../../support/responses.ts';
import type { Requested, Respond } from '../../support/responses.ts';

/** An instant by its local time. */
export function at(time: string): number {
  return COPENHAGEN.instantOfWall(Date.parse(`${time}Z`));
}

/** A Wednesday; all 28 days before have the same offset from UTC. */
export const TODAY = '2026-12-02';

interface Day {
  /** A local date. */
  readonly today?: string;
  readonly dayStartsAt?: number;
}

interface Weeks extends Day {
  /** Entries and exits in a quarter-hour, the first one at 9 o'clock. */
  readonly counts?: (daysAgo: number, quarter: number) => readonly number[];
  readonly openingHours?: string;
}

function dayOf({ today = TODAY, dayStartsAt = 4 }: Day) {
  const calendar = new Calendar(COPENHAGEN, { hour: dayStartsAt, minute: 0 });
  return { calendar, day: calendar.dayAt(at(`${today}T12:00`)) };
}

/** The people of four weeks, and one login in each quarter-hour. */
export function pastOf(weeks: Weeks = {}): SitePast & { readonly logins: Past } {
  const { counts = () => [4, 3], openingHours: text } = weeks;
  const { calendar, day } = dayOf(weeks);
  const days = daysBefore(calendar, day);
  const people = new DayCounter(calendar, days, 'people');
  const logins = new DayCounter(calendar, days, 'logins');
  for (const [i, { startMs }] of days.entries()) {
    const date = new Date(startMs + 12 * HOUR_MS).toISOString().slice(0, 10);
    for (let quarter = 0; quarter < 32; quarter += 1) {
      const atMs = at(`${date}T09:00`) + quarter * QUARTER_MS;
      people.add(atMs, counts(days.length - i, quarter));
      logins.add(atMs, [1]);
    }
  }
  const hours = text === undefined ? undefined : parseOpeningHours(text, undefined);
  return {
    calendar,
    people: createPast(calendar, day, people.days()),
    openSpans: (span) => hours?.openSpans(span, COPENHAGEN.name) ?? [span],
    logins: createPast(calendar, day, logins.days()),
  };
}

/** Counts of today by local time, at a poll. */
export function countsAt(
  time: string,
  counts: Readonly<Record<string, readonly number[]>> = {},
  of: Day = {},
): CountsToday {
  const { calendar, day } = dayOf(of);
  const { today = TODAY } = of;
  const people = Object.entries(counts).map(([minute, values]) => {
    return [at(`${today}T${minute}`), values] as const;
  });
  const atMs = at(`${today}T${time}`);
  const counted = countedDay(calendar, day, people);
  return { counts: counted, atMs, endMs: atMs + 1, lastSeenMs: undefined };
}

/** People whose service responds as a test says. */
export function sourceOf(
  respond: Respond,
  requests?: Requested[],
  calendar: Calendar = CALENDAR,
  keyTimes: KeyTimes = 'local',
): PastSource {
  return { query: queryFrom(respond, requests), stream: 'people', calendar, keyTimes };
}
