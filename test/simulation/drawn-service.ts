/** The simulated service of a drawn world. */
import { ALWAYS_OPEN, drawLibrary } from '../../src/simulator/libraries.ts';
import { createSimulatedService } from '../../src/simulator/service.ts';
import type { SimulatedService } from '../../src/simulator/service.ts';
import type { WorldClock } from './clock.ts';
import type { DrawnWorld } from './drawn-world.ts';

const DAY_MS = 86_400_000;

export function serviceOf(world: DrawnWorld, clock: WorldClock): SimulatedService {
  return createSimulatedService({
    seed: world.seed,
    conventions: world.conventions,
    clock,
    // Back to the month before: nobody asks for more.
    historyMs: new Date(world.startMs).getUTCDate() * DAY_MS + 2 * DAY_MS,
    customers: world.visitsPerDay.map((visitsPerDay, i) => ({
      clientId: `client-${i}`,
      clientSecret: `secret-of-${world.seed}-${i}`,
      library: drawLibrary(world.seed, 1_001 + i, {
        name: `library-${i}`,
        timezone: world.timezone,
        visitsPerDay,
        ...(world.alwaysOpen ? { opening: ALWAYS_OPEN } : {}),
      }),
    })),
  });
}
