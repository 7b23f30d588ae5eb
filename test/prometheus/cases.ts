/**
 * What every alert is tested for: a library and its exporter with one thing changed, the alerts that
 * fire, and when. No other alert may fire in the whole case.
 */
import { PROBLEM_KINDS } from '../../src/counting/problems.ts';
import { DAY, HOUR, now, stopsAt, until, withLabel, withRestarts } from './scenario.ts';
import type { Scenario, Value } from './scenario.ts';

/**
 * What changes; the alerts that fire, each with the first minute at which it does, and the first at which
 * it does not any more. Prometheus 3 leaves out the left edge of a range and may be one step earlier: it
 * is checked that the alert does not fire two steps before.
 */
type AlertCase = readonly [
  change: Scenario,
  fires: Readonly<Record<string, number | readonly [fires: number, resolves: number]>>,
  /** By default two hours more than are needed, six at least. */
  hours?: number,
];

const PEOPLE_POLL = 'library_poll_last_success_timestamp_seconds{stream="people"}';
const LOGINS_POLL = 'library_poll_last_success_timestamp_seconds{stream="logins"}';
const PEOPLE_ACCEPTED = 'library_values_accepted_timestamp_seconds{stream="people"}';
const LOGINS_ACCEPTED = 'library_values_accepted_timestamp_seconds{stream="logins"}';
const PEOPLE_UP = 'library_up{stream="people"}';
const LOGINS_UP = 'library_up{stream="logins"}';
const EXCESS_IN = 'library_count_excess{counter="people_entered"}';
const BUILD = 'library_exporter_build_info';

/** A library that is open all the time, one person a minute. */
export const WELL: Scenario = {
  up: 1,
  process_start_time_seconds: 0,
  [BUILD]: 1,
  'library_exporter_shard_info{shard="0",shards="1"}': 1,
  library_exporter_customers: 40,
  library_exporter_config_last_reload_successful: 1,
  library_exporter_state_last_save_successful: 1,
  [PEOPLE_UP]: 1,
  [LOGINS_UP]: 1,
  'library_up{stream="device"}': 1,
  [PEOPLE_POLL]: now,
  [LOGINS_POLL]: now,
  [PEOPLE_ACCEPTED]: now,
  [LOGINS_ACCEPTED]: now,
  'library_poll_last_success_timestamp_seconds{stream="device"}': now,
  'library_polls_total{stream="people"}': (minute) => minute,
  'library_poll_failures_total{stream="people"}': 0,
  'library_polls_skipped_total{stream="people"}': 0,
  library_credentials_valid: 1,
  library_period_start_timestamp_seconds: 0,
  library_utc_offset_seconds: 0,
  'library_site_info{name=""}': 1,
  library_people_entered_today: today,
  library_people_entered_hour: 60,
  library_people_entered_usual_hour: 60,
  library_open: 1,
  [EXCESS_IN]: 0,
  'library_count_excess{counter="people_exited"}': 0,
  'library_count_excess{counter="logins"}': 0,
};

/** Polls of a customer fail after minute 60. */
const PEOPLE_STOPS: Scenario = {
  [PEOPLE_POLL]: stopsAt(60, now),
  [PEOPLE_ACCEPTED]: stopsAt(60, now),
};
const LOGINS_STOPS: Scenario = {
  [LOGINS_POLL]: stopsAt(60, now),
  [LOGINS_ACCEPTED]: stopsAt(60, now),
};
const POLLS_FAIL: Scenario = { [PEOPLE_UP]: until(65, 1, 0), ...PEOPLE_STOPS };
const ALL_POLLS_FAIL: Scenario = {
  ...POLLS_FAIL,
  [LOGINS_UP]: until(65, 1, 0),
  ...LOGINS_STOPS,
};
/** The last values of both streams are from minute 0. */
const NEVER_POLLED: Scenario = {
  [PEOPLE_POLL]: 0,
  [LOGINS_POLL]: 0,
  [PEOPLE_ACCEPTED]: 0,
  [LOGINS_ACCEPTED]: 0,
};
const OTHERS_ARE_WELL: Scenario = {
  ...of('b', { [PEOPLE_UP]: 1 }),
  ...of('c', { [PEOPLE_UP]: 1 }),
};
/** No exporter at all. */
const NOTHING = without(/./);
const SHARDS: Scenario = {
  'library_exporter_shard_info{shard="0",shards="1"}': null,
  'library_exporter_shard_info{shard="0",shards="2"}': 1,
};

