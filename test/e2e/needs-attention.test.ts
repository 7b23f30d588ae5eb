/** The problems that dashboards list, with their beginning and what was missed, on series made for each case. */
import { expect, test } from 'vitest';
import { problemsMissed, problemsSince, trusted } from '../../grafana/problems.ts';
import { BRANCHES, entered, named, summed } from '../../grafana/queries.ts';
import { DAY, HOUR, inputSeries, now, stopsAt, until, withLabel } from '../prometheus/scenario.ts';
import type { Scenario } from '../prometheus/scenario.ts';
import { failuresOf } from './support/promtool.ts';
import type { Expectation } from './support/promtool.ts';

/** The minute at which the dashboard is looked at. */
const END = 2 * DAY;
const STEP = 5;
const LIBRARY = { customer: 'riverside' };

const SEEN = 'library_people_last_seen_timestamp_seconds';
const EXPECTED = 'library_people_expected_since_last_seen';
const USUAL = 'library_people_entered_usual_today';
const IN_TODAY = 'library_people_entered_today';
const OUT_TODAY = 'library_people_exited_today';
const INSIDE = 'library_occupancy_people';
const ESTIMATE = 'library_occupancy_estimate_people';
const CREDENTIALS = 'library_credentials_valid';
/** There where an estimate is possible. */
const ESTIMABLE = 'library_door_suspect{kind="silent"}';
const UNBALANCED = 'library_door_suspect{kind="unbalanced"}';

function missing(direction: 'in' | 'out'): string {
  return `library_people_direction_expected_since_last_seen{direction="${direction}"}`;
}

function accepted(stream: string): string {
  return `library_values_accepted_timestamp_seconds{stream="${stream}"}`;
}

function up(stream: string): string {
  return `library_up{stream="${stream}"}`;
}

/** What a site shows without a problem: 500 came today, 50 are inside. */
const SITE: Scenario = {
  [IN_TODAY]: 500,
  [USUAL]: 480,
  [INSIDE]: 50,
  [ESTIMATE]: 50,
  library_capacity_people: 100,
  library_open: 1,
  [SEEN]: now,
  [EXPECTED]: 0,
  [missing('in')]: 0,
  [missing('out')]: 0,
  [UNBALANCED]: 0,
  [ESTIMABLE]: 0,
};
/** What a library as a whole shows without a problem. */
const WHOLE: Scenario = {
  library_site_info: 1,
  library_people_entered_total: 10_000,
  [accepted('people')]: now,
  [accepted('logins')]: now,
  [up('people')]: 1,
  [up('logins')]: 1,
  [CREDENTIALS]: 1,
};
const EXPORTER: Scenario = { library_exporter_build_info: 1, up: 1 };
/** A library with one building, and doors that count seven and three of ten. */
const WELL: Scenario = {
  ...EXPORTER,
  ...WHOLE,
  ...SITE,
  'library_device_people_entered_today{device="1"}': 350,
  'library_device_people_entered_today{device="2"}': 150,
  'library_device_people_exited_today{device="1"}': 300,
  'library_device_people_exited_today{device="2"}': 150,
  'library_device_people_entered_total{device="1"}': 7_000,
  'library_device_people_entered_total{device="2"}': 3_000,
};
const DEAD_DEVICE: Scenario = {
  'library_device_people_entered_today{device="2"}': 0,
  'library_device_people_exited_today{device="2"}': 0,
  'library_device_people_entered_total{device="2"}': until(END - DAY, 2_900, 3_000),
};
const TWO_HOURS_AGO = END - 2 * HOUR;
const SIX_HOURS_AGO = END - 6 * HOUR;
/** A count that increased until then. */
const STOPPED = stopsAt(SIX_HOURS_AGO, (minute) => minute);
const SILENT: Scenario = { [SEEN]: stopsAt(TWO_HOURS_AGO, now), [EXPECTED]: 10 };
const OLD: Scenario = { [accepted('people')]: stopsAt(TWO_HOURS_AGO, now) };
const FAILING: Scenario = { ...OLD, [up('people')]: 0 };
const REFUSED: Scenario = { ...FAILING, [CREDENTIALS]: 0 };

