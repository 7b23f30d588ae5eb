/**
 * The simulated libraries of `npm run alerts:replay`, and the series that an exporter shows of them: each
 * step is a poll of the exporter's own code.
 */
import { HOUR_MS } from '../../src/base/duration.ts';
import { seededRandom } from '../../src/base/random.ts';
import type { Random } from '../../src/base/random.ts';
import type { MinuteStream } from '../../src/base/model.ts';
import { Calendar } from '../../src/counting/calendar/calendar.ts';
import type { Span } from '../../src/counting/calendar/calendar.ts';
import { parseOpeningHours } from '../../src/counting/calendar/opening-hours.ts';
import { Zone } from '../../src/counting/calendar/zone.ts';
import { Customer } from '../../src/counting/customer.ts';
import { counterOwner, HighWaterMarks } from '../../src/counting/high-water-marks.ts';
import { HISTORY_DAYS } from '../../src/counting/occupancy/door-model.ts';
import { createHistory } from '../../src/counting/occupancy/history.ts';
import { plus } from '../../src/counting/rows/counts.ts';
import type { Counts } from '../../src/counting/rows/counts.ts';
import {
  DayCounter,
  lastSeenIn,
  positiveSums,
  stepsUntil,
} from '../../src/counting/rows/day-counts.ts';
import type { DayCounts } from '../../src/counting/rows/day-counts.ts';
import { INITIAL_STATE } from '../../src/counting/totals/state.ts';
import type { Snapshot } from '../../src/counting/totals/state.ts';
import { CUSTOMER_FAMILIES } from '../../src/metrics/families.ts';
import {
  ALWAYS_OPEN,
  OFFICE_HOURS,
  OPEN_EARLY_AND_LATE,
  drawLibrary,
  openInterval,
  openingHoursText,
} from '../../src/simulator/libraries.ts';
import type { Library } from '../../src/simulator/libraries.ts';
import { countPasses, dayTraffic } from '../../src/simulator/traffic.ts';
import { createZones, minuteOfDay, weekdayOf } from '../../src/simulator/zone.ts';
import type { Part } from './replay-part.ts';
import { announcedDays, isClosed, isShort, shareOf } from './scenarios.ts';
import type { Fault, Scenario } from './scenarios.ts';

/** A library without a fault over the whole time, or a copy of it around a fault. */
export interface ReplayedLibrary {
  readonly customer: string;
  readonly visitsPerDay: number;
  readonly fault: Fault | undefined;
  /** When the fault begins; without one, when four weeks are known. */
  readonly faultSeconds: number;
  readonly endSeconds: number;
  /** Returns how many came in between two times; how many logged in, where logins are dead. */
  readonly visitors: (fromSeconds: number, toSeconds: number) => number;
  readonly openSecondsOfDay: number;
  readonly openSeconds: (fromSeconds: number, toSeconds: number) => number;
  /** By name and labels: a value for each step from `firstStep` on, NaN where it is absent. */
  readonly series: ReadonlyMap<string, Float64Array>;
  readonly firstStep: number;
}

export const STEP_SECONDS = 300;
export const DAY_SECONDS = 86_400;
/** Monday, 5 January 2026, so that a year has both changes of the clocks, Easter and a summer. */
export const START_SECONDS = Date.UTC(2026, 0, 5) / 1_000;
export const LEARNING_DAYS = HISTORY_DAYS;

const STEPS_OF_DAY = DAY_SECONDS / STEP_SECONDS;
const FAULT_DAYS = 10;
const TWO_DAYS_A_WEEK = [{ weekdays: [1, 3], fromMinute: 14 * 60, toMinute: 18 * 60 }];
const OPENINGS = [OFFICE_HOURS, OPEN_EARLY_AND_LATE, TWO_DAYS_A_WEEK, ALWAYS_OPEN];
const ZONES = ['Europe/Copenhagen', 'America/New_York', 'Pacific/Auckland'];
const zones = createZones();

type StreamDays = Readonly<Record<MinuteStream, readonly DayCounts[]>>;

