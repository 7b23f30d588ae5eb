/**
 * One library in every regime: the errors of the estimate and of the raw occupancy on the last 42 of 84
 * days, in opening hours, each seventh minute with what was known at that minute.
 */
import { DAY_MS, MINUTE_MS } from '../../src/base/duration.ts';
import { Calendar } from '../../src/counting/calendar/calendar.ts';
import type { Span } from '../../src/counting/calendar/calendar.ts';
import { Zone } from '../../src/counting/calendar/zone.ts';
import {
  HISTORY_DAYS,
  learnDoors,
  MINUTES_PER_QUARTER,
  QUARTER_MS,
  QUARTERS_PER_DAY,
} from '../../src/counting/occupancy/door-model.ts';
import { estimateInside } from '../../src/counting/occupancy/estimate.ts';
import type { Estimate } from '../../src/counting/occupancy/estimate.ts';
import { createPast, pastDays } from '../../src/counting/past/past.ts';
import { nextOccupancy } from '../../src/counting/occupancy/occupancy.ts';
import { missedPeople } from '../../src/counting/past/missed.ts';
import { lastSeen, usualPeople } from '../../src/counting/past/usual.ts';
import { problemsOfDoors, problemsOfSite } from '../../src/counting/problems.ts';
import type { DayCounts } from '../../src/counting/rows/day-counts.ts';
import { countPasses } from '../../src/simulator/traffic.ts';
import { countedByWindow, sumsByStep } from './by-window.ts';
import type { SumsByStep } from './by-window.ts';
import { drawBurst, equip, groupShareOf, passesFor, REGIMES } from './regimes.ts';
import type { Regime } from './regimes.ts';
import { DAYS, drawOpenDays, drawPasses, LIBRARIES } from './visitors.ts';
import type { BenchLibrary, LibraryName, OpenDay, VisitorPass } from './visitors.ts';

const EVALUATED_FROM_DAY = 42;
const MINUTES_PER_DAY = 1_440;
/** A window of a branch is a quarter-hour, so that every distance from its end occurs. */
const EVERY_MINUTES = 7;
const CALENDAR = new Calendar(new Zone('UTC'), { hour: 0, minute: 0 });

/** Sums over the evaluated minutes; errors are squared. */
export interface ErrorSums {
  readonly regime: string;
  minutes: number;
  raw: number;
  /** Minutes with an estimate, and the errors in them. */
  shown: number;
  rawWhereShown: number;
  estimated: number;
  /** Minutes with the actual number inside the interval. */
  covered: number;
  /** The errors of a branch in the minutes with its estimate, and of the raw occupancy in them. */
  rawWhereBranch: number;
  branch: number;
}

/** A day on which the library is open, without what the doors count. */
interface VisitedDay {
  readonly day: number;
  readonly open: OpenDay;
  readonly passes: readonly VisitorPass[];
  /** People inside at the end of each minute. */
  readonly inside: Float64Array;
}

/** Entries and exits by minute or quarter-hour of the day. */
type Counts = readonly Float64Array[];

function spanOf(day: number): Span {
  return { startMs: day * DAY_MS, endMs: (day + 1) * DAY_MS };
}

function dayOf(day: number, counts: Counts, stepMs = QUARTER_MS): DayCounts {
  return { day: spanOf(day), weekday: day % 7, stepMs, first: 0, counts, before: [0, 0] };
}

interface CountsOfDay {
  readonly byQuarter: Counts;
  /** Known at once. */
  readonly byMinute: Counts;
  /** Late counts by the minute at which the service has them. */
  readonly late: ReadonlyMap<number, Counts>;
}

export function evaluateLibrary(name: LibraryName, seed: number): readonly ErrorSums[] {
  const library = LIBRARIES[name];
  const openDays = drawOpenDays(library, seed);
  const visited = new Map<number, readonly VisitedDay[]>();
  return Object.entries(REGIMES).map(([regimeName, regime]) => {
    const groupShare = groupShareOf(regime);
    const days = visited.get(groupShare) ?? drawVisitors(library, openDays, seed, groupShare);
    visited.set(groupShare, days);
    return { regime: regimeName, ...evaluate(library, regime, seed, days) };
  });
}

