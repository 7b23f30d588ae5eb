/** What `npm run alerts:replay` simulates: how many visitors, on which days, and what is wrong. */
import { DAY_MS, parseDuration } from '../../src/base/duration.ts';
import { readAlerts } from '../../test/prometheus/rules.ts';

/** The shares of entries, exits and logins that are counted; the alert that should find it; others that may fire. */
type Fault = readonly [counts: readonly number[], finds: string, fires: readonly string[]];

/** The only fault of one door alone. */
export const ONE_DOOR = 'one of several doors dead';

const [TRAFFIC, BELOW] = ['LibraryZeroTraffic', 'LibraryFarBelowUsual'];
const [DIRECTION, UNBALANCED] = ['LibraryDirectionSilent', 'LibraryDirectionsUnbalanced'];

/** Where few pass, those of the other direction are few as well: then nobody is counted at all. */
export const FAULTS: Readonly<Record<string, Fault>> = {
  'dead door': [[0, 0, 1], TRAFFIC, [BELOW]],
  'dead entries': [[0, 1, 1], DIRECTION, [UNBALANCED, BELOW, TRAFFIC]],
  'dead exits': [[1, 0, 1], DIRECTION, [UNBALANCED, TRAFFIC]],
  'dead logins': [[1, 1, 0], 'LibraryZeroLogins', []],
  [ONE_DOOR]: [[0, 0, 1], 'LibraryDoorSilent', [TRAFFIC, BELOW]],
  '70 % of entries missed': [[0.3, 1, 1], UNBALANCED, [DIRECTION, BELOW]],
  '20 % of exits missed': [[1, 0.8, 1], 'LibraryDoorRatioOff', []],
};

/** The alerts about what a library counts. The others do not depend on traffic. */
export const ALERTS = [...new Set([...Object.values(FAULTS).map(([, finds]) => finds), BELOW])];

/** What LibraryFarBelowUsual compares, beside the kinds of problems. */
export const FAR_BELOW = 'far_below_usual';

/** As they are shipped: the kinds of problems for which they fire, and how long they wait. */
export const RULES = readAlerts()
  .filter(({ alert }) => ALERTS.includes(alert))
  .map(({ alert, expr, for: wait = '0', keep_firing_for: keep = '0' }) => ({
    alert,
    kinds: new RegExp(`^(${/problem=~?"(.*)"/.exec(expr)?.[1] ?? FAR_BELOW})$`),
    forMs: parseDuration(wait) ?? NaN,
    keepMs: parseDuration(keep) ?? NaN,
    /** Fewer than a share of what is usual, where so many are. */
    below: /< ([\d.]+) \*.*>= (\d+)/s.exec(expr)?.slice(1).map(Number) ?? [],
  }));

/** Libraries from 3 to 6,000 visitors a day; one in six is half an hour late. Days are counted since 1970. */
export const YEAR = {
  name: 'a year',
  /** Visitors a day of the smallest and of the largest library. */
  visits: { from: 3, to: 6_000 },
  libraries: 30,
  /** How many libraries a customer has: its branches, if there are several. */
  branches: 1,
  /** Copies of each library are made with these faults. */
  faults: Object.keys(FAULTS),
  /** Public holidays, Easter 2026 among them. */
  holidays: daysOf('1-1 4-3 4-5 4-6 5-1 5-14 5-25 10-3 12-25 12-26'),
  /** Whether the opening hours, where an exporter knows them, have the public holidays. */
  knowsHolidays: true,
  /** Closed, and the opening hours tell it. */
  summer: daysOf('7-13', 21),
  /** Closed, and nobody tells. */
  closing: daysOf('9-7', 0),
  /** It closes at 14:00, and nobody tells. */
  short: daysOf('2-16 4-2 6-23 12-23 12-24 12-31'),
  /** 40 % of the visitors come. */
  quiet: daysOf('7-6', 0),
  hasLogins: true,
  /** How many minutes late the service shows counts, for a number of a customer. */
  lagMinutes: (customer: number): number => (customer % 6 === 5 ? 30 : 0),
};

export type Scenario = typeof YEAR;

const WELL: Scenario = { ...YEAR, libraries: 15, faults: [] };
const DEAD: Scenario = { ...WELL, faults: ['dead door'] };

/** The year, and the same with one thing changed. */
export const SCENARIOS: readonly Scenario[] = [
  YEAR,
  { ...WELL, name: 'holidays that the hours do not have', knowsHolidays: false },
  { ...WELL, name: 'closed for two weeks, unannounced', closing: daysOf('9-7', 14) },
  { ...WELL, name: 'six weeks of summer at 40 %', summer: [], quiet: daysOf('7-6', 42) },
  { ...DEAD, name: 'no logins', hasLogins: false },
  { ...DEAD, name: 'data 55 minutes late', lagMinutes: () => 55 },
  { ...DEAD, name: 'one to three visitors a day', visits: { from: 1, to: 3 } },
  { ...DEAD, name: '4 branches', faults: ['dead door', 'dead entries', ONE_DOOR], branches: 4 },
  { ...DEAD, name: '19 branches', faults: ['dead door', ONE_DOOR], branches: 19, libraries: 38 },
];

/** Returns so many successive days from each date on. */
function daysOf(dates: string, count = 1): readonly number[] {
  const days = dates.split(' ').map((date) => Date.parse(`2026-${date} UTC`) / DAY_MS);
  return days.flatMap((day) => Array.from({ length: count }, (_, i) => day + i));
}
