/** The recording rules in promtool's unit tests. */
import { expect, test } from 'vitest';
import { recordingsFor } from '../prometheus/rules.ts';
import { DAY, HOUR, inputSeries } from '../prometheus/scenario.ts';
import type { Scenario } from '../prometheus/scenario.ts';
import { failuresOf } from './support/promtool.ts';

const SHARE = 'customer_device:library_device_people:share1w';
const THREE_HOURS = 'customer_device:library_device_people:increase3h{device="1"}';
const MISSED_TODAY = 'customer_device:library_device_people:missed_today';

/** What a recording is at a minute; its labels may be named. */
type Expected = readonly [expr: string, minute: number, value: number, labels: string];

test.each<readonly [string, Scenario, readonly Expected[]]>([
  [
    'the share of a device is that of all passes of the week, both ways',
    {
      'library_device_people_entered_total{device="1"}': (minute) => minute,
      'library_device_people_exited_total{device="1"}': 0,
      'library_device_people_entered_total{device="2"}': (minute) => minute,
      'library_device_people_exited_total{device="2"}': (minute) => 2 * minute,
    },
    ['1', '2'].map((device) => [
      `${SHARE}{device="${device}"}`,
      8 * DAY,
      device === '1' ? 0.25 : 0.75,
      `device="${device}"`,
    ]),
  ],
  [
    'three hours over the start of a month count what came since, once in two replicas',
    {
      ...counted('1', (minute) => (minute < DAY + 30 ? 5_000 + minute : minute - DAY - 30)),
      'library_device_people_entered_total{device="1",instance="b",job="library-b"}': 0,
    },
    [[THREE_HOURS, DAY + 2 * HOUR, 90, 'device="1"']],
  ],
  [
    'what a device missed today is its share of the passes of all branches',
    {
      ...counted('1', () => 600),
      library_people_entered_total: 3_000,
      library_people_exited_total: 0,
      'library_device_people_entered_today{device="1"}': 0,
      'library_device_people_exited_today{device="1"}': 0,
      ...today('101', 50),
      ...today('102', 150),
      'library_site_info{branch="101",name="Hall"}': 1,
    },
    [[MISSED_TODAY, HOUR, 40, 'device="1"']],
  ],
])('%s', async (_, scenario, expected) => {
  const minutes = Math.max(...expected.map(([, minute]) => minute));
  const failures = await failuresOf({
    rules: recordingsFor(expected.map(([expr]) => expr).join(' or ')),
    step: 30,
    series: inputSeries(scenario, minutes, { customer: 'riverside' }, 30),
    expectations: expected.map(([expr, minute, value, labels]) => ({
      // Sums of parts of an hour are off by a billionth.
      expr: `round(${expr}, 0.001)`,
      minute,
      samples: [[`customer="riverside",${labels}`, value]],
    })),
  });
  expect(failures).toBe('');
});

function counted(device: string, total: (minute: number) => number): Scenario {
  return {
    [`library_device_people_entered_total{device="${device}"}`]: total,
    [`library_device_people_exited_total{device="${device}"}`]: 0,
  };
}

function today(branch: string, people: number): Scenario {
  return {
    [`library_people_entered_today{branch="${branch}"}`]: people,
    [`library_people_exited_today{branch="${branch}"}`]: 0,
  };
}
