/** docs/how-it-counts.md says what increase() makes of some samples: promtool says the same. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { debianProgram, run } from './support/processes.ts';

const PAGE = readFileSync(new URL('../../docs/how-it-counts.md', import.meta.url), 'utf8');
const ROWS = Array.from(
  PAGE.matchAll(/^\| ((?:(?:\d+|\\_) ){5}(?:\d+)) +\| +([\d.]+) \|/gm),
  ([, samples = '', increase = '']) => [samples.replaceAll('\\', ''), increase] as const,
);

const folder = mkdtempSync(join(tmpdir(), 'how-it-counts-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Whether promtool computes this increase, to less than 1, over these samples, one a minute. */
function isIncrease(samples: string, increase: number): boolean {
  const path = join(folder, 'test.json');
  const unitTest = {
    rule_files: [],
    evaluation_interval: '1m',
    tests: [
      {
        interval: '1m',
        input_series: [{ series: 'counter', values: samples }],
        promql_expr_test: [
          {
            // Prometheus 3 excludes the left edge of a range, Prometheus 2 includes it. With one
            // millisecond more both see all six samples, and extrapolate over it by less than 1.
            expr: `abs(increase(counter[5m1ms]) - ${increase}) < bool 1`,
            eval_time: '5m',
            exp_samples: [{ labels: '{}', value: 1 }],
          },
        ],
      },
    ],
  };
  writeFileSync(path, JSON.stringify(unitTest));
  return run(debianProgram('/usr/bin/promtool'), ['test', 'rules', path]).status === 0;
}

test('the table has its rows', () => {
  expect(ROWS).toHaveLength(
    PAGE.match(/^\| \S+ \S+ \S+ \S+ \S+ \S+ +\| +[\d.]+ \|/gm)?.length ?? 0,
  );
  expect(ROWS.length).toBeGreaterThan(8);
});

test.each(ROWS)('increase() of the samples %s is %s', (samples, increase) => {
  expect(isIncrease(samples, Number(increase))).toBe(true);
  expect(isIncrease(samples, Number(increase) + 2)).toBe(false);
});
