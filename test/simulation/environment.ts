/** An environment from a seed: conventions of the service, libraries, intervals, faults and incidents. */
import { Temporal } from 'temporal-polyfill';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/base/duration.ts';
import { BREAKDOWNS, KEY_TIMES, REQUEST_TIMES } from '../../src/base/model.ts';
import type { Breakdown, KeyTimes, RequestTimes } from '../../src/base/model.ts';
import { seededRandom } from '../../src/base/random.ts';
import type { Random } from '../../src/base/random.ts';
import type { Clock } from '../../src/base/clock.ts';
import { mixSeeds, pick } from '../../src/simulator/chance.ts';
import { plainConventions } from '../../src/simulator/conventions.ts';
import type { Conventions } from '../../src/simulator/conventions.ts';
import { FAULT_KINDS } from '../../src/simulator/faults.ts';
import type { FaultKind } from '../../src/simulator/faults.ts';
import {
  ALWAYS_OPEN,
  deadFrom,
  drawHours,
  drawLibrary,
  sensorSetting,
} from '../../src/simulator/libraries.ts';
import type { Device, Library } from '../../src/simulator/libraries.ts';
import { drawConventions } from '../support/drawn-conventions.ts';
import { fittingKeyTimes } from '../support/simulated-people.ts';
import { HOLIDAYS } from './holidays.ts';
import { createSimulatedService } from '../../src/simulator/simulated-service.ts';
import type { SimulatedService } from '../../src/simulator/simulated-service.ts';

/** What happens to an exporter or its service, besides faults of single requests. */
const INCIDENT_KINDS = [
  'kill',
  'kill, lost file',
  'clock steps',
  'outage',
  'empty responses for a while',
  'tokens dropped',
  'secret rotated',
  'credentials revoked',
  'reload',
  'clock wrong for a while',
  'branches reconfigured',
] as const;
export type IncidentKind = (typeof INCIDENT_KINDS)[number];

/** Doors that count nobody, or one direction alone. */
export interface DeadDoors {
  readonly fromMs: number;
  readonly toMs: number;
  readonly counts: readonly [entries: 0 | 1, exits: 0 | 1];
}

/** What only months can show. */
export interface LongRun {
  /** At the end of each, faults stop until the counters must be the service's totals. */
  readonly phaseDays: number;
  /** The first customer moves to another zone with the first reload after so many days. */
  readonly move: { readonly afterDays: number; readonly timezone: string };
}

export interface Environment {
  readonly seed: number;
  readonly conventions: Conventions;
  /** A setting of the exporter that fits the conventions. */
  readonly requestTimes: RequestTimes;
  /** Fits the conventions, unless it is drawn wrong: then totals must be right all the same. */
  readonly keyTimes: KeyTimes;
  readonly timezone: string;
  readonly visitsPerDay: readonly number[];
  readonly alwaysOpen: boolean;
  readonly startMs: number;
  readonly days: number;
  readonly intervalMs: number;
  readonly reconcileIntervalMs: number;
  readonly breakdowns: readonly Breakdown[];
  /** Buildings of each library, with doors, hours and sensor errors of their own; 0 unless polled by branch. */
  readonly branches: number;
  /** Whether the exporter's configuration names branches. */
  readonly namesBranches: boolean;
  readonly breakdownIntervalMs: number;
  readonly scrapeIntervalMs: number;
  /** Time of a request and its response together. */
  readonly maxDelayMs: number;
  readonly exporters: 1 | 2;
  readonly faultRate: number;
  readonly faultKinds: readonly FaultKind[];
  readonly incidentsPerHour: number;
  readonly incidents: readonly IncidentKind[];
  /** What the doors of the first library count within a time; of its first branch, if it has branches. */
  readonly deadDoors?: DeadDoors;
  /** Libraries close on public holidays, and most of them have opening hours. */
  readonly long?: LongRun;
}

const TIMEZONES = [
  'Europe/Copenhagen',
  'America/New_York',
  'Europe/London',
  'Asia/Kolkata',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'UTC',
  'Pacific/Auckland',
];

