/** The problems that the overview lists, on series made for each case. */
import { expect, test } from 'vitest';
import { NEEDS_ATTENTION } from '../../grafana/problems.ts';
import { DAY, HOUR, inputSeries, now, stopsAt, until, withLabel } from '../prometheus/scenario.ts';
import type { Scenario, Value } from '../prometheus/scenario.ts';
import { failuresOf } from './support/promtool.ts';

/** The minute at which the overview is looked at: a week of history, and a day. */
const END = 8 * DAY;
const STEP = 5;

const IN = 'library_people_entered_total';
const IN_TODAY = 'library_people_entered_today';
const OUT_TODAY = 'library_people_exited_today';
const INSIDE = 'library_occupancy_people';
const LOWER_BOUND = 'library_occupancy_estimate_lower_people';
const OPEN = 'library_open';
const SEEN = 'library_people_last_seen_timestamp_seconds';
const DOOR = 'library_device_people_entered_total{device="2"}';
const SUSPECT = 'library_door_suspect{kind="entries_missing"}';

/** A busy, open library without a problem: 60 an hour, 50 inside, two devices. */
const WELL: Scenario = {
  library_customer_info: 1,
  library_exporter_build_info: 1,
  up: 1,
  [IN]: (minute) => minute,
  [IN_TODAY]: 500,
  [OUT_TODAY]: 450,
  [INSIDE]: 50,
  library_capacity_people: 100,
  [OPEN]: 1,
  [SEEN]: now,
  'library_poll_last_success_timestamp_seconds{stream="people"}': now,
  'library_poll_last_success_timestamp_seconds{stream="logins"}': now,
  'library_up{stream="people"}': 1,
  'library_up{stream="logins"}': 1,
  library_credentials_valid: 1,
  'library_device_people_entered_today{device="1"}': 350,
  'library_device_people_entered_today{device="2"}': 150,
  'library_device_people_exited_today{device="1"}': 300,
  'library_device_people_exited_today{device="2"}': 150,
  'library_device_people_entered_total{device="1"}': (minute) => 0.7 * minute,
  [DOOR]: (minute) => 0.3 * minute,
};
/** Nobody has been counted for two hours. */
const SILENT: Scenario = { [SEEN]: stopsAt(END - 2 * HOUR, now) };
const EMPTY_TODAY: Scenario = {
  [OUT_TODAY]: until(5_000, 450, 0),
  [INSIDE]: until(5_000, 50, 0),
  [SEEN]: null,
};
const SINCE_YESTERDAY: Value = until(END - 1.75 * DAY, () => undefined, 0);
const DEAD_DEVICE: Scenario = {
  'library_device_people_entered_today{device="2"}': 0,
  'library_device_people_exited_today{device="2"}': 0,
};
const OLD: Scenario = {
  'library_poll_last_success_timestamp_seconds{stream="logins"}': stopsAt(END - HOUR, now),
};
const CROWDED: Scenario = { [INSIDE]: 101, [OUT_TODAY]: 399 };
const OVER_CAPACITY = 'more people than the capacity';
const NOBODY = 'nobody is being counted';
const NONE = 'no problem';

test.each<readonly [string, Scenario, string]>([
  ['nobody came for two hours, and sixty in this hour last week', SILENT, NOBODY],
  [
    'nobody came today, and five hundred by now last week',
    { ...EMPTY_TODAY, [IN]: 0, [IN_TODAY]: until(5_000, 500, 0) },
    NOBODY,
  ],
  [
    'nobody came for a day, and last week is not known',
    { ...EMPTY_TODAY, [IN]: SINCE_YESTERDAY, [IN_TODAY]: SINCE_YESTERDAY },
    NOBODY,
  ],
  ['it has no opening hours, and nobody came', { ...SILENT, [OPEN]: null }, NOBODY],
  ['it is closed, and nobody came', { ...SILENT, [OPEN]: 0 }, NONE],
  ['it has been open for half an hour', { ...SILENT, [OPEN]: until(END - 25, 0, 1) }, NONE],
  ['nobody came in this hour last week either', { ...SILENT, [IN]: 0 }, NONE],
  ['one of its doors counts nobody', DEAD_DEVICE, 'a door counter counts nobody'],
  ['a door counts nobody that few use', { ...DEAD_DEVICE, [DOOR]: (m) => 0.04 * m }, NONE],
  ['more are inside than may be', CROWDED, OVER_CAPACITY],
  ['more are inside, by the lower bound of the estimate', { [LOWER_BOUND]: 101 }, OVER_CAPACITY],
  ['more are inside, but not by the lower bound', { ...CROWDED, [LOWER_BOUND]: 100 }, NONE],
  ['nothing is known of its capacity', { library_capacity_people: null }, NONE],
  ['four hundred came, and fifty left', { [OUT_TODAY]: 50 }, 'entries and exits drift apart'],
  ['its doors count no entries', { [SUSPECT]: 1 }, 'entries or exits are not counted'],
  ['no door fault is suspected', { [SUSPECT]: 0 }, NONE],
  ['its logins were not read for an hour', OLD, 'the data is old'],
  ['its last poll failed', { 'library_up{stream="people"}': 0 }, 'polls fail'],
  ['a failed poll is also old', { ...OLD, 'library_up{stream="logins"}': 0 }, 'the data is old'],
  ['the service refuses it', { library_credentials_valid: 0 }, 'the credentials are refused'],
  ['all is well', {}, NONE],
])('%s: %s', async (_, change, problem) => {
  const problems = problem === NONE ? [] : [['riverside', problem] as const];
  expect(await failuresWith({ ...WELL, ...change }, problems)).toBe('');
});

test('an exporter that does not answer is listed', async () => {
  const change = {
    up: until(11_000, 1, 0),
    library_exporter_build_info: until(11_000, 1, undefined),
  };
  const problem = ['(exporter)', 'an exporter does not answer'] as const;
  expect(await failuresWith({ ...WELL, ...change }, [problem])).toBe('');
});

test('the absence of all libraries is listed', async () => {
  expect(await failuresWith({ up: 1 }, [['(exporter)', 'no library is exported']])).toBe('');
});

/** What promtool prints if two exporters with this scenario do not show exactly these problems. */
function failuresWith(
  scenario: Scenario,
  problems: readonly (readonly [customer: string, problem: string])[],
): Promise<string> {
  const ofBoth = { ...scenario, ...withLabel(scenario, 'instance="b:10096"') };
  const samples = problems.map(([customer, problem]) => {
    return [`customer="${customer}",problem="${problem}"`, 1] as const;
  });
  const query = NEEDS_ATTENTION.replaceAll(/\$(job|customer)\b/g, '.+');
  return failuresOf({
    step: STEP,
    series: inputSeries(ofBoth, END, { customer: 'riverside' }, STEP),
    expectations: [{ expr: `count by (customer, problem) (${query})`, minute: END, samples }],
  });
}
