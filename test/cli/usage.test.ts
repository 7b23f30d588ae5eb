/** What the program prints for wrong command lines, and its help. */
import { expect, test } from 'vitest';
import { loggerFor } from '../../src/cli/flags.ts';
import { VERSION } from '../../src/cli/io.ts';
import { ran, Terminal } from './terminal.ts';

/** The last column is what the message names. */
test.each([
  [['dance'], 'dance'],
  [['run', 'extra'], 'extra'],
  [['--config.fiel=x'], 'Did you mean --config.file?'],
  [['--config.auto-reload-interval=999ms'], 'at least 1s'],
  [['--web.listen-address=:1', '--web.listen-address=:2'], 'Expected one address, got a second'],
  [['demo', '--customers=1e3'], 'integer from 1 to 100000'],
  [['service', '--listen-address=:8080'], 'loopback address'],
  [['service', '--timezone=Europe/Copenhaguen'], 'IANA time zone such as Europe/Copenhagen'],
  [['check'], 'config.yaml: no such file. '],
  [['query', 'login'], '--customer'],
  [['backfill', '--from=2026-01-01', '--output='], 'Expected a path, got an empty one'],
  [['backfill', '--from=-90d', '--output=x'], '--to'],
])('%j is refused, naming %s', async (args, named) => {
  const { status, out, err } = await ran(...args);
  expect({ status, out }).toEqual({ status: 2, out: '' });
  expect(err).toContain(named);
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
  const build = `revision: abcdef0, node: ${process.version}`;
  expect([status, out]).toEqual([0, `library-stats-exporter, version ${VERSION} (${build})\n`]);
});

test('the help lists the commands', async () => {
  const { out } = await ran('--help');
  expect([await ran('-h'), await ran('help')]).toEqual(Array(2).fill({ status: 0, out, err: '' }));
  const [, list = ''] = /\nCommands:\n(.*?)\n\n/s.exec(out) ?? [];
  const names = Array.from(list.matchAll(/^ {2}(\w+) /gm), ([, name]) => name);
  expect(names).toEqual([...COMMANDS, 'help']);
});

test('the log is for people on a terminal', () => {
  const terminal = new Terminal();
  terminal.errorIsTerminal = true;
  loggerFor({ 'log.level': 'info' }, terminal).info('starting', { version: '1' });
  expect(terminal.err).toMatch(/^\d{4}-\S+Z info {2}starting version=/);
});
