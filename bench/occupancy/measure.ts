/**
 * How good the occupancy estimate is: the simulator's visitors with imperfect sensors, five libraries
 * and the regimes of the specification. Judged on the last 42 of 84 days, in opening hours, each minute
 * with what was known at that minute.
 */
import {
  learnDoors,
  MINUTES_PER_QUARTER,
  QUARTERS_PER_DAY,
} from '../../src/counting/door-model.ts';
import type { CountedDay, DoorModel } from '../../src/counting/door-model.ts';
import { continueEstimate, estimateFrom, START_OF_DAY } from '../../src/counting/estimate.ts';
import type { EstimateState, MinuteCounts } from '../../src/counting/estimate.ts';
import { nextOccupancy } from '../../src/counting/occupancy.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/simulator/conventions.ts';
import { openInterval } from '../../src/simulator/libraries.ts';
import type { Library } from '../../src/simulator/libraries.ts';
import { countPasses } from '../../src/simulator/traffic.ts';
import type { Pass } from '../../src/simulator/traffic.ts';
import {
  DAYS,
  burstsOf,
  equip,
  FIRST_DAY,
  libraryOf,
  LIBRARIES,
  peopleOf,
  REGIMES,
  visitorsOf,
} from './worlds.ts';
import type { LibraryName, Regime } from './worlds.ts';

const JUDGED_FROM_DAY = 42;
const HISTORY_DAYS = 28;
const MINUTES_PER_DAY = 1_440;
const FIRST_SEED = 50_000;
/** Fewer where more people make a world less random. */
const WORLDS: Readonly<Record<LibraryName, number>> = {
  small: 5,
  branch: 5,
  town: 5,
  univ: 2,
  open24: 1,
};

/** One cell of the table. */
export interface Accuracy {
  readonly library: LibraryName;
  readonly regime: string;
  /** Root of the mean squared error of the raw occupancy, in people. */
  readonly rawError: number;
  /** That of the estimate, relative to that of the raw occupancy over the same minutes. */
  readonly relativeError: number;
  /** Share of the minutes in which the truth is in the interval. */
  readonly coverage: number;
  /** Share of the minutes without an estimate. */
  readonly withheld: number;
}

/** Counts of a minute, and the minute at which the service has them. */
interface KnownCounts extends MinuteCounts {
  readonly knownFrom: number;
}

/** A day from 04:00 on. */
interface Day {
  readonly counts: readonly KnownCounts[];
  /** People inside at the end of each minute. */
  readonly inside: Float64Array;
}

/** `worlds` of each library, by default as many as make a figure steady. */
export function* measureOccupancy(worlds = WORLDS): Generator<Accuracy> {
  for (const name of Object.keys(LIBRARIES) as LibraryName[]) {
    const libraries = Array.from({ length: worlds[name] }, (_, i) =>
      libraryOf(name, FIRST_SEED + i),
    );
    const visitors = libraries.map((library) =>
      Array.from({ length: DAYS + 1 }, (_, day) => visitorsOf(library, FIRST_DAY + day)),
    );
    for (const [regimeName, regime] of Object.entries(REGIMES)) {
      const sums = new Sums();
      libraries.forEach((library, i) => {
        judge(library, countDays(library, regime, visitors[i] ?? []), sums);
      });
      yield { library: name, regime: regimeName, ...sums.accuracy() };
    }
  }
}

class Sums {
  #minutes = 0;
  #shown = 0;
  #covered = 0;
  #raw = 0;
  #rawWhereShown = 0;
  #estimated = 0;

  add(
    truth: number,
    raw: number,
    estimate:
      { readonly people: number; readonly lower: number; readonly upper: number } | undefined,
  ): void {
    this.#minutes += 1;
    this.#raw += (raw - truth) ** 2;
    if (estimate !== undefined) {
      this.#shown += 1;
      this.#rawWhereShown += (raw - truth) ** 2;
      this.#estimated += (estimate.people - truth) ** 2;
      this.#covered += truth >= estimate.lower - 1e-9 && truth <= estimate.upper + 1e-9 ? 1 : 0;
    }
  }

