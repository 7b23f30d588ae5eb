/** A world out of a seed: the service's conventions, the libraries, the pace, and what goes wrong. */
import { Temporal } from 'temporal-polyfill';
import { BREAKDOWNS } from '../../src/base/model.ts';
import type { Breakdown } from '../../src/base/model.ts';
import { seededRandom } from '../../src/base/random.ts';
import type { Random } from '../../src/base/random.ts';
import { plainConventions } from '../../src/simulator/conventions.ts';
import type { Conventions } from '../../src/simulator/conventions.ts';
import { drawConventions } from '../../src/simulator/conventions.ts';
import { FAULT_KINDS } from '../../src/simulator/faults.ts';
import type { FaultKind } from '../../src/simulator/faults.ts';
import { pick } from '../../src/simulator/chance.ts';

/** What befalls an exporter or its service beside the faults of single requests. */
export type MishapKind =
  | 'kill'
  | 'kill, torn file'
  | 'kill, lost file'
  | 'clock steps'
  | 'outage'
  | 'empty answers for a while'
  | 'tokens dropped'
  | 'secret rotated'
  | 'credentials revoked'
  | 'reload';

export const MISHAP_KINDS: readonly MishapKind[] = [
  'kill',
  'kill, torn file',
  'kill, lost file',
  'clock steps',
  'outage',
  'empty answers for a while',
  'tokens dropped',
  'secret rotated',
  'credentials revoked',
  'reload',
];

