/**
 * A thread of the occupancy bench. Evaluates one library in every regime: the errors of the estimate and of the raw
 * occupancy on the last 42 of 84 days, in opening hours, each 13th minute with what was known at that minute.
 */
import { parentPort } from 'node:worker_threads';
import { DAY_MS, MINUTE_MS } from '../../src/base/duration.ts';
import { Calendar } from '../../src/counting/calendar/calendar.ts';
import type { Span } from '../../src/counting/calendar/calendar.ts';
import { Zone } from '../../src/counting/calendar/zone.ts';
import type { SiteMetrics } from '../../src/counting/customer-metrics.ts';
import { createPast } from '../../src/counting/past/past.ts';
import { DayCounter, lastSeenIn, stepsUntil } from '../../src/counting/rows/day-counts.ts';
import type { DayCounts } from '../../src/counting/rows/day-counts.ts';
import { Site } from '../../src/counting/site.ts';
import { openInterval } from '../../src/simulator/libraries.ts';
import type { Library } from '../../src/simulator/libraries.ts';
import { countPasses, dayTraffic } from '../../src/simulator/traffic.ts';
import type { Pass } from '../../src/simulator/traffic.ts';
import { createZones, minuteOfDay, weekdayOf } from '../../src/simulator/zone.ts';
import { DAYS, drawLibrary, equip, FIRST_DAY, REGIMES } from './regimes.ts';
import type { LibraryName } from './regimes.ts';

const EVALUATED_FROM_DAY = 42;
const EVERY_MINUTES = 13;
const CALENDAR = new Calendar(new Zone('UTC'), { hour: 4, minute: 0 });
const zone = createZones()('UTC');

/** Its logins show that it is in use. */
const SURROUNDINGS = {
  isCurrent: true,
  loginMs: Infinity,
  others: undefined,
  silences: new Map(),
};

export interface Task {
  readonly library: LibraryName;
  readonly seed: number;
}

/** Sums over the evaluated minutes; errors are squared. */
export interface ErrorSums {
  readonly library: LibraryName;
  readonly regime: string;
  minutes: number;
  /** Minutes with an estimate, and the errors in them. */
  shown: number;
  raw: number;
  estimated: number;
  /** Minutes with the actual number inside the interval. */
  covered: number;
}

/** A day as it was, without what the doors count. */
interface VisitedDay {
  readonly span: Span;
  readonly passes: readonly Pass[];
  /** The instants that are evaluated, and the people inside. */
  readonly looks: readonly { readonly atMs: number; readonly actual: number }[];
}

parentPort?.on('message', (task: Task) => parentPort?.postMessage(evaluateLibrary(task)));

function evaluateLibrary({ library: name, seed }: Task): readonly ErrorSums[] {
  const library = drawLibrary(name, seed);
  const days = Array.from({ length: DAYS }, (_, day) => visitedDay(library, day));
  return Object.entries(REGIMES).map(([regime, sensorOn]) => {
    const sums = { library: name, regime, minutes: 0, shown: 0, raw: 0, estimated: 0, covered: 0 };
    const site = createSite(days);
    for (const [day, { span, passes, looks }] of days.entries()) {
      const counts = countDay(equip(library, sensorOn, day), span, passes);
      for (const { atMs, actual } of looks) {
        poll(site, counts, atMs);
        addMinute(sums, actual, site.metricsAt(atMs, SURROUNDINGS));
      }
      // The last poll of the day: with it, the day becomes a part of the past.
      poll(site, counts, span.endMs - MINUTE_MS);
    }
    return sums;
  });
}

/** Opening hours are not configured. */
function createSite([first]: readonly VisitedDay[]): Site {
  const description = { labels: {}, openingHours: undefined, staffedHours: undefined };
  const site = new Site(CALENDAR, 'UTC', { ...description, capacity: undefined, estimate: true });
  if (first !== undefined) {
    site.pastRead(createPast(CALENDAR, first.span, []));
  }
  return site;
}

function visitedDay(library: Library, day: number): VisitedDay {
  const date = FIRST_DAY + day;
  const span = CALENDAR.dayAt((date + 0.5) * DAY_MS);
  const passes = dayTraffic(library, zone, date).people;
  const looks = [];
  let [inside, next] = [0, 0];
  const stepMs = EVERY_MINUTES * MINUTE_MS;
  for (let atMs = span.startMs + stepMs; atMs < span.endMs; atMs += stepMs) {
    for (let pass = passes[next]; pass !== undefined && pass.timeMs < atMs; pass = passes[next]) {
      inside += pass.people;
      next += 1;
    }
    const minute = minuteOfDay(zone, atMs - MINUTE_MS);
    const isOpen = openInterval(library.opening, weekdayOf(date), minute) !== undefined;
    if (isOpen && day >= EVALUATED_FROM_DAY) {
      looks.push({ atMs, actual: inside });
    }
  }
  return { span, passes, looks };
}

function countDay(library: Library, span: Span, passes: readonly Pass[]): DayCounts | undefined {
  const counter = new DayCounter(CALENDAR, [span], 'people');
  for (const { timeMs, people } of countPasses(library, passes)) {
    counter.add(timeMs, people > 0 ? [people, 0] : [0, -people]);
  }
  return counter.days()[0];
}

function poll(site: Site, ofDay: DayCounts | undefined, atMs: number): void {
  if (ofDay !== undefined) {
    const counts = stepsUntil(ofDay, atMs);
    const minutes = { counts, atMs, endMs: atMs, lastSeenMs: lastSeenIn(counts) };
    site.counted({ day: counts.day, atMs, minutes });
  }
}

function addMinute(sums: ErrorSums, actual: number, { occupancy, estimate }: SiteMetrics): void {
  sums.minutes += 1;
  if (estimate.people !== undefined && occupancy !== undefined) {
    const { people, lower, upper } = estimate.people;
    sums.shown += 1;
    sums.raw += (occupancy - actual) ** 2;
    sums.estimated += (people - actual) ** 2;
    sums.covered += actual >= lower - 1e-9 && actual <= upper + 1e-9 ? 1 : 0;
  }
}
