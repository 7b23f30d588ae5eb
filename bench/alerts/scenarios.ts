/** What `npm run alerts:replay` simulates: how many visitors, on which days, and what is wrong. */

export type Fault = 'dead door' | 'dead entries' | 'dead exits' | 'dead logins';

/** Each fault, the alert that should find it, and the alerts that may fire. */
export const FAULTS: Readonly<
  Record<Fault, { readonly finds: string; readonly fires: readonly string[] }>
> = {
  'dead door': {
    finds: 'LibraryZeroTraffic',
    fires: ['LibraryZeroTraffic', 'LibraryFarBelowUsual'],
  },
  'dead entries': {
    finds: 'LibraryDirectionSilent',
    fires: [
      'LibraryDirectionSilent',
      'LibraryEntriesExitsDrift',
      'LibraryFarBelowUsual',
      // Where few pass, those who leave are few as well.
      'LibraryZeroTraffic',
    ],
  },
  'dead exits': {
    finds: 'LibraryDirectionSilent',
    fires: ['LibraryDirectionSilent', 'LibraryEntriesExitsDrift', 'LibraryZeroTraffic'],
  },
  'dead logins': { finds: 'LibraryZeroLogins', fires: ['LibraryZeroLogins'] },
};

interface Days {
  /** Days since 1970. */
  readonly fromDay: number;
  readonly days: number;
}

export interface Scenario {
  readonly name: string;
  /** Visitors a day of the smallest and the largest library. */
  readonly visits: readonly [from: number, to: number];
  /** How many libraries a customer has: its branches, if there are several. */
  readonly branches: number;
  /** Copies of each library are made with these faults. */
  readonly faults: readonly Fault[];
  /** Whether the opening hours, where an exporter knows them, have the public holidays. */
  readonly knowsHolidays: boolean;
  /** Closed, and the opening hours tell it. */
  readonly summer: Days;
  /** Closed, and nobody tells. */
  readonly closing: Days;
  /** Days on which fewer people come, and their share of the usual ones. */
  readonly season: Days & { readonly share: number };
  readonly hasLogins: boolean;
  /** How late the service shows counts, for a number of a library. */
  readonly lagSeconds: (library: number) => number;
}

const DAY_MS = 86_400_000;
const LAG_SECONDS = 1_800;
const LONG_LAG_SECONDS = 3_300;
const NO_DAYS: Days = { fromDay: Infinity, days: 0 };

/** A year of libraries from 3 to 6,000 visitors a day; one in six is half an hour late. */
export const YEAR: Scenario = {
  name: 'a year',
  visits: [3, 6_000],
  branches: 1,
  faults: ['dead door', 'dead entries', 'dead exits', 'dead logins'],
  knowsHolidays: true,
  summer: { fromDay: dayOf(7, 13), days: 21 },
  closing: NO_DAYS,
  season: { ...NO_DAYS, share: 1 },
  hasLogins: true,
  lagSeconds: (library) => (library % 6 === 5 ? LAG_SECONDS : 0),
};

/** The year, and the same with one thing changed. */
export const SCENARIOS: readonly Scenario[] = [
  YEAR,
  { ...YEAR, name: 'holidays that the hours do not have', faults: [], knowsHolidays: false },
  {
    ...YEAR,
    name: 'closed for two weeks, unannounced',
    faults: [],
    closing: { fromDay: dayOf(9, 7), days: 14 },
  },
  {
    ...YEAR,
    name: 'six weeks of summer at 40 %',
    faults: [],
    summer: NO_DAYS,
    season: { fromDay: dayOf(7, 6), days: 42, share: 0.4 },
  },
  { ...YEAR, name: 'no logins', faults: ['dead door'], hasLogins: false },
  {
    ...YEAR,
    name: 'data 55 minutes late',
    faults: ['dead door'],
    lagSeconds: () => LONG_LAG_SECONDS,
  },
  { ...YEAR, name: 'one to three visitors a day', faults: ['dead door'], visits: [1, 3] },
  {
    ...YEAR,
    name: 'customers with 4 branches',
    faults: ['dead door', 'dead entries'],
    branches: 4,
  },
  { ...YEAR, name: 'customers with 19 branches', faults: ['dead door'], branches: 19 },
];

/** Month and day: public holidays, Easter 2026 among them. */
const HOLIDAYS = '1-1 4-3 4-5 4-6 5-1 5-14 5-25 10-3 12-25 12-26'.split(' ');
/** On these days it closes at 14:00, and nobody has told the exporter. */
const SHORT_DAYS = new Set('2-16 4-2 6-23 12-23 12-24 12-31'.split(' '));
const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');

export function isClosed({ summer, closing }: Scenario, day: number): boolean {
  return HOLIDAYS.includes(monthAndDay(day)) || isWithin(summer, day) || isWithin(closing, day);
}

export function isShort(day: number): boolean {
  return SHORT_DAYS.has(monthAndDay(day));
}

/** Share of the usual visitors on a day. */
export function shareOf({ season }: Scenario, day: number): number {
  return isWithin(season, day) ? season.share : 1;
}

/** The days off that opening hours tell, in OpenStreetMap's syntax. */
export function announcedDays({ knowsHolidays, summer }: Scenario): string {
  const holidays = HOLIDAYS.map((date) => {
    const [month, day] = date.split('-').map(Number);
    return dateText(dayOf(month ?? NaN, day ?? NaN));
  });
  const last = summer.fromDay + summer.days - 1;
  return [
    ...(knowsHolidays ? [`${holidays.join(',')} off`] : []),
    ...(summer === NO_DAYS ? [] : [`${dateText(summer.fromDay)}-${dateText(last)} off`]),
  ]
    .map((rule) => `; ${rule}`)
    .join('');
}

function dayOf(month: number, day: number): number {
  return Date.UTC(2026, month - 1, day) / DAY_MS;
}

function isWithin({ fromDay, days }: Days, day: number): boolean {
  return day >= fromDay && day < fromDay + days;
}

function dateText(day: number): string {
  const date = new Date(day * DAY_MS);
  return `${MONTHS[date.getUTCMonth()]} ${String(date.getUTCDate()).padStart(2, '0')}`;
}

function monthAndDay(day: number): string {
  const date = new Date(day * DAY_MS);
  return `${date.getUTCMonth() + 1}-${date.getUTCDate()}`;
}
