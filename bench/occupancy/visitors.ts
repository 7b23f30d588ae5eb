/**
 * Five libraries and their visitors, as the specification of the estimate describes them (section 2):
 * busyness and stays vary from day to day, some days are closed or end early without notice, people
 * come in groups and classes, staff work in two shifts. Other numbers are from the histories in its
 * test vectors: when people come and leave, how often classes come, how many staff there are. No week
 * of a public library has longer stays there, so exams are at the university only. The mean stays give
 * the specified number of people inside. Day 0 is a Monday; times are milliseconds since its 04:00.
 */
import { seededRandom } from '../../src/base/random.ts';
import type { Random } from '../../src/base/random.ts';
import { drawNormal, drawPoisson, mixSeeds, weightedPicker } from '../../src/simulator/chance.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/base/duration.ts';
import type { Pass } from '../../src/simulator/traffic.ts';

export const DAYS = 84;
export const DAY_STARTS_AT_HOUR = 4;

interface Peak {
  readonly weight: number;
  readonly hour: number;
  readonly sdHours: number;
}

export interface BenchLibrary {
  readonly visitsPerDay: number;
  readonly meanStayMinutes: number;
  readonly maxStayHours: number;
  /** Staff in each of two shifts. */
  readonly staff: number;
  /** Visits by weekday from Monday, relative to `visitsPerDay`. */
  readonly weekdays: readonly number[];
  /** When people come: normal distributions over the hours of the day. */
  readonly peaks: readonly Peak[];
  readonly hasExams: boolean;
  /** Opening and closing hour by weekday from Monday; undefined: closed. */
  readonly hours: readonly (readonly [number, number] | undefined)[];
  /** The share of passes of each door. */
  readonly doors: readonly number[];
}

const PUBLIC_LIBRARY = {
  weekdays: [1.1, 1.05, 1.05, 1.05, 1.05, 0.65, 0],
  peaks: [
    { weight: 0.42, hour: 11.4, sdHours: 1.5 },
    { weight: 0.58, hour: 15.7, sdHours: 2 },
  ],
  hasExams: false,
};
const UNIVERSITY = {
  weekdays: [1.15, 1.15, 1.1, 1.05, 0.8, 0.45, 0.45],
  peaks: [
    { weight: 0.35, hour: 10.4, sdHours: 1.7 },
    { weight: 0.65, hour: 14.8, sdHours: 3 },
  ],
  hasExams: true,
};

export const LIBRARIES = {
  small: {
    ...PUBLIC_LIBRARY,
    visitsPerDay: 80,
    meanStayMinutes: 48,
    maxStayHours: 4,
    staff: 2,
    hours: [undefined, [10, 18], [10, 18], [10, 18], [10, 18], [10, 14], undefined],
    doors: [1],
  },
  branch: {
    ...PUBLIC_LIBRARY,
    visitsPerDay: 320,
    meanStayMinutes: 45,
    maxStayHours: 4,
    staff: 4,
    hours: [...weekdays([10, 19]), [10, 15], undefined],
    doors: [1],
  },
  town: {
    ...PUBLIC_LIBRARY,
    visitsPerDay: 900,
    meanStayMinutes: 52,
    maxStayHours: 6,
    staff: 9,
    hours: [...weekdays([9, 20]), [10, 16], undefined],
    doors: [0.7, 0.3],
  },
  univ: {
    ...UNIVERSITY,
    visitsPerDay: 6_000,
    meanStayMinutes: 101,
    maxStayHours: 10,
    staff: 25,
    hours: [
      [8, 24],
      [8, 24],
      [8, 24],
      [8, 24],
      [8, 22],
      [9, 22],
      [9, 22],
    ],
    doors: [0.4, 0.3, 0.2, 0.1],
  },
  open24: {
    ...UNIVERSITY,
    visitsPerDay: 2_500,
    meanStayMinutes: 95,
    maxStayHours: 10,
    staff: 0,
    hours: Array.from({ length: 7 }, () => [4, 28]),
    doors: [0.6, 0.4],
  },
} satisfies Record<string, BenchLibrary>;

export type LibraryName = keyof typeof LIBRARIES;

/** A pass of somebody who is not the first one of a group may be hidden from the sensor. */
export interface VisitorPass extends Pass {
  readonly isBehind: boolean;
}

