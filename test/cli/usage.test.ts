/** What the program says to a command line that it does not understand: status 2 and one sentence. */
import { expect, test } from 'vitest';
import { intervalOrNever, wholeNumber } from '../../src/cli/flags.ts';
import { ran } from './terminal.ts';

test.each([
  [
    ['dance'],
    'error: there is no command "dance"; it must be one of run, demo, service, check, query, backfill',
  ],
  [
    ['chekc'],
    'error: there is no command "chekc"; it must be one of run, demo, service, check, query, backfill',
  ],
  [['run', 'extra'], "error: too many arguments for 'run'. Expected 0 arguments but got 1: extra."],
  [['--no.such-flag'], "error: unknown option '--no.such-flag'"],
  [['check', '--no.such-flag'], "error: unknown option '--no.such-flag'"],
  [['--config.fiel=x'], "error: unknown option '--config.fiel=x'\n(Did you mean --config.file?)"],
  [['--config.file'], "error: option '--config.file <file>' argument missing"],
  [['run', '--web.listen-address'], "'--web.listen-address <address>' argument missing"],
  [['demo', '--customers'], "error: option '--customers <number>' argument missing"],
  [['--log.level=loud'], 'Allowed choices are debug, info, warn, error.'],
  [['--log.format=xml'], 'Allowed choices are json, pretty.'],
  [['--shard=4/4'], 'There is no shard 4 of 4: they are counted from 0.'],
  [['--shard=auto/2'], 'There is no shard 2 of 2: they are counted from 0.'],
  [['--config.auto-reload-interval=soon'], 'It must be a duration such as 30s, 5m or 1h30m, or 0.'],
  [['--config.auto-reload-interval=999ms'], 'It must be at least 1s, or 0 for never.'],
  [['--config.auto-reload-interval=-1s'], 'It must be a duration such as 30s, 5m or 1h30m, or 0.'],
  [['demo', '--customers=0'], 'It must be a whole number from 1 to 100000.'],
  [['demo', '--customers=1.5'], 'It must be a whole number from 1 to 100000.'],
  [['demo', '--seed=-1'], 'It must be a whole number from 0 to 4294967295.'],
  [['service', '--customers=many'], 'It must be a whole number from 1 to 100000.'],
  [
    ['service', '--listen-address=nowhere'],
    'error: expected an address like 127.0.0.1:0, got "nowhere"',
  ],
  [
    ['service', '--listen-address=0.0.0.0:0'],
    'listens on loopback only: expected 127.0.0.1, localhost or [::1], got "0.0.0.0"',
  ],
  [['demo', '--web.telemetry-path=/x'], "error: unknown option '--web.telemetry-path=/x'"],
] as const)('%j is refused', async (args, sentence) => {
  const { status, out, err } = await ran(...args);
  expect({ status, out }).toEqual({ status: 2, out: '' });
  expect(err).toContain(sentence);
  expect(err.trimEnd().split('\n').length).toBeLessThanOrEqual(2);
});

test.each([
  [['--help']],
  [['run', '--help']],
  [['demo', '--help']],
  [['check', '--help']],
  [['query', '--help']],
  [['backfill', '--help']],
])('%j is answered on standard output', async (args) => {
  const { status, out, err } = await ran(...args);
  expect({ status, err }).toEqual({ status: 0, err: '' });
  expect(out).toMatch(/^Usage: library-stats-exporter/);
});

test.each([
  ['0', 0],
  ['0s', 0],
  ['1s', 1_000],
  ['1h30m', 5_400_000],
])('an interval %s is %d ms', (text, ms) => {
  expect(intervalOrNever(text)).toBe(ms);
});

test.each(['', '1', '1.5s', '1m1h', 's', '500ms', '1ms'])('%j is no interval', (text) => {
  expect(() => intervalOrNever(text)).toThrow(/^It must be /);
});

test.each(['', ' 1', '1e3', '0x10', '-0', '+1', '11', 'NaN', '٣'])(
  '%j is no whole number from 0 to 10',
  (text) => {
    expect(() => wholeNumber(0, 10)(text)).toThrow('It must be a whole number from 0 to 10.');
  },
);

/** Those that the help lists, so that none is forgotten. */
const COMMANDS = Array.from(
  (await ran('--help')).out.matchAll(/^ {2}([a-z]+) \[options\]/gm),
  ([, command = '']) => command,
);

test('there are commands to be looked at', () => {
  expect(COMMANDS).toEqual(expect.arrayContaining(['run', 'query', 'backfill']));
});

test.each(COMMANDS)(
  'no flag of %s takes a secret, which others could read in the list of processes',
  async (command) => {
    const { out } = await ran(command, '--help');
    const flags = [...out.matchAll(/^ +(--\S+)/gm)].map(([, flag]) => flag);
    expect(flags.length).toBeGreaterThan(2);
    expect(flags.filter((flag) => /secret|password|token|key|user/i.test(flag ?? ''))).toEqual([]);
  },
);
