/** Every alert in promtool's unit tests, by the table of test/prometheus/cases.ts. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { ALERT_CASES, WELL } from '../prometheus/cases.ts';
import type { AlertCase } from '../prometheus/cases.ts';
import { readAlerts, readRecordings } from '../prometheus/rules.ts';
import { HOUR, inputSeries, ruleFileOf } from '../prometheus/story.ts';
import { debianProgram, outcomeOf } from './support/processes.ts';

const folder = mkdtempSync(join(tmpdir(), 'alerts-'));
afterAll(() => rmSync(folder, { recursive: true }));

test.concurrent.each(ALERT_CASES)('$name', async (alertCase) => {
  expect(await promtoolOn(alertCase)).toBe('  SUCCESS');
});

test('every alert fires in a case', () => {
  const firing = ALERT_CASES.flatMap(({ fires }) => Object.keys(fires));
  expect([...new Set(firing)].toSorted()).toEqual(
    readAlerts()
      .map(({ alert }) => alert)
      .toSorted(),
  );
});

/** What promtool prints about a case. */
async function promtoolOn(alertCase: AlertCase): Promise<string> {
  const { name, hours = 4, step = 5, change, alone, fires, resolves = {} } = alertCase;
  const story = alone ? change : { ...WELL, ...change };
  // Where a story has the series of a recording, the recording is left out.
  const given = new Set(Object.keys(story).map((series) => series.replace(/\{.*/, '')));
  const recordings = readRecordings().filter(({ record }) => !given.has(record));
  const file = join(folder, String(ALERT_CASES.indexOf(alertCase)));
  writeFileSync(`${file}-rules.json`, JSON.stringify(ruleFileOf([...recordings, ...readAlerts()])));
  const minutes = hours * HOUR;
  const firing = [
    {
      expr: `group by (alertname) (count_over_time(ALERTS{alertstate="firing"}[${minutes}m]))`,
      eval_time: `${minutes}m`,
      exp_samples: Object.keys(fires).map((alert) => ({
        labels: `{alertname="${alert}"}`,
        value: 1,
      })),
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
  const unitTest = {
    name,
    interval: `${step}m`,
    input_series: inputSeries(story, minutes, { customer: 'riverside' }, step),
    promql_expr_test: firing,
  };
  writeFileSync(
    `${file}.json`,
    JSON.stringify({
      rule_files: [`${file}-rules.json`],
      evaluation_interval: `${step}m`,
      tests: [unitTest],
    }),
  );
  const { output } = await outcomeOf(debianProgram('/usr/bin/promtool'), [
    'test',
    'rules',
    `${file}.json`,
  ]);
  return output
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('Unit Testing'))
    .join('\n');
}

function isFiring(alert: string, minute: number, fires: boolean): object {
  return {
    expr: `group(ALERTS{alertname="${alert}",alertstate="firing"})`,
    eval_time: `${minute}m`,
    exp_samples: fires ? [{ labels: '{}', value: 1 }] : [],
  };
}
