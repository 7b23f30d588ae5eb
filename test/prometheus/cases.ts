/**
 * What every alert is tested for: a library and its exporter with one thing changed, the alerts that
 * fire, and when. No other alert may fire in the whole case.
 */
import { DAY, HOUR, now, stopsAt, until, withLabel, withRestarts } from './story.ts';
import type { Story, Value } from './story.ts';

export interface AlertCase {
  readonly name: string;
  readonly hours?: number;
  /** Minutes between samples and between evaluations. Default: 5. */
  readonly step?: number;
  readonly change: Story;
  /** The change is the whole story. */
  readonly alone?: true;
  /**
   * The first minute at which each alert fires. Prometheus 3 leaves out the left edge of a range and may
   * be one step earlier: it is checked that the alert does not fire two steps before.
   */
  readonly fires: Readonly<Record<string, number>>;
  /** Likewise the first minute at which an alert does not fire any more. */
  readonly resolves?: Readonly<Record<string, number>>;
}

const PEOPLE_POLL = 'library_poll_last_success_timestamp_seconds{stream="people"}';
const LOGINS_POLL = 'library_poll_last_success_timestamp_seconds{stream="logins"}';
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
const EXCESS_IN = 'library_counter_excess{counter="people_entered"}';
const USUAL_HOUR = 'customer:library_people_entered:usual1h';
const USUAL_TODAY = 'customer:library_people_entered_today:usual';
const USUAL_DAY = 'customer:library_people_entered:usual1d';
const USUAL_3_DAYS = 'customer:library_people_entered:usual3d';
const USUAL_LOGINS = 'customer:library_logins_today:usual';
const USUAL_LOGINS_HOUR = 'customer:library_logins:usual1h';
const RATIO = 'library_door_count_ratio';
const BUILD = 'library_exporter_build_info';

/** A library that is open all the time, one person a minute each way, one login in two minutes. */
export const WELL: Story = {
  up: 1,
  process_start_time_seconds: 0,
  [BUILD]: 1,
  'library_exporter_shard_info{shard="0",shards="1"}': 1,
  library_exporter_customers: 40,
  library_exporter_config_last_reload_successful: 1,
  [PEOPLE_UP]: 1,
  [LOGINS_UP]: 1,
  'library_up{stream="device"}': 1,
  [PEOPLE_POLL]: now,
  [LOGINS_POLL]: now,
  'library_poll_last_success_timestamp_seconds{stream="device"}': now,
  'library_polls_total{stream="people"}': (minute) => minute,
  'library_poll_failures_total{stream="people"}': 0,
  'library_polls_skipped_total{stream="people"}': 0,
  library_credentials_valid: 1,
  library_counter_start_timestamp_seconds: 0,
  library_utc_offset_seconds: 0,
  [IN]: (minute) => 5_000 + minute,
  [OUT]: (minute) => 5_000 + minute,
  [IN_TODAY]: (minute) => 100 + minute,
  [OUT_TODAY]: (minute) => 90 + minute,
  [LOGINS_TODAY]: (minute) => 20 + minute / 2,
  [SEEN]: now,
  [LOGIN_SEEN]: now,
  [INSIDE]: 10,
  library_capacity_people: 100,
  [OPEN]: 1,
  [EXCESS_IN]: 0,
  'library_counter_excess{counter="people_exited"}': 0,
  'library_counter_excess{counter="logins"}': 0,
  [USUAL_HOUR]: 60,
  [USUAL_TODAY]: (minute) => 100 + minute,
  [USUAL_DAY]: 600,
  [USUAL_3_DAYS]: 1_800,
  [USUAL_LOGINS]: (minute) => 20 + minute / 2,
  [USUAL_LOGINS_HOUR]: 30,
  'customer:library_open:avg1d': 1,
};

