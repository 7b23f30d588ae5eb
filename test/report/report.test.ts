/** `report` against the ground truth of a quarter: every cell, through the process's own command line. */
import { afterAll, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/base/duration.ts';
import { Calendar } from '../../src/counting/calendar/calendar.ts';
import type { Span } from '../../src/counting/calendar/calendar.ts';
import { Zone } from '../../src/counting/calendar/zone.ts';
import { sensorSetting } from '../../src/simulator/libraries.ts';
import type { Totals } from '../../src/simulator/ground-truth.ts';
import type { Device, Library } from '../../src/simulator/libraries.ts';
import { startEnvironment } from '../cli/simulated-environment.ts';
import { ran } from '../cli/terminal.ts';

const ZONE = 'Europe/Copenhagen';
const DAY_START = 4;
const CALENDAR = new Calendar(new Zone(ZONE), { hour: DAY_START, minute: 0 });
/** The service's now: two days after the end of the quarter, so that some records are still late. */
const NOW_MS = Date.UTC(2025, 3, 3, 9);
/** With a change of the clocks, and the days on which East counts nobody. */
const QUARTER = ['--from=2025-01-01', '--to=2025-04-01'];
const MONTHS = ['2025-01-01', '2025-02-01', '2025-03-01'];
const ALL_WEEK = [0, 1, 2, 3, 4, 5, 6];
const BRANCHES = ['Main', 'North', 'South', 'East'].map((name, i) => ({ id: 101 + i, name }));

/** A door and a login station in each branch. East counts nobody from 10 to 13 March. */
const DEVICES = BRANCHES.flatMap(({ id: branchId, name }): Device[] => {
  const common = { branchId, clientId: branchId * 10, weight: 1 };
  const works = sensorSetting(-Infinity, 0.98);
  const fails = sensorSetting(startOf('2025-03-10'), 0);
  const repaired = sensorSetting(startOf('2025-03-13'), 0.98);
  const sensor = name === 'East' ? [works, fails, repaired] : [works];
  return [
    { ...common, id: branchId * 100, name: 'Door', kind: 'door', sensor },
    { ...common, id: branchId * 100 + 50, name: 'Station', kind: 'station', sensor: [works] },
  ];
});
/** Open around the clock, so that somebody comes at four in the morning and on nights on which clocks change. */
const LIBRARY: Partial<Library> = {
  timezone: ZONE,
  opening: [{ weekdays: ALL_WEEK, fromMinute: 0, toMinute: 1_440 }],
  branches: BRANCHES,
  devices: DEVICES,
  visitsPerDay: 60,
  quietHours: 0.6,
  loginShare: 0.3,
};
const LATE = {
  lateness: { usualMs: 10 * MINUTE_MS, offlineShare: 0.3, offlineMaxMs: 7 * DAY_MS },
  corrections: { share: 0.02, withinMs: DAY_MS },
};

const environment = await startEnvironment(
  {
    // Minutes are forced into days above 1,000 rows, and windows include the minute at their ends.
    forced: {
      conventions: {
        forced: { above: 'rows', limit: 1_000 },
        fromEdge: 'inclusive',
        toEdge: 'inclusive',
        resolutionMs: MINUTE_MS,
      },
    },
    // `day` and `quarter` are made at night, and keys do not say the time.
    nightly: {
      conventions: {
        dayFreshness: 'nightly',
        quarterFreshness: 'nightly',
        window: 'whole buckets',
        minuteKey: { form: 'opaque' },
      },
    },
  },
  LATE,
  { clock: { nowMs: () => NOW_MS }, historyMs: 100 * DAY_MS, library: LIBRARY },
);
for (const { library } of environment.service.customers) {
  const atMs = startOf('2025-01-06') + 7 * HOUR_MS;
  // A record that the service removed a month later, and one that came two months late.
  environment.service.record(library.name, { kind: 'in', atMs, goneMs: atMs + 30 * DAY_MS });
  environment.service.record(library.name, { kind: 'in', atMs, arrivesMs: atMs + 60 * DAY_MS });
}

afterAll(() => environment[Symbol.asyncDispose]());

function startOf(date: string): number {
  return CALENDAR.startOfDate(Date.parse(date));
}

type Row = Readonly<Record<string, string | number | null>> & {
  readonly dates_without_counts: readonly string[];
};

async function rows(...args: readonly string[]): Promise<readonly Row[]> {
  const config = environment.config({
    service: { max_requests_per_second: 2_000 },
    customer: {
      breakdowns: ['branch', 'device'],
      staffed_hours: 'Mo-Fr 10:00-17:30',
      opening_hours: '24/7',
      branches: { 104: { name: 'East', staffed_hours: 'Tu 12:15-18:00' } },
    },
  });
  const { status, out, err } = await ran('report', config, '--format=json', ...args);
  expect(status).toBe(0);
  expect(err).toContain('hours and holidays are those of today');
  return JSON.parse(out) as readonly Row[];
}

function spanOf({ period_start: start, period_end: end }: Row): Span {
  const [startMs = 0, endMs = 0] = [start, end].map((text) =>
    String(text).length === 10 ? startOf(String(text)) : Date.parse(String(text)),
  );
  return { startMs, endMs };
}

/** What the service counted for a row, in all of its time or in a part of it. A branch or device has no logins. */
function countedFor(row: Row, { startMs, endMs }: Span = spanOf(row)) {
  const customer = String(row['customer']);
  const by = (['branch', 'device'] as const).find((each) => typeof row[each] === 'string');
  const [since, after] = [startMs, endMs].map((fromMs): Partial<Totals> | undefined =>
    by === undefined
      ? environment.service.served(customer, fromMs)
      : environment.service.breakdownTotals(customer, by, fromMs).get(Number(row[by])),
  );
  return {
    entered: (since?.entered ?? 0) - (after?.entered ?? 0),
    exited: (since?.exited ?? 0) - (after?.exited ?? 0),
    logins: by === undefined ? (since?.logins ?? 0) - (after?.logins ?? 0) : null,
  };
}

function daysOf(row: Row): number {
  const { startMs, endMs } = spanOf(row);
  return Math.round((endMs - startMs) / DAY_MS);
}

test.each(['forced', 'nightly'])(
  'the months of %s are the ground truth, with late records and corrections',
  async (customer) => {
    const found = await rows(...QUARTER, `--customer=${customer}`, '--visits=mean');
    expect(found.map((row) => row['period_start'])).toEqual(MONTHS);
    for (const row of found) {
      const counted = countedFor(row);
      expect(row).toMatchObject({
        customer,
        ...counted,
        visits: (counted.entered + counted.exited) / 2,
        days_open: daysOf(row),
        days_without_counts: 0,
        note: '',
      });
      expect(counted.entered).toBeGreaterThan(1_000);
    }
  },
);

test('the months of branches are the ground truth', async () => {
  const found = await rows(...QUARTER, '--customer=forced', '--by=branch');
  const ids = [...BRANCHES.map(({ id }) => String(id)), null];
  expect(found.map((row) => [row['branch'], row['period_start']])).toEqual(
    ids.flatMap((id) => MONTHS.map((start) => [id, start])),
  );
  for (const row of found.slice(-MONTHS.length)) {
    expect(row).toMatchObject({
      entered: null,
      logins: countedFor(row).logins,
      days_open: null,
      note: 'of all branches: the service has no logins by branch',
    });
  }
  for (const row of found.slice(0, -MONTHS.length)) {
    const isEast = row['branch'] === '104';
    const isFailing = isEast && row['period_start'] === '2025-03-01';
    const dates = isFailing ? ['2025-03-10', '2025-03-11', '2025-03-12'] : [];
    expect(row).toMatchObject({
      branch_name: isEast ? 'East' : row['branch'],
      ...countedFor(row),
      days_open: daysOf(row),
      days_without_counts: dates.length,
      dates_without_counts: dates,
      note: '',
    });
  }
});

test.each([
  ['customer', 23],
  ['device', 4 * 23],
])('the hours of a night on which clocks change are the ground truth, by %s', async (by, count) => {
  const range = ['--from=2025-03-29', '--to=2025-03-30', '--period=hour'];
  const found = await rows(...range, `--by=${by}`, '--customer=forced');
  expect(found).toHaveLength(count);
  for (const row of found) {
    const days = { days_open: null, days_without_counts: null };
    expect(row).toMatchObject({ ...countedFor(row), ...days });
  }
});

/** Staffed hours, from midnight of the Tuesday on. */
const TUESDAY_AND_WEDNESDAY = [
  [10, 17.5],
  [34, 41.5],
] as const;
const TUESDAY_OF_EAST = [[12.25, 18]] as const;

test.each([
  ['customer', 1],
  ['branch', 4],
])('entries while staff is there are the ground truth, by %s', async (by, count) => {
  const range = ['--from=2025-03-25', '--to=2025-03-27'];
  const all = await rows(...range, '--hours=staffed', `--by=${by}`, '--customer=forced');
  const found = all.filter(({ entered }) => entered !== null);
  expect(found).toHaveLength(count);
  for (const row of found) {
    const midnightMs = spanOf(row).startMs - DAY_START * HOUR_MS;
    let [staffed, hours] = [0, 0];
    for (const [from, to] of row['branch'] === '104' ? TUESDAY_OF_EAST : TUESDAY_AND_WEDNESDAY) {
      const part = { startMs: midnightMs + from * HOUR_MS, endMs: midnightMs + to * HOUR_MS };
      staffed += countedFor(row, part).entered;
      hours += to - from;
    }
    const { entered } = countedFor(row);
    expect(row).toMatchObject({
      entered,
      entered_staffed: staffed,
      entered_self_service: entered - staffed,
      hours_staffed: hours,
      hours_self_service: 48 - hours,
    });
  }
});