export const ALERT_CASES: Readonly<Record<string, AlertCase>> = {
  'all is well': [{}, {}, 30],

  // The exporter, whatever the name of its job.
  'the exporter is gone, another job begins with library': [
    { 'up{job="library-opac"}': 1, up: until(60, 1, undefined), [BUILD]: until(60, 1, undefined) },
    { LibraryExporterAbsent: 70 },
  ],
  'there never was an exporter, and another job is down': [
    { ...NOTHING, 'up{job="library-opac"}': 0 },
    { LibraryExporterAbsent: 10 },
  ],
  'the exporter does not answer for three hours': [
    { up: between(60, 240, 0, 1), [BUILD]: between(60, 240, undefined, 1) },
    { LibraryExporterAbsent: [70, 240], LibraryExporterDown: [70, 240] },
  ],
  'one of two exporters does not answer, in a job called footfall': [
    {
      'up{job="footfall",instance="a"}': until(60, 1, 0),
      'library_exporter_build_info{job="footfall",instance="a"}': until(60, 1, undefined),
      'library_exporter_build_info{job="footfall",instance="b"}': 1,
    },
    { LibraryExporterDown: 70 },
  ],
  'one of two shards is missing': [
    {
      ...SHARDS,
      'library_exporter_shard_info{shard="1",shards="2",instance="b"}': until(60, 1, undefined),
    },
    { LibraryShardsMissing: 75 },
  ],
  'both shards are there, one of them twice': [
    {
      ...SHARDS,
      'library_exporter_shard_info{shard="1",shards="2",instance="b"}': 1,
      'library_exporter_shard_info{shard="1",shards="2",instance="c"}': 1,
    },
    {},
  ],
  'a third process does not stand for a missing shard': [
    { ...SHARDS, 'library_exporter_shard_info{shard="",shards="2",instance="c"}': 1 },
    { LibraryShardsMissing: 15 },
  ],
  '39 of 40 customers are gone after a reload': [
    { library_exporter_customers: until(60, 40, 1) },
    { LibraryCustomersMissing: [75, 25 * HOUR] },
  ],
  'one of 40 customers is removed': [{ library_exporter_customers: until(60, 40, 39) }, {}],
  'a new configuration is refused': [
    { library_exporter_config_last_reload_successful: between(60, 120, 0, 1) },
    { LibraryConfigReloadFailed: [65, 120] },
  ],

  'the state cannot be saved for an hour': [
    { library_exporter_state_last_save_successful: between(60, 120, 0, 1) },
    { LibraryStateNotSaved: [65, 120] },
  ],

  // Polls.
  'polls of people fail for one customer of three': [
    { ...POLLS_FAIL, ...OTHERS_ARE_WELL },
    { LibraryCustomerDown: 75, LibraryDataStale: 85 },
  ],
  'they fail at one exporter of two': [
    {
      ...POLLS_FAIL,
      ...OTHERS_ARE_WELL,
      ...atB({ [PEOPLE_UP]: 1, [PEOPLE_POLL]: now, [PEOPLE_ACCEPTED]: now }),
    },
    {},
  ],
  'the service fails for all customers': [ALL_POLLS_FAIL, { LibraryServiceDown: 70 }],
  'the service fails until the last hours of the month': [
    {
      ...NEVER_POLLED,
      [PEOPLE_UP]: 0,
      [LOGINS_UP]: 0,
      library_period_start_timestamp_seconds: until(31 * DAY, 0, undefined),
    },
    {
      LibraryServiceDown: 60,
      // Minute 0 is the start of January.
      LibraryMonthEndsWithoutPolls: [30 * DAY + 13 * HOUR, 31 * DAY],
    },
  ],
  'the last hours of a month that starts at four in Copenhagen': [
    {
      ...ALL_POLLS_FAIL,
      ...NEVER_POLLED,
      library_utc_offset_seconds: 3_600,
      library_period_start_timestamp_seconds: until(31 * DAY + 3 * HOUR, 3 * 3_600, undefined),
      ...OTHERS_ARE_WELL,
    },
    {
      LibraryCustomerDown: 3 * HOUR,
      LibraryDataStale: 2 * HOUR,
      LibraryMonthEndsWithoutPolls: [30 * DAY + 16 * HOUR, 31 * DAY + 3 * HOUR],
    },
  ],
  'credentials are refused': [
    { library_credentials_valid: until(60, 1, 0), ...POLLS_FAIL },
    { LibraryCredentialsRefused: 65, LibraryCustomerDown: 75, LibraryDataStale: 85 },
  ],
  'one exporter of two is refused': [
    { library_credentials_valid: 1, ...atB({ library_credentials_valid: until(60, 1, 0) }) },
    { LibraryCredentialsRefused: 65 },
  ],
  'nothing has been polled since the start, without a failure': [
    {
      [LOGINS_UP]: null,
      [LOGINS_POLL]: null,
      [LOGINS_ACCEPTED]: null,
      'library_polls_total{stream="logins"}': 0,
    },
    { LibraryDataStale: 95 },
  ],
  'polls succeed, but no values are accepted any more': [
    { [PEOPLE_ACCEPTED]: stopsAt(60, now) },
    { LibraryDataStale: 85 },
  ],
  'polls have succeeded since the start, but no values were accepted': [
    { [LOGINS_ACCEPTED]: null, 'library_polls_total{stream="logins"}': (minute) => minute },
    { LibraryDataStale: 95 },
  ],
  'an empty total is accepted an hour after the start': [
    {
      [LOGINS_ACCEPTED]: between(0, 61, undefined, now),
      'library_polls_total{stream="logins"}': (minute) => minute,
    },
    {},
  ],
  'nine of ten polls fail, one customer of three': [
    {
      ...OTHERS_ARE_WELL,
      [PEOPLE_UP]: (minute) => (minute % 10 === 0 ? 1 : 0),
      'library_poll_failures_total{stream="people"}': (minute) => minute * 0.9,
    },
    { LibraryPollsFailing: 40 },
  ],
  'a third of the polls fail': [
    { 'library_poll_failures_total{stream="people"}': (minute) => minute / 3 },
    {},
  ],
  'one of the hourly polls of the devices fails': [
    {
      'library_up{stream="device"}': between(60, 120, 0, 1),
      'library_polls_total{stream="device"}': (minute) => Math.floor(minute / 60),
      'library_poll_failures_total{stream="device"}': until(60, 0, 1),
    },
    {},
  ],
  'all hourly polls of the devices fail': [
    {
      'library_up{stream="device"}': until(60, 1, 0),
      'library_polls_total{stream="device"}': (minute) => Math.floor(minute / 60),
      'library_poll_failures_total{stream="device"}': (minute) => Math.floor(minute / 60),
    },
    { LibraryPollsFailing: 210 },
  ],
  'a counter is 500 above the total, the exporter restarts every eleven hours': [
    { [EXCESS_IN]: withRestarts(500) },
    { LibraryCounterExcess: 24 * HOUR + 5 },
  ],
  'a counter is one above the total for two days': [{ [EXCESS_IN]: 1 }, {}, 60],
  'a counter of a large library is 50 above the total': [{ [EXCESS_IN]: 50 }, {}, 60],

  // The exporter decides.
  'a library has every problem from minute 60 to 240': [
    Object.fromEntries(
      PROBLEM_KINDS.map((kind) => [problem(kind), between(60, 240, 3_600, undefined)]),
    ),
    {
      LibraryZeroTraffic: [65, 275],
      LibraryDirectionSilent: [70, 275],
      LibraryDoorSilent: [90, 275],
      LibraryZeroLogins: [70, 275],
      LibraryOverCapacity: [65, 255],
      LibraryMinutesUnreadable: [120, 240],
      LibraryDirectionsUnbalanced: [90, 245 + DAY],
      LibraryDoorRatioOff: [90, 245 + DAY],
    },
  ],
  'of two exporters, one does not answer for a time, and a branch is dead': [
    {
      ...ofBranch('101', { [problem('nobody_counted')]: 3_600 }),
      ...atB(ofBranch('101', { [problem('nobody_counted')]: between(90, 200, undefined, 3_600) })),
    },
    { LibraryZeroTraffic: 5 },
  ],
  'four libraries of six are silent at once': [
    silent('b', 'c', 'd', 'e'),
    { LibraryZeroTraffic: 65 },
  ],
  'five libraries of six are silent at once': [
    silent('b', 'c', 'd', 'e', 'f'),
    { LibraryZeroTraffic: 65, LibraryManySilent: 66 },
  ],
  'a tenth of the usual people come in': [
    { library_people_entered_hour: until(60, 60, 6) },
    { LibraryFarBelowUsual: 120 },
  ],
  'half of the usual people come in': [{ library_people_entered_hour: until(60, 60, 30) }, {}],
  'a tenth of the usual people come in, but it was closed': [
    { library_people_entered_hour: until(60, 60, 6), library_open: until(60, 1, 0) },
    {},
  ],
};

