/** The libraries of `npm run alerts:replay`, and what an exporter shows of them. */
import { seededRandom } from '../../src/base/random.ts';
import {
  ALWAYS_OPEN,
  OFFICE_HOURS,
  OPEN_EARLY_AND_LATE,
  drawLibrary,
  openInterval,
} from '../../src/simulator/libraries.ts';
import type { Library, OpeningInterval } from '../../src/simulator/libraries.ts';
import { countPasses, dayTraffic } from '../../src/simulator/traffic.ts';
import type { CountedPass } from '../../src/simulator/traffic.ts';
import { createZones, minuteOfDay, weekdayOf } from '../../src/simulator/zone.ts';
import type { Zone } from '../../src/simulator/zone.ts';
import type { Series } from './replay.ts';

/** Each fault and the alert that should find it. */
export const FAULTS = {
  'dead door': 'LibraryZeroTraffic',
  'dead entries': 'LibraryDirectionSilent',
  'dead logins': 'LibraryZeroLogins',
} as const;

type Fault = keyof typeof FAULTS;

export interface ReplayedLibrary {
  readonly name: string;
  readonly description: string;
  readonly fault: Fault | undefined;
  readonly faultSeconds: number;
  readonly visitsPerOpenHour: number;
  readonly openSeconds: (fromSeconds: number, toSeconds: number) => number;
  readonly series: (stepSeconds: number) => readonly Series[];
}

const DAY_SECONDS = 86_400;
const FAULT_DAYS = 7;
const TWO_DAYS_A_WEEK: readonly OpeningInterval[] = [
  { weekdays: [1, 3], fromMinute: 14 * 60, toMinute: 18 * 60 },
];
const OPENINGS = [OFFICE_HOURS, OPEN_EARLY_AND_LATE, OFFICE_HOURS, ALWAYS_OPEN, TWO_DAYS_A_WEEK];
const ZONES = ['Europe/Copenhagen', 'America/New_York', 'Pacific/Auckland'];
/** Month and day: public holidays, Easter 2026 among them. */
const HOLIDAYS = new Set([
  '1-1',
  '4-3',
  '4-5',
  '4-6',
  '5-1',
  '5-14',
  '5-25',
  '10-3',
  '12-25',
  '12-26',
]);
const CLOSES_AT_14 = new Set(['2-16', '4-2', '6-23', '12-23', '12-24', '12-31']);
const SUMMER = { fromDay: Date.UTC(2026, 6, 13) / 86_400_000, days: 21 };

/** Libraries from 3 to 6,000 visitors a day, each once without a fault and again with one or two. */
export function replayedLibraries(
  count: number,
  startSeconds: number,
  days: number,
): readonly ReplayedLibrary[] {
  return Array.from({ length: count }, (_, i) => i).flatMap((i) => {
    const visitsPerDay = Math.round(3 * 2_000 ** (i / Math.max(1, count - 1)));
    const opening = OPENINGS[i % OPENINGS.length] ?? OFFICE_HOURS;
    const given = { visitsPerDay, opening, timezone: ZONES[i % ZONES.length] ?? 'UTC' };
    const library = drawLibrary(7, i + 1, given);
    const hasHours = i % 2 === 0 || opening === ALWAYS_OPEN;
    const faults: readonly (Fault | undefined)[] = [
      undefined,
      'dead door',
      i % 2 === 0 ? 'dead entries' : 'dead logins',
    ];
    return faults.map((fault) => replayed(library, hasHours, fault, startSeconds, days));
  });
}

