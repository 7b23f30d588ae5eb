/**
 * A thread of `npm run alerts:replay`: replays customers, and returns when alerts fired for their libraries. The
 * exporter's own code finds the problems of each library by what the service would show.
 */
import { parentPort } from 'node:worker_threads';
import { DAY_MS, MINUTE_MS } from '../../src/base/duration.ts';
import { seededRandom } from '../../src/base/random.ts';
import { Calendar } from '../../src/counting/calendar/calendar.ts';
import type { Span } from '../../src/counting/calendar/calendar.ts';
import { parseOpeningHours } from '../../src/counting/calendar/opening-hours.ts';
import type { OpeningHours } from '../../src/counting/calendar/opening-hours.ts';
import { Zone } from '../../src/counting/calendar/zone.ts';
import type { SiteDevice } from '../../src/counting/devices.ts';
import { HISTORY_DAYS, QUARTER_MS } from '../../src/counting/occupancy/door-model.ts';
import { CountedDays } from '../../src/counting/past/counted-days.ts';
import { createPast } from '../../src/counting/past/past.ts';
import { GRACE_MS, usual, usualLogins } from '../../src/counting/past/usual.ts';
import { problemsOfCustomer } from '../../src/counting/customer-problems.ts';
import { LIMITS } from '../../src/counting/problems.ts';
import type { Problem } from '../../src/counting/problems.ts';
import { packSteps, weekdayOf } from '../../src/counting/rows/day-counts.ts';
import type { DayCounts } from '../../src/counting/rows/day-counts.ts';
import { Site } from '../../src/counting/site.ts';
import { openingHoursText } from '../../src/simulator/libraries.ts';
import type { OpeningInterval } from '../../src/simulator/libraries.ts';
import * as libraries from './libraries.ts';
import { between, END_MS, FAULT_DAYS, FAULTS, lastCount, ONE_DOOR, START_MS } from './libraries.ts';
import { RULES, SCENARIOS, YEAR } from './libraries.ts';
import type { LibraryCounts, Sums } from './libraries.ts';

/** A customer. */
export type Job = Readonly<Record<'seed' | 'number', number>> & { readonly scenario: string };
/** A library, perhaps with a fault, and when alerts fired for it. */
export type Replayed = ReturnType<typeof replay>[number];

interface Firing {
  readonly kind: string;
  readonly alert: string;
  readonly fromMs: number;
  toMs: number;
}

/** From one poll to the next one. */
const STEP_MS = 5 * MINUTE_MS;
/** From one look for problems to the next one, without an alert, and while one fires. */
const QUIET_STEP_MS = 2 * STEP_MS;
const FIRING_STEP_MS = 6 * STEP_MS;
const LEARNED_MS = START_MS + HISTORY_DAYS * DAY_MS;
/** In which faults begin. */
const SPARE_MS = END_MS - LEARNED_MS - (FAULT_DAYS + 7) * DAY_MS;

parentPort?.on('message', (job: Job) => parentPort?.postMessage(replay(job)));

function replay({ scenario: name, seed, number }: Job) {
  const scenario = SCENARIOS.find((one) => one.name === name) ?? YEAR;
  const { branches, holidays, knowsHolidays, summer } = scenario;
  const drawn = Array.from({ length: branches }, (_, i) => number * branches + i)
    .filter((i) => i < scenario.libraries)
    .map((i) => libraries.drawLibrary(scenario, seed, i));
  const counts = drawn.map((library) => libraries.countLibrary(scenario, library));
  const lagMs = scenario.lagMinutes(number) * MINUTE_MS;
  const hasHours = (number + Math.floor(number / 4)) % 2 === 0;
  const random = seededRandom(number);
  return drawn.flatMap(({ visitsPerDay, opening, closedDays = [], timezone }, place) => {
    const calendar = new Calendar(new Zone(timezone), { hour: 4, minute: 0 });
    const hours = hoursOf(opening, [...closedDays]);
    const announced = hoursOf(opening, [...(knowsHolidays ? holidays : []), ...summer]);
    const well = counts[place] ?? { doors: [], people: [], logins: [] };
    const faults = scenario.faults.filter((fault) => fault !== ONE_DOOR || well.doors.length > 1);
    return [undefined, ...faults].map((fault) => {
      let [faultMs, fromMs, toMs] = [LEARNED_MS, START_MS, END_MS];
      if (fault !== undefined) {
        faultMs += STEP_MS * Math.floor((random.next() * SPARE_MS) / STEP_MS);
        while (!hours.isOpenAt(faultMs, timezone)) {
          faultMs += STEP_MS;
        }
        [fromMs, toMs] = [faultMs - DAY_MS, faultMs + FAULT_DAYS * DAY_MS];
      }
      const firings = firingsOf(
        {
          calendar,
          openingHours: hasHours ? announced : undefined,
          counts: fault === undefined ? well : libraries.withFault(well, fault, faultMs),
          others: counts.toSpliced(place, 1),
          lagMs,
        },
        fromMs,
        toMs,
      );
      const finds = FAULTS[fault ?? '']?.[1];
      const found = firings.find((one) => one.alert === finds && one.toMs >= faultMs);
      const endMs = found?.fromMs ?? faultMs;
      const open = hours.openSpans({ startMs: faultMs, endMs }, timezone);
      const openMs = open.reduce((sum, span) => sum + span.endMs - span.startMs, 0);
      const came = fault === 'dead logins' ? well.logins : well.people.slice(0, 1);
      /** From the fault to its alert: opening time, and people who were not counted. */
      const cost = found && { openMs, missed: between(came, faultMs, endMs) };
      return { scenario: name, visitsPerDay, fault, faultMs, firings, cost };
    });
  });
}

