/** What the program prints for wrong command lines, and its help. */
import { describe, expect, test } from 'vitest';
import { ran } from './terminal.ts';

const TIME =
  'expected a time such as 2026-11-01T04:00:00+01:00, a date such as 2026-11-01, or a duration before now such as -24h';
const CUSTOMERS = '--customers: expected an integer from 1 to 100000, got';

test.each([
  [['dance'], "unknown command 'dance'"],
  [['chekc'], "unknown command 'chekc'\n(Did you mean check?)"],
  [['run', 'extra'], "too many arguments for 'run'. Expected 0 arguments but got 1: extra."],
  [['check', '--no.such-flag'], "unknown option '--no.such-flag'"],
  [['--config.fiel=x'], "unknown option '--config.fiel=x'\n(Did you mean --config.file?)"],
  [['--config.file'], "option '--config.file <file>' argument missing"],
  [['--log.level=loud'], '--log.level: expected one of debug, info, warn, error, got "loud"'],
  [
    ['--config.auto-reload-interval=999ms'],
    '--config.auto-reload-interval: expected 0, or a duration of at least 1s such as 30s or 5m, got "999ms"',
  ],
  [['demo', '--customers=0'], `${CUSTOMERS} "0"`],
  [['demo', '--customers=1e3'], `${CUSTOMERS} "1e3"`],
  [['demo', '--customers='], `${CUSTOMERS} ""`],
  [['service', '--customers=100001'], `${CUSTOMERS} "100001"`],
  [['demo', '--seed=-1'], '--seed: expected an integer from 0 to 4294967295, got "-1"'],
  [['demo', '--web.telemetry-path=/x'], "unknown option '--web.telemetry-path=/x'"],
  [
    ['service', '--listen-address=nowhere'],
    'expected a loopback address like 127.0.0.1:0, got "nowhere"',
  ],
  [['query'], "missing required argument 'peoplecount|login'"],
  [['query', 'login', '--from=yesterday'], `--from: ${TIME}, got "yesterday"`],
  [['query', 'login', '--limit=0'], '--limit: expected an integer from 1 to 1000000, got "0"'],
  [['backfill', '--output=x'], "required option '--from <time>' not specified"],
  [['backfill', '--step=2m'], '--step: expected 1m or 5m, got "2m"'],
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
    expect(err).toMatch(/^config\.yaml: no such file\. .*--config\.file/);
    expect(err).toMatch(/config\.example\.yaml.*: npm start --silent -- demo\n$/);
  },
);

const COMMANDS = ['run', 'demo', 'service', 'check', 'query', 'backfill'];

describe.each(COMMANDS)('the help of %s', (command) => {
  test('is the same for --help, -h and help, and on standard output', async () => {
    const [long, short, word] = await Promise.all([
      ran(command, '--help'),
      ran(command, '-h'),
      ran('help', command),
    ]);
    expect(long).toMatchObject({ status: 0, err: '' });
    expect([short, word]).toEqual([long, long]);
  });

  test('has a purpose, two examples and a page, in at most 80 columns', async () => {
    const { out } = await ran(command, '--help');
    expect(out).toMatch(/^Usage: library-stats-exporter \w+ .*\n\n[A-Z].*\.\n\n/);
    expect(out).toMatch(
      /\nExamples:\n( {2}library-stats-exporter .*\n){2}\nDocumentation: docs\/[\w-]+\.md\n$/,
    );
    expect(out.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });

  test('has no flag for a secret, which the list of processes would show', async () => {
    const { out } = await ran(command, '--help');
    expect(out).not.toMatch(/^ +--\S*(secret|password|token|key|user)/m);
  });
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

test('help marks required flags and shows defaults', async () => {
  const { out } = await ran('backfill', '--help');
  expect(out).toMatch(/--output <folder> +folder for the files \(required\)/);
  expect(out).toMatch(/--config\.file <file> +configuration file \(default: config\.yaml\)/);
});

test.each(COMMANDS)('%s --version prints the version', async (command) => {
  expect(await ran(command, '--version')).toEqual(await ran('--version'));
});

test('the log is pretty on a terminal, unless a flag says otherwise', async () => {
  const { Terminal } = await import('./terminal.ts');
  async function firstLine(...flags: readonly string[]): Promise<string> {
    const terminal = new Terminal();
    terminal.errorIsTerminal = true;
    const running = terminal.run('demo', '--web.listen-address=127.0.0.1:0', ...flags);
    await expect.poll(() => terminal.err, { timeout: 20_000 }).toContain('listening');
    terminal.terminate();
    await running;
    return terminal.err.split('\n')[0] ?? '';
  }
  expect(await firstLine()).toMatch(/^\d{4}-\S+Z info {2}starting version=/);
  expect(await firstLine('--log.format=json')).toMatch(/^\{"level":"info"/);
});
