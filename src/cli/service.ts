/** `service`: the simulated service alone; `demo` starts and describes it in the same way. */
import { Command, InvalidArgumentError } from 'commander';
import { systemClock } from '../base/clock.ts';
import { seededRandom } from '../base/random.ts';
import { createFaults } from '../simulator/faults.ts';
import { startSimulator } from '../simulator/http.ts';
import { createDemoService } from '../simulator/demo-service.ts';
import { timezone } from '../config/values.ts';
import { addSimulationOptions, helpNotes, integer } from './flags.ts';
import { untilStopped } from './io.ts';
import type { Io } from './io.ts';

export interface SimulationFlags {
  readonly customers: number;
  readonly seed: number;
  readonly branches?: number;
  readonly timezone?: string;
}

interface ServiceFlags extends SimulationFlags {
  readonly listenAddress: string;
}

/** Returns the command `service`. */
export function serviceCommand(io: Io): Command {
  const command = new Command('service')
    .summary('run the simulated service alone')
    .description('Serves the whole interface of the statistics service with simulated libraries.');
  return addSimulationOptions(command)
    .option('--branches <number>', 'of each customer (default: 1 to 3)', integer(1, 99))
    .option('--timezone <zone>', 'of each customer (default: of several continents)', parseZone)
    .option('--listen-address <address>', 'loopback address to listen on', '127.0.0.1:0')
    .addHelpText(
      'after',
      helpNotes('commands.md', 'service', 'service --branches=5 --timezone=Europe/Copenhagen'),
    )
    .action(async (flags: ServiceFlags) => {
      const simulation = await startSimulation(flags, flags.listenAddress);
      io.writeOut(describeSimulation(simulation));
      await untilStopped(io);
      await simulation.simulator.close();
    });
}

type Simulation = Awaited<ReturnType<typeof startSimulation>>;

/** Starts a simulated service. Throws an Error if the address is not on loopback. */
export async function startSimulation(flags: SimulationFlags, listenAddress: string) {
  const service = createDemoService({ ...flags, clock: systemClock });
  const simulator = await startSimulator({
    service,
    faults: createFaults({ random: seededRandom(flags.seed) }),
    clock: systemClock,
    listenAddress,
  });
  return { service, simulator };
}

/** Returns the addresses of the service and the credentials of each customer, to be printed. */
export function describeSimulation({ service, simulator: { url } }: Simulation): string {
  const month = new Date(systemClock.nowMs()).toISOString().slice(0, 7);
  const customers = service.customers.map(
    ({ library: { name, timezone: zone }, clientId, clientSecret }) =>
      `  ${name} (${zone}): client_id ${clientId}, client_secret ${clientSecret}\n`,
  );
  return `Simulated service (nothing in it is real):
  data           ${url}/v1/peoplecount and ${url}/v1/login
  tokens         ${url}/connect/token
  actual counts  ${url}/simulator/counts?from=${month}-01T04:00:00Z
Customers:
${customers.join('')}`;
}

function parseZone(text: string): string {
  if (!timezone().safeParse(text).success) {
    throw new InvalidArgumentError('Expected an IANA time zone such as Europe/Copenhagen.');
  }
  return text;
}
