/** The command line: its commands, its help, and the exit status. */
import { existsSync } from 'node:fs';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command, CommanderError } from 'commander';
import type { Help, Option } from 'commander';
import { ConfigError, messageOf, UsageError } from '../base/errors.ts';
import { helpNotes } from './flags.ts';
import { InterruptedError } from './io.ts';
import type { ExitStatus, Io } from './io.ts';
import { PROGRAM, VERSION } from './version.ts';

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
  const named = isDefault && !asksForHelp(args) ? 'run' : first;
  const program = new Command('library-stats-exporter')
    .description('Exports visitor and login statistics of libraries to Prometheus.')
    .version(VERSION, '--version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .addHelpText('after', NOTES)
    .configureHelp({
      helpWidth: HELP_WIDTH,
      formatItem,
      optionDescription,
      argumentDescription: (argument) => argument.description,
      subcommandTerm: (command) => command.name(),
    })
    .configureOutput({
      writeOut: io.writeOut,
      writeErr: io.writeError,
      outputError: (text, write) => write(flagError(text)),
    })
    .showSuggestionAfterError()
    .showHelpAfterError('See "library-stats-exporter help".')
    .exitOverride();
  for (const [name, load] of Object.entries(COMMANDS)) {
    if (name === named || !Object.hasOwn(COMMANDS, named)) {
      const create = await load();
      const command = create(io)
        .copyInheritedSettings(program)
        .helpOption('-h, --help', 'print this help')
        .version(VERSION, '--version', 'print the version')
        .allowExcessArguments(false)
        .showHelpAfterError(`See "library-stats-exporter ${name} --help".`)
        .hook('preAction', requireConfigFile);
      program.addCommand(command, { isDefault: isDefault && name === 'run' });
    }
  }
  return program;
}

function asksForHelp(args: readonly string[]): boolean {
  return args.includes('--help') || args.includes('-h');
}

/** Whoever starts without a configuration learns how to get one. */
function requireConfigFile(command: Command): void {
  const { 'config.file': file } = command.opts<{ 'config.file'?: string }>();
  if (file !== undefined && !existsSync(file)) {
    const example = relative(
      '.',
      fileURLToPath(new URL('../../config.example.yaml', import.meta.url)),
    );
    throw new ConfigError(
      `${file}: no such file. Name the configuration with --config.file. To write one, start from\n` +
        `${example}. To try the exporter without a configuration: ${PROGRAM} demo`,
    );
  }
}

const HELP_WIDTH = 80;
const MAX_TERM_WIDTH = 30;

/** Descriptions are beside the flags if these are short, else below them. No line is over 80 columns. */
function formatItem(term: string, termWidth: number, description: string, help: Help): string {
  const isBeside = termWidth <= MAX_TERM_WIDTH;
  const indent = isBeside ? termWidth + 4 : 8;
  const lines = help.boxWrap(description, HELP_WIDTH - indent).split('\n');
  const text = lines.join(`\n${' '.repeat(indent)}`);
  return isBeside ? `  ${term.padEnd(termWidth)}  ${text}` : `  ${term}\n        ${text}`;
}

function optionDescription(option: Option): string {
  const {
    description,
    argChoices: choices,
    defaultValue,
    defaultValueDescription,
    mandatory,
  } = option;
  const standard = defaultValueDescription ?? (option.isBoolean() ? undefined : defaultValue);
  const details = [
    ...(mandatory ? ['required'] : []),
    ...(choices === undefined ? [] : [`one of ${choices.join(', ')}`]),
    ...(standard === undefined ? [] : [`default: ${String(standard)}`]),
  ];
  return details.length === 0 ? description : `${description} (${details.join('; ')})`;
}

/** The message of the library about a bad value, in the form of our other messages. */
function flagError(text: string): string {
  const [, flag, value, reason = ''] =
    /^error: option '(\S+)[^']*' argument '(.*)' is invalid\. (.*?)\.?\n/s.exec(text) ?? [];
  if (flag === undefined) {
    return text;
  }
  const expected = reason.replace('Allowed choices are', 'expected one of');
  return `error: ${flag}: ${expected}, got ${JSON.stringify(value)}\n`;
}

function exitStatus(error: unknown, io: Io): ExitStatus {
  if (error instanceof CommanderError) {
    return error.exitCode === 0 ? 0 : 2;
  }
  if (error instanceof UsageError) {
    io.writeError(`error: ${error.message}\n`);
    return 2;
  }
  if (error instanceof ConfigError) {
    io.writeError(`${error.message.trimEnd()}\n`);
    return 2;
  }
  if (error instanceof InterruptedError) {
    io.writeError(`${error.message}\n`);
    return io.stop.reason === 'SIGINT' ? 130 : 143;
  }
  io.writeError(`library-stats-exporter: ${messageOf(error)}\n`);
  return 1;
}
