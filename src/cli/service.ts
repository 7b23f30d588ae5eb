/** `service`: the simulated service alone, for trying the interface or another client. */
import { Command } from 'commander';
import { customersOption, seedOption } from './flags.ts';
import { untilStopped } from './io.ts';
import type { Io } from './io.ts';
import { describeWorld, startWorld } from './world.ts';
import type { WorldFlags } from './world.ts';

interface ServiceFlags extends WorldFlags {
  readonly listenAddress: string;
}

export function serviceCommand(io: Io): Command {
  return new Command('service')
    .summary('the simulated service alone')
    .description('Serves the whole interface of the statistics service with invented libraries.')
    .addOption(customersOption())
    .addOption(seedOption())
    .option('--listen-address <address>', 'where to serve, on loopback only', '127.0.0.1:0')
    .action(async (flags: ServiceFlags) => {
      const running = await startWorld(flags, flags.listenAddress);
      io.writeOut(describeWorld(running));
      await untilStopped(io);
      await running.simulator.close();
    });
}