/** One value from a minute to another, and another before and after. */
function between(
  from: number,
  to: number,
  inside: Value | undefined,
  outside: Value | undefined,
): (minute: number) => number | undefined {
  const absent = () => undefined;
  return until(from, outside ?? absent, until(to, inside ?? absent, outside));
}

/** Series of another exporter. */
function atB(scenario: Scenario): Scenario {
  return withLabel(scenario, 'instance="b:10096"');
}

/** Series of another customer. */
function of(customer: string, scenario: Scenario): Scenario {
  return withLabel(scenario, `customer="${customer}"`);
}

/** Series of a branch of another customer. */
function ofBranch(branch: string, scenario: Scenario): Scenario {
  return withLabel(of('county', scenario), `branch="${branch}"`);
}

/** Removes the series whose names match. */
function without(names: RegExp): Scenario {
  const removed = Object.keys(WELL).filter((series) => names.test(series));
  return Object.fromEntries(removed.map((series) => [series, null]));
}

/** Libraries of which nobody is counted from minute 60 on. */
function silent(...customers: readonly string[]): Scenario {
  const since = { [problem('nobody_counted')]: until(60, () => undefined, 3_600) };
  return Object.assign(
    {},
    ...customers.map((customer) => of(customer, { ...since, 'library_site_info{name=""}': 1 })),
  ) as Scenario;
}

function problem(kind: string): string {
  return `library_problem_start_timestamp_seconds{problem="${kind}"}`;
}

function today(minute: number): number {
  return 100 + minute;
}
