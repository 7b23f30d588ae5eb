/** A thread of `npm run alerts:replay`: replays customers, and returns when alerts fired for their libraries. */
import { parentPort } from 'node:worker_threads';
import { DAY_MS, MINUTE_MS } from '../../src/base/duration.ts';
import { seededRandom } from '../../src/base/random.ts';
import { Calendar } from '../../src/counting/calendar/calendar.ts';
import { parseOpeningHours } from '../../src/counting/calendar/opening-hours.ts';
import type { OpeningHours } from '../../src/counting/calendar/opening-hours.ts';
import { Zone } from '../../src/counting/calendar/zone.ts';
import { HISTORY_DAYS } from '../../src/counting/occupancy/door-model.ts';
import type { Problem } from '../../src/counting/problems.ts';
import { openingHoursText } from '../../src/simulator/libraries.ts';
import type { OpeningInterval } from '../../src/simulator/libraries.ts';
import * as libraries from './libraries.ts';
import { END_MS, FAULT_DAYS, START_MS } from './libraries.ts';
import { FAR_BELOW, FAULTS, ONE_DOOR, RULES, SCENARIOS, YEAR } from './scenarios.ts';
import { SiteDay, STEP_MS } from './site-day.ts';
import type { SimulatedSite } from './site-day.ts';

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

const LEARNED_MS = START_MS + HISTORY_DAYS * DAY_MS;
/** In which faults begin. */
const SPARE_MS = END_MS - LEARNED_MS - (FAULT_DAYS + 7) * DAY_MS;
/** From one look for problems to the next one, without an alert, and while one fires. */
const QUIET_STEP_MS = 2 * STEP_MS;
const FIRING_STEP_MS = 6 * STEP_MS;

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
    const days = opening.flatMap((one) => one.weekdays.map(() => one.toMinute - one.fromMinute));
    const openMsOfDay = (MINUTE_MS * days.reduce((sum, minutes) => sum + minutes, 0)) / days.length;
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
      const openingHours = hasHours ? announced : undefined;
      const faulty = fault === undefined ? well : libraries.withFault(well, fault, faultMs);
      const others = counts.toSpliced(place, 1);
      const site = { calendar, openingHours, counts: faulty, others, lagMs };
      const firings = firingsOf(site, fromMs, toMs);
      const finds = FAULTS[fault ?? '']?.[1];
      const found = firings.find((one) => one.alert === finds && one.toMs >= faultMs);
      const endMs = found?.fromMs ?? faultMs;
      const open = hours.openSpans({ startMs: faultMs, endMs }, timezone);
      const openMs = open.reduce((sum, span) => sum + span.endMs - span.startMs, 0);
      const came = fault === 'dead logins' ? well.logins : well.people.slice(0, 1);
      /** From the fault to its alert: opening time, and people who were not counted. */
      const cost = found && {
        openMs,
        openMsOfDay,
        missed: libraries.between(came, faultMs, endMs),
      };
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
function firingsOf(site: SimulatedSite, fromMs: number, toMs: number): readonly Firing[] {
  const firings: Firing[] = [];
  let day = new SiteDay(site, fromMs);
  let problems: readonly Problem[] = [];
  let since: ReadonlyMap<string, number> = new Map();
  let [dueMs, stepMs] = [fromMs, QUIET_STEP_MS];
  for (let atMs = fromMs; atMs < toMs; atMs += STEP_MS) {
    day = day.has(atMs) ? day : new SiteDay(site, atMs);
    const isDue = atMs >= dueMs;
    if (!isDue || (stepMs === QUIET_STEP_MS && !day.mayChange(atMs))) {
      continue;
    }
    const before = since;
    problems = day.problemsAt(atMs, problems);
    const kinds = problems.map(({ kind }): string => kind);
    const all = day.isFarBelow(atMs) ? [...kinds, FAR_BELOW] : kinds;
    since = new Map(all.map((kind) => [kind, before.get(kind) ?? atMs]));
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
