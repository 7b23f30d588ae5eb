/** Five weeks of history of the first of the demo's customers, as a newcomer gets them: by `backfill` and promtool. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BREAKDOWNS } from '../../../src/base/model.ts';
import { startSimulation } from '../../../src/cli/service.ts';
import { exporterConfigYaml } from '../../../src/simulator/demo-service.ts';
import { MAIN } from '../../acceptance/daemon.ts';
import { finished } from './processes.ts';
import { blocksFromFiles } from './promtool.ts';

/** Five weeks are read, written and made into blocks within a minute, but not on a machine that is busy. */
export const FIVE_WEEKS_MS = 900_000;

/**
 * Writes blocks up to the minute before, with every breakdown, job="library" and
 * instance="localhost:10096". Returns their folder, which is in the given one.
 */
export async function historyOfDemo(folder: string, customers = 5): Promise<string> {
  const { service, simulator } = await startSimulation({ customers, seed: 1 }, '127.0.0.1:0');
  try {
    const config = join(folder, 'config.yaml');
    const settings = { service: { max_requests_per_second: 1_000 }, breakdowns: BREAKDOWNS };
    writeFileSync(config, exporterConfigYaml(service, simulator.url, settings));
    const flags = [`--config.file=${config}`, '--from=-35d', '--to=-1m'];
    const files = join(folder, 'history');
    await finished(process.execPath, [MAIN, 'backfill', ...flags, `--output=${files}`]);
    const blocks = join(folder, 'blocks');
    await blocksFromFiles(files, blocks);
    return blocks;
  } finally {
    await simulator.close();
  }
}