/** Plain days, ends of months, days on which clocks change, a leap day, new year. */
const STARTS = [
  Date.UTC(2026, 10, 17, 6),
  Date.UTC(2026, 9, 31, 6),
  Date.UTC(2026, 9, 24, 12),
  Date.UTC(2026, 2, 28, 12),
  Date.UTC(2026, 2, 7, 20),
  Date.UTC(2026, 3, 4, 6),
  Date.UTC(2028, 1, 28, 18),
  Date.UTC(2026, 11, 31, 0),
];
/** In environments that last so long, minutes without counts have no rows. */
const TOO_LONG_FOR_ZEROS_DAYS = 0.6;
const NEW_YEAR = Temporal.Instant.from('2026-01-01T00:00:00Z');
/** Share of environments that start in the hours before clocks change. */
const CLOCK_CHANGE_SHARE = 0.2;
/** Above so few rows, a service that forces another aggregation takes several requests a poll. */
const MAX_SMALL_ROWS = 40;
/** Share of the long environments that keep such a limit, which takes the time of months with other faults. */
const SMALL_RESPONSES_SHARE = 0.2;
/** Share of environments without late or corrected records and wrong clocks, where audits are strict. */
const PROMPT_SHARE = 0.3;
/** Share of the services polled by branch that answer with another aggregation. */
const FORCED_GROUPS_SHARE = 0.04;
/** Share of them in which branches are audited strictly. */
const VISITED_SHARE = 0.7;
const WRONG_KEY_TIMES_SHARE = 0.1;
const DEAD_DOORS_SHARE = 0.4;

/** Those in which branches are audited strictly last so long at least: most of their windows are read then. */
const VISITED_DAYS = 0.2;

/** Visits a day of each library: nobody, one visit a week, or more than a thousand passes an hour. */
const VISITS_PER_DAY =
  '200|200|200|60|60|60|60|60 5|300 30|600|0 40|0 40|0|0|0.15|0.15|0.15|0.15|6000'
    .split('|')
    .map((libraries) => libraries.split(' ').map(Number));

/** Short runs with many polls, and days with few: minutes and hours. What takes longer is in the long profile. */
const PACES = [
  { days: [0.1], intervals: [1], scrapes: [1, 5], reconciles: [0.5, 1] },
  { days: [0.3], intervals: [2, 5], scrapes: [5, 15], reconciles: [1, 2] },
  { days: [0.3, 0.6], intervals: [5, 10], scrapes: [5, 15], reconciles: [1, 2, 4] },
  { days: [1], intervals: [15], scrapes: [15, 30], reconciles: [1, 2, 4] },
  { days: [2], intervals: [30], scrapes: [30], reconciles: [2, 4] },
  { days: [3], intervals: [60], scrapes: [60], reconciles: [4, 8] },
];

/** The settings of `service.request_times` that fit a service. */
const FITTING_TIMES: Readonly<Record<Conventions['designator'], readonly RequestTimes[]>> = {
  honoured: REQUEST_TIMES,
  'ignored, read as local': ['offset', 'local'],
  'ignored, read as UTC': ['utc'],
};

