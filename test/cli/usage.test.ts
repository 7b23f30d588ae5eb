/** What the program prints for wrong command lines, and its help. */
import { expect, test } from 'vitest';
import { VERSION } from '../../src/cli/io.ts';
import { ran, Terminal } from './terminal.ts';

/** The last column is what the message names. */
test.each([
  [['dance'], 'dance'],
  [['run', 'extra'], 'extra'],
  [['--config.fiel=x'], 'Did you mean --config.file?'],
  [['demo', '--customer=3'], '(Did you mean --customers?)'],
  [['--config.file=absent.yaml'], 'absent.yaml'],
  [['--config.auto-reload-interval=999ms'], 'at least 1s'],
  [['--web.listen-address=:1', '--web.listen-address=:2'], 'Expected one address, got a second'],
  [['demo', '--customers=1e3'], 'integer from 1 to 100000'],
  [['service', '--listen-address=:8080'], 'loopback address'],
  [['service', '--timezone=Europe/Copenhaguen'], 'IANA time zone such as Europe/Copenhagen'],
  [['query', 'login'], '--customer'],
  [['backfill', '--from=2026-01-01', '--output='], 'Expected a path, got an empty one'],
  [['backfill', '--from=-90d', '--output=x'], '--to'],
])('%j is refused, naming %s', async (args, named) => {
  const { status, out, err } = await ran(...args);
  expect({ status, out }).toEqual({ status: 2, out: '' });
  expect(err).toContain(named);
});

test('without a configuration, a command names the flag, the example and the demo', async () => {
  const { status, out, err } = await ran('check');
  expect({ status, out }).toEqual({ status: 2, out: '' });
  expect(err).toMatch(/^config\.yaml: no such file\. .*--config\.file.*config\.example\.yaml/);
  expect(err).toMatch(/: npm start --silent -- demo\n$/);
});

const COMMANDS = ['run', 'demo', 'service', 'check', 'query', 'backfill', 'report'];

test.each(COMMANDS)('%s has help, and no flag for a secret', async (command) => {
  const long = await ran(command, '--help');
  expect(long).toMatchObject({ status: 0, err: '' });
  expect([await ran(command, '-h'), await ran('help', command)]).toEqual([long, long]);
  expect(long.out).toContain(`Usage: library-stats-exporter ${command} `);
  // The list of processes would show a secret in a flag.
  expect(long.out).not.toMatch(/^ +--(?!start-token)\S*(secret|password|token|key|user)/m);
  expect(await ran(command, '--version')).toEqual(await ran('--version'));
});

test('--version names the revision and Node.js', async () => {
  const terminal = new Terminal();
  terminal.env['LIBRARY_STATS_EXPORTER_REVISION'] = 'abcdef0';
  const { status, out } = await terminal.run('--version');
  expect(status).toBe(0);
  expect(out).toBe(
    `library-stats-exporter, version ${VERSION} (revision: abcdef0, node: ${process.version})\n`,
  );
});

test.each([['--help'], ['-h'], ['help']])('%s lists the commands', async (arg) => {
  const { status, out, err } = await ran(arg);
  expect({ status, err }).toEqual({ status: 0, err: '' });
  const [, list = ''] = /\nCommands:\n(.*?)\n\n/s.exec(out) ?? [];
  const names = Array.from(list.matchAll(/^ {2}(\w+) /gm), ([, name]) => name);
  expect(names).toEqual([...COMMANDS, 'help']);
});

test('the log is for people on a terminal', async () => {
  const terminal = new Terminal();
  terminal.errorIsTerminal = true;
  const running = terminal.run('demo', '--customers=1', '--web.listen-address=127.0.0.1:0');
  await expect.poll(() => terminal.err, { timeout: 20_000 }).toContain('listening');
  terminal.terminate();
  await running;
  expect(terminal.err).toMatch(/^\d{4}-\S+Z info {2}starting version=/);
});
