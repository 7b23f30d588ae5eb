/** The problems that the overview lists, on series made for each case. */
import { expect, test } from 'vitest';
import { NEEDS_ATTENTION } from '../../grafana/problems.ts';
import { DAY, HOUR, inputSeries, now, stopsAt, until, withLabel } from '../prometheus/story.ts';
import type { Story, Value } from '../prometheus/story.ts';
import { failuresOf } from './support/promtool.ts';

/** The minute at which the overview is looked at: a week of history, and a day. */
const END = 8 * DAY;
const STEP = 5;

/** A busy, open library without a problem: 60 an hour, 50 inside, two devices. */
const WELL: Story = {
  library_customer_info: 1,
  library_exporter_build_info: 1,
  up: 1,
  library_people_entered_total: (minute) => minute,
  library_people_entered_today: 500,
  library_people_exited_today: 450,
  library_occupancy_people: 50,
  library_capacity_people: 100,
  library_open: 1,
  library_people_last_seen_timestamp_seconds: now,
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
  'library_device_people_entered_total{device="2"}': (minute) => 0.3 * minute,
};
/** Nobody has been counted for two hours. */
const SILENT: Story = {
  library_people_last_seen_timestamp_seconds: stopsAt(END - 2 * HOUR, now),
};
const EMPTY_TODAY: Story = {
  library_people_exited_today: until(5_000, 450, 0),
  library_occupancy_people: until(5_000, 50, 0),
  library_people_last_seen_timestamp_seconds: null,
};
const SINCE_YESTERDAY: Value = until(END - 1.75 * DAY, () => undefined, 0);
const DEAD_DEVICE: Story = {
  'library_device_people_entered_today{device="2"}': 0,
  'library_device_people_exited_today{device="2"}': 0,
};
const OLD: Story = {
  'library_poll_last_success_timestamp_seconds{stream="logins"}': stopsAt(END - HOUR, now),
};
const NOBODY = 'nobody is being counted';

test.each<readonly [string, Story, string]>([
  ['nobody came for two hours, and sixty in this hour last week', SILENT, NOBODY],
  [
    'nobody came today, and five hundred by now last week',
    {
      ...EMPTY_TODAY,
      library_people_entered_total: 0,
      library_people_entered_today: until(5_000, 500, 0),
    },
    NOBODY,
  ],
  [
    'nobody came for a day, and last week is not known',
    {
      ...EMPTY_TODAY,
      library_people_entered_total: SINCE_YESTERDAY,
      library_people_entered_today: SINCE_YESTERDAY,
    },
    NOBODY,
  ],
  ['it has no opening hours, and nobody came', { ...SILENT, library_open: null }, NOBODY],
  ['one of its doors counts nobody', DEAD_DEVICE, 'a door counter counts nobody'],
  [
    'more are inside than may be',
    { library_occupancy_people: 101, library_people_exited_today: 399 },
    'more people than the capacity',
  ],
  [
    'four hundred came, and fifty left',
    { library_people_exited_today: 50 },
    'entries and exits drift apart',
  ],
  [
    'more are inside than may be, by the lower bound of the estimate',
    { library_occupancy_estimate_lower_people: 101 },
    'more people than the capacity',
  ],
  [
    'its doors count no entries',
    { 'library_door_suspect{kind="entries_missing"}': 1 },
    'entries or exits are not counted',
  ],
  ['its logins were not read for an hour', OLD, 'the data is old'],
  ['its last poll failed', { 'library_up{stream="people"}': 0 }, 'polls fail'],
  [
    'a failed poll is also an old one',
    { ...OLD, 'library_up{stream="logins"}': 0 },
    'the data is old',
  ],
  [
    'the service does not let it in',
    { library_credentials_valid: 0 },
    'the credentials are refused',
  ],
])('a library needs attention, once, where %s', async (_, change, problem) => {
  expect(await failuresWith({ ...WELL, ...change }, [['riverside', problem]])).toBe('');
});

test.each<readonly [string, Story]>([
  ['all is well', {}],
  ['it is closed', { ...SILENT, library_open: 0 }],
  ['it has been open for half an hour', { ...SILENT, library_open: until(END - 25, 0, 1) }],
  ['nobody came in this hour last week either', { ...SILENT, library_people_entered_total: 0 }],
  [
    'a door counts nobody that few use',
    {
      ...DEAD_DEVICE,
      'library_device_people_entered_total{device="2"}': (minute) => 0.04 * minute,
    },
  ],
  [
    'more are inside than may be, but not by the lower bound of the estimate',
    {
      library_occupancy_people: 101,
      library_people_exited_today: 399,
      library_occupancy_estimate_lower_people: 100,
    },
  ],
  ['no door fault is suspected', { 'library_door_suspect{kind="entries_missing"}': 0 }],
  ['nothing is known of its capacity', { library_capacity_people: null }],
])('a library needs no attention where %s', async (_, change) => {
  expect(await failuresWith({ ...WELL, ...change }, [])).toBe('');
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

/** What promtool prints if two exporters with this story do not show exactly these problems. */
function failuresWith(
  story: Story,
  problems: readonly (readonly [customer: string, problem: string])[],
): Promise<string> {
  const ofBoth = { ...story, ...withLabel(story, 'instance="b:10096"') };
  const query = NEEDS_ATTENTION.replaceAll(/\$(job|customer)\b/g, '.+');
  return failuresOf({
    step: STEP,
    series: inputSeries(ofBoth, END, { customer: 'riverside' }, STEP),
    expectations: [
      {
        expr: `count by (customer, problem) (${query})`,
        minute: END,
        samples: problems.map(([customer, problem]) => [
          `customer="${customer}",problem="${problem}"`,
          1,
        ]),
      },
    ],
  });
}