export function drawEnvironment(seed: number): Environment {
  const random = seededRandom(seed);
  const allowed = drawConventions(random);
  const drawn = answerable(random.next() < PROMPT_SHARE ? prompt(allowed) : allowed);
  const pace = drawPace(random, PACES);
  const visitsPerDay = pick(random, VISITS_PER_DAY);
  const timezone = pick(random, TIMEZONES);
  const isCrowded = visitsPerDay.some((visits) => visits > 5_000);
  const hasZeros = drawn.emptyBuckets === 'listed' && pace.days < TOO_LONG_FOR_ZEROS_DAYS;
  const isSlow = isCrowded || (hasZeros && drawn.forced.limit <= MAX_SMALL_ROWS);
  const exporters = random.next() < 0.1 ? 2 : 1;
  // With few rows in a response, a poll takes so many requests that two exporters exceed a strict limit.
  const isTooMuch = exporters > 1 && drawn.forced.limit <= MAX_SMALL_ROWS;
  const environment: Environment = {
    seed,
    conventions: {
      ...(isCrowded ? cheapForCrowds(drawn) : drawn),
      emptyBuckets: isCrowded || hasZeros ? drawn.emptyBuckets : 'omitted',
      rateLimit: isTooMuch ? undefined : drawn.rateLimit,
    },
    requestTimes: pick(random, FITTING_TIMES[drawn.designator]),
    keyTimes:
      random.next() < WRONG_KEY_TIMES_SHARE
        ? pick(random, KEY_TIMES)
        : fittingKeyTimes(drawn.minuteKey),
    timezone,
    visitsPerDay,
    alwaysOpen: random.next() < 0.3,
    startMs: drawStart(random, timezone, isCrowded || hasZeros, isCrowded),
    ...pace,
    days: isSlow ? 0.1 : pace.days,
    breakdowns: isCrowded || random.next() < 0.6 ? [] : subset(random, BREAKDOWNS),
    branches: 0,
    namesBranches: false,
    maxDelayMs: pick(random, [50, 400, 3_000]),
    exporters,
    faultRate: pick(random, [0, 0.01, 0.05, 0.2]),
    faultKinds: subset(random, FAULT_KINDS),
    incidentsPerHour: pick(random, [0, 0.02, 0.1]),
    incidents: subset(random, INCIDENT_KINDS),
  };
  return withDeadDoors(
    random,
    environment.breakdowns.includes('branch') ? withBranches(random, environment) : environment,
  );
}

/** The more often people are polled, the shorter are breakdowns: a run ends four of their intervals after its last fault. */
function drawPace(random: Random, paces: typeof PACES) {
  const { days, intervals, scrapes, reconciles } = pick(random, paces);
  const intervalMs = pick(random, intervals) * MINUTE_MS;
  const breakdowns = intervalMs < 15 * MINUTE_MS ? [5, 15, 30] : [15, 30, 60];
  return {
    days: pick(random, days),
    intervalMs,
    reconcileIntervalMs: Math.max(4 * intervalMs, pick(random, reconciles) * HOUR_MS),
    breakdownIntervalMs: Math.max(intervalMs, pick(random, breakdowns) * MINUTE_MS),
    scrapeIntervalMs: pick(random, scrapes) * MINUTE_MS,
  };
}

/** Draws when doors die, and what they count still. */
function withDeadDoors(random: Random, environment: Environment): Environment {
  if (random.next() >= DEAD_DOORS_SHARE) {
    return environment;
  }
  const { startMs, days } = environment;
  const [from, length] = [random.next() / 2, random.next()];
  const counts = pick(random, [
    [0, 0],
    [0, 0],
    [0, 1],
    [1, 0],
  ] as const);
  const fromMs = startMs + from * days * DAY_MS;
  return { ...environment, deadDoors: { fromMs, toMs: fromMs + length * days * DAY_MS, counts } };
}

/** Draws months of polls every ten minutes, as in production, with the conventions and faults of a short environment. */
export function drawLongEnvironment(seed: number): Environment {
  const drawn = drawEnvironment(seed);
  const random = seededRandom(mixSeeds(seed, 1));
  const { conventions, branches, timezone } = drawn;
  const isSlow = conventions.forced.limit <= MAX_SMALL_ROWS;
  const isCheaper = isSlow && random.next() >= SMALL_RESPONSES_SHARE;
  const visits = branches > 0 ? ['200', '60 5'] : ['200 60 5', '60 8 0.15', '300 0'];
  return withDeadDoors(random, {
    ...drawn,
    conventions: {
      ...conventions,
      emptyBuckets: 'omitted',
      forced: isCheaper ? plainConventions.forced : conventions.forced,
    },
    visitsPerDay: pick(random, visits).split(' ').map(Number),
    startMs: Date.UTC(2026, Math.floor(random.next() * 12), 1 + Math.floor(random.next() * 28), 6),
    days: pick(random, [60, 90, 120]),
    intervalMs: 10 * MINUTE_MS,
    reconcileIntervalMs: pick(random, [1, 4, 12, 12]) * HOUR_MS,
    breakdownIntervalMs: pick(random, [30, 60]) * MINUTE_MS,
    scrapeIntervalMs: pick(random, [30, 60, 120]) * MINUTE_MS,
    faultRate: pick(random, [0, 0.01, 0.05]),
    incidentsPerHour: pick(random, [0, 0.005, 0.02]),
    long: {
      phaseDays: 15,
      move: {
        afterDays: 5 + random.next() * 50,
        timezone: pick(
          random,
          TIMEZONES.filter((other) => other !== timezone),
        ),
      },
    },
  });
}

