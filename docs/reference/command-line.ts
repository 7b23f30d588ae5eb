/** command-line.md: every command and flag, from the program that reads them. */
import type { Command, Option } from 'commander';
import type { Io } from '../../src/cli/io.ts';
import { createProgram } from '../../src/cli/program.ts';
import { code, table, typed } from './markdown.ts';

export async function commandLinePage(): Promise<string> {
  let written = '';
  const program = await createProgram(['--help'], {
    ...NO_IO,
    writeOut: (text) => {
      written += text;
    },
  });
  const parts = program.commands.map((command) => {
    written = '';
    command.outputHelp();
    return commandText(program, command, written.slice(command.helpInformation().length));
  });
  return `# Command line

\`${program.name()} [command] [flags]\`; in a clone, \`npm start -- [command] [flags]\`. Without a command it is
\`run\`. Values come after a space or after \`=\`. \`--version\` and \`--help\` are understood everywhere.

| exit status | when                                               |
| ----------- | -------------------------------------------------- |
| 0           | all is well, or it was stopped by SIGTERM or SIGINT |
| 2           | bad usage or bad configuration                     |
| 1           | anything else                                      |

Results go to standard output. The log goes to standard error, one line each, and so does everything else.
SIGHUP makes \`run\` read its configuration again.

From the environment it takes what the configuration names as \`\${NAME}\`, \`HTTPS_PROXY\` and \`NO_PROXY\`,
\`NO_COLOR\` for \`check\`, and \`LIBRARY_STATS_EXPORTER_REVISION\`, which \`library_exporter_build_info\` shows.

${table(
  ['command', 'what it does'],
  program.commands.map((command) => [
    `[${code(command.name())}](#${command.name()})`,
    command.summary(),
  ]),
)}

${parts.join('\n')}`;
}

/** `notes` is what the help has after the flags. */
function commandText(program: Command, command: Command, notes: string): string {
  const names = command.registeredArguments.map((argument) => `<${argument.name()}>`);
  const usage = [program.name(), command.name(), ...names, '[flags]'].join(' ');
  const [prose = '', examples] = notes.split('Examples:\n');
  return `## \`${command.name()}\`

\`${usage}\`

${typed(command.description())}

${argumentsOf(command)}${table(
    ['flag', 'default', 'meaning'],
    command.options.filter(({ long }) => long !== '--version').map(rowOf),
  )}
${typed(prose.trim())}

${examples === undefined ? '' : `\`\`\`sh\n${examples.trimEnd().replaceAll(/^ {2}/gm, '')}\n\`\`\`\n`}`;
}

function argumentsOf(command: Command): string {
  const texts = command.registeredArguments.map(
    (argument) =>
      `\`<${argument.name()}>\` is ${argument.description}: ${(argument.argChoices ?? []).map(code).join(' or ')}.\n\n`,
  );
  return texts.join('');
}

function rowOf(option: Option): readonly string[] {
  const choices = option.argChoices?.map(code).join(', ');
  return [
    code(option.flags),
    option.mandatory ? '**required**' : standardOf(option),
    typed(option.description) + (choices === undefined ? '' : `: ${choices}`),
  ];
}

/** As one would write it. Flags without a value are off by default. */
function standardOf({ defaultValue, defaultValueDescription, required }: Option): string {
  if (!required || defaultValue === undefined) {
    return '';
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
  outIsTerminal: false,
  errorIsTerminal: false,
  stop: new AbortController().signal,
  onHangup: () => {},
};
