/** The formats of `--from`, `--to` and `--shard`. */
import { expect, test } from 'vitest';
import { parseTimeFlag } from '../../src/cli/flags.ts';
import { parseShard } from '../../src/cli/run.ts';
import { Zone } from '../../src/counting/calendar/zone.ts';

const COPENHAGEN = new Zone('Europe/Copenhagen');
const NOW_MS = Date.parse('2026-11-21T08:09:10.987Z');

test.each([
  ['2026-11-01T04:00:00+01:00', '2026-11-01T04:00:00+01:00'],
  ['2026-11-01t04:00z', '2026-11-01T05:00:00+01:00'],
  ['2026-11-01T04:00:00-0330', '2026-11-01T08:30:00+01:00'],
  ['2026-11-01T04:00:00.250Z', '2026-11-01T05:00:00+01:00'],
  // Without an offset it is local time, in summer and in winter.
  ['2026-07-01T04:00:00', '2026-07-01T04:00:00+02:00'],
  ['2026-11-01 04:00', '2026-11-01T04:00:00+01:00'],
  ['2026-11-01', '2026-11-01T00:00:00+01:00'],
  ['-24h', '2026-11-20T09:09:10+01:00'],
  ['-1h30m', '2026-11-21T07:39:10+01:00'],
  ['-0', '2026-11-21T09:09:10+01:00'],
  ['-9999y', '1970-01-01T01:00:00+01:00'],
])('the time %s is %s', (text, time) => {
  expect(COPENHAGEN.format(parseTimeFlag(text).toInstantMs(COPENHAGEN, NOW_MS))).toBe(time);
});

const NO_TIMES = [
  ['', 'yesterday', 'now', '24h', '-', '-1', '-1.5h', '--24h', '1793502000'],
  ['2026-11', '2026-11-1', '20261101', '2026-02-29', '2026-13-01', '2026-11-01T24:00'],
  ['2026-11-01T04:60', '2026-11-01T04:00:00[Europe/Oslo]', '2026-11-01Z', '01/11/2026'],
].flat();

test.each(NO_TIMES)('%j is no time', (text) => {
  expect(() => parseTimeFlag(text)).toThrow('Expected a time such as 2026-11-01T04:00:00+01:00, ');
});

const HOST = 'exporter-2.exporters.default.svc.cluster.local';

test.each([
  ['0/1', { shard: 0, shards: 1 }],
  ['3/4', { shard: 3, shards: 4 }],
  ['auto/4', { shard: 2, shards: 4 }],
  ['auto/2', { shard: undefined, shards: 2 }],
])('%s is a shard', (text, shard) => {
  expect(parseShard(text, HOST)).toEqual(shard);
});

test.each([
  ...['', '1', '/4', 'AUTO/4', '-1/4', '1/-4', '1.0/4', '1/4/5', ' 1/4', '4/4', '0/0'].map(
    (text) => [text, HOST],
  ),
  ['auto/0', HOST],
  ...['exporter', 'exporter2', 'exporter-2a', 'a.exporter-1', ''].map((host) => ['auto/4', host]),
])('%j on the host %j is no shard', (text, host) => {
  expect(() => parseShard(text, host)).toThrow(
    'Expected NUMBER/COUNT such as 0/4, with a number below',
  );
});