interface Simulated {
  readonly scenario: Scenario;
  readonly library: Library;
  readonly calendar: Calendar;
  /** Number of steps of the whole time. */
  readonly steps: number;
  /** Whether the exporter knows the opening hours. */
  readonly hasHours: boolean;
  readonly lagSeconds: number;
  /** What the doors and stations count, day by day. */
  readonly counted: StreamDays;
}

/** Yields each library of a part without a fault, and a copy with each fault. `metrics` are exported. */
export function* replayedLibraries(
  scenario: Scenario,
  { seed, libraries: count, days, part, parts }: Part,
  metrics: ReadonlySet<string>,
): Generator<ReplayedLibrary> {
  const steps = days * STEPS_OF_DAY;
  const [smallest, largest] = scenario.visits;
  for (let i = part; i < count; i += parts) {
    const share = i / Math.max(1, count - 1);
    const visitsPerDay = Math.round(smallest * (largest / smallest) ** share);
    const opening = OPENINGS[i % OPENINGS.length] ?? ALWAYS_OPEN;
    const timezone = ZONES[i % ZONES.length] ?? 'UTC';
    const library = drawLibrary(seed, i + 1, { visitsPerDay, opening, timezone });
    const hasHours = (i + Math.floor(i / OPENINGS.length)) % 2 === 0;
    const calendar = new Calendar(new Zone(timezone), { hour: 4, minute: 0 });
    const counted = countedDays(scenario, library, calendar, steps);
    const lagSeconds = scenario.lagSeconds(i);
    const simulated = { scenario, library, calendar, steps, hasHours, lagSeconds, counted };
    const random = seededRandom(i);
    for (const fault of [undefined, ...scenario.faults]) {
      yield replayed(simulated, fault, random, metrics);
    }
  }
}

/** The counts of the whole time, in the exporter's days. */
function countedDays(
  scenario: Scenario,
  library: Library,
  calendar: Calendar,
  steps: number,
): StreamDays {
  const zone = zones(library.timezone);
  const spans: Span[] = [];
  for (let atMs = START_SECONDS * 1_000; atMs < msOf(steps); atMs = spans.at(-1)?.endMs ?? NaN) {
    spans.push(calendar.dayAt(atMs));
  }
  const counters = new Map(
    spans.map((day) => [
      day.startMs,
      {
        people: new DayCounter(calendar, [day], 'people'),
        logins: new DayCounter(calendar, [day], 'logins'),
      },
    ]),
  );
  const lastDay = zone.dayOf(msOf(steps));
  for (let day = zone.dayOf(START_SECONDS * 1_000); day <= lastDay; day++) {
    if (isClosed(scenario, day)) {
      continue;
    }
    const { people, logins } = dayTraffic(onDay(scenario, library, day), zone, day);
    // A library that is always open leaves its visitors no time after closing.
    const endMs = isClosed(scenario, day + 1) ? zone.dayStartMs(day + 1) : Infinity;
    for (const pass of countPasses(library, people)) {
      const atMs = Math.min(pass.timeMs, endMs);
      const counts = pass.people > 0 ? [pass.people, 0] : [0, -pass.people];
      counters.get(calendar.dayAt(atMs).startMs)?.people.add(atMs, counts);
    }
    for (const { timeMs, people: count } of scenario.hasLogins
      ? countPasses(library, logins)
      : []) {
      const atMs = Math.min(timeMs, endMs);
      counters.get(calendar.dayAt(atMs).startMs)?.logins.add(atMs, [count]);
    }
  }
  const all = [...counters.values()];
  return {
    people: all.flatMap(({ people }) => people.days()),
    logins: all.flatMap(({ logins }) => logins.days()),
  };
}

function onDay(scenario: Scenario, library: Library, day: number): Library {
  const visitsPerDay = library.visitsPerDay * shareOf(scenario, day);
  if (!isShort(day) || library.opening === ALWAYS_OPEN) {
    return { ...library, visitsPerDay };
  }
  const opening = library.opening
    .map((interval) => ({ ...interval, toMinute: Math.min(interval.toMinute, 14 * 60) }))
    .filter(({ fromMinute, toMinute }) => fromMinute < toMinute);
  return { ...library, opening, visitsPerDay: visitsPerDay / 2 };
}

