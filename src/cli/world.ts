/** The simulated service on loopback, as `demo` and `service` start it and tell of it. */
import { systemClock } from '../base/clock.ts';
import { seededRandom } from '../base/random.ts';
import { createFaults } from '../simulator/faults.ts';
import { startSimulator } from '../simulator/http.ts';
import type { Simulator } from '../simulator/http.ts';
import { createWorld } from '../simulator/world.ts';
import type { World } from '../simulator/world.ts';

export interface WorldFlags {
  readonly customers: number;
  readonly seed: number;
}

export interface RunningWorld {
  readonly world: World;
  readonly simulator: Simulator;
}

export async function startWorld(flags: WorldFlags, listenAddress: string): Promise<RunningWorld> {
  const world = createWorld({ ...flags, clock: systemClock });
  const simulator = await startSimulator({
    service: world.service,
    faults: createFaults({ random: seededRandom(flags.seed) }),
    clock: systemClock,
    listenAddress,
  });
  return { world, simulator };
}

/** Where the service is, and with which credentials each customer gets in. */
export function describeWorld({ world, simulator: { url } }: RunningWorld): string {
  const customers = world.customers.map(({ library, ...customer }) => {
    return `  ${library.name}: client_id ${customer.clientId}, client_secret ${customer.clientSecret}`;
  });
  return [
    'Simulated service (nothing in it is real):',
    `  data         ${url}/v1/peoplecount and ${url}/v1/login`,
    `  tokens       ${url}/connect/token`,
    `  the truth    ${url}/simulator/truth?from=${firstOfMonth()}`,
    'Customers:',
    ...customers,
    '',
  ].join('\n');
}

function firstOfMonth(): string {
  return `${new Date(systemClock.nowMs()).toISOString().slice(0, 7)}-01T04:00:00Z`;
}