/** Nobody passes after minute 60; patrons still log in. */
const DEAD: Story = {
  [IN]: stopsAt(60, (minute) => 5_000 + minute),
  [OUT]: stopsAt(60, (minute) => 5_000 + minute),
  [IN_TODAY]: stopsAt(60, (minute) => 100 + minute),
  [OUT_TODAY]: stopsAt(60, (minute) => 90 + minute),
  [SEEN]: stopsAt(60, now),
};
const ENTRIES_DEAD: Story = {
  [IN]: stopsAt(60, (minute) => 5_000 + minute),
  [IN_TODAY]: stopsAt(60, (minute) => 100 + minute),
};
/** Nobody logs in after minute 60. */
const NO_LOGINS: Story = {
  [LOGINS_TODAY]: stopsAt(60, (minute) => 20 + minute / 2),
  [LOGIN_SEEN]: stopsAt(60, now),
};
const NO_USUAL: Story = {
  [USUAL_HOUR]: null,
  [USUAL_TODAY]: null,
  [USUAL_DAY]: null,
  [USUAL_3_DAYS]: null,
  [USUAL_LOGINS]: null,
  [USUAL_LOGINS_HOUR]: null,
};
/** Five a day, on days that start at minute 0. */
const VILLAGE: Story = {
  [USUAL_HOUR]: 0.5,
  [USUAL_TODAY]: (minute) => (5 * (minute % DAY)) / DAY,
  [USUAL_DAY]: 5,
  [USUAL_3_DAYS]: 15,
  [USUAL_LOGINS]: 1,
  [USUAL_LOGINS_HOUR]: 0.1,
};
/** Polls of a customer fail after minute 60. */
const POLLS_FAIL: Story = {
  [PEOPLE_UP]: until(65, 1, 0),
  [PEOPLE_POLL]: stopsAt(60, now),
};
const ALL_POLLS_FAIL: Story = {
  ...POLLS_FAIL,
  [LOGINS_UP]: until(65, 1, 0),
  [LOGINS_POLL]: stopsAt(60, now),
};
const OTHERS_ARE_WELL: Story = {
  'library_up{stream="people",customer="b"}': 1,
  'library_up{stream="people",customer="c"}': 1,
};
/** From 8 to 20, sixty an hour; three of ten exits are missed. */
const DRIFT: Story = {
  [IN]: openHours(1),
  [OUT]: openHours(0.7),
  [EXCESS_IN]: 0,
};
const SHARDS: Story = {
  'library_exporter_shard_info{shard="0",shards="1"}': null,
  'library_exporter_shard_info{shard="0",shards="2"}': 1,
};

