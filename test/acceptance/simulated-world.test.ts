/**
 * The daemon against the project's own simulator, in a world where people come and go meanwhile: it
 * is killed at any moment, and its counters are the truth all the same.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { seededRandom } from '../../src/base/random.ts';
import { createFaults, FAULT_KINDS } from '../../src/simulator/faults.ts';
import type { Simulator } from '../../src/simulator/http.ts';
import { createEnvironment } from '../../src/simulator/environment.ts';
import { Daemon, eventually, Workspace } from './daemon.ts';
import type { Exposition } from './exposition.ts';
import { Monitor } from './monitor.ts';
import { simulate } from './simulated.ts';

const KILLS = 8;
const SEED = 7;

const workspace = new Workspace();
const world = createEnvironment({ seed: SEED, customers: 5, clock: systemClock });
const random = seededRandom(SEED);
const faults = createFaults({ random });
let simulator: Simulator;
let configFile: string;

beforeAll(async () => {
  ({ simulator, configFile } = await simulate(world, faults, workspace));
});
afterAll(async () => {
  await workspace.close();
  await simulator.close();
});

/** What each customer's counters are and what they should be, at the same instant. */
function compare(exposition: Exposition): { shown: unknown; true: unknown } {
  const names = world.customers.map(({ library }) => library.name);
  return {
    shown: names.map((customer) =>
      ['people_entered', 'people_exited', 'logins'].map((kind) =>
        exposition.value(`library_${kind}_total`, { customer }),
      ),
    ),
    true: names.map((customer) => {
      const epoch =
        exposition.value('library_counter_start_timestamp_seconds', { customer }) ?? NaN;
      const { entered, exited, logins } = world.service.truth(customer, epoch * 1000).served;
      return [entered, exited, logins];
    }),
  };
}

async function expectTruth(daemon: Daemon): Promise<void> {
  await eventually(async () => {
    const { shown, true: truth } = compare(await daemon.scrape());
    expect(shown).toEqual(truth);
  });
}

test(
  'killed at any moment, the counters never fall, and are the truth after the next reconcile',
  { timeout: 60_000 },
  async () => {
    const monitor = new Monitor();
    for (let kill = 0; kill < KILLS; kill++) {
      const daemon = await Daemon.start(workspace, configFile);
      monitor.watch(daemon);
      await sleep(random.next() * 2500);
      await monitor.leave();
      daemon.signal('SIGKILL');
      await daemon.exited;
    }
    const daemon = await Daemon.start(workspace, configFile);
    monitor.watch(daemon);
    await expectTruth(daemon);
    await monitor.leave();
    await daemon.stop();
    expect(monitor.violations).toEqual([]);
  },
);

test('faults of every kind leave no trace in the counters', { timeout: 60_000 }, async () => {
  const daemon = await Daemon.start(workspace, configFile);
  const monitor = new Monitor();
  monitor.watch(daemon);
  faults.set({ rate: 0.1, kinds: FAULT_KINDS });
  await sleep(8000);
  faults.clear();
  await expectTruth(daemon);
  await monitor.leave();
  await daemon.stop();
  expect(monitor.violations).toEqual([]);
});
