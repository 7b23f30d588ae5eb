/** The formats of `--from`, `--to` and `--shard`, and `run` in a pod without a shard. */
import { expect, test, vi } from 'vitest';
import { parseTimeFlag } from '../../src/cli/flags.ts';
import { parseShard } from '../../src/cli/run.ts';
import { Zone } from '../../src/counting/calendar/zone.ts';
import { startEnvironment } from './simulated-environment.ts';
import { HOSTNAME, Terminal } from './terminal.ts';

const COPENHAGEN = new Zone('Europe/Copenhagen');
const NOW_MS = Date.parse('2026-11-21T08:09:10.987Z');

test.each([
  ['2026-11-01T04:00:00+01:00', '2026-11-01T04:00:00+01:00'],
  ['2026-11-01t04:00z', '2026-11-01T05:00:00+01:00'],
  ['2026-11-01T04:00:00.250Z', '2026-11-01T05:00:00+01:00'],
  // Without an offset it is local time, in summer and in winter.
  ['2026-07-01T04:00:00', '2026-07-01T04:00:00+02:00'],
  ['2026-11-01', '2026-11-01T00:00:00+01:00'],
  ['-24h', '2026-11-20T09:09:10+01:00'],
  ['-9999y', '1970-01-01T01:00:00+01:00'],
])('the time %s is %s', (text, time) => {
  expect(COPENHAGEN.format(parseTimeFlag(text).toInstantMs(COPENHAGEN, NOW_MS))).toBe(time);
});

test.each(['', 'now', '24h', '-1.5h', '1793502000', '2026-11', '2026-02-29', '2026-11-01Z'])(
  '%j is no time',
  (text) => {
    expect(() => parseTimeFlag(text)).toThrow(
      'Expected a time such as 2026-11-01T04:00:00+01:00, ',
    );
  },
);

test.each([
  ['0/1', { shard: 0, shards: 1 }],
  ['3/4', { shard: 3, shards: 4 }],
  ['auto/4', { shard: 2, shards: 4 }],
  ['auto/2', { shard: undefined, shards: 2 }],
])('%s is a shard', (text, shard) => {
  expect(parseShard(text, HOSTNAME)).toEqual(shard);
});

test.each([
  ...['', '1', '-1/4', '1/4/5', '4/4', '0/0', 'auto/0'].map((text) => [text, HOSTNAME]),
  ...['exporter', 'exporter2', 'a.exporter-1'].map((host) => ['auto/4', host]),
])('%j on the host %j is no shard', (text, host) => {
  expect(() => parseShard(text, host)).toThrow(
    'Expected NUMBER/COUNT such as 0/4, with a number below',
  );
});

test('a pod with a number that is not below the number of shards polls nobody, and says so', async () => {
  await using environment = await startEnvironment({ riverside: {} });
  const terminal = new Terminal();
  const flags = ['--shard=auto/2', '--web.listen-address=127.0.0.1:0', '--storage.path='];
  const running = terminal.run('run', environment.config(), ...flags);
  const url = await vi.waitUntil(() => terminal.url, { timeout: 30_000 });
  const scraped = await (await fetch(new URL('/metrics', url))).text();
  expect(scraped).toContain('library_exporter_shard_info{shard="",shards="2"} 1\n');
  expect(scraped).toContain('library_exporter_customers 0\n');
  expect(terminal.err).toContain('no shard for the number in the host name, polling nobody');
  expect((await fetch(new URL('/-/ready', url))).status).toBe(200);
  terminal.terminate();
  expect((await running).status).toBe(0);
});
