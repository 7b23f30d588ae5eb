/**
 * A real Prometheus that has the simulated service's last weeks, as a newcomer gets them there: by
 * `backfill` and promtool.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BREAKDOWNS } from '../../../src/base/model.ts';
import { startSimulation } from '../../../src/cli/service.ts';
import { exporterConfigYaml } from '../../../src/simulator/environment.ts';
import { MAIN } from '../../acceptance/daemon.ts';
import { finished } from './processes.ts';
import { startPrometheus } from './prometheus.ts';
import type { Prometheus } from './prometheus.ts';
import { blocksFromFiles } from './promtool.ts';

/**
 * Resolves when five weeks of five customers can be queried: series with job="library" and
 * instance="localhost:10096", with every breakdown, up to the minute before. `targets` are scraped as
 * well, each every second, by the name of their job.
 */
export async function historyPrometheus(
  targets: Readonly<Record<string, string>>,
): Promise<Prometheus> {
  const folder = mkdtempSync(join(tmpdir(), 'history-'));
  const running = await startSimulation({ customers: 5, seed: 1 }, '127.0.0.1:0');
  try {
    const config = join(folder, 'config.yaml');
    const service = { max_requests_per_second: 1_000 };
    const { environment, simulator } = running;
    writeFileSync(
      config,
      exporterConfigYaml(environment, simulator.url, { service, breakdowns: BREAKDOWNS }),
    );
    const history = join(folder, 'history');
    await finished(process.execPath, [
      MAIN,
      'backfill',
      `--config.file=${config}`,
      '--from=-35d',
      '--to=-1m',
      '--step=5m',
      `--output=${history}`,
    ]);
    const blocks = join(folder, 'blocks');
    await blocksFromFiles(history, blocks);
    return await startPrometheus(targets, { blocks });
  } finally {
    await running.simulator.close();
    rmSync(folder, { recursive: true });
  }
}
