/** Every alert in promtool's unit tests, by the table of test/prometheus/cases.ts. */
import { expect, test } from 'vitest';
import { ALERT_CASES, WELL } from '../prometheus/cases.ts';
import type { AlertCase } from '../prometheus/cases.ts';
import { readAlerts, readRecordings } from '../prometheus/rules.ts';
import { HOUR, inputSeries } from '../prometheus/story.ts';
import { failuresOf } from './support/promtool.ts';
import type { Expectation } from './support/promtool.ts';

test.concurrent.for(ALERT_CASES)('%s', async (alertCase) => {
  const [, change, , { hours = 4, step = 5, alone } = {}] = alertCase;
  const story = alone ? change : { ...WELL, ...change };
  // Where a story has the series of a recording, the recording is left out.
  const given = new Set(Object.keys(story).map((series) => series.replace(/\{.*/, '')));
  const recordings = readRecordings().filter(({ record }) => !given.has(record));
  const failures = await failuresOf({
    rules: [...recordings, ...readAlerts()],
    step,
    series: inputSeries(story, hours * HOUR, { customer: 'riverside' }, step),
    expectations: expectationsOf(alertCase, hours * HOUR, step),
  });
  expect(failures).toBe('');
});

test('every alert fires in a case', () => {
  const firing = ALERT_CASES.flatMap(([, , fires]) => Object.keys(fires));
  const names = readAlerts().map(({ alert }) => alert);
  expect([...new Set(firing)].toSorted()).toEqual(names.toSorted());
});

function expectationsOf(
  [, , fires, { resolves = {} } = {}]: AlertCase,
  lastMinute: number,
  step: number,
): readonly Expectation[] {
  return [
    {
      expr: `group by (alertname) (count_over_time(ALERTS{alertstate="firing"}[${lastMinute}m]))`,
      minute: lastMinute,
      samples: Object.keys(fires).map((alert) => [`alertname="${alert}"`, 1] as const),
    },
    ...Object.entries(fires).flatMap(([alert, minute]) => [
      isFiring(alert, Math.max(0, minute - 2 * step), false),
      isFiring(alert, minute, true),
    ]),
    ...Object.entries(resolves).flatMap(([alert, minute]) => [
      isFiring(alert, minute - 2 * step, true),
      isFiring(alert, minute, false),
    ]),
  ];
}

function isFiring(alert: string, minute: number, fires: boolean): Expectation {
  const expr = `group(ALERTS{alertname="${alert}",alertstate="firing"})`;
  return { expr, minute, samples: fires ? [['', 1]] : [] };
}
