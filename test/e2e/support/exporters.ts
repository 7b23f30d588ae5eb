/** Exporters of the five customers of one simulated service. */
import { startSimulation } from '../../../src/cli/service.ts';
import { exporterConfigYaml } from '../../../src/simulator/demo-service.ts';
import { Workspace, launch } from '../../acceptance/daemon.ts';
import type { Daemon } from '../../acceptance/daemon.ts';

export interface Exporters {
  readonly daemons: readonly Daemon[];
  readonly customers: readonly string[];
  readonly workspace: Workspace;
  readonly stop: () => Promise<void>;
}

/** Starts one exporter with each of these flags. Every customer is polled once. */
export async function startExporters(...flags: readonly (readonly string[])[]): Promise<Exporters> {
  const workspace = new Workspace();
  const { service, simulator } = await startSimulation({ customers: 5, seed: 1 }, '127.0.0.1:0');
  async function stop(): Promise<void> {
    await workspace.close();
    await simulator.close();
  }
  try {
    const settings = {
      service: { max_requests_per_second: 1_000 },
      polling: { interval: '1d', reconcile_interval: '1d' },
    };
    const config = exporterConfigYaml(service, simulator.url, settings);
    const common = [
      `--config.file=${workspace.write('config.yaml', config)}`,
      '--web.listen-address=127.0.0.1:0',
      '--storage.path=',
    ];
    const daemons = await Promise.all(
      flags.map((own) => launch(workspace, [...common, ...own]).listening()),
    );
    const customers = service.customers.map(({ library }) => library.name);
    return { daemons, customers, workspace, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