function replayed(
  simulated: Simulated,
  fault: Fault | undefined,
  random: Random,
  metrics: ReadonlySet<string>,
): ReplayedLibrary {
  const { scenario, library, steps, counted } = simulated;
  const { visitsPerDay, opening, customerId } = library;
  const zone = zones(library.timezone);

  function isOpen(seconds: number): boolean {
    const day = zone.dayOf(seconds * 1_000);
    const minute = minuteOfDay(zone, seconds * 1_000);
    return !isClosed(scenario, day) && openInterval(opening, weekdayOf(day), minute) !== undefined;
  }

  let [faultStep, firstStep, endStep] = [LEARNING_DAYS * STEPS_OF_DAY, 0, steps];
  if (fault !== undefined) {
    const spare = steps - (LEARNING_DAYS + FAULT_DAYS + 7) * STEPS_OF_DAY;
    faultStep += Math.floor(random.next() * spare);
    while (!isOpen(secondsOf(faultStep))) {
      faultStep++;
    }
    firstStep = faultStep - STEPS_OF_DAY;
    endStep = Math.min(steps, faultStep + FAULT_DAYS * STEPS_OF_DAY);
  }
  const customer = `library-${customerId}${fault === undefined ? '' : `-${fault.replace(' ', '-')}`}`;
  const faulty = fault === undefined ? counted : withFault(counted, fault, msOf(faultStep));
  const openDays = new Set(opening.flatMap(({ weekdays }) => weekdays)).size;
  const openMinutes = opening.reduce(
    (sum, { weekdays, fromMinute, toMinute }) => sum + weekdays.length * (toMinute - fromMinute),
    0,
  );
  return {
    customer,
    visitsPerDay,
    fault,
    faultSeconds: secondsOf(faultStep),
    endSeconds: secondsOf(endStep),
    visitors: (from, to) => {
      const days = fault === 'dead logins' ? counted.logins : counted.people;
      return countBetween(days, from * 1_000, to * 1_000);
    },
    openSecondsOfDay: (openMinutes * 60) / openDays,
    openSeconds: (from, to) => {
      let sum = 0;
      for (let seconds = from; seconds < to; seconds += STEP_SECONDS) {
        sum += isOpen(seconds) ? STEP_SECONDS : 0;
      }
      return sum;
    },
    firstStep,
    series: seriesOf(simulated, customer, faulty, [firstStep, endStep], metrics),
  };
}

/** Polls a customer at each step. The service shows what is older than its lag. */
function seriesOf(
  { scenario, library, calendar, hasHours, lagSeconds }: Simulated,
  name: string,
  counted: StreamDays,
  [firstStep, endStep]: readonly [number, number],
  metrics: ReadonlySet<string>,
): ReadonlyMap<string, Float64Array> {
  // With days off, 24/7 is ambiguous.
  const weekly = openingHoursText(library.opening).replace('24/7', 'Mo-Su 00:00-24:00');
  const hours = `${weekly}${announcedDays(scenario)}`;
  const streams: readonly MinuteStream[] = scenario.hasLogins ? ['people', 'logins'] : ['people'];
  const customer = new Customer({
    name,
    timezone: library.timezone,
    description: {
      labels: {},
      capacity: undefined,
      openingHours: hasHours ? parseOpeningHours(hours, undefined) : undefined,
      staffedHours: undefined,
      estimate: true,
    },
    calendar,
    streams,
    owner: counterOwner('', '', name),
    marks: new HighWaterMarks(),
  });
  const families = CUSTOMER_FAMILIES.filter((family) => metrics.has(family.name));
  const series = new Map<string, Float64Array>();
  const totals = new PeriodTotals(calendar, counted);
  let index = 0;
  for (let step = firstStep; step < endStep; step++) {
    const atMs = msOf(step);
    if (step > firstStep && !isNearOpening(library, atMs)) {
      for (const values of series.values()) {
        values[step - firstStep] = values[step - firstStep - 1] ?? NaN;
      }
      continue;
    }
    while (atMs >= (counted.people[index]?.day.endMs ?? Infinity)) {
      index += 1;
    }
    for (const stream of streams) {
      const today = counted[stream][index];
      if (today === undefined) {
        continue;
      }
      if (customer.historyDay(stream)?.startMs !== today.day.startMs) {
        const before = counted[stream].slice(Math.max(0, index - HISTORY_DAYS), index);
        customer.historyRead(stream, createHistory(calendar, today.day, before));
      }
      const minutes = stepsUntil(today, atMs - lagSeconds * 1_000);
      const sums = positiveSums(minutes);
      const snapshot: Snapshot = {
        period: calendar.periodAt(atMs),
        day: today.day,
        atMs,
        totals: plus(sums, totals.before(stream, index)),
        today: sums,
        order: { minutes, endMs: atMs, lastSeenMs: lastSeenIn(minutes) },
      };
      const state = { ...INITIAL_STATE, snapshot };
      customer.pollSucceeded(stream, { state, result: 'accepted' }, atMs);
    }
    const values = customer.metricsAt(atMs);
    for (const family of families) {
      for (const { labels, value } of family.samples(values, { infoLabelNames: [] })) {
        const key = `${family.name}{${labels}}`;
        const known = series.get(key) ?? new Float64Array(endStep - firstStep).fill(NaN);
        known[step - firstStep] = value;
        series.set(key, known);
      }
    }
  }
  return series;
}

