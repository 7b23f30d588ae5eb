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
const USUAL_HOUR = 'customer:library_people_entered:usual1h';
const USUAL_TODAY = 'customer:library_people_entered_today:usual';
const USUAL_DAY = 'customer:library_people_entered:usual1d';
const USUAL_3_DAYS = 'customer:library_people_entered:usual3d';
const USUAL_LOGINS = 'customer:library_logins_today:usual';
const USUAL_LOGINS_HOUR = 'customer:library_logins:usual1h';
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
  [USUAL_HOUR]: 60,
  [USUAL_TODAY]: today,
  [USUAL_DAY]: 600,
  [USUAL_3_DAYS]: 1_800,
  [USUAL_LOGINS]: loginsToday,
  [USUAL_LOGINS_HOUR]: 30,
  'customer:library_open:avg1d': 1,
};

/** Nobody passes after minute 60; patrons still log in. */
const DEAD: Scenario = {
  [IN]: stopsAt(60, total),
  [OUT]: stopsAt(60, total),
  [IN_TODAY]: stopsAt(60, today),
  [OUT_TODAY]: stopsAt(60, today),
  [SEEN]: stopsAt(60, now),
};
/** Of another library, with what the alert reads. */
const DEAD_DOOR: Scenario = { ...DEAD, [PEOPLE_ACCEPTED]: now, [USUAL_HOUR]: 60 };
const ENTRIES_DEAD: Scenario = { [IN]: stopsAt(60, total), [IN_TODAY]: stopsAt(60, today) };
/** Nobody logs in after minute 60. */
const NO_LOGINS: Scenario = {
  [LOGINS_TODAY]: stopsAt(60, loginsToday),
  [LOGIN_SEEN]: stopsAt(60, now),
};
const NO_USUAL = without(/:usual/);
/** Five a day, on days that start at minute 0. */
const VILLAGE: Scenario = {
  [USUAL_HOUR]: 0.5,
  [USUAL_TODAY]: (minute) => (5 * (minute % DAY)) / DAY,
  [USUAL_DAY]: 5,
  [USUAL_3_DAYS]: 15,
  [USUAL_LOGINS]: 1,
  [USUAL_LOGINS_HOUR]: 0.1,
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
/** From 8 to 20, sixty an hour; three of ten exits are missed. */
const DRIFT: Scenario = { [IN]: openHours(1), [OUT]: openHours(0.7), [EXCESS_IN]: 0 };
/** Almost half of the passes of the month are those of a device that has counted nobody today. */
const DEAD_DEVICE: Scenario = {
  ...NO_USUAL,
  'library_branch_info{branch="101",name="Hall"}': 1,
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
    { ...NEVER_POLLED, [PEOPLE_UP]: 0, [LOGINS_UP]: 0 },
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
      library_period_start_timestamp_seconds: 3 * 3_600,
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
    { LibraryDataStale: 20 },
  ],
  'polls succeed, but no values are accepted any more': [
    { ...DEAD, [PEOPLE_ACCEPTED]: stopsAt(60, now) },
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
  'the minutes cannot be read': [{ [INSIDE]: null, [SEEN]: null }, { LibraryMinutesUnknown: 60 }],
  'the minutes cannot be read, and nobody is counted': [
    { ...DEAD, [INSIDE]: null, [SEEN]: null },
    { LibraryMinutesUnknown: 60, LibraryZeroTraffic: 245 },
  ],
  'the minutes are ninety minutes late, the counters rise': [
    { [SEEN]: (minute) => 60 * Math.max(0, minute - 90) },
    { LibraryDataDelayed: 95 },
  ],
  'a counter is 500 above the total, the exporter restarts every eleven hours': [
    { [EXCESS_IN]: withRestarts(500) },
    { LibraryCounterExcess: 24 * HOUR + 5 },
  ],
  'a counter is one above the total for two days': [{ [EXCESS_IN]: 1 }, {}, 60],
  'a counter of a large library is 50 above the total': [{ [EXCESS_IN]: 50 }, {}, 60],

  // Nobody is counted.
  'a door dies': [DEAD, { LibraryZeroTraffic: 130 }],
  'a door dies, and one count is taken back': [
    { ...DEAD, [EXCESS_IN]: until(70, 0, 1) },
    { LibraryZeroTraffic: 130 },
    26,
  ],
  'a door dies before opening': [
    { ...DEAD, [OPEN]: until(180, 0, 1) },
    { LibraryZeroTraffic: 245 },
  ],
  'a door dies in the night, and the library has no opening hours': [
    {
      ...DEAD,
      [OPEN]: null,
      [USUAL_HOUR]: until(180, 0, 60),
      [USUAL_TODAY]: until(180, 100, (minute) => minute - 80),
    },
    { LibraryZeroTraffic: 245 },
  ],
  'the library is closed': [{ ...DEAD, [OPEN]: 0 }, {}],
  'the library closes early: nobody logs in either': [{ ...DEAD, ...NO_LOGINS }, {}],
  'nobody comes or logs in for a day of opening': [
    { ...DEAD, ...NO_LOGINS },
    { LibraryZeroTraffic: 25 * HOUR + 5 },
  ],
  'a holiday without opening hours': [
    { ...DEAD, ...NO_LOGINS, [OPEN]: null, 'customer:library_open:avg1d': null },
    {},
    40,
  ],
  'nobody logs in, because the polls of logins fail': [
    { ...DEAD, ...NO_LOGINS, ...OTHERS_ARE_WELL, ...LOGINS_STOPS },
    { LibraryZeroTraffic: 130, LibraryDataStale: 85 },
  ],
  'a door dies and the polls fail': [
    { ...DEAD, ...OTHERS_ARE_WELL, ...PEOPLE_STOPS },
    { LibraryDataStale: 85 },
  ],
  'another exporter sees people': [{ ...DEAD, ...atB({ [SEEN]: now }) }, {}],
  'somebody passes again': [
    { ...DEAD, [SEEN]: until(300, 3_600, now) },
    { LibraryZeroTraffic: [130, 330] },
  ],
  'the exporter was down, and comes back with new counts': [
    Object.fromEntries(
      Object.entries({
        ...WELL,
        ...DEAD,
        [SEEN]: (minute: number) => 60 * Math.max(20, minute - 58),
      }).map(([series, value]) => [series, between(100, 160, undefined, value)]),
    ),
    { LibraryExporterAbsent: 110 },
  ],
  'nobody for six hours where two an hour are usual': [
    { ...DEAD, [USUAL_HOUR]: 2, [USUAL_TODAY]: (minute) => minute / 30, [USUAL_DAY]: 20 },
    { LibraryZeroTraffic: 430 },
  ],
  'nobody for two days where five a day are usual': [{ ...DEAD, ...VILLAGE }, {}, 48],
  'nobody for four days where five a day are usual': [
    { ...DEAD, ...VILLAGE },
    { LibraryZeroTraffic: 3 * DAY + 65 },
    96,
  ],
  'nobody for four days where nobody is usual': [
    {
      ...DEAD,
      [OPEN]: null,
      ...VILLAGE,
      [USUAL_TODAY]: 0,
      [USUAL_3_DAYS]: 0,
      [SEEN]: until(2 * DAY, 3_600, undefined),
      [INSIDE]: 0,
    },
    {},
    96,
  ],
  'nobody for a day of the first week': [
    { ...DEAD, ...NO_USUAL },
    { LibraryZeroTraffic: 25 * HOUR + 5 },
  ],
  'nobody for a day of the first week, without opening hours or logins': [
    { ...DEAD, ...NO_USUAL, ...NO_LOGINS, [OPEN]: null, 'customer:library_open:avg1d': null },
    {},
    30,
  ],
  'a door has been dead for a day when the recordings begin, in a Prometheus with history': [
    {
      ...DEAD,
      [SEEN]: -90_000,
      [IN]: 5_000,
      [OUT]: 5_000,
      [IN_TODAY]: 0,
      [OUT_TODAY]: 0,
      [USUAL_HOUR]: between(0, 60, undefined, 60),
      [USUAL_DAY]: between(0, 60, undefined, 600),
      [USUAL_3_DAYS]: between(0, 60, undefined, 600),
    },
    { LibraryZeroTraffic: 5 },
  ],
  'five a day are usual, nobody for two days, and Prometheus is down for ten minutes': [
    Object.fromEntries(
      Object.entries({ ...WELL, ...DEAD, ...VILLAGE }).map(([series, value]) => [
        series,
        value === null ? null : between(49 * HOUR, 49 * HOUR + 10, undefined, value),
      ]),
    ),
    {},
    52,
  ],
  'five libraries of six are silent at once': [
    {
      ...DEAD,
      ...of('b', DEAD_DOOR),
      ...of('c', DEAD_DOOR),
      ...of('d', DEAD_DOOR),
      ...of('e', DEAD_DOOR),
      ...of('f', { [PEOPLE_ACCEPTED]: now }),
    },
    { LibraryZeroTraffic: 130, LibraryManySilent: 135 },
  ],

  // A part of the traffic.
  'nobody is counted in, people are counted out': [ENTRIES_DEAD, { LibraryDirectionSilent: 135 }],
  'nobody is counted out, people are counted in': [
    { [OUT]: stopsAt(60, total), [OUT_TODAY]: stopsAt(60, today) },
    { LibraryDirectionSilent: 135 },
  ],
  'the exporter suspects that exits are missing': [
    { 'library_door_suspect{kind="exits_missing"}': between(60, 150, 1, 0) },
    { LibraryDirectionSilent: [75, 150] },
  ],
  'the exporter suspects silence': [{ 'library_door_suspect{kind="silent"}': 1 }, {}],
  'entries stand still because the service took some back': [
    { ...ENTRIES_DEAD, [EXCESS_IN]: until(60, 0, 200) },
    {},
  ],
  // From 8 to 20; the rules are installed at 19:40, and the first to pass comes on the next morning.
  'the rules are installed twenty minutes before closing': [
    {
      ...NO_USUAL,
      [IN]: until(13 * HOUR, 5_000, (minute) => 5_000 + minute - 13 * HOUR),
      [OUT]: until(13 * HOUR, stopsAt(20, total), (minute) => 5_020 + minute - 13 * HOUR),
      [IN_TODAY]: until(13 * HOUR, 323, (minute) => minute - 13 * HOUR),
      [OUT_TODAY]: until(
        13 * HOUR,
        stopsAt(20, (minute) => 300 + minute),
        (minute) => minute - 780,
      ),
      [SEEN]: until(13 * HOUR, stopsAt(20, now), now),
      [OPEN]: until(20, 1, until(13 * HOUR, 0, 1)),
    },
    {},
    30,
  ],
  'the rules are installed before a closed weekend, after which the first to pass leaves': [
    {
      ...NO_USUAL,
      [IN]: until(62 * HOUR, 5_000, (minute) => 5_000 + minute - 62 * HOUR),
      [OUT]: until(
        60 * HOUR,
        stopsAt(20, total),
        until(62 * HOUR, 5_021, (minute) => minute + 1_301),
      ),
      [IN_TODAY]: until(62 * HOUR, 0, (minute) => minute - 62 * HOUR),
      [OUT_TODAY]: until(
        60 * HOUR,
        0,
        until(62 * HOUR, 1, (minute) => minute - 62 * HOUR + 1),
      ),
      [SEEN]: until(60 * HOUR, stopsAt(20, now), now),
      [LOGIN_SEEN]: until(60 * HOUR, stopsAt(20, now), now),
      [OPEN]: until(20, 1, until(60 * HOUR, 0, 1)),
    },
    {},
    75,
  ],
  'the rules are installed an hour before closing, when most people leave': [
    {
      ...NO_USUAL,
      [IN]: until(
        13 * HOUR,
        stopsAt(60, (minute) => minute / 3),
        (minute) => minute - 760,
      ),
      [OUT]: until(
        13 * HOUR,
        stopsAt(60, (minute) => 2 * minute),
        (minute) => minute - 660,
      ),
      [SEEN]: until(13 * HOUR, stopsAt(60, now), now),
      [OPEN]: until(60, 1, until(13 * HOUR, 0, 1)),
      [INSIDE]: 0,
    },
    {},
    40,
  ],
  'a tenth of the usual people come in': [
    { [IN]: (minute) => 5_000 + minute / 10 },
    { LibraryFarBelowUsual: 120 },
  ],
  'nobody logs in while people come': [NO_LOGINS, { LibraryZeroLogins: 135 }],
  'nobody logs in, and nobody comes': [
    { ...NO_LOGINS, ...DEAD, [OPEN]: 0, [IN_TODAY]: 0, [OUT_TODAY]: 0 },
    {},
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
  'sixty people are inside after closing': [
    {
      [INSIDE]: 60,
      [OPEN]: until(120, 1, 0),
      [SEEN]: stopsAt(120, now),
      [IN]: stopsAt(120, total),
      [OUT]: stopsAt(120, total),
    },
    { LibraryPeopleAfterClosing: 185 },
  ],
  'sixty people are inside after closing, and the doors were dead before it': [
    { ...DEAD, [INSIDE]: 60, [OPEN]: until(240, 1, 0) },
    { LibraryZeroTraffic: 130 },
  ],
  'three of ten exits are missed, one count is taken back each night, and the exporter restarts': [
    {
      ...DRIFT,
      [IN]: withRestarts(openHours(1)),
      [OUT]: withRestarts(openHours(0.7)),
      [EXCESS_IN]: (minute) => ((minute + 2 * HOUR) % DAY < 10 * HOUR ? 1 : 0),
      [OPEN]: null,
    },
    { LibraryEntriesExitsDrift: 36 * HOUR + 10 },
    48,
  ],
  'three of ten exits are missed from the first day of recording on': [
    { ...NO_USUAL, ...DRIFT, [OPEN]: null },
    { LibraryEntriesExitsDrift: 36 * HOUR + 5 },
    48,
  ],
  'three of ten exits are missed, and the ratio of the doors is known': [
    { ...DRIFT, [RATIO]: 1.4, [OPEN]: null },
    {},
    48,
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
    { ...DEAD_DEVICE, 'library_branch_info{branch="102",name="Annex"}': 1 },
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

/** Removes the series whose names match. */
function without(names: RegExp): Scenario {
  const removed = Object.keys(WELL).filter((series) => names.test(series));
  return Object.fromEntries(removed.map((series) => [series, null]));
}

/** A counter that rises from 8 to 20 on each day. */
function openHours(perMinute: number): (minute: number) => number {
  return (minute) => {
    const today = Math.min(12 * HOUR, Math.max(0, (minute % DAY) - 8 * HOUR));
    return Math.round(perMinute * (Math.floor(minute / DAY) * 12 * HOUR + today));
  };
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
