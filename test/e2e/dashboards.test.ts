/** What the dashboards' own queries make of known series, in promtool's unit tests. */
import { expect, test } from 'vitest';
import { queriesOf, readDashboards } from '../grafana/dashboard.ts';
import { DAY, HOUR, inputSeries, until, withLabel } from '../prometheus/scenario.ts';
import type { Scenario } from '../prometheus/scenario.ts';
import { filledIn, panelQuery } from './support/panel-query.ts';
import { failuresOf } from './support/promtool.ts';

/** Friday, 9 January 1970, 00:00 UTC. */
const NOW = 8 * DAY;
const YEAR = 365 * DAY;
const SINCE = 'library_problem_start_timestamp_seconds';
const MONTH = 'customer_branch_month:library_people_entered:total';
const MISSED = 'customer_branch_month:library_people_missed:max';

const WELL = 'customer="well"';
const CENTRE = 'customer="county",branch="20",name="Centre"';
const NORTH = 'customer="county",branch="21",name="North"';
const FAILING = 'customer="failing"';
const NOBODY_COUNTED = `${NORTH},problem="nobody_counted"`;
const POLLS_FAILING = `${FAILING},problem="polls_failing"`;

/** The series of a building, by its labels. */
function site(labels: string, name: string, values: Readonly<Record<string, number>>): Scenario {
  const series = Object.entries(values).map(([metric, value]) => [`library_${metric}`, value]);
  const info = [`library_site_info{name="${name}"}`, 1];
  return withLabel(Object.fromEntries([info, ...series]) as Scenario, labels);
}

/** What both exporters show: a building, one with branches of which one counts nobody, one whose polls fail. */
function libraries(inside: number): Scenario {
  return {
    ...site(WELL, '', {
      inside_people: inside,
      occupancy_estimate_lower_people: inside - 5,
      occupancy_estimate_upper_people: inside + 5,
      door_count_ratio: 1.1,
      capacity_people: 200,
      open: 1,
      counts_trusted: 1,
      people_entered_today: 300,
      people_entered_usual_today: 280,
      people_entered_hour: 30,
      people_entered_usual_hour: 25,
      people_missed: 0,
    }),
    'library_occupancy_usual_people{customer="well"}': until(NOW - 5 * DAY, 66, 40),
    'library_logins_today{customer="well"}': until(NOW - 6 * DAY, 77, 90),
    'library_logins_total{customer="well"}': (minute) => minute,
    'library_utc_offset_seconds{customer="well"}': 3_600,
    'library_device_last_seen_timestamp_seconds{customer="well",device="301"}': 60 * (NOW - 5),
    'library_device_people_entered_today{customer="well",device="301"}': 120,
    'library_device_people_missed{customer="well",device="301"}': 3,
    ...site('customer="county",branch="20"', 'Centre', {
      inside_people: 20,
      capacity_people: 80,
      open: 1,
      counts_trusted: 1,
      people_entered_today: 100,
      people_entered_usual_today: 110,
      occupancy_usual_people: 15,
    }),
    ...site('customer="county",branch="21"', 'North', {
      open: 0,
      counts_trusted: 0,
      people_entered_today: 5,
      people_entered_usual_today: 60,
      occupancy_usual_people: 9,
      people_missed: 48,
    }),
    [`${SINCE}{${NOBODY_COUNTED}}`]: 3_000,
    ...site(FAILING, '', { open: 1, counts_trusted: 0, people_entered_today: 70 }),
    [`${SINCE}{${POLLS_FAILING}}`]: 6_000,
  };
}

const B = 'instance="b:10096"';
const SCENARIO: Scenario = {
  ...libraries(50),
  // One scrape behind.
  ...withLabel(libraries(49), B),
  up: 1,
  library_exporter_build_info: 1,
  // The other exporter does not answer for two hours, and a job of another system never did.
  [`up{${B}}`]: until(NOW - 2 * HOUR, 1, 0),
  [`library_exporter_build_info{${B}}`]: until(NOW - 2 * HOUR, 1, undefined),
  'up{job="node"}': 0,
};