function replayed(
  library: Library,
  hasHours: boolean,
  fault: Fault | undefined,
  startSeconds: number,
  days: number,
): ReplayedLibrary {
  const zone = createZones()(library.timezone);
  const random = seededRandom(library.customerId * 10 + (fault?.length ?? 0));
  const name = `library-${library.customerId}${fault === undefined ? '' : `-${fault.replace(' ', '-')}`}`;

  function isOpen(seconds: number): boolean {
    const day = zone.dayOf(seconds * 1_000);
    const minute = minuteOfDay(zone, seconds * 1_000);
    return !isClosed(day) && openInterval(library.opening, weekdayOf(day), minute) !== undefined;
  }
  function openSeconds(fromSeconds: number, toSeconds: number): number {
    let open = 0;
    for (let seconds = fromSeconds; seconds < toSeconds; seconds += 300) {
      open += isOpen(seconds) ? 300 : 0;
    }
    return open;
  }
  // Faults begin while the library is open, after the four weeks of learning.
  let faultSeconds =
    startSeconds + (35 + random.next() * Math.max(0, days - 35 - FAULT_DAYS)) * DAY_SECONDS;
  faultSeconds -= faultSeconds % 300;
  while (!isOpen(faultSeconds)) {
    faultSeconds += 300;
  }
  const openHours = openSeconds(startSeconds, startSeconds + 14 * DAY_SECONDS) / 3_600;
  const openDays = new Set(library.opening.flatMap(({ weekdays }) => weekdays)).size * 2;
  return {
    name,
    description: `${library.visitsPerDay} a day, ${hasHours ? 'with' : 'without'} hours`,
    fault,
    faultSeconds,
    visitsPerOpenHour: (library.visitsPerDay * openDays) / openHours,
    openSeconds,
    series: (stepSeconds) => {
      const events = eventsOf(library, zone, startSeconds, days).filter(
        (event) => !isLost(event, fault, faultSeconds),
      );
      const rows = rowsOf(events, zone, startSeconds, days, stepSeconds);
      const metrics = hasHours
        ? { ...METRICS, library_open: (row: Row) => (isOpen(row.seconds) ? 1 : 0) }
        : METRICS;
      return Object.entries(metrics).map(([metric, value]) => ({
        name: `${metric.replace('}', ',').replace(/^(\w+)$/, '$1{')}customer="${name}"}`,
        samples: rows.flatMap((row) => {
          const shown = value(row);
          return shown === undefined ? [] : [[row.seconds, shown] as const];
        }),
      }));
    },
  };
}

interface Event extends CountedPass {
  readonly kind: 'people' | 'login';
}

/** What is counted in all days, in order of time. */
function eventsOf(
  library: Library,
  zone: Zone,
  startSeconds: number,
  days: number,
): readonly Event[] {
  const firstDay = zone.dayOf(startSeconds * 1_000);
  return Array.from({ length: days }, (_, i) => firstDay + i)
    .filter((day) => !isClosed(day))
    .flatMap((day) => {
      const { people, logins } = dayTraffic(library, zone, day);
      const closesMs =
        CLOSES_AT_14.has(monthAndDay(day)) && library.opening !== ALWAYS_OPEN
          ? zone.dayStartMs(day) + 14 * 3_600_000
          : Infinity;
      return (
        [
          ...countPasses(library, people).map((pass) => ({ ...pass, kind: 'people' as const })),
          ...countPasses(library, logins).map((pass) => ({ ...pass, kind: 'login' as const })),
        ]
          // Whoever is inside when it closes early leaves at that time.
          .flatMap((event) =>
            event.timeMs < closesMs
              ? event
              : event.people < 0
                ? { ...event, timeMs: closesMs }
                : [],
          )
      );
    })
    .toSorted((a, b) => a.timeMs - b.timeMs);
}

function isLost(
  { kind, people, timeMs }: Event,
  fault: Fault | undefined,
  faultSeconds: number,
): boolean {
  const seconds = timeMs / 1_000;
  if (
    fault === undefined ||
    seconds < faultSeconds ||
    seconds > faultSeconds + FAULT_DAYS * DAY_SECONDS
  ) {
    return false;
  }
  return fault === 'dead logins'
    ? kind === 'login'
    : kind === 'people' && (fault === 'dead door' || people > 0);
}