/** Returns opening hours with days off. With these, 24/7 is ambiguous. */
function hoursOf(opening: readonly OpeningInterval[], daysOff: readonly number[]): OpeningHours {
  const dates = daysOff.map((day) => {
    const [, date, month] = new Date(day * DAY_MS).toUTCString().split(' ');
    return `${month} ${date}`;
  });
  const text = openingHoursText(opening).replace('24/7', 'Mo-Su 00:00-24:00');
  return parseOpeningHours(dates.length === 0 ? text : `${text}; ${dates.join()} off`, undefined);
}

/** Returns when alerts fired, by `for` and `keep_firing_for`. */
function firingsOf(library: SimulatedLibrary, fromMs: number, toMs: number): readonly Firing[] {
  const firings: Firing[] = [];
  const site = new SimulatedSite(library, fromMs);
  let since: ReadonlyMap<string, number> = new Map();
  let [dueMs, stepMs] = [fromMs, QUIET_STEP_MS];
  for (let atMs = fromMs; atMs < toMs; atMs += STEP_MS) {
    site.endDaysUntil(atMs);
    if (atMs < dueMs || (stepMs === QUIET_STEP_MS && !site.mayChange(atMs))) {
      continue;
    }
    const before = since;
    const kinds = site.problemsAt(atMs).map(({ kind }) => kind);
    since = new Map(kinds.map((kind) => [kind, before.get(kind) ?? atMs]));
    stepMs = QUIET_STEP_MS;
    for (const [kind, sinceMs] of since) {
      const rule = RULES.find((one) => one.kinds.test(kind));
      const { alert = '', forMs = Infinity, keepMs = 0 } = rule ?? {};
      const last = firings.findLast((one) => one.kind === kind);
      if (last !== undefined && (last.fromMs >= sinceMs || atMs <= last.toMs)) {
        last.toMs = atMs + keepMs;
        stepMs = stepMs === STEP_MS ? STEP_MS : FIRING_STEP_MS;
      } else if (atMs - sinceMs >= forMs) {
        firings.push({ kind, alert, fromMs: atMs, toMs: atMs + keepMs });
      } else {
        stepMs = STEP_MS;
      }
    }
    dueMs = atMs + stepMs;
  }
  return firings;
}

interface SimulatedLibrary {
  readonly calendar: Calendar;
  readonly openingHours: OpeningHours | undefined;
  readonly counts: LibraryCounts;
  /** Those of the customer's other branches. */
  readonly others: readonly LibraryCounts[];
  readonly lagMs: number;
}

/** A library as the exporter sees it. */
class SimulatedSite {
  readonly #library: SimulatedLibrary;
  readonly #isBranch: boolean;
  readonly #site: Site;
  readonly #logins: CountedDays;
  #day: Span;

  /** Its past begins four weeks before the first poll. */
  constructor(library: SimulatedLibrary, firstMs: number) {
    const { calendar, openingHours, others } = library;
    const description = { labels: {}, capacity: undefined, staffedHours: undefined };
    const timezone = calendar.zone.name;
    this.#library = library;
    this.#isBranch = others.length > 0;
    this.#site = new Site(calendar, timezone, { ...description, openingHours, estimate: true });
    this.#logins = new CountedDays(calendar);
    this.#day = calendar.dayAt(Math.max(START_MS, firstMs - HISTORY_DAYS * DAY_MS));
    const past = createPast(calendar, this.#day, []);
    this.#site.pastRead(past);
    this.#logins.pastRead(past);
    this.endDaysUntil(firstMs);
  }

  /** Takes all counts of the days that are over, and begins the day of an instant. */
  endDaysUntil(atMs: number): void {
    while (atMs >= this.#day.endMs) {
      this.#poll(this.#day.endMs, 0);
      this.#day = this.#library.calendar.dayAt(this.#day.endMs);
      this.#poll(this.#day.startMs, 0);
    }
  }

  /** Takes what the service shows. */
  #poll(atMs: number, lagMs = this.#library.lagMs): void {
    const { people, logins } = this.#library.counts;
    const day = this.#day;
    const [ofPeople, ofLogins] = [people, logins].map((counters) => ({
      counts: this.#todayUntil(atMs - lagMs, counters),
      atMs,
      endMs: atMs,
      lastSeenMs: lastCount(counters, atMs - lagMs),
    }));
    this.#site.counted({ day, atMs, minutes: ofPeople });
    this.#logins.counted({ day, atMs, minutes: ofLogins });
  }

