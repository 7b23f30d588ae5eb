/** The command line: which commands there are, and what their ends mean. */
import { Command, CommanderError } from 'commander';
import { ConfigError, messageOf, UsageError } from '../base/errors.ts';
import { InterruptedError } from './io.ts';
import type { ExitStatus, Io } from './io.ts';
import { VERSION } from './version.ts';

/** Each is loaded when it is needed: together they take long, and half of a query's memory. */
const COMMANDS = {
  run: async () => (await import('./run.ts')).runCommand,
  demo: async () => (await import('./demo.ts')).demoCommand,
  service: async () => (await import('./service.ts')).serviceCommand,
  check: async () => (await import('./check.ts')).checkCommand,
  query: async () => (await import('./query.ts')).queryCommand,
  backfill: async () => (await import('./backfill.ts')).backfillCommand,
} as const;

const EXAMPLES = `
Without a command, it is "run": its flags are listed by "library-stats-exporter run --help".

Examples:
  library-stats-exporter demo                                a simulated service, nothing to set up
  library-stats-exporter check --config.file=config.yaml     every problem of a configuration
  library-stats-exporter query login --from=-24h             what the service has, one-off
  library-stats-exporter backfill --from=-90d --output=past  history for Prometheus
  library-stats-exporter --config.file=config.yaml           the exporter, on http://localhost:10096
`;

/** Runs one command to its end. `args` are those after the program's name. */
export async function runCommandLine(args: readonly string[], io: Io): Promise<ExitStatus> {
  try {
    const program = await createProgram(args, io);
    await program.parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    return statusOf(error, io);
  }
}

/** With the command that `args` name, or with all of them where these ask for help. */
export async function createProgram(args: readonly string[], io: Io): Promise<Command> {
  const program = new Command('library-stats-exporter')
    .description('Library visitor and login statistics for Prometheus, exact to the last person.')
    .version(VERSION, '--version', 'print the version')
    .helpOption('--help', 'print this help')
    .helpCommand(false)
    .addHelpText('after', EXAMPLES)
    .configureOutput({ writeOut: io.writeOut, writeErr: io.writeError });
  program.exitOverride();
  for (const [name, create] of await loadCommands(args)) {
    const command = create(io)
      .helpOption('--help', 'print this help')
      .version(VERSION, '--version', 'print the version')
      .allowExcessArguments(false)
      .copyInheritedSettings(program)
      .exitOverride()
      .showSuggestionAfterError();
    program.addCommand(command, { isDefault: name === 'run' });
  }
  return program;
}

type CreateCommand = (io: Io) => Command;

/** The command that is named, else the default; all of them where help must list them. */
async function loadCommands(
  args: readonly string[],
): Promise<readonly (readonly [name: string, create: CreateCommand])[]> {
  const [first] = args;
  const names = Object.keys(COMMANDS);
  // With a default command, the library would take its name for an argument of that one.
  if (first !== undefined && !first.startsWith('-') && !names.includes(first)) {
    throw new UsageError(
      `there is no command ${JSON.stringify(first)}; it must be one of ${names.join(', ')}`,
    );
  }
  const named = first !== undefined && names.includes(first) ? first : 'run';
  const listed = named !== first && args.includes('--help');
  return Promise.all(
    Object.entries(COMMANDS)
      .filter(([name]) => listed || name === named)
      .map(async ([name, load]) => [name, await load()] as const),
  );
}

function statusOf(error: unknown, io: Io): ExitStatus {
  if (error instanceof CommanderError) {
    return error.exitCode === 0 ? 0 : 2;
  }
  if (error instanceof UsageError) {
    // In the form of the library's own.
    io.writeError(`error: ${error.message}\n`);
    return 2;
  }
  if (error instanceof ConfigError) {
    io.writeError(`${error.message.trimEnd()}\n`);
    return 2;
  }
  io.writeError(`library-stats-exporter: ${messageOf(error)}\n`);
  if (error instanceof InterruptedError) {
    return io.stop.reason === 'SIGINT' ? 130 : 143;
  }
  return 1;
}