/** A query, its samples by their labels, and the customer and the branch at which the reader looks. */
type Case = readonly [
  query: Parameters<typeof panelQuery>[0],
  samples: Readonly<Record<string, number>>,
  reader?: { readonly customer: string; readonly branch?: string },
];

const BUSY = 'How busy is it? $customer ${branch:text}';
const AT_WELL = { customer: 'well', branch: '' };
const AT_NORTH = { customer: 'county', branch: '21' };
const AT_FAILING = { customer: 'failing', branch: '' };

const CASES: readonly Case[] = [
  [['overview', 'Problems'], { '': 2 }],
  [['overview', 'Exporters down'], { '': 1 }],
  // Each building once, as the exporter says that has seen more.
  [['overview', 'People inside'], { '': 70 }],
  // Of the buildings whose counts are trusted, also what is usual.
  [['overview', 'Entries today', 'entries'], { '': 400 }],
  [['overview', 'Entries today', 'usual'], { '': 390 }],
  [['overview', 'People inside, against usual', 'usual'], { '': 55 }],
  [['overview', 'Number of branches', 'all'], { '': 4 }],
  [['overview', 'Number of branches', 'right'], { '': 2 }],
  [['overview', 'Number of branches', 'open'], { '': 3 }],
  [
    ['overview', 'Needs attention', 'Since'],
    { [NOBODY_COUNTED]: 3_000_000, [POLLS_FAILING]: 6_000_000 },
  ],
  [['overview', 'Needs attention', 'Missed'], { [NOBODY_COUNTED]: 48 }],
  [['overview', 'Branches', ''], { [WELL]: 1, [CENTRE]: 1, [NORTH]: 1, [FAILING]: 1 }],
  [
    ['overview', 'Branches', 'Of capacity'],
    { [WELL]: 0.25, 'customer="county",branch="20"': 0.25 },
  ],

  [['exporter', 'Exporters that do not answer', 'do not answer'], { '': 1 }],
  [['exporter', 'Exporters that do not answer', 'of'], { '': 2 }],
  [
    ['exporter', 'Exporters', 'Last answer'],
    { 'instance="a:10096"': 60_000 * NOW, [B]: 60_000 * (NOW - 3 * HOUR) },
  ],
  [['exporter', 'Libraries whose polls fail', 'fail'], { '': 1 }],

  // A screen at the entrance says how busy it is, that it is closed, or nothing.
  [['now', BUSY, 'busy'], { '': 0.25 }, AT_WELL],
  [['now', BUSY, 'closed'], { '': 0 }, AT_NORTH],
  [['now', BUSY, 'busy'], {}, AT_FAILING],
  [['now', BUSY, 'closed'], {}, AT_FAILING],
  [['now', 'Usually inside', 'in an hour'], { '': 66 }, AT_WELL],

  [['customer', 'Logins today', 'a week ago'], { [WELL]: 77 }, AT_WELL],
  [['customer', 'Door counters', 'Last count'], { 'device="301"': 60_000 * (NOW - 5) }, AT_WELL],
  // The hour that is over, by its own clock: from 00:00 on Friday.
  [['customer', 'Entries by hour and weekday', 'weekday'], { '': 4 }, AT_WELL],
  [['customer', 'Entries by hour and weekday', 'hour'], { '': 0 }, AT_WELL],
];

/** What promtool prints about queries whose samples are not the expected ones, at the end of a scenario. */
function failuresAt(
  minute: number,
  fromMinute: number,
  scenario: Scenario,
  cases: readonly Case[],
) {
  const range = { fromMs: 60_000 * fromMinute, atMs: 60_000 * minute };
  const step = minute === NOW ? HOUR : 4 * HOUR;
  return failuresOf({
    step,
    series: inputSeries(scenario, minute, {}, step),
    expectations: cases.map(([query, samples, reader]) => {
      const expr = panelQuery(query, { ...range, ...reader });
      return { expr, minute, samples: Object.entries(samples) };
    }),
  });
}

