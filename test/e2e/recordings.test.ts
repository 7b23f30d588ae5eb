/** What is recorded, in promtool's unit tests: what is usual, on the library's own clock. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { recordingsFor } from '../prometheus/rules.ts';
import { DAY, HOUR, WEEK, inputSeries, ruleFileOf, until } from '../prometheus/story.ts';
import type { Story } from '../prometheus/story.ts';
import { debianProgram, run } from './support/processes.ts';

interface Expectation {
  readonly expr: string;
  readonly minute: number;
  /** Labels as written, and the value. */
  readonly samples: readonly (readonly [labels: string, value: number])[];
}

const ENTERED = 'library_people_entered_total';
const OFFSET = 'library_utc_offset_seconds';
const WEEKS = 'customer_weeks:library_people_entered:increase1h';
const USUAL = 'customer:library_people_entered:usual1h';
const CHANGE = 10 * DAY;

const folder = mkdtempSync(join(tmpdir(), 'recordings-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('the usual hour is the median of the weeks that are known, and a holiday is none of it', () => {
  // 60, 40, none (a holiday) and 80 between 9 and 10 on the Thursdays of four weeks.
  const perWeek = [60, 40, 0, 80];
  expect(
    problemsWith(
      {
        [ENTERED]: (minute) =>
          sum(perWeek, (people, week) => inHour(minute - week * WEEK, 9, people)),
        [OFFSET]: 0,
      },
      [
        { expr: USUAL, minute: 10 * HOUR, samples: [] },
        { expr: USUAL, minute: WEEK + 10 * HOUR, samples: [['', 60]] },
        { expr: USUAL, minute: 2 * WEEK + 10 * HOUR, samples: [['', 50]] },
        { expr: USUAL, minute: 3 * WEEK + 10 * HOUR, samples: [['', 40]] },
        { expr: USUAL, minute: 4 * WEEK + 10 * HOUR, samples: [['', 50]] },
        { expr: USUAL, minute: 4 * WEEK + 13 * HOUR, samples: [['', 0]] },
        {
          expr: WEEKS,
          minute: 4 * WEEK + 10 * HOUR,
          samples: perWeek.map((people, week) => [`weeks="${4 - week}"`, people] as const),
        },
      ],
    ),
  ).toBe('');
});

// Sixty people from 9 to 10 on the library's own clock, every day.
test.each([
  ['back', 7200, 3600],
  ['forward', 3600, 7200],
])('after the clocks were set %s, the same hour of its clock is looked at', (_, before, after) => {
  function comings(minute: number): number {
    const days = Array.from({ length: 14 }, (_unused, day) => day * DAY);
    return sum(days, (start) =>
      inHour(minute - start + (start < CHANGE ? before : after) / 60, 9, 60),
    );
  }
  const ten = 12 * DAY + 10 * HOUR - after / 60;
  expect(
    problemsWith({ [ENTERED]: comings, [OFFSET]: until(CHANGE, before, after) }, [
      { expr: USUAL, minute: ten - HOUR, samples: [['', 0]] },
      { expr: USUAL, minute: ten, samples: [['', 60]] },
      { expr: USUAL, minute: ten + HOUR, samples: [['', 0]] },
      // Both weeks have the same clock by then.
      {
        expr: `${WEEKS}{weeks="1"}`,
        minute: 9 * DAY + 10 * HOUR - before / 60,
        samples: [['weeks="1"', 60]],
      },
    ]),
  ).toBe('');
});

test('weeks on a clock that was changed by something else than an hour are left out', () => {
  expect(
    problemsWith({ [ENTERED]: (minute) => minute, [OFFSET]: until(CHANGE, 39_600, 37_800) }, [
      { expr: WEEKS, minute: 12 * DAY, samples: [] },
      { expr: WEEKS, minute: 9 * DAY, samples: [['weeks="1"', 60]] },
    ]),
  ).toBe('');
});

test('where the offset of then is not known, it is taken for that of now', () => {
  expect(
    problemsWith({ [ENTERED]: (minute) => minute, [OFFSET]: null }, [
      { expr: WEEKS, minute: 9 * DAY, samples: [['weeks="1"', 60]] },
    ]),
  ).toBe('');
});

