/**
 * What every alert is tested for: a library and its exporter with one thing changed, the alerts that
 * fire, and when. No other alert may fire in the whole case.
 */
import { PROBLEM_KINDS } from '../../src/counting/problems.ts';
import { DAY, HOUR, now, stopsAt, until, withLabel } from './scenario.ts';
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
  library_credentials_valid: 1,
  library_period_start_timestamp_seconds: 0,
  'library_site_info{name=""}': 1,
  library_people_entered_today: today,
  library_people_entered_usual_hour: 60,
  library_open: 1,
  [EXCESS_IN]: 0,
  'library_count_excess{counter="people_exited"}': 0,
  'library_count_excess{counter="logins"}': 0,
};

/** The state of one customer's polls: they fail after minute 60. */
const POLLS_FAIL: Scenario = {
  [PEOPLE_UP]: until(65, 1, 0),
  [PEOPLE_POLL]: stopsAt(60, now),
  [PEOPLE_ACCEPTED]: stopsAt(60, now),
};
/** The last values of both streams are from minute 0. */
const NEVER_POLLED: Scenario = {
  [PEOPLE_UP]: 0,
  [LOGINS_UP]: 0,
  [PEOPLE_POLL]: 0,
  [LOGINS_POLL]: 0,
  [PEOPLE_ACCEPTED]: 0,
  [LOGINS_ACCEPTED]: 0,
};

/** Nobody is counted from minute 60 on. */
const SILENT: Scenario = {
  'library_site_info{name=""}': 1,
  [problem('nobody_counted')]: until(60, undefined, 3_600),
};

export const ALERT_CASES: Readonly<Record<string, AlertCase>> = {
  'all is well, one of 40 customers is removed, a counter is 1 too high': [
    { library_exporter_customers: until(60, 40, 39), [EXCESS_IN]: 1 },
    {},
    30,
  ],

  // Whatever the name of the job. That of the library system, of another exporter, has other metrics.
  'one of two exporters does not answer for three hours, that of another job is gone': [
    {
      'up{job="library-opac"}': 0,
      ...atB({ up: between(60, 240, 0, 1), [BUILD]: between(60, 240, undefined, 1) }),
      'up{job="footfall"}': until(60, 1, undefined),
      'library_exporter_build_info{job="footfall"}': until(60, 1, undefined),
      'library_exporter_shard_info{shard="0",shards="1"}': null,
      'library_exporter_shard_info{shard="0",shards="2"}': 1,
      'library_exporter_shard_info{shard="",shards="2",instance="c:10096"}': 1,
      ...atB({
        'library_exporter_shard_info{shard="1",shards="2"}': between(60, 240, undefined, 1),
        library_exporter_customers: between(60, 240, undefined, 40),
      }),
      library_exporter_config_last_reload_successful: between(60, 120, 0, 1),
      library_exporter_state_last_save_successful: between(60, 120, 0, 1),
    },
    {
      LibraryExporterAbsent: 70,
      LibraryExporterDown: [70, 240],
      LibraryShardsMissing: [75, 240],
      LibraryCustomersMissing: [75, 240],
      LibraryConfigReloadFailed: [65, 120],
      LibraryStateNotSaved: [65, 120],
    },
  ],

  'the service fails until the last hours of the month': [
    {
      ...NEVER_POLLED,
      library_period_start_timestamp_seconds: until(31 * DAY, 0, undefined),
    },
    {
      LibraryServiceDown: 60,
      // Minute 0 is the start of January.
      LibraryMonthEndsWithoutPolls: [30 * DAY + 13 * HOUR, 31 * DAY],
    },
  ],

  'one of five customers has failing polls, others have refused credentials, one failing exporter, an excess':
    [
      {
        ...of('failing', POLLS_FAIL),
        ...of('refused', { library_credentials_valid: 1 }),
        ...atB(of('refused', { library_credentials_valid: until(60, 1, 0) })),
        ...of('often', {
          [PEOPLE_UP]: (minute) => (minute % 10 === 0 ? 1 : 0),
          'library_polls_total{stream="people"}': (minute) => minute,
          'library_poll_failures_total{stream="people"}': (minute) => minute * 0.9,
        }),
        ...of('twice', POLLS_FAIL),
        ...atB(of('twice', { [PEOPLE_UP]: 1, [PEOPLE_POLL]: now, [PEOPLE_ACCEPTED]: now })),
        ...of('waiting', {
          [PEOPLE_UP]: 1,
          [PEOPLE_POLL]: now,
          [PEOPLE_ACCEPTED]: stopsAt(30, now),
        }),
        // It restarts every eleven hours: for one sample there is none.
        [EXCESS_IN]: (minute) => (minute % (11 * HOUR) === 10 * HOUR ? undefined : 500),
      },
      {
        LibraryCustomerDown: 75,
        LibraryDataStale: 55,
        LibraryCredentialsRefused: 65,
        LibraryPollsFailing: 40,
        LibraryCounterExcess: 24 * HOUR + 5,
      },
    ],

  // What is wrong with a library is decided by the exporter.
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

  'five of six buildings count nobody, one exporter does not answer, to the sixth few people come':
    [
      {
        ...of('b', SILENT),
        ...of('c', SILENT),
        ...of('d', SILENT),
        ...of('e', SILENT),
        ...ofBranch('101', {
          'library_site_info{name="Main"}': 1,
          [problem('nobody_counted')]: until(60, undefined, 3_600),
        }),
        ...atB(ofBranch('101', { [problem('nobody_counted')]: between(60, 90, 3_600, undefined) })),
        library_people_entered_today: until(60, today, (minute) => 160 + (minute - 60) / 10),
        ...of('half', {
          library_people_entered_today: (minute) => minute / 2,
          library_people_entered_usual_hour: 60,
        }),
      },
      { LibraryZeroTraffic: 65, LibraryManySilent: 70, LibraryFarBelowUsual: 175 },
    ],
};

/** One value from a minute to another, and another before and after. */
function between(
  from: number,
  to: number,
  inside: Value | undefined,
  outside: Value | undefined,
): (minute: number) => number | undefined {
  return until(from, outside, until(to, inside, outside));
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

function problem(kind: string): string {
  return `library_problem_start_timestamp_seconds{problem="${kind}"}`;
}

function today(minute: number): number {
  return 100 + minute;
}
