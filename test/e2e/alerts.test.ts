/** Every alert in promtool's unit tests, by the table of test/prometheus/cases.ts. */
import { expect, test } from 'vitest';
import { ALERT_CASES, WELL } from '../prometheus/cases.ts';
import { readAlerts, readRecordings } from '../prometheus/rules.ts';
import { DAY, HOUR, inputSeries, until } from '../prometheus/scenario.ts';
import { failuresOf } from './support/promtool.ts';
import type { Expectation } from './support/promtool.ts';

test.concurrent.for(Object.entries(ALERT_CASES))('%s', async ([, [change, fires, hours]]) => {
  const scenario = { ...WELL, ...change };
  const needed = Math.max(4 * HOUR, ...Object.values(fires).flat()) + 2 * HOUR;
  const lastMinute = hours === undefined ? needed : hours * HOUR;
  const step = lastMinute > 8 * DAY ? 60 : lastMinute > 2 * DAY ? 15 : 5;
  // Where a scenario has the series of a recording, the recording is left out.
  const given = new Set(Object.keys(scenario).map((series) => series.replace(/\{.*/, '')));
  const recordings = readRecordings().filter(({ record }) => !given.has(record));
  const failures = await failuresOf({
    rules: [...recordings, ...readAlerts()],
    step,
    series: inputSeries(scenario, lastMinute, { customer: 'riverside' }, step),
    expectations: [
      {
        expr: `group by (alertname) (count_over_time(ALERTS{alertstate="firing"}[${lastMinute}m]))`,
        minute: lastMinute,
        samples: Object.keys(fires).map((alert) => [`alertname="${alert}"`, 1] as const),
      },
      ...Object.entries(fires).flatMap(([alert, minutes]) => {
        const [from, to] = typeof minutes === 'number' ? [minutes] : minutes;
        return [
          isFiring(alert, Math.max(0, from - 2 * step), false),
          isFiring(alert, from, true),
          ...(to === undefined
            ? []
            : [isFiring(alert, to - 2 * step, true), isFiring(alert, to, false)]),
        ];
      }),
    ],
  });
  expect(failures).toBe('');
});

test('a month has its own counts only, also while replicas are in two months', async () => {
  const people = 'library_people_entered_total{customer="riverside"';
  const month = 'library_period_info{customer="riverside"';
  const start = 'library_period_start_timestamp_seconds{customer="riverside"';
  const series = inputSeries(
    {
      [`${people},replica="a"}`]: until(10, 900, 2),
      [`${people},replica="b"}`]: until(12, 900, 3),
      [`${start},replica="a"}`]: until(10, 1_000, 2_000),
      [`${start},replica="b"}`]: until(12, 1_000, 2_000),
      [`${month},month="2026-10",replica="a"}`]: until(10, 1, undefined),
      [`${month},month="2026-11",replica="a"}`]: until(10, undefined, 1),
      [`${month},month="2026-10",replica="b"}`]: until(12, 1, undefined),
      [`${month},month="2026-11",replica="b"}`]: until(12, undefined, 1),
    },
    30,
    {},
    1,
  );
  const record = 'customer_branch_month:library_people_entered:total';
  const rules = readRecordings().filter((recording) => recording.record === record);
  const expr = `sum by (month) (${record})`;
  const expectations: Expectation[] = [
    { expr, minute: 9, samples: [['month="2026-10"', 900]] },
    { expr, minute: 11, samples: [['month="2026-10"', 900]] },
    { expr, minute: 20, samples: [['month="2026-11"', 3]] },
  ];
  expect(await failuresOf({ rules, step: 1, series, expectations })).toBe('');
});

test('every alert fires in a case', () => {
  const firing = Object.values(ALERT_CASES).flatMap(([, fires]) => Object.keys(fires));
  const names = readAlerts().map(({ alert }) => alert);
  expect([...new Set(firing)].toSorted()).toEqual(names.toSorted());
});

function isFiring(alert: string, minute: number, fires: boolean): Expectation {
  const expr = `group(ALERTS{alertname="${alert}",alertstate="firing"})`;
  return { expr, minute, samples: fires ? [['', 1]] : [] };
}
