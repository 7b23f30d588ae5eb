/** What `npm run alerts:replay` simulates: how many visitors, on which days, and what is wrong. */
import { DAY_MS } from '../../src/base/duration.ts';

interface FaultDescription {
  /** The share that is still counted. */
  readonly counts: readonly [entries: number, exits: number, logins: number];
  /** The alert that should find it, and those that may fire, too. */
  readonly finds: string;
  readonly fires: readonly string[];
}

/** The only fault of one door alone. */
export const ONE_DOOR = 'one of several doors dead';

const [TRAFFIC, BELOW] = ['LibraryZeroTraffic', 'LibraryFarBelowUsual'];
const [DIRECTION, UNBALANCED] = ['LibraryDirectionSilent', 'LibraryDirectionsUnbalanced'];

/** Where few pass, those of the other direction are few as well: then nobody is counted at all. */
export const FAULTS: Readonly<Record<string, FaultDescription>> = {
  'dead door': { counts: [0, 0, 1], finds: TRAFFIC, fires: [BELOW] },
  'dead entries': { counts: [0, 1, 1], finds: DIRECTION, fires: [UNBALANCED, BELOW, TRAFFIC] },
  'dead exits': { counts: [1, 0, 1], finds: DIRECTION, fires: [UNBALANCED, TRAFFIC] },
  'dead logins': { counts: [1, 1, 0], finds: 'LibraryZeroLogins', fires: [] },
  [ONE_DOOR]: { counts: [0, 0, 1], finds: 'LibraryDoorSilent', fires: [TRAFFIC, BELOW] },
  '70 % of entries missed': { counts: [0.3, 1, 1], finds: UNBALANCED, fires: [DIRECTION, BELOW] },
  '20 % of exits missed': { counts: [1, 0.8, 1], finds: 'LibraryDoorRatioOff', fires: [] },
};

/** The alerts about what a library counts. The others do not depend on traffic. */
export const ALERTS = [...new Set([...Object.values(FAULTS).map(({ finds }) => finds), BELOW])];

/** Days since 1970. */
type Days = readonly number[];

export interface Scenario {
  readonly name: string;
  /** Visitors a day of the smallest and the largest library. */
  readonly visits: readonly [from: number, to: number];
  /** How many libraries a customer has: its branches, if there are several. */
  readonly branches: number;
  /** Copies of each library are made with these faults. */
  readonly faults: readonly string[];
  /** Whether the opening hours, where an exporter knows them, have the public holidays. */
  readonly knowsHolidays: boolean;
  /** Closed, and the opening hours tell it. */
  readonly summer: Days;
  /** Closed, and nobody tells. */
  readonly closing: Days;
  /** Days on which fewer come: {@link QUIET_SHARE} of the usual visitors. */
  readonly quiet: Days;
  readonly hasLogins: boolean;
  /** How many minutes late the service shows counts, for a number of a customer. */
  readonly lagMinutes: (customer: number) => number;
}

/** Libraries from 3 to 6,000 visitors a day; one in six is half an hour late. */
export const YEAR: Scenario = {
  name: 'a year',
  visits: [3, 6_000],
  branches: 1,
  faults: Object.keys(FAULTS),
  knowsHolidays: true,
  summer: daysFrom(7, 13, 21),
  closing: [],
  quiet: [],
  hasLogins: true,
  lagMinutes: (customer) => (customer % 6 === 5 ? 30 : 0),
};

const WELL: Scenario = { ...YEAR, faults: [] };
const DEAD_DOOR: Scenario = { ...YEAR, faults: ['dead door'] };

/** The same with one thing changed. */
export const SCENARIOS: readonly Scenario[] = [
  { ...WELL, name: 'holidays that the hours do not have', knowsHolidays: false },
  { ...WELL, name: 'closed for two weeks, unannounced', closing: daysFrom(9, 7, 14) },
  { ...WELL, name: 'six weeks of summer at 40 %', summer: [], quiet: daysFrom(7, 6, 42) },
  { ...DEAD_DOOR, name: 'no logins', hasLogins: false },
  { ...DEAD_DOOR, name: 'data 55 minutes late', lagMinutes: () => 55 },
  { ...DEAD_DOOR, name: 'one to three visitors a day', visits: [1, 3] },
  { ...YEAR, name: '4 branches', faults: ['dead door', 'dead entries', ONE_DOOR], branches: 4 },
  { ...YEAR, name: '19 branches', faults: ['dead door', ONE_DOOR], branches: 19 },
];

export const QUIET_SHARE = 0.4;
/** Public holidays, Easter 2026 among them. */
const HOLIDAYS = daysOf('1-1 4-3 4-5 4-6 5-1 5-14 5-25 10-3 12-25 12-26');
/** On these days it closes at 14:00, and nobody has told the exporter. */
export const SHORT_DAYS = daysOf('2-16 4-2 6-23 12-23 12-24 12-31');

export function closedDays({ summer, closing }: Scenario): ReadonlySet<number> {
  return new Set([...HOLIDAYS, ...summer, ...closing]);
}

/** The days off that opening hours tell, in OpenStreetMap's syntax. */
export function announcedDays({ knowsHolidays, summer }: Scenario): string {
  const dates = [...(knowsHolidays ? HOLIDAYS : []), ...summer].map((day) => {
    const [, date, month] = new Date(day * DAY_MS).toUTCString().split(' ');
    return `${month} ${date}`;
  });
  return dates.length === 0 ? '' : `; ${dates.join(',')} off`;
}

/** Of months and days. */
function daysOf(dates: string): Days {
  return dates.split(' ').map((date) => Date.parse(`2026-${date} UTC`) / DAY_MS);
}

function daysFrom(month: number, date: number, count: number): Days {
  return Array.from({ length: count }, (_, i) => Date.UTC(2026, month - 1, date + i) / DAY_MS);
}
