/** A day of a simulated library: what the exporter's own code finds wrong by what the service would show. */
import { HOUR_MS, MINUTE_MS } from '../../src/base/duration.ts';
import { contains } from '../../src/counting/calendar/calendar.ts';
import type { Calendar, Span } from '../../src/counting/calendar/calendar.ts';
import type { OpeningHours } from '../../src/counting/calendar/opening-hours.ts';
import { learnDoors, QUARTER_MS } from '../../src/counting/occupancy/door-model.ts';
import { missedPeople } from '../../src/counting/past/missed.ts';
import { createPast, daysBefore, pastDays } from '../../src/counting/past/past.ts';
import type { Past } from '../../src/counting/past/past.ts';
import * as usual from '../../src/counting/past/usual.ts';
import * as problems from '../../src/counting/problems.ts';
import type { DeviceFacts, Problem } from '../../src/counting/problems.ts';
import { countOf, grandTotal } from '../../src/counting/rows/counts.ts';
import { packSteps, stepsUntil, weekdayOf } from '../../src/counting/rows/day-counts.ts';
import type { CountsToday, DayCounts } from '../../src/counting/rows/day-counts.ts';
import { between, lastCount, START_MS } from './libraries.ts';
import type { LibraryCounts, Sums } from './libraries.ts';
import { RULES } from './scenarios.ts';

export const STEP_MS = 5 * MINUTE_MS;
const { GRACE_MS } = usual;
const { LIMITS } = problems;
const NO_POLLS = { refusedMs: undefined, streams: [], unreadableMs: undefined };
/** LibraryFarBelowUsual: fewer than a share of what is usual, where so many are. */
const [SHARE = NaN, USUAL = NaN] = RULES.flatMap(({ below }) => below);

export interface SimulatedSite {
  readonly calendar: Calendar;
  readonly openingHours: OpeningHours | undefined;
  readonly counts: LibraryCounts;
  /** Those of the customer's other branches. */
  readonly others: readonly LibraryCounts[];
  readonly lagMs: number;
}

export class SiteDay {
  readonly #site: SimulatedSite;
  readonly #day: Span;
  readonly #past: usual.SitePast;
  readonly #logins: Past;
  readonly #ofDoors: readonly Problem[];
  /** Of the whole day. */
  readonly #minutes: ReadonlyMap<readonly Sums[], DayCounts>;

  /** The day of an instant. */
  constructor(site: SimulatedSite, atMs: number) {
    const { calendar, openingHours, counts } = site;
    this.#site = site;
    this.#day = calendar.dayAt(atMs);
    this.#past = {
      people: this.#pastOf(counts.people),
      calendar,
      openSpans: (day) => openingHours?.openSpans(day, calendar.zone.name) ?? [day],
    };
    this.#logins = this.#pastOf(counts.logins);
    this.#minutes = new Map(
      [counts.people, counts.logins].map((one) => [one, this.#countsOf(this.#day, one, MINUTE_MS)]),
    );
    const { people } = this.#past;
    const days = [this.#day, ...daysBefore(calendar, this.#day).toReversed()];
    this.#ofDoors = problems.problemsOfDoors(
      learnDoors(pastDays(people), people.weekday),
      (daysAgo) => days[daysAgo]?.startMs ?? 0,
    );
  }

