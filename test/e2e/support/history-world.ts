/** One simulated library, `backfill` run on it, and the blocks that promtool makes of the history. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { systemClock } from '../../../src/base/clock.ts';
import type { Clock } from '../../../src/base/clock.ts';
import { DAY_MS } from '../../../src/simulator/conventions.ts';
import { OFFICE_HOURS, openingHoursText } from '../../../src/simulator/libraries.ts';
import { MAIN } from '../../acceptance/daemon.ts';
import { startWorld } from '../../cli/simulated-world.ts';
import { finished } from './processes.ts';
import { blocksFromFiles } from './promtool.ts';

export const CUSTOMER = 'riverside';

const META = z.object({ stats: z.object({ numSamples: z.number() }) });

export type HistoryWorld = Awaited<ReturnType<typeof startHistoryWorld>>;

/** The clock is the service's. */
export async function startHistoryWorld(
  timezone: string,
  historyDays: number,
  clock: Pick<Clock, 'nowMs'> = systemClock,
) {
  const library = { timezone, visitsPerDay: 300, opening: OFFICE_HOURS };
  const world = await startWorld(
    { [CUSTOMER]: { library } },
    // Then a minute of the truth is a minute of the history to the last millisecond.
    { fromEdge: 'inclusive' },
    { clock, historyMs: historyDays * DAY_MS },
  );
  const config = world.config({
    polling: { interval: '1s', reconcile_interval: '2s', breakdown_interval: '1s' },
    customer: { breakdowns: ['branch'], opening_hours: openingHoursText(OFFICE_HOURS) },
  });
  const blocks = join(world.workspace.folder, 'blocks');
  return {
    ...world,
    /** The flag that names the configuration. */
    configFlag: config,
    blocks,
    /** Runs it with these flags and makes the blocks. How many samples it says, and how many they have. */
    async backfill(...flags: readonly string[]) {
      const output = join(world.workspace.folder, 'history');
      const args = ['backfill', config, `--output=${output}`, ...flags];
      const said = await finished(process.execPath, [MAIN, ...args]);
      await blocksFromFiles(output, blocks);
      const metas = readdirSync(blocks).map((block) =>
        META.parse(JSON.parse(readFileSync(join(blocks, block, 'meta.json'), 'utf8'))),
      );
      return {
        written: Number(/^(\d+) samples in/m.exec(said)?.[1]),
        inBlocks: metas.reduce((sum, { stats }) => sum + stats.numSamples, 0),
      };
    },
    /** How many were counted from an instant on. */
    since: (fromMs: number) => world.service.served(CUSTOMER, fromMs),
  };
}
