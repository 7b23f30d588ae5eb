/**
 * One library in every regime: the errors of the estimate and of the raw occupancy on the last 42 of 84
 * days, in opening hours, each minute with what was known at that minute.
 */
import {
  HISTORY_DAYS,
  learnDoors,
  MINUTES_PER_QUARTER,
  QUARTERS_PER_DAY,
} from '../../src/counting/door-model.ts';
import type { CountedDay, DoorModel } from '../../src/counting/door-model.ts';
import { continueEstimate, estimateFrom, START_OF_DAY } from '../../src/counting/estimate.ts';
import type { Estimate, EstimateState, MinuteCounts } from '../../src/counting/estimate.ts';
import { nextOccupancy } from '../../src/counting/occupancy.ts';
import { DAY_MS, MINUTE_MS } from '../../src/simulator/conventions.ts';
import { countPasses } from '../../src/simulator/traffic.ts';
import { drawBurst, equip, groupShareOf, passesFor, REGIMES } from './regimes.ts';
import type { Regime } from './regimes.ts';
import { DAYS, drawOpenDays, drawPasses, LIBRARIES } from './visitors.ts';
import type { BenchLibrary, LibraryName, OpenDay, VisitorPass } from './visitors.ts';

const JUDGED_FROM_DAY = 42;
const MINUTES_PER_DAY = 1_440;

/** Sums over the judged minutes; errors are squared. */
export interface ErrorSums {
  readonly regime: string;
  minutes: number;
  raw: number;
  /** Minutes with an estimate, and the errors in them. */
  shown: number;
  rawWhereShown: number;
  estimated: number;
  /** Minutes with the truth inside the interval. */
  covered: number;
}

/** Counts of a minute, and the minute at which the service has them. */
interface KnownCounts extends MinuteCounts {
  readonly knownFrom: number;
}

interface Day {
  readonly counts: readonly KnownCounts[];
  /** People inside at the end of each minute. */
  readonly inside: Float64Array;
}

export function judgeLibrary(name: LibraryName, seed: number): readonly ErrorSums[] {
  const library = LIBRARIES[name];
  const openDays = drawOpenDays(library, seed);
  const visitors = new Map<number, VisitorsByDay>();
  return Object.entries(REGIMES).map(([regimeName, regime]) => {
    const groupShare = groupShareOf(regime);
    const ofRegime = visitors.get(groupShare) ?? drawVisitors(library, openDays, seed, groupShare);
    visitors.set(groupShare, ofRegime);
    const days = countDays(library, regime, seed, openDays, ofRegime);
    return { regime: regimeName, ...judge(openDays, days) };
  });
}

type VisitorsByDay = ReadonlyMap<number, readonly VisitorPass[]>;

/** By the day of the pass: in a library that never closes it may be the day after the visit began. */
function drawVisitors(
  library: BenchLibrary,
  openDays: readonly (OpenDay | undefined)[],
  seed: number,
  groupShare: number,
): VisitorsByDay {
  const passes = openDays.flatMap((open) =>
    open === undefined ? [] : drawPasses(library, open, seed, groupShare),
  );
  return Map.groupBy(passes, ({ timeMs }) => Math.floor(timeMs / DAY_MS));
}

function countDays(
  library: BenchLibrary,
  regime: Regime,
  seed: number,
  openDays: readonly (OpenDay | undefined)[],
  visitors: VisitorsByDay,
): readonly Day[] {
  const devices = equip(library, regime, seed);
  let people = 0;
  return openDays.map((open, day) => {
    const startMs = day * DAY_MS;
    const passes = open === undefined ? [] : passesFor(regime, open, seed, visitors.get(day) ?? []);
    const inside = new Float64Array(MINUTES_PER_DAY);
    for (const pass of passes) {
      const minute = Math.floor((pass.timeMs - startMs) / MINUTE_MS);
      inside[minute] = (inside[minute] ?? 0) + pass.people;
    }
    inside.forEach((change, minute) => (inside[minute] = people += change));
    const bursts = open === undefined ? [] : drawBurst(regime, library, open, seed, passes);
    const counts = [...countPasses({ devices }, passes), ...bursts].map((pass): KnownCounts => {
      const outage = devices[pass.device]?.offline?.find(
        ({ fromMs, toMs }) => pass.timeMs >= fromMs && pass.timeMs < toMs,
      );
      return {
        minute: Math.floor((pass.timeMs - startMs) / MINUTE_MS),
        knownFrom: Math.floor(((outage?.toMs ?? pass.timeMs) - startMs) / MINUTE_MS),
        entered: Math.max(0, pass.people),
        exited: Math.max(0, -pass.people),
      };
    });
    return { counts, inside };
  });
}