/** As the queries have it. */
const NOT_KNOWN = -1;
const NONE = 'no problem';
const NOBODY = 'nobody is being counted';
const OLD_DATA = 'the data is old';
const POLLS = 'polls fail';
const DOOR = 'a door counts nobody';
const FULL = 'more people than the capacity';

interface Row {
  readonly customer?: string;
  readonly name?: string;
  readonly problem: string;
  /** Minute; by default it is not known. */
  readonly since?: number | undefined;
  readonly missed?: number;
}

const CASES: readonly (readonly [string, Scenario, string, (number | undefined)?, number?])[] = [
  ['ten were expected since the last count', SILENT, NOBODY, TWO_HOURS_AGO, 10],
  [
    'a new exporter has not read the history yet',
    {
      [EXPECTED]: until(END - HOUR / 2, 10, undefined),
      [SEEN]: until(END - HOUR / 2, stopsAt(TWO_HOURS_AGO, now), undefined),
      [USUAL]: null,
    },
    NOBODY,
    TWO_HOURS_AGO,
    10,
  ],
  ['nine were expected since the last count', { ...SILENT, [EXPECTED]: 9 }, NONE],
  [
    'nobody was seen within four weeks',
    { [SEEN]: null },
    'nobody has been counted for four weeks',
    END - 28 * DAY,
  ],
  ['nobody was seen, and its history is not read', { [SEEN]: null, [USUAL]: null }, NONE],
  [
    'six entries are missing',
    { [missing('in')]: 6, [IN_TODAY]: STOPPED },
    'no entries are counted',
    SIX_HOURS_AGO,
    6,
  ],
  [
    'six exits are missing',
    { [missing('out')]: 6, [OUT_TODAY]: STOPPED },
    'no exits are counted',
    SIX_HOURS_AGO,
    6,
  ],
  [
    'six entries are missing within an hour',
    { [missing('in')]: 6, [IN_TODAY]: (minute) => minute },
    'no entries are counted',
    undefined,
    6,
  ],
  ['a door that counts three of ten counts nobody', DEAD_DEVICE, DOOR, END - DAY, 150],
  [
    'a door counts nobody that few use',
    { ...DEAD_DEVICE, 'library_device_people_entered_total{device="2"}': 900 },
    NONE,
  ],
  ['its directions differ', { [UNBALANCED]: 1 }, 'entries and exits do not match'],
  ['more are inside than may be, by the estimate', { [ESTIMATE]: 101 }, FULL],
  ['more are counted than may be, but not by the estimate', { [INSIDE]: 101 }, NONE],
  ['no estimate is possible', { [ESTIMATE]: null, [ESTIMABLE]: null, [INSIDE]: 101 }, FULL],
  ['an estimate is withheld', { [ESTIMATE]: null, [INSIDE]: 101 }, NONE],
  ['more are inside, and it is closed', { [ESTIMATE]: 101, library_open: 0 }, NONE],
  ['its values are two hours old', OLD, OLD_DATA, TWO_HOURS_AGO],
  ['its polls have failed for two hours', FAILING, POLLS, TWO_HOURS_AGO],
  ['one poll failed', { [up('people')]: 0 }, NONE],
  ['its branches have not been read', { [up('branch')]: 0 }, POLLS, END],
  ['the service refuses it', REFUSED, 'the credentials are refused', TWO_HOURS_AGO],
  [
    'the service refuses it, and a door is dead',
    { ...REFUSED, ...SILENT },
    'the credentials are refused',
    TWO_HOURS_AGO,
  ],
  [
    'it has never been polled',
    {
      ...Object.fromEntries(Object.keys({ ...WELL }).map((name) => [name, null])),
      ...EXPORTER,
      library_site_info: 1,
    },
    'no data yet',
  ],
  ['all is well', {}, NONE],
];

test.each(
  CASES.map(([title, change, problem, since, missed]) => ({
    title,
    change,
    problem,
    since,
    missed,
  })),
)('$title: $problem', async ({ change, problem, since, missed = NOT_KNOWN }) => {
  const row = { customer: 'riverside', problem, since, missed };
  expect(await failuresWith({ ...WELL, ...change }, problem === NONE ? [] : [row])).toBe('');
});

