/** The command line: which commands there are, and what their ends mean. */
import { Command, CommanderError } from 'commander';
import { ConfigError, UsageError } from '../base/errors.ts';
import { checkCommand } from './check.ts';
import { demoCommand } from './demo.ts';
import type { ExitStatus, Io } from './io.ts';
import { runCommand } from './run.ts';
import { serviceCommand } from './service.ts';
import { VERSION } from './version.ts';

const EXAMPLES = `
Without a command, it is "run": its flags are listed by "library-stats-exporter run --help".

Examples:
  library-stats-exporter demo                                a simulated service, nothing to set up
  library-stats-exporter check --config.file=config.yaml     every problem of a configuration
  library-stats-exporter --config.file=config.yaml           the exporter, on http://localhost:10096
`;

/** Runs one command to its end. `args` are those after the program's name. */
export async function runCommandLine(args: readonly string[], io: Io): Promise<ExitStatus> {
  const program = new Command('library-stats-exporter')
    .description('Library visitor and login statistics for Prometheus, exact to the last person.')
    .version(VERSION, '--version', 'print the version')
    .helpOption('--help', 'print this help')
    .helpCommand(false)
    .addHelpText('after', EXAMPLES)
    .configureOutput({ writeOut: io.writeOut, writeErr: io.writeError });
  const commands = [runCommand, demoCommand, serviceCommand, checkCommand];
  commands.forEach((create, i) => {
    const command = create(io)
      .helpOption('--help', 'print this help')
      .version(VERSION, '--version', 'print the version')
      .allowExcessArguments(false)
      .copyInheritedSettings(program)
      .exitOverride()
      .showSuggestionAfterError();
    program.addCommand(command, { isDefault: i === 0 });
  });
  program.exitOverride();
  try {
    refuseUnknownCommand(args[0], program);
    await program.parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    return statusOf(error, io);
  }
}

/** With a default command, the library would take its name for an argument of that one. */
function refuseUnknownCommand(first: string | undefined, program: Command): void {
  const names = program.commands.map((command) => command.name());
  if (first !== undefined && !first.startsWith('-') && !names.includes(first)) {
    throw new UsageError(
      `error: there is no command ${JSON.stringify(first)}; it must be one of ${names.join(', ')}`,
    );
  }
}

function statusOf(error: unknown, io: Io): ExitStatus {
  if (error instanceof CommanderError) {
    return error.exitCode === 0 ? 0 : 2;
  }
  if (error instanceof ConfigError || error instanceof UsageError) {
    io.writeError(`${error.message.trimEnd()}\n`);
    return 2;
  }
  io.writeError(
    `library-stats-exporter: ${error instanceof Error ? error.message : String(error)}\n`,
  );
  return 1;
}