interface Row {
  readonly seconds: number;
  readonly offsetSeconds: number;
  readonly entered: number;
  readonly exited: number;
  readonly enteredToday: number;
  readonly exitedToday: number;
  readonly loginsToday: number;
  readonly inside: number;
  readonly seenSeconds: number | undefined;
  readonly loginSeconds: number | undefined;
}

/** The exporter's series, from a row. */
const METRICS: Readonly<Record<string, (row: Row) => number | undefined>> = {
  library_people_entered_total: ({ entered }) => entered,
  library_people_exited_total: ({ exited }) => exited,
  library_people_entered_today: ({ enteredToday }) => enteredToday,
  library_people_exited_today: ({ exitedToday }) => exitedToday,
  library_logins_today: ({ loginsToday }) => loginsToday,
  library_people_last_seen_timestamp_seconds: ({ seenSeconds }) => seenSeconds,
  library_logins_last_seen_timestamp_seconds: ({ loginSeconds }) => loginSeconds,
  library_occupancy_people: ({ inside }) => inside,
  library_utc_offset_seconds: ({ offsetSeconds }) => offsetSeconds,
  'library_poll_last_success_timestamp_seconds{stream="people"}': ({ seconds }) => seconds,
  'library_poll_last_success_timestamp_seconds{stream="logins"}': ({ seconds }) => seconds,
};

/** One row each `stepSeconds`. Days start at 04:00, counting periods with the month. */
function rowsOf(
  events: readonly Event[],
  zone: Zone,
  startSeconds: number,
  days: number,
  stepSeconds: number,
): readonly Row[] {
  const rows: Row[] = [];
  let [entered, exited, enteredToday, exitedToday, loginsToday, inside, next] = [
    0, 0, 0, 0, 0, 0, 0,
  ];
  let [day, month] = [NaN, NaN];
  let [seenMs, loginMs] = [-Infinity, -Infinity];
  for (
    let seconds = startSeconds;
    seconds < startSeconds + days * DAY_SECONDS;
    seconds += stepSeconds
  ) {
    const nowDay = zone.dayOf(seconds * 1_000 - 4 * 3_600_000);
    const nowMonth = new Date(nowDay * 86_400_000).getUTCMonth();
    if (nowDay !== day) {
      [enteredToday, exitedToday, loginsToday, inside, day] = [0, 0, 0, 0, nowDay];
    }
    if (nowMonth !== month) {
      [entered, exited, month] = [0, 0, nowMonth];
    }
    for (; next < events.length; next++) {
      const event = events[next];
      if (event === undefined || event.timeMs > seconds * 1_000) {
        break;
      }
      if (event.kind === 'login') {
        loginsToday += event.people;
        loginMs = event.timeMs;
        continue;
      }
      const people = Math.abs(event.people);
      if (event.people > 0) {
        entered += people;
        enteredToday += people;
      } else {
        exited += people;
        exitedToday += people;
      }
      inside = Math.max(0, inside + event.people);
      seenMs = event.timeMs;
    }
    rows.push({
      seconds,
      offsetSeconds: zone.offsetMsAt(seconds * 1_000) / 1_000,
      entered,
      exited,
      enteredToday,
      exitedToday,
      loginsToday,
      inside,
      seenSeconds: lastSeen(seenMs, nowDay),
      loginSeconds: lastSeen(loginMs, nowDay),
    });
  }
  return rows;

  /** The exporter knows the last count of today and of the day before. */
  function lastSeen(timeMs: number, nowDay: number): number | undefined {
    return timeMs > 0 && zone.dayOf(timeMs - 4 * 3_600_000) >= nowDay - 1
      ? Math.floor(timeMs / 60_000) * 60
      : undefined;
  }
}

function isClosed(day: number): boolean {
  return (
    HOLIDAYS.has(monthAndDay(day)) || (day >= SUMMER.fromDay && day < SUMMER.fromDay + SUMMER.days)
  );
}

function monthAndDay(day: number): string {
  const date = new Date(day * 86_400_000);
  return `${String(date.getUTCMonth() + 1)}-${String(date.getUTCDate())}`;
}
