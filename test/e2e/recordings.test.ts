/** The recording rules in promtool's unit tests: what is usual, on the library's own clock. */
import { expect, test } from 'vitest';
import { recordingsFor } from '../prometheus/rules.ts';
import { DAY, HOUR, WEEK, inputSeries, until } from '../prometheus/story.ts';
import type { Story } from '../prometheus/story.ts';
import { failuresOf } from './support/promtool.ts';
import type { Expectation } from './support/promtool.ts';

const TODAY = 'library_people_entered_today';
const TOTAL = 'library_people_entered_total';
const OFFSET = 'library_utc_offset_seconds';
const WEEKS = 'customer_weeks:library_people_entered_today:max';
const USUAL = 'customer:library_people_entered_today:usual';
const USUAL_HOUR = 'customer:library_people_entered:usual1h';
const CHANGE = 10 * DAY;

test('what is usual is the median of the weeks that are known', async () => {
  const perWeek = [60, 40, 0, 80];
  expect(
    await problemsWith(
      { [TODAY]: (minute) => perWeek[Math.floor(minute / WEEK)] ?? 0, [OFFSET]: 0 },
      [
        { expr: USUAL, minute: 10 * HOUR, samples: [] },
        { expr: USUAL, minute: WEEK + 10 * HOUR, samples: [['', 60]] },
        { expr: USUAL, minute: 2 * WEEK + 10 * HOUR, samples: [['', 50]] },
        { expr: USUAL, minute: 3 * WEEK + 10 * HOUR, samples: [['', 40]] },
        { expr: USUAL, minute: 4 * WEEK + 10 * HOUR, samples: [['', 50]] },
      ],
    ),
  ).toBe('');
});

test('weeks in which nobody came in are no baseline', async () => {
  expect(
    await problemsWith(
      {
        // Nobody comes for three weeks.
        [TODAY]: (minute) => (minute < WEEK ? 60 : 0),
        [TOTAL]: (minute) => Math.min(minute, WEEK),
        [OFFSET]: 0,
      },
      [{ expr: USUAL, minute: 4 * WEEK + 14 * HOUR, samples: [['', 60]] }],
    ),
  ).toBe('');
});

test('the usual hour is the rise of what is usual today, and 0 where the day starts', async () => {
  expect(
    await problemsWith({ [TODAY]: (minute) => minute % DAY, [OFFSET]: 0 }, [
      { expr: USUAL_HOUR, minute: WEEK + 10 * HOUR, samples: [['', 60]] },
      { expr: USUAL_HOUR, minute: WEEK + DAY + 30, samples: [['', 0]] },
    ]),
  ).toBe('');
});

// People come from 9 on, on the library's own clock.
test.each([
  ['back', 7_200, 3_600],
  ['forward', 3_600, 7_200],
])(
  'after the clocks were set %s, the same hour of its clock is compared',
  async (_, before, after) => {
    function offset(minute: number): number {
      return minute < CHANGE ? before : after;
    }
    const nine = 12 * DAY + 9 * HOUR - after / 60;
    expect(
      await problemsWith(
        {
          [TODAY]: (minute) => ((minute + offset(minute) / 60) % DAY >= 9 * HOUR ? 60 : 0),
          [OFFSET]: offset,
        },
        [
          { expr: USUAL, minute: nine - 30, samples: [['', 0]] },
          { expr: USUAL, minute: nine, samples: [['', 60]] },
        ],
      ),
    ).toBe('');
  },
);

test('weeks on a clock that was changed by something else than an hour are no baseline', async () => {
  expect(
    await problemsWith({ [TODAY]: 60, [OFFSET]: until(CHANGE, 39_600, 37_800) }, [
      { expr: WEEKS, minute: 12 * DAY, samples: [] },
      { expr: WEEKS, minute: 9 * DAY, samples: [['weeks="1"', 60]] },
    ]),
  ).toBe('');
});

test('an hour over the start of a month counts what came since', async () => {
  const startsAt = DAY + 30;
  expect(
    await problemsWith(
      { [TOTAL]: (minute) => (minute < startsAt ? 5_000 + minute : minute - startsAt) },
      [
        {
          expr: 'customer:library_people_entered:increase1h',
          minute: DAY + HOUR,
          samples: [['', 30]],
        },
      ],
    ),
  ).toBe('');
});

test('two replicas in two jobs count once, by the higher value', async () => {
  expect(
    await problemsWith(
      {
        [TOTAL]: (minute) => minute,
        [`${TOTAL}{instance="b",job="library-b"}`]: 5,
        [TODAY]: 60,
        [`${TODAY}{instance="b",job="library-b"}`]: 5,
        [OFFSET]: 0,
      },
      [
        { expr: WEEKS, minute: 8 * DAY, samples: [['weeks="1"', 60]] },
        { expr: 'customer:library_people_entered:increase1h', minute: DAY, samples: [['', 60]] },
      ],
    ),
  ).toBe('');
});

test('the drift of a day without anybody is absent, not NaN', async () => {
  expect(
    await problemsWith({ [TOTAL]: 5_000, library_people_exited_total: 4_000 }, [
      { expr: 'customer:library_people_drift:ratio1d', minute: HOUR, samples: [] },
    ]),
  ).toBe('');
});

test('the share of a device is that of all passes of the week, both ways', async () => {
  function device(id: number, way: string): string {
    return `library_device_people_${way}_total{device="${id}"}`;
  }
  expect(
    await problemsWith(
      {
        [device(1, 'entered')]: (minute) => minute,
        [device(1, 'exited')]: 0,
        [device(2, 'entered')]: (minute) => minute,
        [device(2, 'exited')]: (minute) => 2 * minute,
      },
      [
        {
          expr: 'customer_device:library_device_people:share1w',
          minute: 8 * DAY,
          samples: [
            ['device="1"', 0.25],
            ['device="2"', 0.75],
          ],
        },
      ],
    ),
  ).toBe('');
});

/** What promtool prints about failed expectations; empty without any. */
function problemsWith(story: Story, expectations: readonly Expectation[]): Promise<string> {
  const minutes = Math.max(...expectations.map(({ minute }) => minute));
  return failuresOf({
    rules: recordingsFor(expectations.map(({ expr }) => expr).join(' or ')),
    step: 30,
    series: inputSeries(story, minutes, { customer: 'riverside' }, 30),
    expectations: expectations.map(({ expr, minute, samples }) => ({
      // Sums of parts of an hour are off by a billionth.
      expr: `round(${expr}, 0.001)`,
      minute,
      samples: samples.map(([labels, value]) => [`customer="riverside",${labels}`, value]),
    })),
  });
}