/**
 * Whether the library is open on this weekday within the next hour, or was in the last two. At other
 * times nothing changes, and the last values stay: that saves a third of the time.
 */
function isNearOpening({ opening, timezone }: Library, atMs: number): boolean {
  const zone = zones(timezone);
  return [-2, -1, 0, 1].some((hours) => {
    const thenMs = atMs + hours * HOUR_MS;
    const weekday = weekdayOf(zone.dayOf(thenMs));
    return openInterval(opening, weekday, minuteOfDay(zone, thenMs)) !== undefined;
  });
}

/** The sums of the days of a counting period before a day. */
class PeriodTotals {
  readonly #sums: Readonly<Record<MinuteStream, readonly Counts[]>>;

  constructor(calendar: Calendar, counted: StreamDays) {
    function sumsOf(days: readonly DayCounts[]): readonly Counts[] {
      let sums: Counts = [0, 0];
      return days.map((day, i) => {
        const yesterday = days[i - 1];
        const { startMs } = calendar.periodAt(day.day.startMs);
        const isOfPeriod = yesterday !== undefined && yesterday.day.startMs >= startMs;
        sums = isOfPeriod ? plus(sums, positiveSums(yesterday)) : [0, 0];
        return sums;
      });
    }
    this.#sums = { people: sumsOf(counted.people), logins: sumsOf(counted.logins) };
  }

  before(stream: MinuteStream, day: number): Counts {
    return this.#sums[stream][day] ?? [];
  }
}

/** What is still counted from an instant on. */
function withFault({ people, logins }: StreamDays, fault: Fault, fromMs: number): StreamDays {
  return {
    people: people.map((day) =>
      withoutCounts(day, fromMs, [
        fault === 'dead door' || fault === 'dead entries',
        fault === 'dead door' || fault === 'dead exits',
      ]),
    ),
    logins: logins.map((day) => withoutCounts(day, fromMs, [fault === 'dead logins'])),
  };
}

function withoutCounts(counted: DayCounts, fromMs: number, areDead: readonly boolean[]): DayCounts {
  const { day, stepMs, first, counts } = counted;
  const firstDead = Math.max(0, Math.ceil((fromMs - day.startMs) / stepMs) - first);
  return {
    ...counted,
    counts: counts.map((steps, counter) =>
      areDead[counter] === true && firstDead < steps.length
        ? steps.slice().fill(0, firstDead)
        : steps,
    ),
  };
}

/** The sum of the first counter. */
function countBetween(days: readonly DayCounts[], fromMs: number, toMs: number): number {
  let sum = 0;
  for (const { day, stepMs, first, counts } of days) {
    counts[0]?.forEach((count, i) => {
      const atMs = day.startMs + (first + i) * stepMs;
      sum += atMs >= fromMs && atMs < toMs ? count : 0;
    });
  }
  return sum;
}

function secondsOf(step: number): number {
  return START_SECONDS + step * STEP_SECONDS;
}

function msOf(step: number): number {
  return secondsOf(step) * 1_000;
}
