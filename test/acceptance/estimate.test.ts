/** The occupancy estimate of the daemon against the simulator: two libraries, one never closes. */
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { seededRandom } from '../../src/base/random.ts';
import { createEnvironment, exporterConfigYaml } from '../../src/simulator/environment.ts';
import { createFaults } from '../../src/simulator/faults.ts';
import { startSimulator } from '../../src/simulator/http.ts';
import type { Simulator } from '../../src/simulator/http.ts';
import { eventually, flagsFor, launch, Workspace } from './daemon.ts';

const workspace = new Workspace();
const world = createEnvironment({ seed: 7, customers: 2, clock: systemClock });
const names = world.customers.map(({ library }) => library.name);
const FAMILIES = [
  'library_occupancy_estimate_people',
  'library_occupancy_estimate_lower_people',
  'library_occupancy_estimate_upper_people',
  'library_door_suspect',
];
let simulator: Simulator;
let configFile: string;

beforeAll(async () => {
  const faults = createFaults({ random: seededRandom(7) });
  const { service } = world;
  const listenAddress = '127.0.0.1:0';
  simulator = await startSimulator({ service, faults, clock: systemClock, listenAddress });
  configFile = workspace.write('config.yaml', exporterConfigYaml(world, simulator.url));
});
afterAll(async () => {
  await workspace.close();
  await simulator.close();
});

test(
  'a library that empties at night has an estimate, one that never closes has none',
  { timeout: 60_000 },
  async () => {
    const daemon = await launch(workspace, flagsFor(workspace, configFile)).listening();
    await eventually(async () => {
      const exposition = await daemon.scrape();
      const estimable = names.map((customer) =>
        exposition.value('library_occupancy_estimable', { customer }),
      );
      expect(estimable).toEqual([0, 1]);
      for (const family of FAMILIES.slice(0, 3)) {
        expect(exposition.all(family).map(({ labels }) => labels['customer'])).toEqual(
          names.slice(1),
        );
      }
      const kinds = exposition.all('library_door_suspect').map(({ labels }) => labels['kind']);
      expect(kinds.slice(0, 3)).toEqual(['exits_missing', 'entries_missing', 'silent']);
      expect(exposition.all('library_door_count_ratio')).toHaveLength(2);
      expect(exposition.all('library_door_count_ratio_stddev')).toHaveLength(2);
    });
    await daemon.stop();
  },
);

test('estimate: false removes the metrics and the requests', { timeout: 60_000 }, async () => {
  const off = workspace.write(
    'off.yaml',
    `defaults: { estimate: false }\n${readFileSync(configFile, 'utf8')}`,
  );
  const daemon = await launch(
    workspace,
    flagsFor(workspace, off, `--storage.path=${workspace.folder}/off`, '--log.level=debug'),
  ).listening();
  await eventually(async () => {
    const exposition = await daemon.scrape();
    const polls = exposition.all('library_polls_total').map(({ value }) => value);
    expect(Math.min(...polls)).toBeGreaterThan(0);
    for (const family of [...FAMILIES, 'library_door_count_ratio', 'library_occupancy_estimable']) {
      expect(exposition.all(family)).toEqual([]);
    }
  });
  const requests = daemon.logLines().filter(({ msg }) => msg === 'service request finished');
  expect(requests.filter(({ aggregation }) => aggregation === 'quarter')).toEqual([]);
  await daemon.stop();
});
