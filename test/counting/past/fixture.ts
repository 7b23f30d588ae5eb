/** Weeks made by hand: a library that counts the same people in each quarter-hour from 9 to 17 o'clock. */
import { Calendar } from '../../../src/counting/calendar/calendar.ts';
import { parseOpeningHours } from '../../../src/counting/calendar/opening-hours.ts';
import { createPast } from '../../../src/counting/past/past.ts';
import type { SitePast } from '../../../src/counting/past/usual.ts';
import { DayCounter } from '../../../src/counting/rows/day-counts.ts';
import type { CountsToday, DayCounts } from '../../../src/counting/rows/day-counts.ts';
import { COPENHAGEN } from '../../support/owner.ts';
import { HOUR_MS, MINUTE_MS } from '../fixture.ts';

export const QUARTER_MS = 15 * MINUTE_MS;

/** An instant by its local time. */
export function at(time: string): number {
  return COPENHAGEN.instantOfWall(Date.parse(`${time}Z`));
}

/** A Wednesday; all 28 days before have the same offset from UTC. */
export const TODAY = '2026-12-02';

export interface Weeks {
  /** A local date. */
  readonly today?: string;
  readonly dayStartsAt?: number;
  readonly days?: number;
  /** Entries and exits in each quarter-hour while it is open. */
  readonly counts?: (daysAgo: number) => readonly [entries: number, exits: number];
  readonly loginsPerQuarter?: number;
  readonly openingHours?: string;
}

/** The people and logins of four weeks. */
export function pastOf(weeks: Weeks = {}): SitePast & { readonly logins: DayCounts[] } {
  const { today = TODAY, dayStartsAt = 4, days = 28, counts = () => [4, 3] } = weeks;
  const calendar = new Calendar(COPENHAGEN, { hour: dayStartsAt, minute: 0 });
  const day = calendar.dayAt(at(`${today}T12:00`));
  const people: DayCounts[] = [];
  const logins: DayCounts[] = [];
  let before = day;
  for (let daysAgo = 1; daysAgo <= days; daysAgo += 1) {
    before = calendar.dayBefore(before);
    const date = new Date(before.startMs + 12 * HOUR_MS).toISOString().slice(0, 10);
    const counters = [
      new DayCounter(calendar, [before], 'people'),
      new DayCounter(calendar, [before], 'logins'),
    ] as const;
    const endMs = at(`${date}T17:00`);
    for (let ms = at(`${date}T09:00`); ms < endMs; ms += QUARTER_MS) {
      counters[0].add(ms, counts(daysAgo));
      counters[1].add(ms, [weeks.loginsPerQuarter ?? 1]);
    }
    people.unshift(...counters[0].days());
    logins.unshift(...counters[1].days());
  }
  const hours = weeks.openingHours;
  const parsed = hours === undefined ? undefined : parseOpeningHours(hours, undefined);
  return {
    calendar,
    people: createPast(calendar, day, people),
    openSpans: (span) => parsed?.openSpans(span, COPENHAGEN.name) ?? [span],
    logins,
  };
}

/** Counts of today by local time, at a poll. */
export function countsAt(
  time: string,
  counts: Readonly<Record<string, readonly number[]>> = {},
  { today = TODAY, dayStartsAt = 4, stepMs }: Weeks & { readonly stepMs?: number } = {},
): CountsToday {
  const calendar = new Calendar(COPENHAGEN, { hour: dayStartsAt, minute: 0 });
  const day = calendar.dayAt(at(`${today}T12:00`));
  const counter = new DayCounter(calendar, [day], 'people', stepMs);
  Object.entries(counts).forEach(([minute, values]) => {
    counter.add(at(`${today}T${minute}`), values);
  });
  const [counted] = counter.days() as [DayCounts];
  const atMs = at(`${today}T${time}`);
  return { counts: counted, atMs, endMs: atMs + 1, lastSeenMs: undefined };
}