  /** Of a branch, by window. */
  #todayUntil(untilMs: number, counters: readonly Sums[]): DayCounts {
    const day = this.#day;
    const stepMs = this.#isBranch ? QUARTER_MS : MINUTE_MS;
    const endMs = Math.min(day.endMs, untilMs);
    const steps = counters.map((sums) => {
      const counts = new Float64Array(Math.ceil((day.endMs - day.startMs) / stepMs));
      for (let i = 0, ms = day.startMs; ms < endMs; i += 1, ms += stepMs) {
        counts[i] = between([sums], ms, Math.min(endMs, ms + stepMs));
      }
      return counts;
    });
    const weekday = weekdayOf(this.#library.calendar, day);
    return { day, weekday, stepMs, before: counters.map(() => 0), ...packSteps(steps) };
  }

  /** Returns the problems of the library and of its customer. */
  problemsAt(atMs: number): readonly Problem[] {
    const { counts, others } = this.#library;
    // As if it had polled all the time: when the newest counts came, and now.
    this.#poll(Math.max(this.#day.startMs, this.#riseMs(atMs, counts.people)));
    this.#poll(atMs);
    const loginMs = Math.max(...[counts, ...others].map((one) => this.#lastMs(atMs, one.logins)));
    const { problems } = this.#site.metricsAt(atMs, {
      isCurrent: true,
      loginMs,
      others: this.#isBranch ? others.map(({ people }) => this.#lastMs(atMs, people)) : undefined,
      silences: this.#site.silencesOf(this.#devicesAt(atMs)),
    });
    const { past, days } = this.#site;
    const { past: logins, today } = this.#logins;
    // Branches have no logins of their own.
    const isKnown = !this.#isBranch && past && logins && days.today && today;
    const missed = isKnown ? usualLogins(past, logins, days.today, today) : 0;
    const facts = { refusedMs: undefined, streams: [], unreadableMs: undefined };
    const customer = { ...facts, logins: { missed, lastMs: loginMs } };
    return [...problems, ...problemsOfCustomer(customer, atMs, []).problems];
  }

  /** Returns the newest minute with a count that is shown. */
  #lastMs(atMs: number, counters: readonly Sums[]): number {
    return lastCount(counters, atMs - this.#library.lagMs);
  }

  /** Returns the poll that showed it. */
  #riseMs(atMs: number, counters: readonly Sums[]): number {
    const shownMs = this.#lastMs(atMs, counters) + MINUTE_MS + this.#library.lagMs;
    return Math.ceil(shownMs / STEP_MS) * STEP_MS;
  }

  /** Returns the doors, if there are several. */
  #devicesAt(atMs: number): readonly SiteDevice[] {
    const { calendar, counts, lagMs } = this.#library;
    const span = [calendar.periodAt(atMs).startMs, atMs - lagMs] as const;
    const all = Math.max(1, between(counts.people, ...span));
    return counts.doors.slice(counts.doors.length === 1 ? 1 : 0).map((door, i) => {
      const people = between(door, ...span);
      const lastMs = this.#riseMs(atMs, door);
      return { key: String(i), lastMs, untilMs: atMs, people, share: people / all, excess: 0 };
    });
  }

  #usual(counters: readonly number[], fromMs: number, toMs: number): number {
    const { past } = this.#site;
    return past === undefined ? 0 : usual(past, past.people, counters, fromMs, toMs);
  }

  /**
   * Returns whether a problem may have begun: many are usual since a counter last counted. If not, it need not be
   * looked for, which saves most of the time.
   */
  mayChange(atMs: number): boolean {
    const { people, logins, doors } = this.#library.counts;
    const single = [...people, ...(this.#isBranch ? [] : logins)].map((sums) => [sums]);
    const silentMs = Math.min(...[...single, ...doors].map((one) => this.#lastMs(atMs, one)));
    return (
      // Problems of doors begin with a day.
      atMs - this.#day.startMs < QUIET_STEP_MS ||
      this.#site.problems.length > 0 ||
      this.#usual([0, 1], silentMs, atMs - GRACE_MS) >= LIMITS.missedInDirection
    );
  }
}