test('the start of a month within the hour takes nothing away', () => {
  // Nobody comes for ten minutes on either side of it.
  const startsAt = DAY + 30;
  expect(
    problemsWith(
      {
        [ENTERED]: (minute) =>
          minute < startsAt ? Math.min(minute, startsAt - 10) : Math.max(0, minute - startsAt - 10),
        [OFFSET]: 0,
      },
      [{ expr: USUAL, minute: WEEK + DAY + HOUR, samples: [['', 40]] }],
      10,
    ),
  ).toBe('');
});

test('of two replicas, in two jobs, the better informed one counts, and only once', () => {
  expect(
    problemsWith(
      {
        [ENTERED]: (minute) => minute,
        [`${ENTERED}{instance="b",job="library-b"}`]: 5,
        [OFFSET]: 0,
      },
      [
        { expr: WEEKS, minute: 8 * DAY, samples: [['weeks="1"', 60]] },
        {
          expr: 'customer:library_people_entered:increase1h',
          minute: 8 * DAY,
          samples: [['', 60]],
        },
      ],
    ),
  ).toBe('');
});

test.each([
  // Minute 0 is a Thursday. Eight minutes before what is asked for.
  [0, 10 * HOUR, '4', '09'],
  [19_800, 20 * HOUR, '5', '01'],
  [-18_000, 3 * DAY + HOUR, '6', '19'],
  [0, 3 * DAY + 12 * HOUR + 15, '7', '12'],
])(
  'with an offset of %d seconds, minute %d is on weekday %s in hour %s',
  (offset, minute, weekday, hour) => {
    expect(
      problemsWith(
        { [ENTERED]: (now) => 2 * now, [OFFSET]: offset },
        [
          {
            expr: 'customer_weekday_hour:library_people_entered:per_hour',
            minute,
            samples: [[`weekday="${weekday}",hour="${hour}"`, 120]],
          },
        ],
        5,
      ),
    ).toBe('');
  },
);

test('the part of a device is that of all passes of the week, both ways', () => {
  function device(id: number, way: string): string {
    return `library_device_people_${way}_total{device="${id}"}`;
  }
  const share = 'customer_device:library_device_people:share1w';
  expect(
    problemsWith(
      {
        [device(1, 'entered')]: (minute) => minute,
        [device(1, 'exited')]: 0,
        [device(2, 'entered')]: (minute) => minute,
        [device(2, 'exited')]: (minute) => 2 * minute,
      },
      [
        {
          expr: share,
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

/** What promtool finds wrong; empty if nothing. `step`: minutes between samples, and between evaluations. */
function problemsWith(story: Story, expectations: readonly Expectation[], step = 30): string {
  const rules = join(folder, 'rules.json');
  const file = join(folder, 'tests.json');
  const minutes = Math.max(...expectations.map(({ minute }) => minute));
  const recordings = recordingsFor(expectations.map(({ expr }) => expr).join(' or '));
  writeFileSync(rules, JSON.stringify(ruleFileOf(recordings)));
  const unitTest = {
    interval: `${step}m`,
    input_series: inputSeries(story, minutes, { customer: 'riverside' }, step),
    promql_expr_test: expectations.map(({ expr, minute, samples }) => ({
      // Sums of parts of an hour are off by a billionth.
      expr: `round(${expr}, 0.001)`,
      eval_time: `${minute}m`,
      exp_samples: samples.map(([labels, value]) => ({
        labels: `{${['customer="riverside"', ...(labels === '' ? [] : [labels])].join(',')}}`,
        value,
      })),
    })),
  };
  writeFileSync(
    file,
    JSON.stringify({ rule_files: [rules], evaluation_interval: `${step}m`, tests: [unitTest] }),
  );
  const { status, output } = run(debianProgram('/usr/bin/promtool'), ['test', 'rules', file]);
  return status === 0 ? '' : output;
}

/** How many of an hour's people have come by a minute of the day; before it 0, after it all. */
function inHour(minuteOfDay: number, hour: number, people: number): number {
  return (people * Math.min(HOUR, Math.max(0, minuteOfDay - hour * HOUR))) / HOUR;
}

function sum<Item>(
  items: readonly Item[],
  numberOf: (item: Item, index: number) => number,
): number {
  return items.reduce((total, item, index) => total + numberOf(item, index), 0);
}