  accuracy(): Pick<Accuracy, 'rawError' | 'relativeError' | 'coverage' | 'withheld'> {
    return {
      rawError: Math.sqrt(this.#raw / this.#minutes),
      relativeError: Math.sqrt(this.#estimated / this.#rawWhereShown),
      coverage: this.#covered / this.#shown,
      withheld: 1 - this.#shown / this.#minutes,
    };
  }
}

function countDays(
  library: Library,
  regime: Regime,
  visitors: readonly (readonly Pass[])[],
): readonly Day[] {
  const equipped = equip(library, regime);
  let insideBefore = 0;
  return Array.from({ length: DAYS }, (_, number) => {
    const startMs = (FIRST_DAY + number) * DAY_MS + 4 * HOUR_MS;
    const dates = [number, number + 1].map(
      (date) => [FIRST_DAY + date, visitors[date] ?? []] as const,
    );
    function ofDay(passes: readonly Pass[]): readonly Pass[] {
      return passes.filter(({ timeMs }) => timeMs >= startMs && timeMs < startMs + DAY_MS);
    }
    const real = ofDay(dates.flatMap(([date, passes]) => peopleOf(regime, library, date, passes)));
    const bursts = ofDay(
      dates.flatMap(([date, passes]) => burstsOf(regime, library, date, passes)),
    );
    const inside = new Float64Array(MINUTES_PER_DAY);
    for (const { timeMs, people } of real) {
      const minute = Math.floor((timeMs - startMs) / MINUTE_MS);
      inside[minute] = (inside[minute] ?? 0) + people;
    }
    inside.forEach((change, minute) => {
      insideBefore += change;
      inside[minute] = insideBefore;
    });
    const counts = [...countPasses(equipped, real), ...bursts].map(
      ({ timeMs, device, people }): KnownCounts => {
        const { offline = [] } = equipped.devices[device] ?? {};
        const outage = offline.find(({ fromMs, toMs }) => timeMs >= fromMs && timeMs < toMs);
        return {
          minute: Math.floor((timeMs - startMs) / MINUTE_MS),
          knownFrom: Math.floor(((outage?.toMs ?? timeMs) - startMs) / MINUTE_MS),
          entered: Math.max(0, people),
          exited: Math.max(0, -people),
        };
      },
    );
    return { counts, inside };
  });
}

function judge({ opening }: Library, days: readonly Day[], sums: Sums): void {
  const history = days.map(({ counts }, number) => countedDay(counts, number % 7));
  for (let number = JUDGED_FROM_DAY; number < DAYS; number++) {
    const { counts, inside } = days[number] ?? { counts: [], inside: [] };
    const model = learnDoors(history.slice(number - HISTORY_DAYS, number), number % 7);
    const releases = counts.filter(({ minute, knownFrom }) => knownFrom > minute);
    const changes = [...new Set(releases.map(({ knownFrom }) => knownFrom)), MINUTES_PER_DAY];
    let fromMinute = 0;
    for (const toMinute of changes.toSorted((a, b) => a - b)) {
      // Late counts change the minutes before: the walk starts again.
      const known = byMinute(
        counts.filter(({ knownFrom, minute }) => knownFrom <= Math.max(fromMinute, minute)),
      );
      let state = START_OF_DAY;
      let raw = 0;
      for (let minute = 0; minute < Math.min(toMinute, MINUTES_PER_DAY); minute++) {
        const { entered, exited } = known[minute] ?? NO_COUNTS;
        raw = nextOccupancy(raw, entered, exited);
        state = nextState(model, state, { minute, entered, exited });
        const local = minute + 4 * 60;
        const weekday = (number + Math.floor(local / MINUTES_PER_DAY)) % 7;
        const isOpen = openInterval(opening, weekday, local % MINUTES_PER_DAY) !== undefined;
        if (minute >= fromMinute && isOpen) {
          const estimate = model.emptiesAtNight ? estimateFrom(model, state) : undefined;
          sums.add(inside[minute] ?? 0, raw, estimate);
        }
      }
      fromMinute = toMinute;
    }
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
