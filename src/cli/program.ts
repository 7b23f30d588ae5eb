/** The command line: its commands, its help, and the exit status. */
import { existsSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { closestMatch } from 'leven';
import { ConfigError, messageOf, UsageError } from '../base/errors.ts';
import { backfillCommand } from './backfill.ts';
import { checkCommand } from './check.ts';
import { demoCommand } from './demo.ts';
import { helpNotes } from './flags.ts';
import { buildOf, InterruptedError, PROGRAM } from './io.ts';
import type { ExitStatus, Io } from './io.ts';
import { queryCommand } from './query.ts';
import { reportCommand } from './report.ts';
import { runCommand } from './run.ts';
import { serviceCommand } from './service.ts';

const COMMANDS = [
  runCommand,
  demoCommand,
  serviceCommand,
  checkCommand,
  queryCommand,
  backfillCommand,
  reportCommand,
];

/** Runs a command to its end and returns its exit status. `args` are those after the program's name. */
export async function runCommandLine(args: readonly string[], io: Io): Promise<ExitStatus> {
  try {
    await createProgram(args, io).parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    return exitStatus(error, io, args);
  }
}

/** Returns the program with its commands. The first argument decides whether `run` is the default. */
function createProgram([first = '']: readonly string[], io: Io): Command {
  const program = new Command('library-stats-exporter')
    .description('Exports visitor and login statistics of libraries to Prometheus.')
    .version(versionOf(io), '--version')
    .addHelpText(
      'after',
      helpNotes(
        'commands.md',
        'demo',
        'check --config.file=config.yaml',
        '--config.file=config.yaml',
      ),
    )
    .configureHelp({ minWidthToWrap: 20 })
    .configureOutput({ writeOut: io.writeOut, writeErr: io.writeError })
    .exitOverride();
  // An unknown command is not an argument of run.
  const hasDefault = first === '' || first.startsWith('-');
  for (const create of COMMANDS) {
    const command = create(io)
      .copyInheritedSettings(program)
      .version(versionOf(io), '--version')
      .hook('preAction', requireConfigFile);
    program.addCommand(command, { isDefault: hasDefault && create === runCommand });
  }
  return program;
}

/** Returns the version in the form of Prometheus's exporters. */
function versionOf(io: Io): string {
  const { version, revision, nodeVersion } = buildOf(io);
  return `library-stats-exporter, version ${version} (revision: ${revision}, node: ${nodeVersion})`;
}

/** Throws a ConfigError that says how to get a configuration, if there is none. */
function requireConfigFile(command: Command): void {
  const { 'config.file': file } = command.opts<{ 'config.file'?: string }>();
  if (file !== undefined && !existsSync(file)) {
    throw new ConfigError(
      `${file}: no such file. Name the configuration with --config.file; config.example.yaml is an example.\n` +
        `To try the exporter without a configuration: ${PROGRAM} demo`,
    );
  }
}

/** Returns a flag for an unknown one with a value, or that is the start of one: the parser suggests none. */
function suggestionFor(
  { message }: CommanderError,
  program: Command,
  [name]: readonly string[],
): string {
  const [, unknown] = /unknown option '(--[^=']+)[^']*'$/.exec(message) ?? [];
  const command = program.commands.find((one) => one.name() === name) ?? program.commands[0];
  const flags = command?.options.map(({ long }) => long ?? '') ?? [];
  const nearest =
    unknown &&
    (flags.find((flag) => flag.startsWith(`${unknown}.`)) ??
      closestMatch(unknown, flags, { maxDistance: 2 }));
  return nearest ? `(Did you mean ${nearest}?)\n` : '';
}

function exitStatus(error: unknown, io: Io, args: readonly string[]): ExitStatus {
  if (error instanceof CommanderError) {
    io.writeError(suggestionFor(error, createProgram(args, io), args));
    return error.exitCode === 0 ? 0 : 2;
  }
  const message = messageOf(error).trimEnd();
  // Each line of a ConfigError begins with its place.
  io.writeError(error instanceof ConfigError ? `${message}\n` : `error: ${message}\n`);
  if (error instanceof InterruptedError) {
    return io.stop.reason === 'SIGINT' ? 130 : 143;
  }
  return error instanceof UsageError || error instanceof ConfigError ? 2 : 1;
}
