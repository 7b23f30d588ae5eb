/** What the program prints for wrong command lines, and its help. */
import { expect, test } from 'vitest';
import { ran, Terminal } from './terminal.ts';

const TIME =
  'Expected a time such as 2026-11-01T04:00:00+01:00, a date such as 2026-11-01, or a duration before now such as -24h.';

/** The last argument is invalid. */
function invalid(flag: string, text: string, expected: string): string {
  return `option '${flag}' argument '${text}' is invalid. ${expected}`;
}

test.each([
  [['dance'], "unknown command 'dance'"],
  [['chekc'], "unknown command 'chekc'\n(Did you mean check?)"],
  [['run', 'extra'], "too many arguments for 'run'. Expected 0 arguments but got 1: extra."],
  [['--config.fiel=x'], "unknown option '--config.fiel=x'\n(Did you mean --config.file?)"],
  [['--config.file'], "option '--config.file <file>' argument missing"],
  [
    ['--config.auto-reload-interval=999ms'],
    invalid(
      '--config.auto-reload-interval <duration>',
      '999ms',
      'Expected 0, or a duration of at least 1s such as 30s or 5m.',
    ),
  ],
  [
    ['demo', '--customers=1e3'],
    invalid('--customers <number>', '1e3', 'Expected an integer from 1 to 100000.'),
  ],
  [
    ['demo', '--customers=0'],
    invalid('--customers <number>', '0', 'Expected an integer from 1 to 100000.'),
  ],
  [
    ['service', '--listen-address=:8080'],
    'expected a loopback address like 127.0.0.1:0, got ":8080"',
  ],
  [['query'], "missing required argument 'peoplecount|login'"],
  [['query', 'login', '--from=yesterday'], invalid('--from <time>', 'yesterday', TIME)],
  [['backfill', '--output=x'], "required option '--from <time>' not specified"],
  [['backfill', '--step=2m'], invalid('--step <duration>', '2m', 'Expected 1m or 5m.')],
] as const)('%j is refused with what is expected', async (args, message) => {
  const { status, out, err } = await ran(...args);
  expect({ status, out }).toEqual({ status: 2, out: '' });
  expect(err.replace(/\nSee ".*"\.\n$/, '\n')).toBe(`error: ${message}\n`);
});

test.each([[[]], [['check']], [['query', 'login']]])(
  '%j without a configuration names the flag, the example and the demo',
  async (args) => {
    const { status, out, err } = await ran(...args);
    expect({ status, out }).toEqual({ status: 2, out: '' });
    expect(err).toMatch(/^config\.yaml: no such file\. .*--config\.file.*config\.example\.yaml/);
    expect(err).toMatch(/: npm start --silent -- demo\n$/);
  },
);

const COMMANDS = ['run', 'demo', 'service', 'check', 'query', 'backfill'];

test.each(COMMANDS)('%s has one help: a purpose, examples, a page, no secrets', async (command) => {
  const long = await ran(command, '--help');
  expect(long).toMatchObject({ status: 0, err: '' });
  expect([await ran(command, '-h'), await ran('help', command)]).toEqual([long, long]);
  expect(long.out).toMatch(
    /^Usage: library-stats-exporter \w+ .*\n\n[A-Z][^]*\.\n\n[^]*\nExamples:\n( {2}library-stats-exporter .*\n){2}\nDocumentation: docs\/[\w-]+\.md\n$/,
  );
  expect(long.out.split('\n').filter((line) => line.length > 80)).toEqual([]);
  // The list of processes would show a secret in a flag.
  expect(long.out).not.toMatch(/^ +--\S*(secret|password|token|key|user)/m);
  expect(await ran(command, '--version')).toEqual(await ran('--version'));
});

test.each([['--help'], ['-h'], ['help']])('%s lists the commands', async (arg) => {
  const { status, out, err } = await ran(arg);
  expect({ status, err }).toEqual({ status: 0, err: '' });
  const [, list = ''] = /\nCommands:\n(.*?)\n\n/s.exec(out) ?? [];
  expect(Array.from(list.matchAll(/^ {2}(\w+) /gm), ([, name]) => name)).toEqual([
    ...COMMANDS,
    'help',
  ]);
});

test.each([
  [[], /^\d{4}-\S+Z info {2}starting version=/],
  [['--log.format=json'], /^\{"level":"info"/],
] as const)('the log on a terminal with %j matches %s', async (flags, firstLine) => {
  const terminal = new Terminal();
  terminal.errorIsTerminal = true;
  const running = terminal.run('demo', '--web.listen-address=127.0.0.1:0', ...flags);
  await expect.poll(() => terminal.err, { timeout: 20_000 }).toContain('listening');
  terminal.terminate();
  await running;
  expect(terminal.err).toMatch(firstLine);
});
