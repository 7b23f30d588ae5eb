/**
 * What is usual: how many people and logins were to be expected, by the same weekday of the last four
 * weeks (rule 12). Pure.
 */
import { HOUR_MS, MINUTE_MS } from '../../base/duration.ts';
import { floorToMinute } from '../calendar/calendar.ts';
import type { Calendar, Span } from '../calendar/calendar.ts';
import { countOf } from '../rows/counts.ts';
import type { Counts } from '../rows/counts.ts';
import { countAt, countInMinute, lastSeenIn } from '../rows/day-counts.ts';
import type { CountsToday, DayCounts } from '../rows/day-counts.ts';
import {
  HISTORY_DAYS,
  MINUTES_PER_QUARTER,
  QUARTER_MS,
  QUARTERS_PER_DAY,
} from '../occupancy/door-model.ts';
import { hasCounts, sumWithin } from './past.ts';
import type { Past } from './past.ts';

/** What is known about a building before today. */
export interface SitePast {
  readonly calendar: Calendar;
  readonly people: Past;
  /** Returns when it is open on a day: all day without opening hours. */
  readonly openSpans: (day: Span) => readonly Span[];
}

/** What was to be expected at a poll of people. Numbers of people. */
export interface UsualPeople {
  /** Entries and exits since the last of both. */
  readonly people: number;
  /** Since the last entry, at most the exits since. */
  readonly entries: number;
  /** Since the last exit, at most the entries since. */
  readonly exits: number;
  readonly entriesLastHour: number;
  /** Since the day started; undefined once the day is over. */
  readonly entriesToday: number | undefined;
  /** People inside now. */
  readonly inside: number;
  /** Opening time since anybody was counted; undefined if nobody was within four weeks. */
  readonly openSinceLastSeenMs: number | undefined;
}

/** Every span ends so much earlier: people come late, and so do records. */
export const GRACE_MS = HOUR_MS;
const DAYS_PER_WEEK = 7;

const ENTRIES = [0];
const EXITS = [1];
const PEOPLE = [0, 1];
const LOGINS = [0];

/** Returns what was to be expected of people. */
export function usualPeople(past: SitePast, today: CountsToday): UsualPeople {
  const { people } = past;
  const { atMs } = today;
  const entryMs = lastSeen(people, today, 0);
  const exitMs = lastSeen(people, today, 1);
  const eitherMs = Math.max(entryMs, exitMs);
  const minuteMs = floorToMinute(atMs);
  function usualSince(counters: readonly number[], seenMs: number, endMs: number): number {
    return usual(past, people, counters, windowEnd(people, seenMs), endMs - GRACE_MS);
  }
  return {
    people: usualSince(PEOPLE, eitherMs, atMs),
    entries: Math.min(
      usualSince(ENTRIES, entryMs, Math.min(atMs, exitMs)),
      countSince(past, today, 1, entryMs),
    ),
    exits: Math.min(
      usualSince(EXITS, exitMs, Math.min(atMs, entryMs)),
      countSince(past, today, 0, exitMs),
    ),
    entriesLastHour: usual(past, people, ENTRIES, minuteMs - HOUR_MS, minuteMs),
    entriesToday: usual(past, people, ENTRIES, people.today.startMs, atMs),
    inside: usuallyInside(past, atMs),
    openSinceLastSeenMs: eitherMs === -Infinity ? undefined : openTime(past, eitherMs, atMs),
  };
}

/** Returns the counts of one counter in the steps of a day that start within a span. */
export function countWithin(
  counts: DayCounts,
  counter: number,
  fromMs: number,
  toMs: number,
): number {
  const { day, stepMs } = counts;
  let sum = 0;
  for (let atMs = fromMs; atMs < toMs; atMs += stepMs) {
    sum += Math.max(0, countAt(counts, counter, (atMs - day.startMs) / stepMs));
  }
  return sum;
}

/**
 * Returns the entries within the hour before the newest whole minute, in whole people where only quarter-hours are
 * known; undefined if that hour began on a day that is not known.
 */
