/** The recording rules in promtool's unit tests: what is usual, on the library's own clock. */
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

const TODAY = 'library_people_entered_today';
const TOTAL = 'library_people_entered_total';
const OFFSET = 'library_utc_offset_seconds';
const WEEKS = 'customer_weeks:library_people_entered_today:max';
const USUAL = 'customer:library_people_entered_today:usual';
const USUAL_HOUR = 'customer:library_people_entered:usual1h';
const CHANGE = 10 * DAY;

const folder = mkdtempSync(join(tmpdir(), 'recordings-'));
afterAll(() => rmSync(folder, { recursive: true }));

test('what is usual is the median of the weeks that are known', () => {
  const perWeek = [60, 40, 0, 80];
  expect(
    problemsWith({ [TODAY]: (minute) => perWeek[Math.floor(minute / WEEK)] ?? 0, [OFFSET]: 0 }, [
      { expr: USUAL, minute: 10 * HOUR, samples: [] },
      { expr: USUAL, minute: WEEK + 10 * HOUR, samples: [['', 60]] },
      { expr: USUAL, minute: 2 * WEEK + 10 * HOUR, samples: [['', 50]] },
      { expr: USUAL, minute: 3 * WEEK + 10 * HOUR, samples: [['', 40]] },
      { expr: USUAL, minute: 4 * WEEK + 10 * HOUR, samples: [['', 50]] },
    ]),
  ).toBe('');
});

test('weeks in which nobody came in are no baseline', () => {
  expect(
    problemsWith(
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

test('the usual hour is the rise of what is usual today, and 0 where the day starts', () => {
  expect(
    problemsWith({ [TODAY]: (minute) => minute % DAY, [OFFSET]: 0 }, [
      { expr: USUAL_HOUR, minute: WEEK + 10 * HOUR, samples: [['', 60]] },
      { expr: USUAL_HOUR, minute: WEEK + DAY + 30, samples: [['', 0]] },
    ]),
  ).toBe('');
});

// People come from 9 on, on the library's own clock.
test.each([
  ['back', 7_200, 3_600],
  ['forward', 3_600, 7_200],
])('after the clocks were set %s, the same hour of its clock is compared', (_, before, after) => {
  function offset(minute: number): number {
    return minute < CHANGE ? before : after;
  }
  const nine = 12 * DAY + 9 * HOUR - after / 60;
  expect(
    problemsWith(
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
});

test('weeks on a clock that was changed by something else than an hour are no baseline', () => {
  expect(
    problemsWith({ [TODAY]: 60, [OFFSET]: until(CHANGE, 39_600, 37_800) }, [
      { expr: WEEKS, minute: 12 * DAY, samples: [] },
      { expr: WEEKS, minute: 9 * DAY, samples: [['weeks="1"', 60]] },
    ]),
  ).toBe('');
});

test('an hour over the start of a month counts what came since', () => {
  const startsAt = DAY + 30;
  expect(
    problemsWith(
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

test('two replicas in two jobs count once, by the higher value', () => {
  expect(
    problemsWith(
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

test('the drift of a day without anybody is absent, not NaN', () => {
  expect(
    problemsWith({ [TOTAL]: 5_000, library_people_exited_total: 4_000 }, [
      { expr: 'customer:library_people_drift:ratio1d', minute: HOUR, samples: [] },
    ]),
  ).toBe('');
});

test('the share of a device is that of all passes of the week, both ways', () => {
  function device(id: number, way: string): string {
    return `library_device_people_${way}_total{device="${id}"}`;
  }
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
function problemsWith(story: Story, expectations: readonly Expectation[]): string {
  const rules = join(folder, 'rules.json');
  const file = join(folder, 'tests.json');
  const minutes = Math.max(...expectations.map(({ minute }) => minute));
  const recordings = recordingsFor(expectations.map(({ expr }) => expr).join(' or '));
  writeFileSync(rules, JSON.stringify(ruleFileOf(recordings)));
  const unitTest = {
    interval: '30m',
    input_series: inputSeries(story, minutes, { customer: 'riverside' }, 30),
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
    JSON.stringify({ rule_files: [rules], evaluation_interval: '30m', tests: [unitTest] }),
  );
  const { status, output } = run(debianProgram('/usr/bin/promtool'), ['test', 'rules', file]);
  return status === 0 ? '' : output;
}
