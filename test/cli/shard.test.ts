import { expect, test } from 'vitest';
import { parseShard } from '../../src/cli/run.ts';

const hostname = 'exporter-2.exporters.default.svc.cluster.local';

test.each([
  ['0/1', { shard: 0, shards: 1 }],
  ['3/4', { shard: 3, shards: 4 }],
  ['auto/4', { shard: 2, shards: 4 }],
])('%s is a shard', (text, shard) => {
  expect(parseShard(text, hostname)).toEqual(shard);
});

test.each(['', '1', '/4', 'AUTO/4', '-1/4', '1/-4', '1.0/4', '1/4/5', ' 1/4'])(
  '%j is refused, with what is expected',
  (text) => {
    expect(() => parseShard(text, hostname)).toThrow(
      `--shard: expected NUMBER/COUNT such as 0/4, or auto/4, got ${JSON.stringify(text)}`,
    );
  },
);

test.each([
  ['4/4', 'below 4, got 4'],
  ['0/0', 'below 0, got 0'],
  ['auto/2', 'below 2, got 2'],
])('%s is refused, because shards are counted from 0', (text, message) => {
  expect(() => parseShard(text, hostname)).toThrow(`--shard: expected a number ${message}`);
});

test.each(['exporter', 'exporter2', 'exporter-2a', 'a.exporter-1', ''])(
  'auto is refused where the host name is %j, which does not end in a number',
  (name) => {
    expect(() => parseShard('auto/4', name)).toThrow(
      `--shard: expected a host name that ends in a number, such as exporter-0, for auto, got "${name}"`,
    );
  },
);