function drawVisitors(
  library: BenchLibrary,
  openDays: readonly (OpenDay | undefined)[],
  seed: number,
  groupShare: number,
): readonly VisitedDay[] {
  // In a library that never closes, people leave on the day after that of their entry.
  const byDay = Map.groupBy(
    openDays.flatMap((open) =>
      open === undefined ? [] : drawPasses(library, open, seed, groupShare),
    ),
    ({ timeMs }) => Math.floor(timeMs / DAY_MS),
  );
  let people = 0;
  return openDays.flatMap((open, day) => {
    if (open === undefined) {
      return [];
    }
    const passes = byDay.get(day) ?? [];
    const inside = new Float64Array(MINUTES_PER_DAY);
    for (const pass of passes) {
      const minute = minuteOf(pass.timeMs);
      inside[minute] = (inside[minute] ?? 0) + pass.people;
    }
    inside.forEach((change, minute) => (inside[minute] = people += change));
    return [{ day, open, passes, inside }];
  });
}

function evaluate(
  library: BenchLibrary,
  regime: Regime,
  seed: number,
  days: readonly VisitedDay[],
): Omit<ErrorSums, 'regime'> {
  const sums = {
    minutes: 0,
    raw: 0,
    shown: 0,
    rawWhereShown: 0,
    estimated: 0,
    covered: 0,
    rawWhereBranch: 0,
    branch: 0,
  };
  const noDay = noCounts(QUARTERS_PER_DAY);
  const history = Array.from({ length: DAYS }, (_, day) => dayOf(day, noDay));
  for (const { day, open, passes, inside } of days) {
    const counted = countDay(library, regime, seed, day, open, passes);
    history[day] = dayOf(day, counted.byQuarter);
    if (day >= EVALUATED_FROM_DAY) {
      const estimate = estimator(day, history);
      const released = releasesOf(counted);
      const opens = minuteOf(open.opensMs);
      const closes = open.closesMs === Infinity ? MINUTES_PER_DAY : minuteOf(open.closesMs);
      for (const { minute, raw, known } of knownUntil(opens, closes, day, released)) {
        const actual = inside[minute] ?? 0;
        const byWindow = countedByWindow(spanOf(day), minute + 1, released);
        const ofBranch = estimate(byWindow, minute + 1);
        addMinute(sums, actual, raw, estimate(known, minute + 1));
        sums.rawWhereBranch += ofBranch ? (raw - actual) ** 2 : 0;
        sums.branch += ofBranch ? (ofBranch.people - actual) ** 2 : 0;
      }
    }
  }
  return sums;
}

/** Returns a function that estimates from the counts of a day after some minutes, by all days before. */
function estimator(
  day: number,
  all: readonly DayCounts[],
): (counts: DayCounts, minute: number) => Estimate | undefined {
  const days = all.slice(day - HISTORY_DAYS, day);
  const people = createPast(CALENDAR, spanOf(day), days);
  const past = { people, calendar: CALENDAR, openSpans: (open: Span) => [open] };
  const model = learnDoors(pastDays(people), people.weekday);
  const doors = problemsOfDoors(model, (daysAgo) => spanOf(day - daysAgo).startMs);
  return (counts, minute) => {
    const endMs = counts.day.startMs + minute * MINUTE_MS;
    const today = { counts, atMs: endMs, endMs, lastSeenMs: undefined };
    const usual = usualPeople(past, today);
    const missed = missedPeople(past, today, usual);
    const [lastEntryMs, lastExitMs] = [lastSeen(people, today, 0), lastSeen(people, today, 1)];
    const facts = {
      counts: { usual, missed },
      lastMs: Math.max(lastEntryMs, lastExitMs),
      lastEntryMs,
      lastExitMs,
      rise: undefined,
      // The library is in use.
      loginMs: Infinity,
      others: undefined,
      devices: [],
      doors,
      overCapacityMs: undefined,
    };
    return model.emptiesAtNight && problemsOfSite(facts, endMs, []).isTrusted
      ? estimateInside(model, counts, endMs, past.openSpans(counts.day))
      : undefined;
  };
}

