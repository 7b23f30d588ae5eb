/** Every alert in promtool's unit tests, by the table of test/prometheus/cases.ts. */
import { expect, test } from 'vitest';
import { ALERT_CASES, WELL } from '../prometheus/cases.ts';
import { readAlerts, readRecordings } from '../prometheus/rules.ts';
import { DAY, HOUR, inputSeries } from '../prometheus/scenario.ts';
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

test('every alert fires in a case', () => {
  const firing = Object.values(ALERT_CASES).flatMap(([, fires]) => Object.keys(fires));
  const names = readAlerts().map(({ alert }) => alert);
  expect([...new Set(firing)].toSorted()).toEqual(names.toSorted());
});

function isFiring(alert: string, minute: number, fires: boolean): Expectation {
  const expr = `group(ALERTS{alertname="${alert}",alertstate="firing"})`;
  return { expr, minute, samples: fires ? [['', 1]] : [] };
}
