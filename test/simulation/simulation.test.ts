/** Environments that are the same at every run; `npm run simulate` takes others. */
import { expect, test } from 'vitest';
import { drawEnvironment, drawLongEnvironment } from './environment.ts';
import type { Environment } from './environment.ts';
import { FOUND_ENVIRONMENTS } from './found-environments.ts';
import { MUTATIONS, withCustomers } from './mutations.ts';
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
  ...drawLongEnvironment(7),
  startMs: Date.UTC(2026, 11, 22, 6),
  days: 8,
  long: { phaseDays: 4, move: { afterDays: 3, timezone: 'America/New_York' } },
};

test('a customer moves, and libraries close on holidays', TIMEOUT, async () => {
  const { violations, polls } = await runEnvironment(LONG);
  expect(violations).toEqual([]);
  expect(polls).toBeGreaterThan(3_000);
});

test.each([
  ['the time zone before the move', { timezone: LONG.timezone }],
  ['holidays of another country', { holidays: 'jp' }],
])('the simulation of months finds %s', TIMEOUT, async (_, change) => {
  const { violations } = await runEnvironment(LONG, { config: withCustomers(change) });
  expect(violations).not.toEqual([]);
});

test('a seed gives the same result each time', TIMEOUT, async () => {
  const first = await runEnvironment(drawEnvironment(3));
  expect(await runEnvironment(drawEnvironment(3))).toEqual(first);
});

// After a change of what is drawn, the error may be found in one of the next environments.
test.each([
  ['no high-water mark', 212, 'decreases from'],
  ['state not read after a restart', 485, 'decreases from'],
  ['no reconciliation', 294, 'in the end'],
  ['day and counting period start an hour late', 2, 'and the period started at'],
  ['window starts late', 1451, 'library_occupancy_people'],
  ['window starts late', 28_561, 'after a good poll'],
  ['doors learned from other days by each process', 916, 'are estimated as'],
  ['clocks not compared', 40, 'after that of'],
  ['refused credentials tried again at once', 5, 'refused credentials are tried again'],
  ['Retry-After ignored', 3, 'before Retry-After is over'],
  ['secret in the log', 5, 'a secret or a token was shown'],
  ['counters shown as 0 before the first response', 1, 'before values were accepted'],
  ['windows of branches end with the next one', 1438, 'was last seen at'],
  ['dead doors not found', 30_473, 'has no problem'],
  ['problem that begins when it is found', 30_473, 'does not begin with a count'],
  ['failing polls not shown by /metrics', 3, 'on its status page'],
] as const)('the mutation "%s" is found', TIMEOUT, async (name, first, expected) => {
  let found = '';
  for (let seed = first; !found.includes(expected) && seed < first + 20; seed += 1) {
    found = (await runEnvironment(drawEnvironment(seed), MUTATIONS[name])).violations.join('\n');
  }
  expect(found).toContain(expected);
});
