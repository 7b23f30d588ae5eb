/**
 * What every alert is tested for: a library and its exporter with one thing changed, the alerts that
 * fire, and when. No other alert may fire in the whole case.
 */
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
const IN = 'library_people_entered_total';
const OUT = 'library_people_exited_total';
const IN_TODAY = 'library_people_entered_today';
const OUT_TODAY = 'library_people_exited_today';
const LOGINS_TODAY = 'library_logins_today';
const SEEN = 'library_people_last_seen_timestamp_seconds';
const LOGIN_SEEN = 'library_logins_last_seen_timestamp_seconds';
const INSIDE = 'library_occupancy_people';
const OPEN = 'library_open';
const EXCESS_IN = 'library_count_excess{counter="people_entered"}';
const EXPECTED = 'library_people_expected_since_last_seen';
const EXPECTED_IN = 'library_people_direction_expected_since_last_seen{direction="in"}';
const EXPECTED_OUT = 'library_people_direction_expected_since_last_seen{direction="out"}';
const USUAL_TODAY = 'library_people_entered_usual_today';
const EXPECTED_LOGINS = 'library_logins_expected_since_last_seen';
const OPEN_SINCE = 'library_open_seconds_since_last_seen';
const RATIO = 'library_door_count_ratio';
const BUILD = 'library_exporter_build_info';

/** A library that is open all the time, one person a minute each way, one login in two minutes. */
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
  [IN]: total,
  [OUT]: total,
  [IN_TODAY]: today,
  [OUT_TODAY]: today,
  [LOGINS_TODAY]: loginsToday,
  [SEEN]: now,
  [LOGIN_SEEN]: now,
  [INSIDE]: 10,
  library_capacity_people: 100,
  [OPEN]: 1,
  [EXCESS_IN]: 0,
  'library_count_excess{counter="people_exited"}': 0,
  'library_count_excess{counter="logins"}': 0,
  [EXPECTED]: 0,
  [EXPECTED_IN]: 0,
  [EXPECTED_OUT]: 0,
  [EXPECTED_LOGINS]: 0,
  library_people_entered_usual_hour: 60,
  [OPEN_SINCE]: 0,
};