/** Draws the branches of libraries that are polled by branch. */
function withBranches(random: Random, environment: Environment): Environment {
  const forcesGroups = random.next() < FORCED_GROUPS_SHARE;
  const { conventions, ...others } =
    random.next() < VISITED_SHARE ? visited(random, environment) : environment;
  return {
    ...others,
    conventions: { ...conventions, forcedGroups: forcesGroups ? 'always' : 'never' },
    branches: pick(random, [1, 2, 3, 5]),
    namesBranches: random.next() < 0.6,
  };
}

/** Draws libraries with visitors, often polled, of a service that shows when they came: audits of branches are strict. */
function visited(random: Random, environment: Environment): Environment {
  const { conventions, faultKinds } = environment;
  const { forced, forcedTo, serviceClockMs, deviceClocks } = plainConventions;
  const minuteKey =
    conventions.minuteKey.form === 'opaque' ? plainConventions.minuteKey : conventions.minuteKey;
  const isPrompt = random.next() < 0.4;
  const isByArrival = conventions.windowTime === 'server';
  const pace = drawPace(random, PACES.slice(0, 3));
  return {
    ...environment,
    conventions: {
      ...(isPrompt ? prompt(conventions) : conventions),
      forced,
      forcedTo,
      serviceClockMs,
      deviceClocks,
      keyTime: isByArrival && random.next() < 0.5 ? 'server' : 'local',
      minuteKey,
      rateLimit: random.next() < 0.8 ? undefined : conventions.rateLimit,
    },
    keyTimes: fittingKeyTimes(minuteKey),
    visitsPerDay: pick(random, [[60], [200], [200], [300, 30]]),
    ...pace,
    days: Math.max(VISITED_DAYS, pace.days),
    scrapeIntervalMs: pick(random, [5, 10]) * MINUTE_MS,
    faultRate: pick(random, [0, 0, 0.01, 0.05]),
    faultKinds: random.next() < 0.3 ? faultKinds : faultKinds.filter((kind) => kind !== 'empty'),
  };
}

/** A crowd is too slow with small responses, or with a month of minutes. */
function cheapForCrowds(drawn: Conventions): Conventions {
  const { forced, forcedTo, forcedWindow } = plainConventions;
  return { ...drawn, dayFreshness: 'live', forced, forcedTo, forcedWindow };
}

/**
 * A month of many rows is slow: with them, most environments start in the first days of a month, and those with a
 * crowd all do.
 */
function drawStart(
  random: Random,
  timezone: string,
  hasManyRows: boolean,
  isCrowded: boolean,
): number {
  const change = NEW_YEAR.toZonedDateTimeISO(timezone).getTimeZoneTransition('next');
  const other = change?.getTimeZoneTransition('next');
  if (change === null || !other || random.next() >= CLOCK_CHANGE_SHARE || isCrowded) {
    const startMs = pick(random, STARTS) + Math.floor(random.next() * 24) * HOUR_MS;
    const day = new Date(startMs).getUTCDate();
    return hasManyRows ? startMs - (day - 1 - (day % 3)) * DAY_MS : startMs;
  }
  const changeMs = pick(random, [change, other]).epochMilliseconds;
  return changeMs - Math.ceil(random.next() * 20) * HOUR_MS;
}

/** Returns the conventions with right clocks, and without late or corrected records. */
function prompt(drawn: Conventions): Conventions {
  const { lateness, corrections, serviceClockMs, deviceClocks } = plainConventions;
  return { ...drawn, lateness, corrections, serviceClockMs, deviceClocks };
}