export function enteredLastHour(
  past: Past | undefined,
  { counts, atMs }: CountsToday,
): number | undefined {
  const { startMs } = counts.day;
  const endMinute = (floorToMinute(atMs) - startMs) / MINUTE_MS;
  const startMinute = endMinute - HOUR_MS / MINUTE_MS;
  if (startMinute < 0 && past?.today.startMs !== startMs) {
    return undefined;
  }
  const fromQuarter = QUARTERS_PER_DAY + startMinute / MINUTES_PER_QUARTER;
  let sum = past === undefined ? 0 : sumWithin(past, 1, 0, fromQuarter, QUARTERS_PER_DAY);
  for (let minute = Math.max(0, startMinute); minute < endMinute; minute += 1) {
    sum += Math.max(0, countInMinute(counts, 0, minute));
  }
  return Math.round(sum);
}

/** Returns the entries and exits after an instant, up to another one. */
export function countedSince(
  past: SitePast,
  today: CountsToday,
  seenMs: number,
  untilMs: number,
): Counts {
  const until = { ...today, endMs: Math.min(today.endMs, untilMs) };
  return PEOPLE.map((counter) => countSince(past, until, counter, seenMs));
}

/** Returns the opening time within a span, back to the start of the past. */
export function openTime(
  { people, calendar, openSpans }: SitePast,
  sinceMs: number,
  untilMs: number,
): number {
  let openMs = 0;
  for (const { day, fromMs, toMs } of daysWithin(calendar, people, sinceMs, untilMs)) {
    for (const { startMs, endMs } of openSpans(day)) {
      openMs += Math.max(0, Math.min(toMs, endMs) - Math.max(fromMs, startMs));
    }
  }
  return openMs;
}

/**
 * Returns how many logins were to be expected since the last one: at most the usual share of those who
 * came in since.
 */
export function usualLogins(
  past: SitePast,
  logins: Past,
  peopleToday: CountsToday,
  loginsToday: CountsToday,
): number {
  const { people } = past;
  const loginMs = lastSeen(logins, loginsToday, 0);
  const eitherMs = Math.max(lastSeen(people, peopleToday, 0), lastSeen(people, peopleToday, 1));
  const endMs = Math.min(loginsToday.atMs, eitherMs) - GRACE_MS;
  const entries = countOf(people.sums, 0);
  const share = entries === 0 ? 0 : countOf(logins.sums, 0) / entries;
  return Math.min(
    usual(past, logins, LOGINS, windowEnd(people, loginMs), endMs),
    share * countSince(past, peopleToday, 0, loginMs),
  );
}

/**
 * Returns the usual counts between two instants, of these counters together: for each day the mean of
 * the same opening time on the same weekday, up to four weeks before, without the highest of them.
 *
 * @param of the history that has the counters: that of `past`, or one of the same days
 */
export function usual(
  past: SitePast,
  of: Past,
  counters: readonly number[],
  fromMs: number,
  toMs: number,
): number {
  let sum = 0;
  for (const part of daysWithin(past.calendar, past.people, fromMs, toMs)) {
    const { day, daysAgo } = part;
    const open = past.openSpans(day).map(({ startMs, endMs }) => ({
      from: quarterOf(day, Math.max(part.fromMs, startMs)),
      to: quarterOf(day, Math.min(part.toMs, endMs)),
    }));
    const weeks = weeksBefore(past.people, daysAgo).map((weekDaysAgo) => {
      let counted = 0;
      for (const { from, to } of open) {
        for (const counter of counters) {
          counted += sumWithin(of, weekDaysAgo, counter, from, to);
        }
      }
      return counted;
    });
    sum += meanWithoutHighest(weeks);
  }
  return sum;
}

/** Returns the days of the same weekday before a day that counted anybody, as numbers of days before today. */
function weeksBefore(people: Past, daysAgo: number): readonly number[] {
  const weeks: number[] = [];
  for (let week = daysAgo + DAYS_PER_WEEK; week <= people.days; week += DAYS_PER_WEEK) {
    if (hasCounts(people, week)) {
      weeks.push(week);
    }
  }
  return weeks;
}

