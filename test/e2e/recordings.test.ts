/** The recording rules in promtool's unit tests: what is usual, on the library's own clock. */
import { expect, test } from 'vitest';
import { recordingsFor } from '../prometheus/rules.ts';
import { DAY, HOUR, WEEK, inputSeries, until } from '../prometheus/scenario.ts';
import type { Scenario } from '../prometheus/scenario.ts';
import { failuresOf } from './support/promtool.ts';

const TODAY = 'library_people_entered_today';
const TOTAL = 'library_people_entered_total';
const OFFSET = 'library_utc_offset_seconds';
const WEEKS = 'customer_weeks:library_people_entered_today:max';
const USUAL = 'customer:library_people_entered_today:usual';
const USUAL_HOUR = 'customer:library_people_entered:usual1h';
const LAST_HOUR = 'customer:library_people_entered:increase1h';
const CHANGE = 10 * DAY;

/** What a recording is at a minute; its labels may be named. */
type Expected = readonly [expr: string, minute: number, value: number | undefined, labels?: string];

test.each<readonly [string, Scenario, readonly Expected[]]>([
  [
    'what is usual is the median of the weeks that are known',
    { [TODAY]: (minute) => [60, 40, 0, 80][Math.floor(minute / WEEK)] ?? 0, [OFFSET]: 0 },
    [
      [USUAL, 10 * HOUR, undefined],
      [USUAL, WEEK + 10 * HOUR, 60],
      [USUAL, 2 * WEEK + 10 * HOUR, 50],
      [USUAL, 3 * WEEK + 10 * HOUR, 40],
      [USUAL, 4 * WEEK + 10 * HOUR, 50],
    ],
  ],
  [
    'three weeks in which nobody came in are no baseline',
    { [TODAY]: until(WEEK, 60, 0), [TOTAL]: (minute) => Math.min(minute, WEEK), [OFFSET]: 0 },
    [[USUAL, 4 * WEEK + 14 * HOUR, 60]],
  ],
  [
    'the usual hour is the rise of what is usual today, and 0 where the day starts',
    { [TODAY]: (minute) => minute % DAY, [OFFSET]: 0 },
    [
      [USUAL_HOUR, WEEK + 10 * HOUR, 60],
      [USUAL_HOUR, WEEK + DAY + 30, 0],
    ],
  ],
  ['after the clocks were set back, the same hour is compared', ...clocksChange(7_200, 3_600)],
  ['after the clocks were set forward, the same hour is compared', ...clocksChange(3_600, 7_200)],
  [
    'weeks on a clock that was changed by something else than an hour are no baseline',
    { [TODAY]: 60, [OFFSET]: until(CHANGE, 39_600, 37_800) },
    [
      [WEEKS, 12 * DAY, undefined],
      [WEEKS, 9 * DAY, 60, 'weeks="1"'],
    ],
  ],
  [
    'an hour over the start of a month counts what came since',
    { [TOTAL]: (minute) => (minute < DAY + 30 ? 5_000 + minute : minute - DAY - 30) },
    [[LAST_HOUR, DAY + HOUR, 30]],
  ],
  [
    'two replicas in two jobs count once, by the higher value',
    {
      [TOTAL]: (minute) => minute,
      [`${TOTAL}{instance="b",job="library-b"}`]: 5,
      [TODAY]: 60,
      [`${TODAY}{instance="b",job="library-b"}`]: 5,
      [OFFSET]: 0,
    },
    [
      [WEEKS, 8 * DAY, 60, 'weeks="1"'],
      [LAST_HOUR, DAY, 60],
    ],
  ],
  [
    'the drift of a day without anybody is absent, not NaN',
    { [TOTAL]: 5_000, library_people_exited_total: 4_000 },
    [['customer:library_people_drift:ratio1d', HOUR, undefined]],
  ],
  [
    'the share of a device is that of all passes of the week, both ways',
    {
      'library_device_people_entered_total{device="1"}': (minute) => minute,
      'library_device_people_exited_total{device="1"}': 0,
      'library_device_people_entered_total{device="2"}': (minute) => minute,
      'library_device_people_exited_total{device="2"}': (minute) => 2 * minute,
    },
    ['1', '2'].map((device) => [
      `customer_device:library_device_people:share1w{device="${device}"}`,
      8 * DAY,
      device === '1' ? 0.25 : 0.75,
      `device="${device}"`,
    ]),
  ],
])('%s', async (_, scenario, expected) => {
  const minutes = Math.max(...expected.map(([, minute]) => minute));
  const failures = await failuresOf({
    rules: recordingsFor(expected.map(([expr]) => expr).join(' or ')),
    step: 30,
    series: inputSeries(scenario, minutes, { customer: 'riverside' }, 30),
    expectations: expected.map(([expr, minute, value, labels = '']) => ({
      // Sums of parts of an hour are off by a billionth.
      expr: `round(${expr}, 0.001)`,
      minute,
      samples: value === undefined ? [] : [[`customer="riverside",${labels}`, value]],
    })),
  });
  expect(failures).toBe('');
});

/** People come from 9 on, on the library's own clock. */
function clocksChange(before: number, after: number): [Scenario, Expected[]] {
  const nine = 12 * DAY + 9 * HOUR - after / 60;
  function clockMinutes(minute: number): number {
    return minute + (minute < CHANGE ? before : after) / 60;
  }
  return [
    {
      [TODAY]: (minute) => (clockMinutes(minute) % DAY >= 9 * HOUR ? 60 : 0),
      [OFFSET]: until(CHANGE, before, after),
    },
    [
      [USUAL, nine - 30, 0],
      [USUAL, nine, 60],
    ],
  ];
}