/** Replaces settings under which no client could know the totals: minutes forced into roll-ups that lag. */
function answerable(drawn: Conventions): Conventions {
  const coarseIsWrong = drawn.dayFreshness === 'nightly' || drawn.quarterFreshness === 'nightly';
  const { forced, forcedTo } = coarseIsWrong ? plainConventions : drawn;
  const isFarAhead = drawn.deviceClocks.aheadMs > DAY_MS;
  return {
    ...drawn,
    forced,
    forcedTo,
    // Whole days would include the night before the counting period.
    window: 'as asked',
    forcedWindow: 'as asked',
    // Records from a month ahead are never rolled up, or are among today's for a month.
    deviceClocks: coarseIsWrong && isFarAhead ? plainConventions.deviceClocks : drawn.deviceClocks,
    // Records from a month ahead would be removed in the month in which they count, while others are added.
    retentionMs: isFarAhead ? plainConventions.retentionMs : drawn.retentionMs,
    // A total by minutes takes more requests than a strict limit allows in one poll.
    rateLimit: coarseIsWrong ? undefined : drawn.rateLimit,
  };
}

function subset<Kind>(random: Random, kinds: readonly Kind[]): readonly Kind[] {
  return kinds.filter(() => random.next() < 0.5);
}

/** The simulated service of an environment. */
export function serviceOf(environment: Environment, clock: Pick<Clock, 'nowMs'>): SimulatedService {
  const { seed, conventions, visitsPerDay, startMs } = environment;
  return createSimulatedService({
    seed,
    conventions,
    clock,
    // Back to the month before; no query goes further.
    historyMs: new Date(startMs).getUTCDate() * DAY_MS + 2 * DAY_MS,
    customers: visitsPerDay.map((visits, place) => ({
      clientId: `client-${place}`,
      clientSecret: `secret-of-${seed}-${place}`,
      library: libraryOf(environment, place, visits),
    })),
  });
}

function libraryOf(environment: Environment, place: number, visitsPerDay: number): Library {
  const { seed, timezone, alwaysOpen, branches, long, deadDoors } = environment;
  const given = {
    name: `library-${place}`,
    timezone,
    visitsPerDay,
    ...(alwaysOpen ? { opening: ALWAYS_OPEN } : {}),
    ...(long ? { closedDays: HOLIDAYS } : {}),
  };
  const customerId = 1_001 + place;
  const library = drawLibrary(seed, customerId, given, branches > 0 ? branches : undefined);
  // As the keys of branches, their names end with a number.
  const named = library.branches.map(({ id }, i) => ({ id, name: `Branch ${i + 1}` }));
  const [first] = named;
  const devices = library.devices.map((drawn): Device => {
    if (drawn.kind !== 'door') {
      return drawn;
    }
    const door = branches > 0 ? withErrorsOfBranch(environment, drawn) : drawn;
    const isOfDead = place === 0 && (branches === 0 || door.branchId === first?.id);
    const [works] = door.sensor;
    // Others have a fault of their own.
    if (!isOfDead || deadDoors === undefined || works === undefined || door.sensor.length > 1) {
      return door;
    }
    const { fromMs, toMs, counts } = deadDoors;
    const [entries, exits] = [works.in.counted * counts[0], works.out.counted * counts[1]];
    const dead = sensorSetting(fromMs, entries, exits);
    return { ...door, sensor: [works, dead, { ...works, fromMs: toMs }] };
  });
  return {
    ...library,
    branches: drawHours(seed, customerId, named, library.opening),
    devices,
  };
}

/** All doors of a branch have the same error; in some branches they appear or go within a run. */
function withErrorsOfBranch({ seed, startMs, days }: Environment, door: Device): Device {
  const random = seededRandom(mixSeeds(seed, door.branchId));
  const [entries, exits] = [1 - 0.15 * random.next(), 1 - 0.15 * random.next()];
  const changesMs = startMs + random.next() * days * DAY_MS;
  const change = pick(random, ['none', 'none', 'none', 'none', 'appears', 'goes']);
  const sensor = [sensorSetting(change === 'appears' ? changesMs : -Infinity, entries, exits)];
  return change === 'goes' ? deadFrom({ ...door, sensor }, changesMs) : { ...door, sensor };
}