/** Returns 0 without numbers, and a single number as it is. */
function meanWithoutHighest(numbers: readonly number[]): number {
  if (numbers.length < 2) {
    return countOf(numbers, 0);
  }
  const sum = numbers.reduce((total, number) => total + number, 0);
  // Not below 0 by the rounding of the sum.
  return Math.max(0, sum - Math.max(...numbers)) / (numbers.length - 1);
}

/** Returns the mean of the weeks, each scaled to end with nobody inside; 0 while closed. */
function usuallyInside({ people, openSpans }: SitePast, atMs: number): number {
  const { today } = people;
  if (!openSpans(today).some(({ startMs, endMs }) => atMs >= startMs && atMs < endMs)) {
    return 0;
  }
  const quarter = quarterOf(today, atMs);
  const inside = weeksBefore(people, 0).flatMap((week) => {
    const entries = sumWithin(people, week, 0, 0, QUARTERS_PER_DAY);
    const exits = sumWithin(people, week, 1, 0, QUARTERS_PER_DAY);
    const entered = sumWithin(people, week, 0, 0, quarter) * Math.max(1, exits / entries);
    const exited = sumWithin(people, week, 1, 0, quarter) * Math.max(1, entries / exits);
    // A direction that counted nobody says nothing about the people inside.
    return entries > 0 && exits > 0 ? [Math.max(0, entered - exited)] : [];
  });
  return inside.length === 0 ? 0 : inside.reduce((sum, people) => sum + people, 0) / inside.length;
}

/** Returns the start of the newest step with counts; -Infinity if there is none within four weeks. */
export function lastSeen(history: Past, { counts, endMs }: CountsToday, counter: number): number {
  return lastSeenIn(counts, endMs, counter) ?? history.lastSeenMs[counter] ?? -Infinity;
}

/** Returns the people of one counter after the step that starts at `seenMs`; by the windows of the history before today. */
function countSince(
  { calendar, people }: SitePast,
  { counts: { first, stepMs, counts }, endMs }: CountsToday,
  counter: number,
  seenMs: number,
): number {
  const { startMs } = people.today;
  const days = daysWithin(calendar, people, windowEnd(people, seenMs), startMs);
  let sum = 0;
  for (const { day, daysAgo, fromMs } of days) {
    sum += sumWithin(people, daysAgo, counter, quarterOf(day, fromMs), QUARTERS_PER_DAY);
  }
  const steps = counts[counter] ?? [];
  const end = Math.min(steps.length, Math.ceil((endMs - startMs) / stepMs) - first);
  const next = Math.floor((seenMs - startMs) / stepMs) + 1 - first;
  for (let i = Math.max(0, next); i < end; i += 1) {
    sum += Math.max(0, countOf(steps, i));
  }
  return sum;
}

interface DayPart {
  readonly day: Span;
  /** 0 for today. */
  readonly daysAgo: number;
  readonly fromMs: number;
  readonly toMs: number;
}

/**
 * Yields the days from today back to the start of a span, as far as the history goes. The parts of days
 * after the span are empty.
 */
function* daysWithin(
  calendar: Calendar,
  { today }: Past,
  fromMs: number,
  toMs: number,
): Generator<DayPart> {
  let day = today;
  for (let daysAgo = 0; fromMs < Math.min(toMs, day.endMs); daysAgo += 1) {
    const part = { fromMs: Math.max(fromMs, day.startMs), toMs: Math.min(toMs, day.endMs) };
    yield { day, daysAgo, ...part };
    if (daysAgo === HISTORY_DAYS) {
      return;
    }
    day = calendar.dayBefore(day);
  }
}

/**
 * Returns the end of the window that has an instant: those who leave when a library closes are spread over
 * all of it. Days have whole windows.
 */
export function windowEnd({ today: { startMs }, windowMs }: Past, atMs: number): number {
  return startMs + (Math.floor((atMs - startMs) / windowMs) + 1) * windowMs;
}

/** Returns an instant of a day in quarter-hours since its start. */
function quarterOf({ startMs }: Span, atMs: number): number {
  return (atMs - startMs) / QUARTER_MS;
}
