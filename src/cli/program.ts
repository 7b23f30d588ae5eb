/** The command line: its commands, its help, and the exit status. */
import { existsSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { ConfigError, messageOf, UsageError } from '../base/errors.ts';
import { helpNotes } from './flags.ts';
import { InterruptedError, PROGRAM, VERSION } from './io.ts';
import type { ExitStatus, Io } from './io.ts';

/** Loaded when needed: all of them would double the memory of a query. */
const COMMANDS: Readonly<Record<string, () => Promise<(io: Io) => Command>>> = {
  run: async () => (await import('./run.ts')).runCommand,
  demo: async () => (await import('./demo.ts')).demoCommand,
  service: async () => (await import('./service.ts')).serviceCommand,
  check: async () => (await import('./check.ts')).checkCommand,
  query: async () => (await import('./query.ts')).queryCommand,
  backfill: async () => (await import('./backfill.ts')).backfillCommand,
};

const NOTES = helpNotes(
  'commands.md',
  ['demo', 'check --config.file=config.yaml', '--config.file=config.yaml'],
  'The default command is run: "library-stats-exporter help run" lists its flags.',
);

/** Runs one command to its end. `args` are those after the program's name. */
export async function runCommandLine(args: readonly string[], io: Io): Promise<ExitStatus> {
  try {
    const program = await createProgram(args, io);
    await program.parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    return exitStatus(error, io);
  }
}

/** With the command that `args` name, or with all commands if they name none. */
export async function createProgram(args: readonly string[], io: Io): Promise<Command> {
  const [first = ''] = args;
  const isDefault = first === '' || first.startsWith('-');
  const asksForHelp = args.includes('--help') || args.includes('-h');
  const named = isDefault && !asksForHelp ? 'run' : first;
  const program = new Command('library-stats-exporter')
    .description('Exports visitor and login statistics of libraries to Prometheus.')
    .version(VERSION, '--version')
    .addHelpText('after', NOTES)
    .configureHelp({ minWidthToWrap: 20 })
    .configureOutput({ writeOut: io.writeOut, writeErr: io.writeError })
    .showHelpAfterError('See "library-stats-exporter help".')
    .exitOverride();
  for (const [name, load] of Object.entries(COMMANDS)) {
    if (name === named || !Object.hasOwn(COMMANDS, named)) {
      const create = await load();
      const command = create(io)
        .copyInheritedSettings(program)
        .version(VERSION, '--version')
        .allowExcessArguments(false)
        .showHelpAfterError(`See "library-stats-exporter ${name} --help".`)
        .hook('preAction', requireConfigFile);
      program.addCommand(command, { isDefault: isDefault && name === 'run' });
    }
  }
  return program;
}

/** Whoever starts without a configuration learns how to get one. */
function requireConfigFile(command: Command): void {
  const { 'config.file': file } = command.opts<{ 'config.file'?: string }>();
  if (file !== undefined && !existsSync(file)) {
    throw new ConfigError(
      `${file}: no such file. Name the configuration with --config.file; config.example.yaml is an example.\n` +
        `To try the exporter without a configuration: ${PROGRAM} demo`,
    );
  }
}

function exitStatus(error: unknown, io: Io): ExitStatus {
  if (error instanceof CommanderError) {
    return error.exitCode === 0 ? 0 : 2;
  }
  const message = messageOf(error).trimEnd();
  if (error instanceof UsageError) {
    io.writeError(`error: ${message}\n`);
    return 2;
  }
  if (error instanceof ConfigError) {
    io.writeError(`${message}\n`);
    return 2;
  }
  if (error instanceof InterruptedError) {
    io.writeError(`${message}\n`);
    return io.stop.reason === 'SIGINT' ? 130 : 143;
  }
  io.writeError(`library-stats-exporter: ${message}\n`);
  return 1;
}
