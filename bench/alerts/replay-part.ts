/** A thread of `npm run alerts:replay`: replays customers, and returns when alerts fired for their libraries. */
import { parentPort } from 'node:worker_threads';
import { DAY_MS, HOUR_MS, MINUTE_MS, parseDuration } from '../../src/base/duration.ts';
import { seededRandom } from '../../src/base/random.ts';
import type { Random } from '../../src/base/random.ts';
import { Calendar } from '../../src/counting/calendar/calendar.ts';
import { parseOpeningHours } from '../../src/counting/calendar/opening-hours.ts';
import { Zone } from '../../src/counting/calendar/zone.ts';
import { HISTORY_DAYS, QUARTER_MS } from '../../src/counting/occupancy/door-model.ts';
import { openingHoursText } from '../../src/simulator/libraries.ts';
import type { Library } from '../../src/simulator/libraries.ts';
import { readAlerts } from '../../test/prometheus/rules.ts';
import {
  between,
  countLibrary,
  drawLibrary,
  END_MS,
  FAULT_DAYS,
  isOpenAt,
  START_MS,
  withFault,
} from './libraries.ts';
import type { LibraryCounts } from './libraries.ts';
import { PolledSite, STEP_MS } from './polled-site.ts';
import { ALERTS, announcedDays, FAULTS, ONE_DOOR, SCENARIOS, YEAR } from './scenarios.ts';
import type { Scenario } from './scenarios.ts';

/** One customer, and copies of it with faults: that of a library of so many of a scenario. */
export interface Job {
  readonly scenario: string;
  readonly seed: number;
  readonly number: number;
  readonly libraries: number;
}

/** A library, and when alerts fired for it. */
export interface Replayed {
  readonly visitsPerDay: number;
  readonly fault: string | undefined;
  /** When the fault began; without one, when four weeks were known. */
  readonly faultMs: number;
  readonly openMsOfDay: number;
  readonly firings: readonly Firing[];
}

interface Firing {
  readonly alert: string;
  readonly fromMs: number;
  toMs: number;
  /** Opening time, and people who were not counted, since the fault. */
  openMs?: number;
  missed?: number;
}

interface SimulatedCustomer {
  readonly scenario: Scenario;
  readonly calendar: Calendar;
  readonly number: number;
  readonly libraries: readonly Library[];
}

const LEARNED_MS = START_MS + HISTORY_DAYS * DAY_MS;
/** Between polls while no alert is pending, and while one fires. */
const QUIET_STEP_MS = 2 * STEP_MS;
const FIRING_STEP_MS = 30 * MINUTE_MS;
const ZONES = ['Europe/Copenhagen', 'America/New_York', 'Pacific/Auckland'];

const RULES = readAlerts()
  .filter(({ alert }) => ALERTS.includes(alert))
  .map(({ alert, expr, ...rule }) => ({
    alert,
    kinds: new RegExp(`^(${/problem=~?"(.*)"/.exec(expr)?.[1] ?? 'none'})$`),
    forMs: parseDuration(rule.for ?? '0') ?? NaN,
    keepMs: parseDuration(rule.keep_firing_for ?? '0') ?? NaN,
    /** Of a comparison of two gauges: fewer than this share of what is usual, where so many are. */
    below: /< ([\d.]+) \*.*>= (\d+)/s.exec(expr)?.slice(1).map(Number),
  }));
const [SHARE = NaN, USUAL = NaN] = RULES.flatMap(({ below = [] }) => below);

parentPort?.on('message', (job: Job) => parentPort?.postMessage(replay(job)));

function replay({ scenario: name, seed, number, libraries: count }: Job): readonly Replayed[] {
  const scenario = SCENARIOS.find((one) => one.name === name) ?? YEAR;
  const timezone = ZONES[number % ZONES.length] ?? 'UTC';
  const libraries: Library[] = [];
  for (let i = number * scenario.branches; libraries.length < scenario.branches && i < count; i++) {
    libraries.push(drawLibrary(scenario, seed, [i, i / Math.max(1, count - 1)], timezone));
  }
  const counts = libraries.map((library) => countLibrary(scenario, library));
  const calendar = new Calendar(new Zone(timezone), { hour: 4, minute: 0 });
  const customer = { scenario, calendar, number, libraries };
  const well = firingsOf(customer, counts, [START_MS, END_MS]);
  const random = seededRandom(number);
  return libraries.flatMap((library, i) => {
    const faults = scenario.faults.filter(
      (fault) => fault !== ONE_DOOR || (counts[i]?.doors.length ?? 0) > 1,
    );
    return [
      { ...describe(library), fault: undefined, faultMs: LEARNED_MS, firings: well[i] ?? [] },
      ...faults.map((fault) => replayFault(customer, counts, i, fault, random)),
    ];
  });
}

function describe({
  visitsPerDay,
  opening,
}: Library): Pick<Replayed, 'visitsPerDay' | 'openMsOfDay'> {
  const days = new Set(opening.flatMap(({ weekdays }) => weekdays)).size;
  const minutes = opening.reduce(
    (sum, { weekdays, fromMinute, toMinute }) => sum + weekdays.length * (toMinute - fromMinute),
    0,
  );
  return { visitsPerDay, openMsOfDay: (minutes * MINUTE_MS) / days };
}