export interface DrawnWorld {
  readonly seed: number;
  readonly conventions: Conventions;
  readonly timezone: string;
  readonly visitsPerDay: readonly number[];
  readonly alwaysOpen: boolean;
  readonly startMs: number;
  readonly days: number;
  readonly intervalMs: number;
  readonly reconcileIntervalMs: number;
  readonly breakdowns: readonly Breakdown[];
  readonly breakdownIntervalMs: number;
  readonly scrapeIntervalMs: number;
  readonly slowestMs: number;
  readonly exporters: 1 | 2;
  readonly faultRate: number;
  readonly faultKinds: readonly FaultKind[];
  /** The chance of a mishap in an hour. */
  readonly mishapsPerHour: number;
  readonly mishaps: readonly MishapKind[];
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

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

/** Before a change of the month, in a week before changes of the clock, on plain days, on a leap day. */
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
/** From so many days on worlds are kept small. */
const LONG_DAYS = 6;
const NEW_YEAR = Temporal.Instant.from('2026-01-01T00:00:00Z');
/** So many worlds begin in the hours before clocks are changed. */
const SHARE_BEFORE_CHANGES = 0.2;
/** In so many nothing is late, corrected or off, so that the audits can be strict. */
const SHARE_WITHOUT_LATENESS = 0.3;

/** Of each library of a world: nobody at all, one a week, thousands of passes an hour. */
const VISITS_PER_DAY = [
  [200],
  [200],
  [200],
  [60],
  [60],
  [60],
  [60, 5],
  [300, 30],
  [600],
  [0, 40],
  [0, 40],
  [0],
  [0],
  [0.15],
  [0.15],
  [0.15],
  [0.15],
  [8_000],
];

/** How long is watched how closely: many polls a day for few days, or few for many. */
const PACES = [
  { days: [0.1], intervals: [MINUTE_MS], scrapes: [1, 5], reconciles: [0.5, 1] },
  { days: [0.3], intervals: [2 * MINUTE_MS, 5 * MINUTE_MS], scrapes: [5, 15], reconciles: [1, 2] },
  {
    days: [0.3, 0.6],
    intervals: [5 * MINUTE_MS, 10 * MINUTE_MS],
    scrapes: [5, 15],
    reconciles: [1, 2, 4],
  },
  { days: [2], intervals: [15 * MINUTE_MS], scrapes: [15, 30], reconciles: [1, 2, 4] },
  { days: [6], intervals: [30 * MINUTE_MS], scrapes: [30], reconciles: [2, 4] },
  { days: [7], intervals: [60 * MINUTE_MS], scrapes: [60], reconciles: [4, 8] },
];

export function drawWorld(seed: number): DrawnWorld {
  const random = seededRandom(seed);
  const allowed = drawConventions(random);
  const drawn = answerable(random.next() < SHARE_WITHOUT_LATENESS ? prompt(allowed) : allowed);
  const pace = pick(random, PACES);
  const intervalMs = pick(random, pace.intervals);
  const visitsPerDay = pick(random, VISITS_PER_DAY);
  const timezone = pick(random, TIMEZONES);
  const days = pick(random, pace.days);
  const isCrowded = visitsPerDay.some((visits) => visits > 5_000);
  return {
    seed,
    conventions: isCrowded ? playable(drawn) : days < LONG_DAYS ? drawn : withoutZeros(drawn),
    timezone,
    visitsPerDay,
    alwaysOpen: random.next() < 0.3,
    startMs: drawStart(random, timezone),
    days: isCrowded ? 0.4 : days,
    intervalMs,
    reconcileIntervalMs: Math.max(4 * intervalMs, pick(random, pace.reconciles) * HOUR_MS),
    breakdowns: isCrowded || random.next() < 0.6 ? [] : subset(random, BREAKDOWNS),
    breakdownIntervalMs: Math.max(intervalMs, pick(random, [15, 30, 60]) * MINUTE_MS),
    scrapeIntervalMs: pick(random, pace.scrapes) * MINUTE_MS,
    slowestMs: pick(random, [50, 400, 3_000]),
    exporters: random.next() < 0.1 ? 2 : 1,
    faultRate: pick(random, [0, 0.01, 0.05, 0.2]),
    faultKinds: subset(random, FAULT_KINDS),
    mishapsPerHour: pick(random, [0, 0.02, 0.1]),
    mishaps: subset(random, MISHAP_KINDS),
  };
}

/** What would take minutes to play in a crowd: all of its minutes in answers of twenty rows, or of a month. */
function playable(drawn: Conventions): Conventions {
  return { ...drawn, dayFreshness: 'live', forced: plainConventions.forced };
}

/** Rows of minutes in which nobody came, and a week of them, would take most of the time of all worlds. */
function withoutZeros(drawn: Conventions): Conventions {
  return { ...drawn, emptyBuckets: 'omitted' };
}

function drawStart(random: Random, timezone: string): number {
  const change = NEW_YEAR.toZonedDateTimeISO(timezone).getTimeZoneTransition('next');
  const other = change?.getTimeZoneTransition('next');
  if (change === null || !other || random.next() >= SHARE_BEFORE_CHANGES) {
    return pick(random, STARTS) + Math.floor(random.next() * 24) * HOUR_MS;
  }
  const changeMs = pick(random, [change, other]).epochMilliseconds;
  return changeMs - Math.ceil(random.next() * 20) * HOUR_MS;
}

/** The same service with clocks that are right, and records that come at once and stay as they are. */
function prompt(drawn: Conventions): Conventions {
  const { lateness, corrections, serviceClockMs, deviceClocks } = plainConventions;
  return { ...drawn, lateness, corrections, serviceClockMs, deviceClocks };
}

/**
 * Conventions under which the service's answers can tell its totals at all. Where `day` and `quarter`
 * are not what was asked for, and minutes are forced into them, there is nothing left to ask; where
 * the designator of `from` is ignored and read as UTC, no window begins where the epoch does.
 */
function answerable(drawn: Conventions): Conventions {
  const coarseIsWrong = drawn.dayFreshness === 'nightly' || drawn.quarterFreshness === 'nightly';
  const forced = coarseIsWrong
    ? ({ above: 'bytes', limit: 1_000_000, to: 'day', window: 'as asked' } as const)
    : ({ ...drawn.forced, window: 'as asked' } as const);
  return {
    ...drawn,
    forced,
    // Widened windows show in today's figures, but not who came in the night before the epoch.
    window: 'as asked',
    // Records of a clock that is a month ahead are never rolled up, or are among today's for a month.
    deviceClocks:
      coarseIsWrong && drawn.deviceClocks.aheadMs > DAY_MS
        ? plainConventions.deviceClocks
        : drawn.deviceClocks,
    designator: drawn.designator === 'honoured' ? 'honoured' : 'ignored, read as local',
    // A total by minutes takes more requests than a strict limit lets through in one poll.
    rateLimit: coarseIsWrong ? undefined : drawn.rateLimit,
  };
}

function subset<CounterName>(
  random: Random,
  kinds: readonly CounterName[],
): readonly CounterName[] {
  return kinds.filter(() => random.next() < 0.5);
}
