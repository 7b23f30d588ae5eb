/**
 * A real Prometheus that has the simulated service's last weeks, as a newcomer gets them there: by
 * `backfill` and promtool.
 */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { BREAKDOWNS } from '../../../src/base/model.ts';
import { startSimulation } from '../../../src/cli/service.ts';
import { exporterConfigYaml } from '../../../src/simulator/environment.ts';
import { debianProgram, finished } from './processes.ts';
import { startPrometheus } from './prometheus.ts';
import type { Prometheus } from './prometheus.ts';

export interface HistoryPrometheusOptions {
  /** Simulated customers; the demo's five by default. */
  readonly customers?: number;
  /** How far it goes back from now; the simulated service has five weeks. */
  readonly days?: number;
  readonly step?: '1m' | '5m';
  /** Scraped as well, each every second, by the name of their job. */
  readonly targets?: Readonly<Record<string, string>>;
}

const MAIN = fileURLToPath(new URL('../../../src/main.ts', import.meta.url));

/**
 * Resolves when the history can be queried: series with job="library" and instance="localhost:10096",
 * with every breakdown, up to the minute before. Its time of the newest sample is `now - 1m`.
 */
export async function historyPrometheus({
  customers = 5,
  days = 35,
  step = '5m',
  targets = {},
}: HistoryPrometheusOptions = {}): Promise<Prometheus> {
  const folder = mkdtempSync(join(tmpdir(), 'history-'));
  const running = await startSimulation({ customers, seed: 1 }, '127.0.0.1:0');
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
      `--from=-${days}d`,
      '--to=-1m',
      `--step=${step}`,
      `--output=${history}`,
    ]);
    const blocks = join(folder, 'blocks');
    await makeBlocks(history, blocks);
    return await startPrometheus(targets, { blocks });
  } finally {
    await running.simulator.close();
    rmSync(folder, { recursive: true });
  }
}

/** What docs/backfill.md says, of each month. */
export async function makeBlocks(history: string, blocks: string): Promise<void> {
  for (const file of readdirSync(history).filter((name) => name.endsWith('.om'))) {
    await finished(debianProgram('/usr/bin/promtool'), [
      'tsdb',
      'create-blocks-from',
      '--max-block-duration=162h',
      'openmetrics',
      '--quiet',
      join(history, file),
      blocks,
    ]);
  }
}
