/**
 * Several processes for one configuration: shards, each with its own customers, and replicas, which
 * show the same counters. Against the simulated service, in which people come and go meanwhile.
 */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { seededRandom } from '../../src/base/random.ts';
import { createFaults } from '../../src/simulator/faults.ts';
import type { Simulator } from '../../src/simulator/http.ts';
import { createEnvironment } from '../../src/simulator/environment.ts';
import { Daemon, Workspace, eventually } from './daemon.ts';
import type { Exposition } from './exposition.ts';
import { simulate } from './simulated.ts';

const SHARDS = 3;
const COUNTERS = ['people_entered', 'people_exited', 'logins'];

const workspace = new Workspace();
const world = createEnvironment({ seed: 11, customers: 12, clock: systemClock });
const NAMES = world.customers.map(({ library }) => library.name);
let simulator: Simulator;
let configFile: string;

beforeAll(async () => {
  ({ simulator, configFile } = await simulate(
    world,
    createFaults({ random: seededRandom(11) }),
    workspace,
  ));
});
afterAll(async () => {
  await workspace.close();
  await simulator.close();
});

function start(shard: string, replica: string): Promise<Daemon> {
  const storage = `${workspace.folder}/data-${replica}`;
  return Daemon.start(workspace, configFile, storage, {}, [`--shard=${shard}`]);
}

function customersOf(exposition: Exposition): readonly string[] {
  return NAMES.filter((customer) =>
    COUNTERS.every((kind) => exposition.value(`library_${kind}_total`, { customer }) !== undefined),
  );
}

function countersOf(exposition: Exposition, customer: string): readonly (number | undefined)[] {
  return COUNTERS.map((kind) => exposition.value(`library_${kind}_total`, { customer }));
}

function truthOf(exposition: Exposition, customer: string): readonly number[] {
  const epoch =
    exposition.value('library_counter_start_timestamp_seconds', { customer }) ?? Number.NaN;
  const { entered, exited, logins } = world.service.truth(customer, epoch * 1_000).served;
  return [entered, exited, logins];
}

test(
  'each customer is on one shard, and a replica of a shard shows the same',
  { timeout: 120_000 },
  async () => {
    const shards: Daemon[] = [];
    for (let i = 0; i < SHARDS; i++) {
      shards.push(await start(`${i}/${SHARDS}`, `a-${i}`));
    }
    const replica = await start(`1/${SHARDS}`, 'b-1');
    await eventually(async () => {
      const scrapes = await Promise.all(shards.map((daemon) => daemon.scrape()));
      const parts = scrapes.map(customersOf);
      expect(parts.flat().toSorted()).toEqual(NAMES.toSorted());
      scrapes.forEach((scrape, i) => {
        expect(scrape.value('library_exporter_customers', {})).toBe(parts[i]?.length);
        const shard = { shard: String(i), shards: String(SHARDS) };
        expect(scrape.value('library_exporter_shard_info', shard)).toBe(1);
      });
    }, 45_000);
    // Two pollers do not poll in the same second: where both show the truth of one instant, they agree.
    await eventually(async () => {
      const pair = await Promise.all([shards[1]?.scrape(), replica.scrape()]);
      const [one, other] = pair.map((scrape) => (scrape === undefined ? [] : customersOf(scrape)));
      expect(one?.length).toBeGreaterThan(0);
      expect(other).toEqual(one);
      for (const scrape of pair.filter((some) => some !== undefined)) {
        for (const customer of one ?? []) {
          expect(countersOf(scrape, customer)).toEqual(truthOf(scrape, customer));
        }
      }
    }, 45_000);
  },
);