  #pastOf(counters: readonly Sums[]): Past {
    const days = daysBefore(this.#site.calendar, this.#day)
      .filter(({ endMs }) => endMs > START_MS)
      .map((day) => this.#countsOf(day, counters, QUARTER_MS));
    const lastSeenMs = counters.map((sums) => lastCount([sums], this.#day.startMs));
    return { ...createPast(this.#site.calendar, this.#day, days), lastSeenMs };
  }

  #countsOf(day: Span, counters: readonly Sums[], stepMs: number, atMs = day.endMs): DayCounts {
    const endMs = Math.min(day.endMs, atMs);
    const steps = counters.map((sums) => {
      const counts = new Float64Array(Math.ceil((day.endMs - day.startMs) / stepMs));
      for (let i = 0, ms = day.startMs; ms < endMs; i += 1, ms += stepMs) {
        counts[i] = between([sums], ms, Math.min(endMs, ms + stepMs));
      }
      return counts;
    });
    const weekday = weekdayOf(this.#site.calendar, day);
    return { day, weekday, stepMs, before: counters.map(() => 0), ...packSteps(steps) };
  }

  has(atMs: number): boolean {
    return contains(this.#day, atMs);
  }

  /** Returns the problems of the library and of its customer; `before` are those found before. */
  problemsAt(atMs: number, before: readonly Problem[]): readonly Problem[] {
    const { openingHours, counts, others } = this.#site;
    const isBranch = others.length > 0;
    const today = this.#todayAt(atMs, counts.people);
    const expected = usual.usualPeople(this.#past, today);
    const lastMs = this.#lastMs(atMs, counts.people);
    const loginMs = Math.max(...[counts, ...others].map((one) => this.#lastMs(atMs, one.logins)));
    const facts = {
      counts: {
        usual: openingHours ? expected : { ...expected, openSinceLastSeenMs: undefined },
        missed: missedPeople(this.#past, today, expected),
      },
      lastMs: lastMs === -Infinity ? undefined : lastMs,
      lastEntryMs: usual.lastSeen(this.#past.people, today, 0),
      lastExitMs: usual.lastSeen(this.#past.people, today, 1),
      rise: undefined,
      loginMs,
      others: isBranch ? others.map(({ people }) => this.#lastMs(atMs, people)) : undefined,
      devices: this.#devicesAt(today, lastMs),
      doors: this.#ofDoors,
      overCapacityMs: undefined,
    };
    const ofSite = problems.problemsOfSite(facts, atMs, before).problems;
    // Branches have no logins of their own.
    const logins = this.#todayAt(atMs, counts.logins);
    const missed = isBranch ? 0 : usual.usualLogins(this.#past, this.#logins, today, logins);
    const customer = { ...NO_POLLS, logins: { missed, lastMs: loginMs } };
    return [...ofSite, ...problems.problemsOfCustomer(customer, atMs, []).problems];
  }

  /** Returns what is shown: of a branch, by window. */
  #todayAt(atMs: number, counters: readonly Sums[]): CountsToday {
    const { others, lagMs } = this.#site;
    const minutes = others.length > 0 ? undefined : this.#minutes.get(counters);
    const counts = minutes
      ? stepsUntil(minutes, atMs - lagMs)
      : this.#countsOf(this.#day, counters, QUARTER_MS, atMs - lagMs);
    return { counts, atMs, endMs: atMs, lastSeenMs: undefined };
  }

  /** Returns the newest minute with a count that is shown. */
  #lastMs(atMs: number, counters: readonly Sums[]): number {
    return lastCount(counters, atMs - this.#site.lagMs);
  }

  /** Returns the doors, if there are several. */
  #devicesAt(today: CountsToday, siteMs: number): readonly DeviceFacts[] {
    const { calendar, counts, lagMs } = this.#site;
    const { atMs } = today;
    const span = [calendar.periodAt(atMs).startMs, atMs - lagMs] as const;
    return counts.doors.slice(counts.doors.length === 1 ? 1 : 0).map((door) => {
      const lastMs = Math.ceil((this.#lastMs(atMs, door) + MINUTE_MS + lagMs) / STEP_MS) * STEP_MS;
      const share = between(door, ...span) / Math.max(1, between(counts.people, ...span));
      const counted = usual.countedSince(this.#past, today, lastMs, atMs);
      const openMs = usual.openTime(this.#past, lastMs, Math.min(atMs, siteMs));
      const [passes, people] = [share * grandTotal(counted), share * Math.max(...counted)];
      return { lastMs, share, excess: 0, openMs, passes, people };
    });
  }

  /** Returns whether LibraryFarBelowUsual is true. It compares the hour that has arrived, because data may be late. */
  isFarBelow(atMs: number): boolean {
    const { openingHours, counts, lagMs, calendar } = this.#site;
    const entered = between(counts.people.slice(0, 1), atMs - lagMs - HOUR_MS, atMs - lagMs);
    const usualHour = (ms: number) => this.#usual([0], ms - HOUR_MS, ms);
    return (
      entered > 0 &&
      entered < SHARE * usualHour(atMs) &&
      [0, 15, 30, 45, 60].every((minutes) => {
        const ms = atMs - minutes * MINUTE_MS;
        return usualHour(ms) >= USUAL && openingHours?.isOpenAt(ms, calendar.zone.name) !== false;
      })
    );
  }

  #usual(counters: readonly number[], fromMs: number, toMs: number): number {
    return usual.usual(this.#past, this.#past.people, counters, fromMs, toMs);
  }

  /** Returns whether a problem may have begun. If not, it need not be looked for, which saves most of the time. */
  mayChange(atMs: number): boolean {
    const { counts, others } = this.#site;
    const counters = [...counts.people, ...counts.logins].map((sums) => [sums]);
    const seenMs = [...counters, ...counts.doors].map((one) => this.#lastMs(atMs, one));
    const [entryMs = 0, exitMs = 0, loginMs = 0, ...doorsMs] = seenMs;
    const lastMs = Math.max(entryMs, exitMs);
    const isUsed = others.length > 0 || loginMs - lastMs >= LIMITS.loginLaterMs;
    const share = countOf(this.#logins.sums, 0) / countOf(this.#past.people.sums, 0);
    return (
      this.#ofDoors.length > 0 ||
      lastMs - Math.min(...doorsMs) >= LIMITS.silentDeviceOpenMs ||
      ((isUsed || atMs - lastMs >= LIMITS.missedOpenMs) &&
        this.#usual([0, 1], lastMs, atMs - GRACE_MS) >= LIMITS.missedPassesInUse) ||
      this.#usual([0], entryMs, exitMs - GRACE_MS) >= LIMITS.missedInDirection ||
      this.#usual([1], exitMs, entryMs - GRACE_MS) >= LIMITS.missedInDirection ||
      share * between(counts.people.slice(0, 1), loginMs, atMs) >= LIMITS.missedLogins ||
      this.isFarBelow(atMs)
    );
  }
}