test('a dashboard shows each building once, sums of those that are trusted, and what needs attention', async () => {
  expect(await failuresAt(NOW, NOW - DAY, SCENARIO, CASES)).toBe('');
});

test('every query of customers says the same of two exporters as of the one that has seen more', async () => {
  const queries = readDashboards()
    .filter(([, { uid }]) => uid !== 'library-statistics')
    .flatMap(([, { panels }]) => panels.flatMap(queriesOf))
    .filter((query) => query.includes('$customer'));
  const failures = await failuresOf({
    step: HOUR,
    series: inputSeries(SCENARIO, NOW, {}, HOUR),
    expectations: queries.map((query) => {
      // One library is chosen where All is not possible.
      const chosen = query.replaceAll('="$customer"', '="well"').replaceAll('="$branch"', '=""');
      const ofBoth = filledIn(chosen, { fromMs: 60_000 * (NOW - DAY), atMs: 60_000 * NOW });
      const ofOne = ofBoth.replaceAll('job=~".+"', 'instance="a:10096"');
      const expr = `((${ofBoth}) != (${ofOne})) or ((${ofBoth}) unless (${ofOne}))`;
      return { expr, minute: NOW, samples: [] };
    }),
  });
  expect(failures).toBe('');
});

const [DECEMBER, JANUARY] = ['month="1970-12"', 'month="1971-01"'];
const CHANGE = YEAR - 22 * DAY;

/** One month and the days of the next: 22 of them for two buildings, ten for the other. */
const MONTHS: Scenario = {
  [`${MONTH}{${WELL},${DECEMBER}}`]: until(CHANGE, (minute) => minute / DAY, undefined),
  [`${MONTH}{${WELL},${JANUARY}}`]: until(CHANGE, undefined, 7),
  [`${MONTH}{customer="county",branch="20",${JANUARY}}`]: until(CHANGE, undefined, 40),
  [`${MONTH}{customer="county",branch="21",${JANUARY}}`]: until(YEAR - 10 * DAY, undefined, 2),
  [`${MISSED}{customer="county",branch="20",${JANUARY}}`]: until(YEAR - 20 * DAY, 95, 0),
  [`${MISSED}{${WELL},${JANUARY}}`]: 49,
  [`library_site_info{${WELL},name=""}`]: 1,
  [`library_site_info{${CENTRE}}`]: 1,
  [`library_site_info{${NORTH}}`]: 1,
  [`library_people_entered_total{${WELL}}`]: until(DAY, 4_321, 900),
  'library_people_entered_total{customer="county"}': until(DAY, undefined, 500),
};

test('months are their greatest recordings, and are compared where there are both years', async () => {
  const ofWell = { [`${WELL},${DECEMBER}`]: 343 - 4 / 24, [`${WELL},${JANUARY}`]: 7 };
  const [centre, north] = [`${CENTRE},${JANUARY}`, `${NORTH},${JANUARY}`];
  const failures = await failuresAt(YEAR, 0, MONTHS, [
    [['statistics', 'Entries by month'], { ...ofWell, [`customer="county",${JANUARY}`]: 42 }],
    [['statistics', 'Months of branches', 'Entries'], { ...ofWell, [centre]: 40, [north]: 2 }],
    [['statistics', 'Months with missing counts'], { [centre]: 95 }],
    [['statistics', 'Entries, month to date', 'this year'], { '': 900 }],
    [['statistics', 'Entries, month to date', 'last year'], { '': 4_321 }],
    [['statistics', 'Entries, month to date', 'libraries'], { '': 1 }],
  ]);
  expect(failures).toBe('');
});