test('of two branches the one with a problem is listed by its name, and is in no sum', async () => {
  const scenario = {
    ...EXPORTER,
    ...WHOLE,
    library_site_info: null,
    'library_polls_total{stream="branch"}': 9,
    ...withBranch(SITE, '101', 'Main Library'),
    ...withBranch({ ...SITE, ...SILENT, [IN_TODAY]: 20 }, '102', 'North'),
  };
  const row = {
    customer: 'riverside',
    name: 'North',
    problem: NOBODY,
    since: TWO_HOURS_AGO,
    missed: 10,
  };
  const sum = {
    expr: summed(BRANCHES, trusted(BRANCHES, entered(BRANCHES))),
    minute: END,
    samples: [['n="1",m="2"', 500]] as const,
  };
  const names = {
    expr: named(BRANCHES, entered(BRANCHES)),
    minute: END,
    samples: [
      ['customer="riverside",branch="101",name="Main Library"', 500],
      ['customer="riverside",branch="102",name="North"', 20],
    ] as const,
  };
  expect(await failuresWith(scenario, [row], [sum, names])).toBe('');
});

test('the cause of a library is one row, whatever its branches have', async () => {
  const scenario = {
    ...EXPORTER,
    ...WHOLE,
    library_site_info: null,
    ...FAILING,
    'library_polls_total{stream="branch"}': 9,
    ...withBranch({ ...SITE, ...SILENT }, '101', 'Main Library'),
    ...withBranch({ ...SITE, ...SILENT }, '102', 'North'),
  };
  const row = { customer: 'riverside', problem: POLLS, since: TWO_HOURS_AGO };
  expect(await failuresWith(scenario, [row])).toBe('');
});

test('an exporter that does not answer is listed by name, with its last answer', async () => {
  const change = {
    up: until(TWO_HOURS_AGO, 1, 0),
    library_exporter_build_info: until(TWO_HOURS_AGO, 1, undefined),
  };
  const since = TWO_HOURS_AGO - STEP;
  const rows = ['a:10096', 'b'].map((name) => ({
    problem: `exporter ${name} does not answer`,
    since,
  }));
  expect(await failuresWith({ ...WELL, ...change }, rows)).toBe('');
});

test('the absence of all libraries is listed', async () => {
  expect(await failuresWith({ up: 1 }, [{ problem: 'no library is exported' }])).toBe('');
});

/** The series of a site as those of a branch. */
function withBranch(site: Scenario, branch: string, name: string): Scenario {
  const info = { [`library_site_info{name="${name}"}`]: 1 };
  return withLabel({ ...site, ...info }, `branch="${branch}"`);
}

/** What promtool prints if two exporters with this scenario do not show exactly these rows. */
function failuresWith(
  scenario: Scenario,
  rows: readonly Row[],
  more: readonly Expectation[] = [],
): Promise<string> {
  // A colon would make them recordings, which have no job.
  const ofBoth = { ...scenario, ...withLabel(scenario, 'instance="b"') };
  const expectations = [
    ...more,
    {
      expr: `sum by (customer, name, problem) (${problemsSince(BRANCHES)})`,
      samples: rows.map(
        (row) =>
          [labelsOf(row), row.since === undefined ? NOT_KNOWN : 1_000 * now(row.since)] as const,
      ),
    },
    {
      expr: `sum by (customer, name, problem) (${problemsMissed(BRANCHES)})`,
      samples: rows.map((row) => [labelsOf(row), row.missed ?? NOT_KNOWN] as const),
    },
  ];
  return failuresOf({
    step: STEP,
    series: inputSeries(ofBoth, END, LIBRARY, STEP),
    expectations: expectations.map(({ expr, samples }) => ({
      expr: expr.replaceAll(/\$(job|customer)\b/g, '.+').replaceAll('$branch', '.*'),
      minute: END,
      samples,
    })),
  });
}

function labelsOf({ customer, name, problem }: Row): string {
  return Object.entries({ customer, name, problem })
    .filter(([, value]) => value !== undefined)
    .map(([label, value]) => `${label}="${value}"`)
    .join(',');
}
