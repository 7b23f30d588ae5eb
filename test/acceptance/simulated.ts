/** The project's own simulator, and a configuration that polls it every second. */
import { systemClock } from '../../src/base/clock.ts';
import type { Faults } from '../../src/simulator/faults.ts';
import { startSimulator } from '../../src/simulator/http.ts';
import type { Simulator } from '../../src/simulator/http.ts';
import { exporterConfigYaml } from '../../src/simulator/environment.ts';
import type { Environment } from '../../src/simulator/environment.ts';
import type { Workspace } from './daemon.ts';

export async function simulate(
  world: Environment,
  faults: Faults,
  workspace: Workspace,
): Promise<{ readonly simulator: Simulator; readonly configFile: string }> {
  const simulator = await startSimulator({
    service: world.service,
    faults,
    clock: systemClock,
    listenAddress: '127.0.0.1:0',
  });
  const configFile = workspace.write(
    'config.yaml',
    exporterConfigYaml(world, simulator.url, {
      polling: { interval: '1s', reconcile_interval: '3s' },
      service: { max_requests_per_second: 500 },
    }),
  );
  return { simulator, configFile };
}