/** Nobody passes after minute 60; patrons still log in. */
const DEAD: Scenario = {
  [IN]: stopsAt(60, total),
  [OUT]: stopsAt(60, total),
  [IN_TODAY]: stopsAt(60, today),
  [OUT_TODAY]: stopsAt(60, today),
  [SEEN]: stopsAt(60, now),
  [EXPECTED]: missed(2),
  [OPEN_SINCE]: (minute) => 60 * Math.max(0, minute - 60),
};
/** Another library, with what the alert reads. */
const DEAD_DOOR: Scenario = { ...DEAD, [LOGIN_SEEN]: now };
/** Nobody logs in after minute 60. */
const NO_LOGINS: Scenario = {
  [LOGINS_TODAY]: stopsAt(60, loginsToday),
  [LOGIN_SEEN]: stopsAt(60, now),
};
/** What the exporter does not know before it has read the history. */
const NO_USUAL = without(/expected|usual|since_last_seen/);
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
/** Almost half of the passes of the month are those of a device that has counted nobody today. */
const DEAD_DEVICE: Scenario = {
  'library_site_info{branch="101",name="Hall"}': 1,
  'library_device_people_entered_total{device="1"}': (minute) => 1_000 + minute,
  'library_device_people_exited_total{device="1"}': (minute) => 4_500 + minute,
  'library_device_people_entered_total{device="2"}': 4_000,
  'library_device_people_exited_total{device="2"}': 500,
  'library_device_people_entered_today{device="1"}': today,
  'library_device_people_exited_today{device="1"}': today,
  'library_device_people_entered_today{device="2"}': 0,
  'library_device_people_exited_today{device="2"}': 0,
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
  'the exporter restarts every ten minutes': [
    { process_start_time_seconds: (minute) => (minute % 10 > 4 ? undefined : 600 * (minute / 10)) },
    { LibraryExporterRestarting: 35 },
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
  'a third process of two shards': [
    {
      ...SHARDS,
      'library_exporter_shard_info{shard="1",shards="2",instance="b"}': 1,
      'library_exporter_shard_info{shard="",shards="2",instance="c"}': (minute) =>
        minute < 60 ? undefined : 1,
    },
    { LibraryShardsExceeded: 75 },
  ],
  'a third process does not stand for a missing shard': [
    {
      ...SHARDS,
      'library_exporter_shard_info{shard="",shards="2",instance="c"}': 1,
    },
    { LibraryShardsMissing: 15, LibraryShardsExceeded: 15 },
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
    { ...DEAD, ...NO_USUAL, [PEOPLE_ACCEPTED]: stopsAt(60, now) },
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
  'a third of the polls are skipped': [
    { 'library_polls_skipped_total{stream="people"}': (minute) => minute / 2 },
    { LibraryPollsSkipped: 20 },
  ],
  'the minutes cannot be read': [
    { [INSIDE]: null, [SEEN]: null, ...NO_USUAL },
    { LibraryMinutesUnknown: 60 },
  ],
  'the service is ninety minutes late, the counters rise': [
    { [SEEN]: late, [LOGIN_SEEN]: late, [EXPECTED]: 60 },
    { LibraryDataDelayed: 95 },
  ],
  'a counter is 500 above the total, the exporter restarts every eleven hours': [
    { [EXCESS_IN]: withRestarts(500) },
    { LibraryCounterExcess: 24 * HOUR + 5 },
  ],
  'a counter is one above the total for two days': [{ [EXCESS_IN]: 1 }, {}, 60],
  'a counter of a large library is 50 above the total': [{ [EXCESS_IN]: 50 }, {}, 60],

  // Nobody is counted.
  'a door dies': [DEAD, { LibraryZeroTraffic: 145 }],
  'the library closes early: nobody logs in either': [{ ...DEAD, ...NO_LOGINS }, {}, 12],
  'nobody comes or logs in for thirteen hours of opening': [
    { ...DEAD, ...NO_LOGINS },
    { LibraryZeroTraffic: 14 * HOUR + 10 },
  ],
  'a holiday without opening hours': [
    { ...DEAD, ...NO_LOGINS, [OPEN]: null, [OPEN_SINCE]: null },
    {},
    40,
  ],
  'a door dies, and the polls of logins fail': [
    { ...DEAD, ...NO_LOGINS, ...OTHERS_ARE_WELL, ...LOGINS_STOPS },
    { LibraryDataStale: 85, LibraryZeroTraffic: 14 * HOUR + 10 },
  ],
  'a door dies, and the polls fail': [
    { ...DEAD, ...OTHERS_ARE_WELL, ...PEOPLE_STOPS, [EXPECTED]: until(75, 0, undefined) },
    { LibraryDataStale: 85 },
  ],
  'another exporter sees people': [
    { ...DEAD, ...NO_LOGINS, ...atB({ [SEEN]: now, [EXPECTED]: 0, [OPEN_SINCE]: 0 }) },
    {},
    20,
  ],
  'somebody passes again': [
    { ...DEAD, [SEEN]: until(300, 3_600, now), [EXPECTED]: until(300, missed(2), 0) },
    { LibraryZeroTraffic: [145, 330] },
  ],
  'the history is not read': [{ ...DEAD, ...NO_USUAL }, {}, 30],
  'a door has been dead for a day when Prometheus starts': [
    { ...DEAD, [IN]: 5_000, [SEEN]: -90_000, [EXPECTED]: 500 },
    { LibraryZeroTraffic: 5 },
  ],
  'a branch is dead while another one counts': [
    { ...ofBranch('101', DEAD), ...ofBranch('102', { [SEEN]: now, [EXPECTED]: 0 }) },
    { LibraryZeroTraffic: 145 },
  ],
  'a branch is dead, and another one has counted nobody for an hour: both may be closed': [
    {
      ...ofBranch('101', { ...DEAD, [EXPECTED]: missed(0.05), [OPEN_SINCE]: null }),
      ...ofBranch('102', { [SEEN]: stopsAt(80, now), [EXPECTED]: 0 }),
    },
    {},
    12,
  ],
  'two branches of three are dead: half of the others count': [
    {
      ...ofBranch('101', { ...DEAD, [OPEN_SINCE]: null }),
      ...ofBranch('102', { ...DEAD, [OPEN_SINCE]: null }),
      ...ofBranch('103', { [SEEN]: now, [EXPECTED]: 0 }),
    },
    { LibraryZeroTraffic: 145 },
  ],
  'one branch of four counts: the others may be closed, whoever logs in': [
    {
      ...ofBranch('101', { ...DEAD, [OPEN_SINCE]: null }),
      ...ofBranch('102', { ...DEAD, [EXPECTED]: 0, [OPEN_SINCE]: null }),
      ...ofBranch('103', { ...DEAD, [EXPECTED]: 0, [OPEN_SINCE]: null }),
      ...ofBranch('104', { [SEEN]: now, [EXPECTED]: 0 }),
      ...of('county', { [LOGIN_SEEN]: (minute) => now(minute) + 1_000 }),
    },
    {},
    12,
  ],
  'a branch is dead since a holiday, and its day has not begun yet when another one counts': [
    {
      ...ofBranch('101', { ...DEAD, [USUAL_TODAY]: until(400, 4, 5), [OPEN_SINCE]: null }),
      ...ofBranch('102', { [SEEN]: now, [EXPECTED]: 0 }),
    },
    { LibraryZeroTraffic: 405 },
  ],
  'nobody is counted in any branch, but patrons log in': [
    { ...ofBranch('101', DEAD), ...ofBranch('102', DEAD), ...of('county', { [LOGIN_SEEN]: now }) },
    { LibraryZeroTraffic: 145 },
  ],
  'nobody is counted in the only branch, but patrons log in': [
    {
      ...ofBranch('101', { ...DEAD, [OPEN_SINCE]: null }),
      ...of('county', { [LOGIN_SEEN]: now }),
    },
    { LibraryZeroTraffic: 145 },
  ],
  'five libraries of six are silent at once': [
    {
      ...DEAD,
      ...of('b', DEAD_DOOR),
      ...of('c', DEAD_DOOR),
      ...of('d', DEAD_DOOR),
      ...of('e', DEAD_DOOR),
      ...of('f', { [EXPECTED]: 0 }),
    },
    { LibraryZeroTraffic: 145, LibraryManySilent: 150 },
  ],

  // A part of the traffic.
  'nobody is counted in, people are counted out': [
    { [EXPECTED_IN]: missed(1) },
    { LibraryDirectionSilent: 155 },
  ],
  'nobody is counted out, people are counted in': [
    { [EXPECTED_OUT]: missed(1) },
    { LibraryDirectionSilent: 155 },
  ],
  'a tenth of the usual people come in': [
    { [IN_TODAY]: (minute) => 100 + minute / 10 },
    { LibraryFarBelowUsual: 120 },
  ],
  'half of the usual people come in': [{ [IN_TODAY]: (minute) => 100 + minute / 2 }, {}],
  'nobody logs in while people come': [
    { ...NO_LOGINS, [EXPECTED_LOGINS]: missed(0.5) },
    { LibraryZeroLogins: 165 },
  ],

  // Who is inside.
  'more people are inside than the library may hold': [
    { [INSIDE]: between(60, 120, 101, 10) },
    { LibraryOverCapacity: [65, 130] },
  ],
  'the raw difference is above the capacity, the estimate is not': [
    { [INSIDE]: 150, library_occupancy_estimate_lower_people: 90 },
    {},
  ],
  'the capacity is surely exceeded': [
    { library_occupancy_estimate_lower_people: until(60, 90, 101) },
    { LibraryOverCapacity: 65 },
  ],
  'more people are inside than it may hold, but it is closed': [{ [INSIDE]: 150, [OPEN]: 0 }, {}],
  'entries and exits differ by more than can be learned': [
    { 'library_door_suspect{kind="unbalanced"}': until(60, 0, 1) },
    { LibraryEntriesExitsDrift: 90 },
  ],
  'the ratio of the doors is off for two days': [
    { [RATIO]: until(60, 1, 1.15), library_door_count_ratio_stddev: 0.02 },
    { LibraryDoorRatioOff: 49 * HOUR + 30 },
    72,
  ],
  'the ratio of the doors is off, but not well known': [
    { [RATIO]: 1.15, library_door_count_ratio_stddev: 0.1 },
    {},
    72,
  ],
  'the ratio of the doors moves within a week': [
    { [RATIO]: until(8 * DAY, 0.95, 1.06), library_door_count_ratio_stddev: 0.02 },
    { LibraryDoorRatioMoved: 8 * DAY + HOUR },
  ],

  // Devices.
  'one of two devices is silent for three hours': [
    {
      'library_device_people_entered_total{device="1"}': (minute) => minute,
      'library_device_people_exited_total{device="1"}': (minute) => minute,
      'library_device_people_entered_total{device="2"}': stopsAt(60, (minute) => minute),
      'library_device_people_exited_total{device="2"}': stopsAt(60, (minute) => minute),
      'customer_device:library_device_people:share1w{device="1"}': 0.5,
      'customer_device:library_device_people:share1w{device="2"}': 0.5,
    },
    { LibraryDeviceSilent: 270 },
  ],
  'a device of the only branch has been dead since yesterday when the rules are installed': [
    DEAD_DEVICE,
    { LibraryDeviceSilent: 30 },
  ],
  'its alert ends after a week of recordings in which it counted nobody': [
    DEAD_DEVICE,
    { LibraryDeviceSilent: [HOUR, 7 * DAY + 3 * HOUR] },
    9 * 24,
  ],
  'it counted somebody today': [
    { ...DEAD_DEVICE, 'library_device_people_exited_today{device="2"}': 1 },
    {},
  ],
  'a device that is rarely used counts nobody on the first day': [
    { ...DEAD_DEVICE, 'library_device_people_entered_total{device="2"}': 0 },
    {},
  ],
  'a device counts nobody on the first day, but may be in a branch that is closed': [
    { ...DEAD_DEVICE, 'library_site_info{branch="102",name="Annex"}': 1 },
    {},
  ],
};

/** One value from a minute to another, and another before and after. */
function between(
  from: number,
  to: number,
  inside: Value | undefined,
  outside: Value,
): (minute: number) => number | undefined {
  return until(from, outside, until(to, inside ?? (() => undefined), outside));
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

/** What is usual from the end of the quarter-hour of minute 60 until an hour ago. */
function missed(perMinute: number): (minute: number) => number {
  return (minute) => perMinute * Math.max(0, minute - 60 - 75);
}

/** Time of ninety minutes ago. */
function late(minute: number): number {
  return now(Math.max(0, minute - 90));
}

function total(minute: number): number {
  return 5_000 + minute;
}

function today(minute: number): number {
  return 100 + minute;
}

function loginsToday(minute: number): number {
  return 20 + minute / 2;
}