function replayFault(
  customer: SimulatedCustomer,
  counts: readonly LibraryCounts[],
  place: number,
  fault: string,
  random: Random,
): Replayed {
  const [library, well] = [customer.libraries[place], counts[place]];
  if (library === undefined || well === undefined) {
    throw new Error('expected a library');
  }
  const spareMs = END_MS - LEARNED_MS - (FAULT_DAYS + 7) * DAY_MS;
  let faultMs = LEARNED_MS + STEP_MS * Math.floor((random.next() * spareMs) / STEP_MS);
  while (!isOpenAt(library, faultMs)) {
    faultMs += STEP_MS;
  }
  const faulty = counts.with(place, withFault(well, fault, faultMs));
  const span: readonly [number, number] = [faultMs - DAY_MS, faultMs + FAULT_DAYS * DAY_MS];
  const [came] = fault === 'dead logins' ? well.logins : well.people;
  const firings = firingsOf(customer, faulty, span, { place, fault })[place] ?? [];
  return {
    ...describe(library),
    fault,
    faultMs,
    firings: firings.map((firing) => ({
      ...firing,
      openMs: openMs(library, faultMs, firing.fromMs),
      missed: between(came ?? new Int32Array(), faultMs, firing.fromMs),
    })),
  };
}

function openMs(library: Library, fromMs: number, toMs: number): number {
  let sum = 0;
  for (let atMs = fromMs; atMs < toMs; atMs += STEP_MS) {
    sum += isOpenAt(library, atMs) ? STEP_MS : 0;
  }
  return sum;
}

/** Returns when alerts fired for each library. It polls where anything may change. */
function firingsOf(
  { scenario, calendar, number, libraries }: SimulatedCustomer,
  counts: readonly LibraryCounts[],
  [fromMs, toMs]: readonly [number, number],
  sought?: { readonly place: number; readonly fault: string },
): readonly (readonly Firing[])[] {
  const hasHours = (number + Math.floor(number / 4)) % 2 === 0;
  const isBranch = scenario.branches > 1;
  const sites = counts.map((counted, i) => {
    // With days off, 24/7 is ambiguous.
    const text = openingHoursText(libraries[i]?.opening ?? []).replace('24/7', 'Mo-Su 00:00-24:00');
    const hours = hasHours
      ? parseOpeningHours(text + announcedDays(scenario), undefined)
      : undefined;
    return new PolledSite({
      calendar,
      openingHours: hours,
      counts: counted,
      lagMs: scenario.lagMinutes(number) * MINUTE_MS,
      stepMs: isBranch ? QUARTER_MS : MINUTE_MS,
    });
  });
  const states = sites.map(() => new AlertStates());
  const { finds = '' } = FAULTS[sought?.fault ?? ''] ?? {};
  for (let atMs = fromMs; atMs < toMs; atMs += STEP_MS) {
    const isFound = sought && states[sought.place]?.firings.some(({ alert }) => alert === finds);
    if (isFound === true && scenario !== YEAR) {
      break;
    }
    const seenMs = isBranch ? sites.map((site) => site.lastMsAt(atMs)) : [];
    const loginMs = Math.max(...sites.map((site) => site.loginMsAt(atMs)));
    for (const [i, site] of sites.entries()) {
      const state = states[i] ?? new AlertStates();
      const others = isBranch ? seenMs.toSpliced(i, 1) : undefined;
      const sinceMs = atMs - site.polledMs;
      const isDue =
        !site.isToday(atMs) ||
        state.isPending ||
        (state.isFiring && sinceMs >= FIRING_STEP_MS) ||
        ((!state.isFiring || isFound === false) &&
          sinceMs >= QUIET_STEP_MS &&
          site.mayChange(atMs, others, loginMs, { share: SHARE, usual: USUAL }));
      if (isDue && (sought === undefined || i === sought.place)) {
        site.poll(atMs);
        state.take(presentAt(site, atMs, others, loginMs), atMs);
      }
    }
  }
  return states.map(({ firings }) => firings);
}

type Present = readonly [rule: (typeof RULES)[number], kind: string];

/** Returns what an alert is true for. */
function presentAt(
  site: PolledSite,
  atMs: number,
  others: readonly number[] | undefined,
  loginMs: number,
): readonly Present[] {
  const { problems, usual } = site.metricsAt(atMs, others, loginMs);
  const entered = site.arrivedWithinHour(atMs);
  const all = others === undefined ? [...problems, ...site.problemsOfCustomerAt(atMs)] : problems;
  const { entriesLastHour = 0 } = usual ?? {};
  const isBusy = site.isBusy(atMs, entriesLastHour >= USUAL);
  const isBelow =
    entered > 0 &&
    entered < SHARE * entriesLastHour &&
    isBusy &&
    [0, 0.5, 1].every((hours) => site.isOpenAt(atMs - hours * HOUR_MS) !== false);
  return RULES.flatMap((rule): readonly Present[] =>
    rule.below === undefined
      ? all.filter(({ kind }) => rule.kinds.test(kind)).map(({ kind }) => [rule, kind])
      : isBelow
        ? [[rule, '']]
        : [],
  );
}

/** The alerts of a library, by `for` and `keep_firing_for`. */
class AlertStates {
  readonly firings: Firing[] = [];
  readonly #last = new Map<string, Firing>();
  #since: ReadonlyMap<string, number> = new Map();
  isPending = false;
  isFiring = false;

  take(present: readonly Present[], atMs: number): void {
    const before = this.#since;
    this.isPending = false;
    this.isFiring = false;
    this.#since = new Map(
      present.map(([{ alert, forMs, keepMs }, kind]) => {
        const key = alert + kind;
        const sinceMs = before.get(key) ?? atMs;
        const last = this.#last.get(key);
        if (last !== undefined && (last.fromMs >= sinceMs || atMs <= last.toMs)) {
          last.toMs = atMs + keepMs;
          this.isFiring = true;
        } else if (atMs - sinceMs >= forMs) {
          const firing = { alert, fromMs: atMs, toMs: atMs + keepMs };
          this.#last.set(key, firing);
          this.firings.push(firing);
        } else {
          this.isPending = true;
        }
        return [key, sinceMs];
      }),
    );
  }
}