/** A day on which the library is open. */
export interface OpenDay {
  readonly opensMs: number;
  /** Infinity in a library that never closes. */
  readonly closesMs: number;
  /** Relative to the average day. */
  readonly busyness: number;
  readonly stays: number;
}

const DAILY_CORRELATION = 0.5;
const BUSYNESS_SD = 0.15;
const STAY_SD = 0.1;
/** Exams: longer stays in two weeks of eight. */
const EXAM_DAYS = 14;
const EXAM_CYCLE_DAYS = 56;
const EXAM_STAYS = 1.3;
const CLOSED_SHARE = 0.03;
const EARLY_CLOSING_SHARE = 0.02;
const EARLY_CLOSING_MS = 2 * HOUR_MS;

/** Some come to return a book, the others stay longer. */
const SHORT_STAYS = { share: 0.4, meanMinutes: 12, sigma: 0.6 };
const LONG_STAYS_SIGMA = 0.7;
const MIN_STAY_MINUTES = 5;
/** Those who are still inside leave in the last minutes before closing. */
const LEAVING_MS = 15 * MINUTE_MS;
const MIN_LUNCH_SHIFT_MS = 4 * HOUR_MS;
const CLASS_PROBABILITY = 0.3;
const CLASS_PASSES_MS = 3 * MINUTE_MS;

/** The usual opening hours of a day, early closings and closed days not counted. */
export function openingHours(
  { hours }: BenchLibrary,
  day: number,
): readonly [number, number] | undefined {
  return hours[day % 7];
}

function isAlwaysOpen({ hours }: BenchLibrary): boolean {
  return hours.every((ofDay) => ofDay !== undefined && ofDay[1] - ofDay[0] === 24);
}

/** Undefined for days on which the library is closed. */
export function drawOpenDays(
  library: BenchLibrary,
  seed: number,
): readonly (OpenDay | undefined)[] {
  const random = seededRandom(mixSeeds(seed, 1));
  const firstExamDay = Math.floor(random.next() * 8) * 7;
  const isNeverClosed = isAlwaysOpen(library);
  let [busy, stay] = [0, 0];
  return Array.from({ length: DAYS }, (_, day) => {
    busy = nextDaily(random, busy);
    stay = nextDaily(random, stay);
    const [closed, early] = [random.next(), random.next()];
    const hours = openingHours(library, day);
    if (hours === undefined || (closed < CLOSED_SHARE && !isNeverClosed)) {
      return undefined;
    }
    const [opensMs, closesMs] = hours.map(
      (hour) => day * DAY_MS + (hour - DAY_STARTS_AT_HOUR) * HOUR_MS,
    ) as [number, number];
    const isExam =
      library.hasExams && (day - firstExamDay + EXAM_CYCLE_DAYS) % EXAM_CYCLE_DAYS < EXAM_DAYS;
    return {
      opensMs,
      closesMs: isNeverClosed
        ? Infinity
        : closesMs - (early < EARLY_CLOSING_SHARE ? EARLY_CLOSING_MS : 0),
      busyness: Math.max(0.3, 1 + BUSYNESS_SD * busy) * (library.weekdays[day % 7] ?? 1),
      stays: Math.max(0.5, 1 + STAY_SD * stay) * (isExam ? EXAM_STAYS : 1),
    };
  });
}

function nextDaily(random: Random, before: number): number {
  return DAILY_CORRELATION * before + Math.sqrt(1 - DAILY_CORRELATION ** 2) * drawNormal(random);
}

/**
 * All passes of the visitors who enter on a day, and of the staff.
 * @param groupShare the share of people who come in groups of two to four
 */