function countDay(
  library: BenchLibrary,
  regime: Regime,
  seed: number,
  day: number,
  open: OpenDay,
  visitors: readonly VisitorPass[],
): CountsOfDay {
  const devices = equip(library, regime, seed, day);
  const passes = passesFor(library, regime, open, seed, visitors);
  const bursts = drawBurst(regime, library, open, seed, passes);
  const byQuarter = noCounts(QUARTERS_PER_DAY);
  const byMinute = noCounts(MINUTES_PER_DAY);
  const late = new Map<number, Counts>();
  for (const { timeMs, device, people } of [...countPasses({ devices }, passes), ...bursts]) {
    const outage = devices[device]?.outage;
    let counts = byMinute;
    if (outage !== undefined && timeMs >= outage.fromMs && timeMs < outage.toMs) {
      const knownFrom = minuteOf(outage.toMs);
      counts = late.get(knownFrom) ?? noCounts(MINUTES_PER_DAY);
      late.set(knownFrom, counts);
    }
    const minute = minuteOf(timeMs);
    addPeople(counts, minute, people);
    addPeople(byQuarter, Math.floor(minute / MINUTES_PER_QUARTER), people);
  }
  return { byQuarter, byMinute, late };
}

/** What was known after a minute. */
interface Known {
  readonly minute: number;
  readonly raw: number;
  readonly known: DayCounts;
}

/** Yields what was known at each seventh minute. Late counts change the minutes before, as in the exporter. */
function* knownUntil(
  firstMinute: number,
  endMinute: number,
  day: number,
  released: readonly Release[],
): Generator<Known> {
  for (const [i, { fromMinute, counts }] of released.entries()) {
    const toMinute = Math.min(released[i + 1]?.fromMinute ?? endMinute, endMinute);
    const known = dayOf(day, counts, MINUTE_MS);
    let raw = 0;
    for (let minute = 0; minute < toMinute; minute++) {
      raw = nextOccupancy(raw, counts[0]?.[minute] ?? 0, counts[1]?.[minute] ?? 0);
      const isEvaluated = (minute + 1) % EVERY_MINUTES === 0;
      if (isEvaluated && minute >= Math.max(fromMinute, firstMinute)) {
        yield { minute, raw, known };
      }
    }
  }
}

/** All counts that are known from a minute of the day on. */
interface Release {
  readonly fromMinute: number;
  readonly counts: Counts;
  readonly sums: SumsByStep;
}

function releasesOf({ byMinute, late }: CountsOfDay): readonly Release[] {
  let counts = byMinute;
  const minutes = [0, ...late.keys()].toSorted((a, b) => a - b);
  return minutes.map((fromMinute) => {
    counts = plus(counts, late.get(fromMinute));
    return { fromMinute, counts, sums: sumsByStep(counts) };
  });
}

function addMinute(
  sums: Omit<ErrorSums, 'regime'>,
  actual: number,
  raw: number,
  estimate: Estimate | undefined,
): void {
  sums.minutes += 1;
  sums.raw += (raw - actual) ** 2;
  if (estimate !== undefined) {
    const { people, lower, upper } = estimate;
    sums.shown += 1;
    sums.rawWhereShown += (raw - actual) ** 2;
    sums.estimated += (people - actual) ** 2;
    sums.covered += actual >= lower - 1e-9 && actual <= upper + 1e-9 ? 1 : 0;
  }
}

function noCounts(length: number): Counts {
  return [new Float64Array(length), new Float64Array(length)];
}

function plus(a: Counts, b: Counts | undefined): Counts {
  return b === undefined
    ? a
    : a.map((counts, i) => counts.map((count, minute) => count + (b[i]?.[minute] ?? 0)));
}

function addPeople(counts: Counts, index: number, people: number): void {
  const all = counts[people > 0 ? 0 : 1] ?? new Float64Array();
  all[index] = (all[index] ?? 0) + Math.abs(people);
}

/** Returns the minute of the day. */
function minuteOf(timeMs: number): number {
  return Math.floor((timeMs % DAY_MS) / MINUTE_MS);
}
