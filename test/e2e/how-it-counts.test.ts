/** docs/how-it-counts.md says what increase() makes of some samples: promtool says the same. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { failuresOf } from './support/promtool.ts';

const PAGE = readFileSync(new URL('../../docs/how-it-counts.md', import.meta.url), 'utf8');
const ROWS = Array.from(
  PAGE.matchAll(/^\| ((?:(?:\d+|\\_) ){5}(?:\d+)) +\| +([\d.]+) \|/gm),
  ([, samples = '', increase = '']) => [samples.replaceAll('\\', ''), Number(increase)] as const,
);

/** Whether promtool computes this increase, to less than 1, over these samples, one a minute. */
async function isIncrease(samples: string, increase: number): Promise<boolean> {
  const failures = await failuresOf({
    step: 1,
    series: [{ series: 'counter', values: samples }],
    expectations: [
      {
        // Prometheus 3 excludes the left edge of a range, Prometheus 2 includes it. With one
        // millisecond more both see all six samples, and extrapolate over it by less than 1.
        expr: `abs(increase(counter[5m1ms]) - ${increase}) < bool 1`,
        minute: 5,
        samples: [['', 1]],
      },
    ],
  });
  return failures === '';
}

test('the table has its rows', () => {
  expect(ROWS).toHaveLength(
    PAGE.match(/^\| \S+ \S+ \S+ \S+ \S+ \S+ +\| +[\d.]+ \|/gm)?.length ?? 0,
  );
  expect(ROWS.length).toBeGreaterThan(5);
});

test.each(ROWS)('increase() of the samples %s is %s', async (samples, increase) => {
  expect(await isIncrease(samples, increase)).toBe(true);
  expect(await isIncrease(samples, increase + 2)).toBe(false);
});
