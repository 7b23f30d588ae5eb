/** A simulated service over HTTP with one library, a configuration for it, and `backfill` run on both. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { systemClock } from '../../../src/base/clock.ts';
import { seededRandom } from '../../../src/base/random.ts';
import { DAY_MS, plainConventions } from '../../../src/simulator/conventions.ts';
import { exporterConfigYaml } from '../../../src/simulator/environment.ts';
import { createFaults } from '../../../src/simulator/faults.ts';
import { startSimulator } from '../../../src/simulator/http.ts';
import type { Simulator } from '../../../src/simulator/http.ts';
import { drawLibrary, OFFICE_HOURS } from '../../../src/simulator/libraries.ts';
import { createSimulatedService } from '../../../src/simulator/service.ts';
import type { SimulatedService } from '../../../src/simulator/service.ts';
import { makeBlocks } from './history-prometheus.ts';
import { MAIN } from '../../acceptance/daemon.ts';
import { finished } from './processes.ts';

export const CUSTOMER = 'riverside';

const META = z.object({ stats: z.object({ numSamples: z.number() }) });

export class HistoryWorld {
  readonly folder = mkdtempSync(join(tmpdir(), 'history-world-'));
  readonly service: SimulatedService;
  readonly config = join(this.folder, 'config.yaml');
  readonly blocks = join(this.folder, 'blocks');
  #simulator: Simulator | undefined;

  /** `nowMs` is the service's now; by default it goes on. */
  constructor(timezone: string, historyDays: number, nowMs = Date.now) {
    const given = { name: CUSTOMER, timezone, visitsPerDay: 300, opening: OFFICE_HOURS };
    this.service = createSimulatedService({
      seed: 1,
      // Then a minute of the truth is a minute of the history to the last millisecond.
      conventions: { ...plainConventions, fromEdge: 'inclusive' },
      clock: { nowMs },
      historyMs: historyDays * DAY_MS,
      customers: [
        { library: drawLibrary(1, 1, given), clientId: 'riverside-api', clientSecret: 'sesame' },
      ],
    });
  }

  async start(): Promise<void> {
    this.#simulator = await startSimulator({
      service: this.service,
      faults: createFaults({ random: seededRandom(1) }),
      clock: systemClock,
      listenAddress: '127.0.0.1:0',
    });
    const { service } = this;
    const { customers } = service;
    const yaml = exporterConfigYaml({ service, customers }, this.#simulator.url, {
      service: { max_requests_per_second: 1_000 },
      polling: { interval: '1s', reconcile_interval: '2s', breakdown_interval: '1s' },
      breakdowns: ['branch'],
    });
    writeFileSync(this.config, yaml);
  }

  /** Runs it with these flags and makes the blocks. How many samples it says, and how many they have. */
  async backfill(
    ...flags: readonly string[]
  ): Promise<{ readonly written: number; readonly inBlocks: number }> {
    const output = join(this.folder, 'history');
    const said = await finished(process.execPath, [
      MAIN,
      'backfill',
      `--config.file=${this.config}`,
      `--output=${output}`,
      ...flags,
    ]);
    await makeBlocks(output, this.blocks);
    const metas = readdirSync(this.blocks).map((block) =>
      META.parse(JSON.parse(readFileSync(join(this.blocks, block, 'meta.json'), 'utf8'))),
    );
    return {
      written: Number(/^(\d+) samples in/m.exec(said)?.[1]),
      inBlocks: metas.reduce((sum, { stats }) => sum + stats.numSamples, 0),
    };
  }

  /** How many were counted from an instant on. */
  since(fromMs: number): { readonly entered: number; readonly logins: number } {
    return this.service.served(CUSTOMER, fromMs);
  }

  async stop(): Promise<void> {
    await this.#simulator?.close();
    rmSync(this.folder, { recursive: true });
  }
}