export function drawPasses(
  library: BenchLibrary,
  open: OpenDay,
  seed: number,
  groupShare: number,
): readonly VisitorPass[] {
  const { opensMs } = open;
  const random = seededRandom(mixSeeds(seed, opensMs / HOUR_MS, 2));
  const pickDoor = weightedPicker([...library.doors.keys()], (door) => library.doors[door] ?? 0);
  const openMs = Math.min(DAY_MS, open.closesMs - opensMs);
  const passes: VisitorPass[] = [];

  function pass(timeMs: number, people: number, device: number, isBehind = false): void {
    passes.push({ timeMs, people, device, isBehind, detectionDraw: random.next() });
  }

  function visit(size: number): void {
    const enterMs = drawArrival(random, library.peaks, open);
    const stayMs = drawStayMs(random, library, open.stays);
    const lastMs = open.closesMs - LEAVING_MS * random.next();
    const exitMs = Math.max(enterMs + MINUTE_MS, Math.min(enterMs + stayMs, lastMs));
    const [entrance, exit] = [pickDoor(random), pickDoor(random)];
    for (let i = 0; i < size; i++) {
      pass(enterMs, 1, entrance, i > 0);
      pass(exitMs, -1, exit, i > 0);
    }
  }

  function visitOfSchoolClass(): void {
    const enterMs = opensMs + (0.5 + 2.5 * random.next()) * HOUR_MS;
    const exitMs = Math.min(enterMs + (45 + 45 * random.next()) * MINUTE_MS, open.closesMs);
    const size = 15 + Math.floor(random.next() * 11);
    for (let i = 0; i < size; i++) {
      const delayMs = random.next() * CLASS_PASSES_MS;
      pass(enterMs + delayMs, 1, 0);
      pass(exitMs + delayMs, -1, 0);
    }
  }

  /** Adds a shift from before the opening on, or until closing; a long one with a lunch outside. */
  function shift(isEarly: boolean): void {
    const [fromMs, toMs] = isEarly
      ? [opensMs - 30 * MINUTE_MS, opensMs + 0.6 * openMs]
      : [opensMs + 0.4 * openMs, opensMs + openMs - 10 * MINUTE_MS];
    const lunchMs = fromMs + 0.45 * (toMs - fromMs) + 30 * MINUTE_MS * random.next();
    const lunch = [
      [lunchMs, -1],
      [lunchMs + 30 * MINUTE_MS, 1],
    ] as const;
    const hasLunch = toMs - fromMs >= MIN_LUNCH_SHIFT_MS;
    for (const [timeMs, people] of [[fromMs, 1], ...(hasLunch ? lunch : []), [toMs, -1]] as const) {
      pass(timeMs + 10 * MINUTE_MS * random.next(), people, pickDoor(random));
    }
  }

  const visitors = drawPoisson(random, library.visitsPerDay * open.busyness);
  const groupProbability = groupShare / (groupShare + 3 * (1 - groupShare));
  for (let people = 0; people < visitors;) {
    const size = random.next() < groupProbability ? 2 + Math.floor(random.next() * 3) : 1;
    visit(size);
    people += size;
  }
  if (random.next() < CLASS_PROBABILITY) {
    visitOfSchoolClass();
  }
  for (let i = 0; i < library.staff; i++) {
    shift(true);
    shift(false);
  }
  return passes;
}

function drawArrival(random: Random, peaks: readonly Peak[], open: OpenDay): number {
  const { hour, sdHours } = weightedPicker(peaks, ({ weight }) => weight)(random);
  const startMs = Math.floor(open.opensMs / DAY_MS) * DAY_MS;
  const timeMs = startMs + (hour - DAY_STARTS_AT_HOUR + sdHours * drawNormal(random)) * HOUR_MS;
  return timeMs >= open.opensMs && timeMs < Math.min(open.closesMs, startMs + DAY_MS)
    ? timeMs
    : drawArrival(random, peaks, open);
}

/** A mixture of two lognormal distributions. */
function drawStayMs(
  random: Random,
  { meanStayMinutes, maxStayHours }: BenchLibrary,
  factor: number,
): number {
  const { share, meanMinutes } = SHORT_STAYS;
  const isShort = random.next() < share;
  const mean = isShort ? meanMinutes : (meanStayMinutes - share * meanMinutes) / (1 - share);
  const sigma = isShort ? SHORT_STAYS.sigma : LONG_STAYS_SIGMA;
  const minutes = factor * mean * Math.exp(sigma * drawNormal(random) - sigma ** 2 / 2);
  return Math.min(maxStayHours * HOUR_MS, Math.max(MIN_STAY_MINUTES, minutes) * MINUTE_MS);
}

function weekdays(hours: readonly [number, number]): readonly (readonly [number, number])[] {
  return Array.from({ length: 5 }, () => hours);
}