export const ALERT_CASES: readonly AlertCase[] = [
  { name: 'all is well', hours: 30, change: {}, fires: {} },

  // The exporter, whatever the name of its job.
  {
    name: 'the exporter is gone, another job begins with library',
    change: {
      'up{job="library-opac"}': 1,
      up: until(60, 1, undefined),
      [BUILD]: until(60, 1, undefined),
    },
    fires: { LibraryExporterAbsent: 70 },
  },
  {
    name: 'there never was an exporter, and another job is down',
    alone: true,
    change: { 'up{job="library-opac"}': 0 },
    fires: { LibraryExporterAbsent: 10 },
  },
  {
    name: 'the exporter does not answer for three hours',
    hours: 6,
    change: { up: between(60, 240, 0, 1), [BUILD]: between(60, 240, undefined, 1) },
    fires: { LibraryExporterAbsent: 70, LibraryExporterDown: 70 },
    resolves: { LibraryExporterAbsent: 240, LibraryExporterDown: 240 },
  },
  {
    name: 'one of two exporters does not answer, in a job called footfall',
    change: {
      'up{job="footfall",instance="a"}': until(60, 1, 0),
      'library_exporter_build_info{job="footfall",instance="a"}': until(60, 1, undefined),
      'library_exporter_build_info{job="footfall",instance="b"}': 1,
    },
    fires: { LibraryExporterDown: 70 },
  },
  {
    name: 'the exporter restarts every ten minutes',
    hours: 3,
    change: {
      process_start_time_seconds: (minute) => (minute % 10 > 4 ? undefined : 600 * (minute / 10)),
    },
    fires: { LibraryExporterRestarting: 35 },
  },
  {
    name: 'one of two shards is missing',
    change: {
      ...SHARDS,
      'library_exporter_shard_info{shard="1",shards="2",instance="b"}': until(60, 1, undefined),
    },
    fires: { LibraryShardsMissing: 75 },
  },
  {
    name: 'both shards are there, one of them twice',
    change: {
      ...SHARDS,
      'library_exporter_shard_info{shard="1",shards="2",instance="b"}': 1,
      'library_exporter_shard_info{shard="1",shards="2",instance="c"}': 1,
    },
    fires: {},
  },
  {
    name: '39 of 40 customers are gone after a reload',
    hours: 27,
    change: { library_exporter_customers: until(60, 40, 1) },
    fires: { LibraryCustomersMissing: 75 },
    resolves: { LibraryCustomersMissing: 25 * HOUR },
  },
  {
    name: 'one of 40 customers is removed',
    change: { library_exporter_customers: until(60, 40, 39) },
    fires: {},
  },
  {
    name: 'a new configuration is refused',
    change: { library_exporter_config_last_reload_successful: between(60, 120, 0, 1) },
    fires: { LibraryConfigReloadFailed: 65 },
    resolves: { LibraryConfigReloadFailed: 120 },
  },

  // Polls.
  {
    name: 'polls of people fail for one customer of three',
    change: { ...POLLS_FAIL, ...OTHERS_ARE_WELL },
    fires: { LibraryCustomerDown: 75, LibraryDataStale: 85 },
  },
  {
    name: 'they fail at one exporter of two',
    change: { ...POLLS_FAIL, ...OTHERS_ARE_WELL, ...atB({ [PEOPLE_UP]: 1, [PEOPLE_POLL]: now }) },
    fires: {},
  },
  {
    name: 'the service fails for all customers',
    change: ALL_POLLS_FAIL,
    fires: { LibraryServiceDown: 70 },
  },
  {
    name: 'the service fails until the last hours of the month',
    hours: 32 * 24,
    step: 60,
    change: {
      ...ALL_POLLS_FAIL,
      [PEOPLE_POLL]: 0,
      [LOGINS_POLL]: 0,
      [PEOPLE_UP]: 0,
      [LOGINS_UP]: 0,
    },
    fires: {
      LibraryServiceDown: 60,
      // Minute 0 is the start of January.
      LibraryMonthEndsWithoutPolls: 30 * DAY + 13 * HOUR,
    },
    resolves: { LibraryMonthEndsWithoutPolls: 31 * DAY },
  },
  {
    name: 'the last hours of a month that starts at four in Copenhagen',
    hours: 32 * 24,
    step: 60,
    change: {
      ...ALL_POLLS_FAIL,
      [PEOPLE_POLL]: 0,
      [LOGINS_POLL]: 0,
      library_utc_offset_seconds: 3_600,
      library_counter_start_timestamp_seconds: 3 * 3_600,
      ...OTHERS_ARE_WELL,
    },
    fires: {
      LibraryCustomerDown: 3 * HOUR,
      LibraryDataStale: 2 * HOUR,
      LibraryMonthEndsWithoutPolls: 30 * DAY + 16 * HOUR,
    },
    resolves: { LibraryMonthEndsWithoutPolls: 31 * DAY + 3 * HOUR },
  },
  {
    name: 'credentials are refused',
    change: { library_credentials_valid: until(60, 1, 0), ...POLLS_FAIL },
    fires: { LibraryCredentialsRefused: 65, LibraryCustomerDown: 75, LibraryDataStale: 85 },
  },
  {
    name: 'one exporter of two is refused',
    change: {
      library_credentials_valid: 1,
      ...atB({ library_credentials_valid: until(60, 1, 0) }),
    },
    fires: { LibraryCredentialsRefused: 65 },
  },
  {
    name: 'nothing has been polled since the start, without a failure',
    change: { [LOGINS_UP]: null, [LOGINS_POLL]: null, 'library_polls_total{stream="logins"}': 0 },
    fires: { LibraryDataStale: 20 },
  },
  {
    name: 'nine of ten polls fail, one customer of three',
    hours: 6,
    change: {
      ...OTHERS_ARE_WELL,
      [PEOPLE_UP]: (minute) => (minute % 10 === 0 ? 1 : 0),
      'library_poll_failures_total{stream="people"}': (minute) => minute * 0.9,
    },
    fires: { LibraryPollsFailing: 40 },
  },
  {
    name: 'a third of the polls fail',
    hours: 6,
    change: { 'library_poll_failures_total{stream="people"}': (minute) => minute / 3 },
    fires: {},
  },
  {
    name: 'one of the hourly polls of the devices fails',
    hours: 6,
    change: {
      'library_up{stream="device"}': between(60, 120, 0, 1),
      'library_polls_total{stream="device"}': (minute) => Math.floor(minute / 60),
      'library_poll_failures_total{stream="device"}': until(60, 0, 1),
    },
    fires: {},
  },
  {
    name: 'all hourly polls of the devices fail',
    hours: 9,
    change: {
      'library_up{stream="device"}': until(60, 1, 0),
      'library_polls_total{stream="device"}': (minute) => Math.floor(minute / 60),
      'library_poll_failures_total{stream="device"}': (minute) => Math.floor(minute / 60),
    },
    fires: { LibraryPollsFailing: 210 },
  },
  {
    name: 'a third of the polls are skipped',
    change: { 'library_polls_skipped_total{stream="people"}': (minute) => minute / 2 },
    fires: { LibraryPollsSkipped: 20 },
  },
  {
    name: 'the minutes cannot be read',
    change: { [INSIDE]: null, [SEEN]: null },
    fires: { LibraryMinutesUnknown: 60 },
  },
  {
    name: 'the minutes cannot be read, and nobody is counted',
    hours: 8,
    change: { ...DEAD, [INSIDE]: null, [SEEN]: null },
    fires: { LibraryMinutesUnknown: 60, LibraryZeroTraffic: 245 },
  },
  {
    name: 'the minutes are ninety minutes late, the counters rise',
    hours: 6,
    change: { [SEEN]: (minute) => 60 * Math.max(0, minute - 90) },
    fires: { LibraryDataDelayed: 95 },
  },
  {
    name: 'a counter is 500 above the total, the exporter restarts every eleven hours',
    hours: 26,
    change: { [EXCESS_IN]: withRestarts(500) },
    fires: { LibraryCounterExcess: 24 * HOUR + 5 },
  },
  {
    name: 'a counter is one above the total for two days',
    hours: 60,
    change: { [EXCESS_IN]: 1 },
    fires: {},
  },
  {
    name: 'a counter of a large library is 50 above the total',
    hours: 60,
    change: { [EXCESS_IN]: 50 },
    fires: {},
  },

  // Nobody is counted.
  { name: 'a door dies', hours: 8, change: DEAD, fires: { LibraryZeroTraffic: 130 } },
  {
    name: 'a door dies, and one count is taken back',
    hours: 26,
    change: { ...DEAD, [EXCESS_IN]: until(70, 0, 1) },
    fires: { LibraryZeroTraffic: 130 },
  },
  {
    name: 'a door dies before opening',
    hours: 8,
    change: { ...DEAD, [OPEN]: until(180, 0, 1) },
    fires: { LibraryZeroTraffic: 245 },
  },
  {
    name: 'a door dies in the night, and the library has no opening hours',
    hours: 8,
    change: {
      ...DEAD,
      [OPEN]: null,
      [USUAL_HOUR]: until(180, 0, 60),
      [USUAL_TODAY]: until(180, 100, (minute) => minute - 80),
    },
    fires: { LibraryZeroTraffic: 245 },
  },
  { name: 'the library is closed', hours: 8, change: { ...DEAD, [OPEN]: 0 }, fires: {} },
  {
    name: 'the library closes early: nobody logs in either',
    hours: 8,
    change: { ...DEAD, ...NO_LOGINS },
    fires: {},
  },
  {
    name: 'nobody comes or logs in for a day of opening',
    hours: 28,
    change: { ...DEAD, ...NO_LOGINS },
    fires: { LibraryZeroTraffic: 25 * HOUR + 5 },
  },
  {
    name: 'a holiday without opening hours',
    hours: 40,
    change: { ...DEAD, ...NO_LOGINS, [OPEN]: null, 'customer:library_open:avg1d': null },
    fires: {},
  },
  {
    name: 'nobody logs in, because the polls of logins fail',
    change: { ...DEAD, ...NO_LOGINS, ...OTHERS_ARE_WELL, [LOGINS_POLL]: stopsAt(60, now) },
    fires: { LibraryZeroTraffic: 130, LibraryDataStale: 85 },
  },
  {
    name: 'a door dies and the polls fail',
    change: { ...DEAD, ...OTHERS_ARE_WELL, [PEOPLE_POLL]: stopsAt(60, now) },
    fires: { LibraryDataStale: 85 },
  },
  {
    name: 'another exporter sees people',
    change: { ...DEAD, ...atB({ [SEEN]: now }) },
    fires: {},
  },
  {
    name: 'somebody passes again',
    hours: 8,
    change: { ...DEAD, [SEEN]: until(300, 3_600, now) },
    fires: { LibraryZeroTraffic: 130 },
    resolves: { LibraryZeroTraffic: 330 },
  },
  {
    name: 'the exporter was down, and comes back with new counts',
    change: Object.fromEntries(
      Object.entries({
        ...WELL,
        ...DEAD,
        [SEEN]: (minute: number) => 60 * Math.max(20, minute - 58),
      }).map(([series, value]) => [series, between(100, 160, undefined, value)]),
    ),
    fires: { LibraryExporterAbsent: 110 },
  },
  {
    name: 'nobody for six hours where two an hour are usual',
    hours: 10,
    change: {
      ...DEAD,
      [USUAL_HOUR]: 2,
      [USUAL_TODAY]: (minute) => minute / 30,
      [USUAL_DAY]: 20,
    },
    fires: { LibraryZeroTraffic: 430 },
  },
  {
    name: 'nobody for two days where five a day are usual',
    hours: 48,
    change: { ...DEAD, ...VILLAGE },
    fires: {},
  },
  {
    name: 'nobody for four days where five a day are usual',
    hours: 96,
    change: { ...DEAD, ...VILLAGE },
    fires: { LibraryZeroTraffic: 3 * DAY + 65 },
  },
  {
    name: 'nobody for four days where nobody is usual',
    hours: 96,
    change: {
      ...DEAD,
      [OPEN]: null,
      ...VILLAGE,
      [USUAL_TODAY]: 0,
      [USUAL_3_DAYS]: 0,
      [SEEN]: until(2 * DAY, 3_600, undefined),
      [INSIDE]: 0,
    },
    fires: {},
  },
  {
    name: 'nobody for a day of the first week',
    hours: 30,
    change: { ...DEAD, ...NO_USUAL },
    fires: { LibraryZeroTraffic: 25 * HOUR + 5 },
  },
  {
    name: 'nobody for a day of the first week, without opening hours or logins',
    hours: 30,
    change: {
      ...DEAD,
      ...NO_USUAL,
      ...NO_LOGINS,
      [OPEN]: null,
      'customer:library_open:avg1d': null,
    },
    fires: {},
  },
  {
    name: 'five libraries of six are silent at once',
    change: {
      ...DEAD,
      ...Object.fromEntries(
        ['b', 'c', 'd', 'e'].flatMap((customer) =>
          Object.entries({ ...DEAD, [PEOPLE_POLL]: now, [USUAL_HOUR]: 60 }).map(
            ([series, value]) => [ofCustomer(series, customer), value],
          ),
        ),
      ),
      [ofCustomer(PEOPLE_POLL, 'f')]: now,
    },
    fires: { LibraryZeroTraffic: 130, LibraryManySilent: 135 },
  },

  // A part of the traffic.
  {
    name: 'nobody is counted in, people are counted out',
    hours: 8,
    change: ENTRIES_DEAD,
    fires: { LibraryDirectionSilent: 135 },
  },
  {
    name: 'nobody is counted out, people are counted in',
    hours: 8,
    change: {
      [OUT]: stopsAt(60, (minute) => 5_000 + minute),
      [OUT_TODAY]: stopsAt(60, (minute) => 90 + minute),
    },
    fires: { LibraryDirectionSilent: 135 },
  },
  {
    name: 'the exporter suspects that exits are missing',
    change: { 'library_door_suspect{kind="exits_missing"}': between(60, 150, 1, 0) },
    fires: { LibraryDirectionSilent: 75 },
    resolves: { LibraryDirectionSilent: 150 },
  },
  {
    name: 'the exporter suspects silence',
    change: { 'library_door_suspect{kind="silent"}': 1 },
    fires: {},
  },
  {
    name: 'entries stand still because the service took some back',
    change: { ...ENTRIES_DEAD, [EXCESS_IN]: until(60, 0, 200) },
    fires: {},
  },
  {
    name: 'a tenth of the usual people come in',
    hours: 6,
    change: { [IN]: (minute) => 5_000 + minute / 10 },
    fires: { LibraryFarBelowUsual: 120 },
  },
  {
    name: 'nobody logs in while people come',
    hours: 11,
    change: NO_LOGINS,
    fires: { LibraryZeroLogins: 135 },
  },
  {
    name: 'nobody logs in, and nobody comes',
    hours: 8,
    change: { ...NO_LOGINS, ...DEAD, [OPEN]: 0, [IN_TODAY]: 0, [OUT_TODAY]: 0 },
    fires: {},
  },

  // Who is inside.
  {
    name: 'more people are inside than the library may hold',
    change: { [INSIDE]: between(60, 120, 101, 10) },
    fires: { LibraryOverCapacity: 65 },
    resolves: { LibraryOverCapacity: 130 },
  },
  {
    name: 'the raw difference is above the capacity, the estimate is not',
    change: { [INSIDE]: 150, library_occupancy_estimate_lower_people: 90 },
    fires: {},
  },
  {
    name: 'the capacity is surely exceeded',
    change: { library_occupancy_estimate_lower_people: until(60, 90, 101) },
    fires: { LibraryOverCapacity: 65 },
  },
  {
    name: 'more people are inside than it may hold, but it is closed',
    change: { [INSIDE]: 150, [OPEN]: 0 },
    fires: {},
  },
  {
    name: 'sixty people are inside after closing',
    hours: 12,
    change: {
      [INSIDE]: 60,
      [OPEN]: until(120, 1, 0),
      [SEEN]: stopsAt(120, now),
      [IN]: stopsAt(120, (minute) => 5_000 + minute),
      [OUT]: stopsAt(120, (minute) => 5_000 + minute),
    },
    fires: { LibraryPeopleAfterClosing: 185 },
  },
  {
    name: 'sixty people are inside after closing, and the doors were dead before it',
    hours: 14,
    change: { ...DEAD, [INSIDE]: 60, [OPEN]: until(480, 1, 0) },
    fires: { LibraryZeroTraffic: 130 },
  },
  {
    name: 'three of ten exits are missed, one count is taken back each night, and the exporter restarts',
    hours: 48,
    change: {
      ...DRIFT,
      [IN]: withRestarts(openHours(1)),
      [OUT]: withRestarts(openHours(0.7)),
      [EXCESS_IN]: (minute) => ((minute + 2 * HOUR) % DAY < 10 * HOUR ? 1 : 0),
      [OPEN]: null,
    },
    fires: { LibraryEntriesExitsDrift: 26 * HOUR + 10 },
  },
  {
    name: 'three of ten exits are missed, and the ratio of the doors is known',
    hours: 48,
    change: { ...DRIFT, [RATIO]: 1.4, [OPEN]: null },
    fires: {},
  },
  {
    name: 'the ratio of the doors is off for two days',
    hours: 72,
    change: { [RATIO]: until(60, 1, 1.15), library_door_count_ratio_stddev: 0.02 },
    fires: { LibraryDoorRatioOff: 49 * HOUR + 30 },
  },
  {
    name: 'the ratio of the doors is off, but not well known',
    hours: 72,
    change: { [RATIO]: 1.15, library_door_count_ratio_stddev: 0.1 },
    fires: {},
  },
  {
    name: 'the ratio of the doors moves within a week',
    hours: 9 * 24,
    step: 60,
    change: { [RATIO]: until(8 * DAY, 0.95, 1.06), library_door_count_ratio_stddev: 0.02 },
    fires: { LibraryDoorRatioMoved: 8 * DAY + HOUR },
  },

  // Devices.
  {
    name: 'one of two devices is silent for three hours',
    hours: 8,
    change: {
      'library_device_people_entered_total{device="1"}': (minute) => minute,
      'library_device_people_exited_total{device="1"}': (minute) => minute,
      'library_device_people_entered_total{device="2"}': stopsAt(60, (minute) => minute),
      'library_device_people_exited_total{device="2"}': stopsAt(60, (minute) => minute),
      'customer_device:library_device_people:share1w{device="1"}': 0.5,
      'customer_device:library_device_people:share1w{device="2"}': 0.5,
    },
    fires: { LibraryDeviceSilent: 270 },
  },
];

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
function atB(story: Story): Story {
  return withLabel(story, 'instance="b:10096"');
}

function ofCustomer(series: string, customer: string): string {
  return Object.keys(withLabel({ [series]: 0 }, `customer="${customer}"`))[0] ?? '';
}

/** A counter that rises from 8 to 20 on each day. */
function openHours(perMinute: number): (minute: number) => number {
  return (minute) => {
    const today = Math.min(12 * HOUR, Math.max(0, (minute % DAY) - 8 * HOUR));
    return Math.round(perMinute * (Math.floor(minute / DAY) * 12 * HOUR + today));
  };
}