function judge(
  openDays: readonly (OpenDay | undefined)[],
  days: readonly Day[],
): Omit<ErrorSums, 'regime'> {
  const sums = { minutes: 0, raw: 0, shown: 0, rawWhereShown: 0, estimated: 0, covered: 0 };
  const history = days.map(({ counts }, day) => countedDay(counts, day % 7));
  for (let day = JUDGED_FROM_DAY; day < DAYS; day++) {
    const open = openDays[day];
    const { counts, inside } = days[day] ?? { counts: [], inside: [] };
    if (open === undefined) {
      continue;
    }
    const model = learnDoors(history.slice(day - HISTORY_DAYS, day), day % 7);
    for (const { minute, raw, estimate } of figuresOf(model, counts)) {
      const timeMs = day * DAY_MS + minute * MINUTE_MS;
      if (timeMs >= open.opensMs && timeMs < open.closesMs) {
        addMinute(sums, inside[minute] ?? 0, raw, estimate);
      }
    }
  }
  return sums;
}

interface Figures {
  readonly minute: number;
  readonly raw: number;
  readonly estimate: Estimate | undefined;
}

/** What was shown at each minute of a day. Late counts change the minutes before, as in the exporter. */
function* figuresOf(model: DoorModel, counts: readonly KnownCounts[]): Generator<Figures> {
  const releases = counts.filter(({ minute, knownFrom }) => knownFrom > minute);
  const changes = new Set([...releases.map(({ knownFrom }) => knownFrom), MINUTES_PER_DAY]);
  let fromMinute = 0;
  for (const toMinute of [...changes].toSorted((a, b) => a - b)) {
    const known = byMinute(
      counts.filter(({ knownFrom, minute }) => knownFrom <= Math.max(fromMinute, minute)),
    );
    let state = START_OF_DAY;
    let raw = 0;
    for (let minute = 0; minute < Math.min(toMinute, MINUTES_PER_DAY); minute++) {
      const { entered, exited } = known[minute] ?? NO_COUNTS;
      raw = nextOccupancy(raw, entered, exited);
      state = nextState(model, state, { minute, entered, exited });
      if (minute >= fromMinute) {
        const estimate = model.emptiesAtNight ? estimateFrom(model, state) : undefined;
        yield { minute, raw, estimate };
      }
    }
    fromMinute = toMinute;
  }
}

function addMinute(
  sums: Omit<ErrorSums, 'regime'>,
  truth: number,
  raw: number,
  estimate: Estimate | undefined,
): void {
  sums.minutes += 1;
  sums.raw += (raw - truth) ** 2;
  if (estimate !== undefined) {
    const { people, lower, upper } = estimate;
    sums.shown += 1;
    sums.rawWhereShown += (raw - truth) ** 2;
    sums.estimated += (people - truth) ** 2;
    sums.covered += truth >= lower - 1e-9 && truth <= upper + 1e-9 ? 1 : 0;
  }
}

const NO_COUNTS = { entered: 0, exited: 0 };

function nextState(model: DoorModel, state: EstimateState, counts: MinuteCounts): EstimateState {
  return model.emptiesAtNight
    ? continueEstimate(model, state, [counts], counts.minute + 1, Infinity)
    : state;
}

function byMinute(counts: readonly KnownCounts[]): readonly (typeof NO_COUNTS | undefined)[] {
  const sums: (typeof NO_COUNTS | undefined)[] = [];
  for (const { minute, entered, exited } of counts) {
    const sum = (sums[minute] ??= { ...NO_COUNTS });
    sum.entered += entered;
    sum.exited += exited;
  }
  return sums;
}

function countedDay(counts: readonly KnownCounts[], weekday: number): CountedDay {
  const [entered, exited] = [0, 1].map(() => Array.from({ length: QUARTERS_PER_DAY }, () => 0));
  const day = { weekday, entered: entered ?? [], exited: exited ?? [] };
  for (const { minute, ...count } of counts) {
    const quarter = Math.floor(minute / MINUTES_PER_QUARTER);
    day.entered[quarter] = (day.entered[quarter] ?? 0) + count.entered;
    day.exited[quarter] = (day.exited[quarter] ?? 0) + count.exited;
  }
  return day;
}
