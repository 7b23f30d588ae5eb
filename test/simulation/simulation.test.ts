/** Environments that are the same at every run; `npm run simulate` takes others. */
import { expect, test } from 'vitest';
import type { CustomerConfig } from '../../src/config/types.ts';
import { drawEnvironment, drawLongEnvironment } from './environment.ts';
import type { Environment } from './environment.ts';
import { FOUND_ENVIRONMENTS } from './found-environments.ts';
import { MUTATIONS } from './mutations.ts';
import type { Mutation } from './mutations.ts';
import { runEnvironment } from './run.ts';

const SEEDS = Array.from({ length: 8 }, (_, i) => i + 1);
const TIMEOUT = { timeout: 120_000 };

test.each(SEEDS)('the environment of seed %d has no violation', TIMEOUT, async (seed) => {
  const { violations, polls } = await runEnvironment(drawEnvironment(seed));
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

/** Christmas, three reloads a week, and a move to New York. */
const LONG: Environment = {
  ...drawLongEnvironment(3),
  startMs: Date.UTC(2026, 11, 22, 6),
  days: 8,
  long: { phaseDays: 4, reloadsPerWeek: 3, move: { afterDays: 3, timezone: 'America/New_York' } },
};

test('a customer moves, and libraries close on holidays', TIMEOUT, async () => {
  const { violations, polls } = await runEnvironment(LONG);
  expect(violations).toEqual([]);
  expect(polls).toBeGreaterThan(3_000);
});

test.each<[string, (customer: CustomerConfig) => CustomerConfig]>([
  ['the time zone before the move', (one) => ({ ...one, timezone: LONG.timezone })],
  ['holidays of another country', (one) => ({ ...one, holidays: 'jp' })],
])('the simulation of months finds %s', TIMEOUT, async (_, change) => {
  const mutation: Mutation = {
    config: (config) => ({ ...config, customers: config.customers.map(change) }),
  };
  const { violations } = await runEnvironment(LONG, mutation);
  expect(violations).not.toEqual([]);
});

test('a seed gives the same result each time', TIMEOUT, async () => {
  const first = await runEnvironment(drawEnvironment(3));
  expect(await runEnvironment(drawEnvironment(3))).toEqual(first);
});

test.each([
  ['first row skipped', 1],
  ['no high-water mark', 2],
  ['clocks not compared', 2],
  ['doors learned from other days by each process', 883],
  ['windows of branches end with the next one', 104],
  ['dead doors not found', 5770572],
  ['problem that begins when it is found', 3299],
])('the mutation "%s" is found', TIMEOUT, async (name, seed) => {
  const { violations } = await runEnvironment(drawEnvironment(seed), MUTATIONS[name]);
  expect(violations).not.toEqual([]);
});
