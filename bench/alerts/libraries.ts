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
import { createPast } from '../../src/counting/past/past.ts';
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
import type { SiteDescription } from '../../src/counting/customer-metrics.ts';
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

/** What an exporter shows of a customer, over the whole time or around a fault. */
export interface ReplayedCustomer {
  readonly customer: string;
  /** Those that false alarms are counted of, or the one with the fault. */
  readonly libraries: readonly ReplayedLibrary[];
  /** By name and labels: a value for each step from `firstStep` on, NaN where it is absent. */
  readonly series: ReadonlyMap<string, Float64Array>;
  readonly firstStep: number;
}

/** A library without a fault, or a copy of it with one. */
export interface ReplayedLibrary {
  /** Empty if it is a customer of its own. */
  readonly branch: string;
  readonly visitsPerDay: number;
  readonly fault: Fault | undefined;
  /** When the fault begins; without one, when four weeks are known. */
  readonly faultSeconds: number;
  readonly endSeconds: number;
  /** Returns how many came in between two times; how many logged in, where logins are dead. */
  readonly visitors: (fromSeconds: number, toSeconds: number) => number;
  readonly openSecondsOfDay: number;
  readonly openSeconds: (fromSeconds: number, toSeconds: number) => number;
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
const NO_DESCRIPTION: SiteDescription = {
  capacity: undefined,
  openingHours: undefined,
  staffedHours: undefined,
  estimate: true,
};
const zones = createZones();

type StreamDays = Readonly<Record<MinuteStream, readonly DayCounts[]>>;

interface Simulated {
  readonly scenario: Scenario;
  readonly name: string;
  readonly calendar: Calendar;
  /** Number of steps of the whole time. */
  readonly steps: number;
  readonly lagSeconds: number;
  /** One, or the branches of a customer. */
  readonly libraries: readonly SimulatedLibrary[];
}

interface SimulatedLibrary {
  readonly library: Library;
  /** Empty if it is a customer of its own. */
  readonly branch: string;
  /** Whether the exporter knows the opening hours. */
  readonly hasHours: boolean;
  /** What the doors and stations count, day by day. */
  readonly counted: StreamDays;
}

/** Yields each customer of a part without a fault, and copies of it with each fault. `metrics` are exported. */
export async function* replayedCustomers(
  scenario: Scenario,
  { seed, libraries: count, days, part, parts }: Part,
  metrics: ReadonlySet<string>,
): AsyncGenerator<ReplayedCustomer> {
  const steps = days * STEPS_OF_DAY;
  const [smallest, largest] = scenario.visits;
  for (let first = part * scenario.branches; first < count; first += parts * scenario.branches) {
    const customerNumber = first / scenario.branches;
    const timezone = ZONES[customerNumber % ZONES.length] ?? 'UTC';
    const calendar = new Calendar(new Zone(timezone), { hour: 4, minute: 0 });
    const hasHours = (customerNumber + Math.floor(customerNumber / OPENINGS.length)) % 2 === 0;
    const libraries: SimulatedLibrary[] = [];
    for (let i = first; i < Math.min(count, first + scenario.branches); i += 1) {
      const share = i / Math.max(1, count - 1);
      const visitsPerDay = Math.round(smallest * (largest / smallest) ** share);
      const opening = OPENINGS[i % OPENINGS.length] ?? ALWAYS_OPEN;
      const library = drawLibrary(seed, i + 1, { visitsPerDay, opening, timezone });
      const counted = countedDays(scenario, library, calendar, steps);
      const branch = scenario.branches === 1 ? '' : String(i + 1);
      libraries.push({ library, branch, hasHours, counted });
    }
    const lagSeconds = scenario.lagSeconds(customerNumber);
    const name = `library-${libraries[0]?.library.customerId}`;
    const simulated = { scenario, name, calendar, steps, lagSeconds, libraries };
    yield await replayedWell(simulated, metrics);
    const random = seededRandom(customerNumber);
    for (const library of libraries) {
      for (const fault of scenario.faults) {
        yield await replayedWithFault(simulated, library, fault, random, metrics);
      }
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

async function replayedWell(
  simulated: Simulated,
  metrics: ReadonlySet<string>,
): Promise<ReplayedCustomer> {
  const { scenario, name, steps, libraries } = simulated;
  return {
    customer: name,
    libraries: libraries.map(({ library, branch, counted }) => ({
      ...replayed(scenario, library, counted.people),
      branch,
      fault: undefined,
      faultSeconds: secondsOf(LEARNING_DAYS * STEPS_OF_DAY),
      endSeconds: secondsOf(steps),
    })),
    series: await seriesOf(simulated, name, libraries, [0, steps], metrics),
    firstStep: 0,
  };
}

async function replayedWithFault(
  simulated: Simulated,
  { library, branch, counted }: SimulatedLibrary,
  fault: Fault,
  random: Random,
  metrics: ReadonlySet<string>,
): Promise<ReplayedCustomer> {
  const { scenario, name, steps, libraries } = simulated;
  const spare = steps - (LEARNING_DAYS + FAULT_DAYS + 7) * STEPS_OF_DAY;
  let faultStep = LEARNING_DAYS * STEPS_OF_DAY + Math.floor(random.next() * spare);
  while (!isOpenAt(scenario, library, secondsOf(faultStep))) {
    faultStep++;
  }
  const firstStep = faultStep - STEPS_OF_DAY;
  const endStep = Math.min(steps, faultStep + FAULT_DAYS * STEPS_OF_DAY);
  const customer = [name, branch, fault.replace(' ', '-')].filter(Boolean).join('-');
  const faulty = libraries.map((one) =>
    one.library === library ? { ...one, counted: withFault(counted, fault, msOf(faultStep)) } : one,
  );
  const passed = fault === 'dead logins' ? counted.logins : counted.people;
  return {
    customer,
    libraries: [
      {
        ...replayed(scenario, library, passed),
        branch,
        fault,
        faultSeconds: secondsOf(faultStep),
        endSeconds: secondsOf(endStep),
      },
    ],
    series: await seriesOf(simulated, customer, faulty, [firstStep, endStep], metrics),
    firstStep,
  };
}

/** What the report asks of a library, where `passed` came in or logged in. */
function replayed(
  scenario: Scenario,
  library: Library,
  passed: readonly DayCounts[],
): Pick<ReplayedLibrary, 'visitsPerDay' | 'visitors' | 'openSecondsOfDay' | 'openSeconds'> {
  const { visitsPerDay, opening } = library;
  const openDays = new Set(opening.flatMap(({ weekdays }) => weekdays)).size;
  const openMinutes = opening.reduce(
    (sum, { weekdays, fromMinute, toMinute }) => sum + weekdays.length * (toMinute - fromMinute),
    0,
  );
  return {
    visitsPerDay,
    visitors: (from, to) => countBetween(passed, from * 1_000, to * 1_000),
    openSecondsOfDay: (openMinutes * 60) / openDays,
    openSeconds: (from, to) => {
      let sum = 0;
      for (let seconds = from; seconds < to; seconds += STEP_SECONDS) {
        sum += isOpenAt(scenario, library, seconds) ? STEP_SECONDS : 0;
      }
      return sum;
    },
  };
}

function isOpenAt(scenario: Scenario, { opening, timezone }: Library, seconds: number): boolean {
  const zone = zones(timezone);
  const day = zone.dayOf(seconds * 1_000);
  const minute = minuteOfDay(zone, seconds * 1_000);
  return !isClosed(scenario, day) && openInterval(opening, weekdayOf(day), minute) !== undefined;
}

/** Polls a customer at each step. The service shows what is older than its lag. */
async function seriesOf(
  { scenario, calendar, lagSeconds }: Simulated,
  name: string,
  libraries: readonly SimulatedLibrary[],
  [firstStep, endStep]: readonly [number, number],
  metrics: ReadonlySet<string>,
): Promise<ReadonlyMap<string, Float64Array>> {
  const streams: readonly MinuteStream[] = scenario.hasLogins ? ['people', 'logins'] : ['people'];
  const descriptions = libraries.map((library) => descriptionOf(scenario, library));
  const [others = NO_DESCRIPTION] = descriptions;
  const configured = Object.fromEntries(
    libraries.map(({ branch }, i) => [branch, descriptions[i] ?? others]),
  );
  const branches = scenario.branches === 1 ? undefined : { configured, others };
  const customer = new Customer({
    name,
    timezone: calendar.zone.name,
    keyTimes: 'local',
    description: { labels: {}, ...others, branches },
    calendar,
    streams,
    owner: counterOwner('', '', name),
    marks: new HighWaterMarks(),
  });
  const families = CUSTOMER_FAMILIES.filter((family) => metrics.has(family.name));
  const series = new Map<string, Float64Array>();
  const counted = {
    people: sumOfDays(libraries.map((library) => library.counted.people)),
    logins: sumOfDays(libraries.map((library) => library.counted.logins)),
  };
  const totals = new PeriodTotals(calendar, counted);
  let index = 0;
  for (let step = firstStep; step < endStep; step++) {
    const atMs = msOf(step);
    if (step > firstStep && !libraries.some(({ library }) => isNearOpening(library, atMs))) {
      for (const values of series.values()) {
        values[step - firstStep] = values[step - firstStep - 1] ?? NaN;
      }
      continue;
    }
    while (atMs >= (counted.people[index]?.day.endMs ?? Infinity)) {
      index += 1;
    }
    const shownUntilMs = atMs - lagSeconds * 1_000;
    for (const stream of streams) {
      const today = counted[stream][index];
      if (today === undefined) {
        continue;
      }
      if (customer.streamOf(stream).days.comparedPastOf(today.day) === undefined) {
        const before = counted[stream].slice(Math.max(0, index - HISTORY_DAYS), index);
        customer.pastRead(stream, createPast(calendar, today.day, before));
      }
      const minutes = stepsUntil(today, shownUntilMs);
      const sums = positiveSums(minutes);
      const snapshot: Snapshot = {
        period: calendar.periodAt(atMs),
        day: today.day,
        atMs,
        totals: plus(sums, totals.before(stream, index)),
        today: sums,
        minutes: { counts: minutes, atMs, endMs: atMs, lastSeenMs: lastSeenIn(minutes) },
      };
      const state = { ...INITIAL_STATE, snapshot };
      customer.pollSucceeded(stream, { state, result: 'accepted' }, atMs);
    }
    while (customer.branches?.isWaiting === true) {
      await customer.branches.readNext(({ from, to }) => {
        const toMs = to === undefined ? shownUntilMs : Math.min(shownUntilMs, Date.parse(to));
        const rows = libraries.map((library) => ({
          key: library.branch,
          counts: sumBetween(library.counted.people, Date.parse(from), toMs),
        }));
        return Promise.resolve({ aggregation: 'branch', rows });
      });
      while (customer.branches.learn()) {
        // It learns from some branches at a time.
      }
    }
    const values = customer.metricsAt(atMs);
    for (const family of families) {
      for (const { labels, value } of family.samples(values, { infoLabelNames: [] })) {
        const key = `${family.name}{${labels}}`;
        const ofSeries = series.get(key) ?? new Float64Array(endStep - firstStep).fill(NaN);
        ofSeries[step - firstStep] = value;
        series.set(key, ofSeries);
      }
    }
  }
  return series;
}

function descriptionOf(
  scenario: Scenario,
  { library, hasHours }: SimulatedLibrary,
): SiteDescription {
  // With days off, 24/7 is ambiguous.
  const weekly = openingHoursText(library.opening).replace('24/7', 'Mo-Su 00:00-24:00');
  const hours = `${weekly}${announcedDays(scenario)}`;
  return {
    ...NO_DESCRIPTION,
    openingHours: hasHours ? parseOpeningHours(hours, undefined) : undefined,
  };
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

/** Adds up the counts of several libraries, day by day. */
function sumOfDays(libraries: readonly (readonly DayCounts[])[]): readonly DayCounts[] {
  const [first = [], ...others] = libraries;
  return others.length === 0
    ? first
    : first.map((day, i) => sumOfDay([day, ...others.flatMap((days) => days[i] ?? [])]));
}

function sumOfDay(libraries: readonly DayCounts[]): DayCounts {
  const [one] = libraries;
  if (one === undefined) {
    throw new Error('expected at least one library');
  }
  const first = Math.min(...libraries.map((counted) => counted.first));
  const end = Math.max(
    ...libraries.map((counted) => counted.first + (counted.counts[0]?.length ?? 0)),
  );
  const counts = one.counts.map((_, counter) => {
    const sums = new Float64Array(end - first);
    for (const counted of libraries) {
      counted.counts[counter]?.forEach((count, i) => {
        sums[counted.first - first + i] = (sums[counted.first - first + i] ?? 0) + count;
      });
    }
    return sums;
  });
  return { ...one, first, counts };
}

/** The sum of the first counter. */
function countBetween(days: readonly DayCounts[], fromMs: number, toMs: number): number {
  return sumBetween(days, fromMs, toMs)[0] ?? 0;
}

function sumBetween(days: readonly DayCounts[], fromMs: number, toMs: number): Counts {
  const sums = [0, 0];
  for (const { day, stepMs, first, counts } of days) {
    if (day.endMs > fromMs && day.startMs < toMs) {
      const firstMs = day.startMs + first * stepMs;
      counts.forEach((steps, counter) => {
        const from = Math.max(0, Math.ceil((fromMs - firstMs) / stepMs));
        const end = Math.min(steps.length, Math.ceil((toMs - firstMs) / stepMs));
        for (let step = from; step < end; step += 1) {
          sums[counter] = (sums[counter] ?? 0) + (steps[step] ?? 0);
        }
      });
    }
  }
  return sums;
}

function secondsOf(step: number): number {
  return START_SECONDS + step * STEP_SECONDS;
}

function msOf(step: number): number {
  return secondsOf(step) * 1_000;
}
