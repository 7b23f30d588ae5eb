/** Environments that are the same at every run; `npm run simulate` takes others. */
import { expect, test } from 'vitest';
import { FOUND_ENVIRONMENTS } from './found-environments.ts';
import { MUTATIONS } from './mutations.ts';
import { runEnvironment, runSeed } from './run.ts';

const SEEDS = Array.from({ length: 40 }, (_, i) => i + 1);
const TIMEOUT = { timeout: 120_000 };

test.each(SEEDS)('the environment of seed %d has no violation', TIMEOUT, async (seed) => {
  const { violations, polls } = await runSeed(seed);
  expect(violations).toEqual([]);
  expect(polls).toBeGreaterThan(20);
});

test.each(Object.entries(FOUND_ENVIRONMENTS))(
  'a violation that was found once is fixed: %s',
  TIMEOUT,
  async (_name, environment) => {
    const { violations } = await runEnvironment(environment);
    expect(violations).toEqual([]);
  },
);

test('a seed gives the same result each time', TIMEOUT, async () => {
  const first = await runSeed(3);
  expect(await runSeed(3)).toEqual(first);
});

test.each([
  ['first row skipped', 1],
  ['no high-water mark', 2],
  ['lagging day aggregation trusted', 6],
  ['doors learned from other days by each process', 883],
  ['windows of branches end with the next one', 75],
])('the mutation "%s" is found', TIMEOUT, async (name, seed) => {
  const { violations } = await runSeed(seed, { mutation: MUTATIONS[name] });
  expect(violations).not.toEqual([]);
});
