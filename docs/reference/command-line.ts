/** docs/reference/command-line.md: every command and flag, from the program that reads them. */
import type { Command, Option } from 'commander';
import type { Io } from '../../src/cli/io.ts';
import { createProgram } from '../../src/cli/program.ts';
import { code, table, typed } from './markdown.ts';

export function commandLinePage(): string {
  const program = createProgram([], NO_IO);
  const parts = program.commands.map((command) => commandText(program, command));
  return `# Command line

\`${program.name()} [command] [flags]\`; in a clone, \`npm start -- [command] [flags]\`. Without a command it is
\`run\`. Values follow a space or \`=\`. Every command has \`--help\` (\`-h\`) and \`--version\`.

| exit status | meaning                                                            |
| ----------- | ------------------------------------------------------------------ |
| 0           | success; \`run\`, \`demo\` and \`service\` stopped by SIGTERM or SIGINT |
| 1           | any other failure, also a state file not written at the stop       |
| 2           | bad usage or bad configuration                                     |
| 130, 143    | \`check\`, \`query\`, \`backfill\` or \`report\` stopped by a signal     |

Results go to standard output, the log and everything else to standard error. SIGHUP reloads the
configuration of \`run\`.

Environment variables: those that the configuration names as \`\${NAME}\`, \`HTTPS_PROXY\` and \`NO_PROXY\`,
and \`LIBRARY_STATS_EXPORTER_REVISION\`, which \`--version\` and
\`library_exporter_build_info\` show.

${table(
  ['command', 'what it does'],
  program.commands.map((command) => [
    `[${code(command.name())}](#${command.name()})`,
    command.summary(),
  ]),
)}

${parts.join('\n')}`;
}

function commandText(program: Command, command: Command): string {
  const names = command.registeredArguments.map((argument) => `<${argument.name()}>`);
  const usage = [program.name(), command.name(), ...names, '[flags]'].join(' ');
  return `## \`${command.name()}\`

\`${usage}\`

${typed(command.description())}

${argumentsOf(command)}${table(
    ['flag', 'default', 'meaning'],
    command.options.filter(({ long }) => long !== '--version').map(rowOf),
  )}`;
}

function argumentsOf(command: Command): string {
  const texts = command.registeredArguments.map(
    (argument) => `\`<${argument.name()}>\`: ${argument.description}.\n\n`,
  );
  return texts.join('');
}

function rowOf(option: Option): readonly string[] {
  const choices = option.argChoices?.map(code).join(', ');
  return [
    code(option.flags),
    standardOf(option),
    typed(option.description) + (choices === undefined ? '' : `: ${choices}`),
  ];
}

/** Empty for flags without a value, which are off by default. */
function standardOf({ defaultValue, defaultValueDescription, required }: Option): string {
  if (!required || defaultValue === undefined) {
    return defaultValueDescription ?? '';
  }
  return code(defaultValueDescription ?? String(defaultValue));
}

const NO_IO: Io = {
  env: {},
  hostname: '',
  nodeVersion: '',
  writeOut: () => {},
  writeError: () => {},
  deliverOut: () => Promise.resolve(),
  errorIsTerminal: false,
  stop: new AbortController().signal,
  onHangup: () => {},
};
