import { describe, expect, test } from 'vitest';
import { parseShard } from '../../src/cli/shard.ts';

const hostname = 'exporter-2.exporters.default.svc.cluster.local';

describe('a shard', () => {
  test.each([
    ['0/1', { shard: 0, shards: 1 }],
    ['3/4', { shard: 3, shards: 4 }],
    ['007/8', { shard: 7, shards: 8 }],
    ['auto/4', { shard: 2, shards: 4 }],
  ])('%s is read', (text, shard) => {
    expect(parseShard(text, hostname)).toEqual(shard);
  });

  test.each([
    '',
    '1',
    '1/',
    '/4',
    'a/4',
    'auto',
    'AUTO/4',
    '-1/4',
    '1/-4',
    '1.0/4',
    '1/4/5',
    ' 1/4',
  ])('%j is not one', (text) => {
    expect(() => parseShard(text, hostname)).toThrow('It must be like 0/4, or auto/4.');
  });

  test.each(['4/4', '5/4', '0/0', '1000000000000/4'])('there is no %s', (text) => {
    const [shard, shards] = text.split('/');
    expect(() => parseShard(text, hostname)).toThrow(
      `There is no shard ${shard} of ${shards}: they are counted from 0.`,
    );
  });

  test.each(['exporter', 'exporter2', 'exporter-', 'exporter-2a', 'a.exporter-1', ''])(
    'the host name %j has no number for auto',
    (name) => {
      expect(() => parseShard('auto/4', name)).toThrow(
        `auto needs a host name that ends in a number, such as exporter-0, and this is ${name}.`,
      );
    },
  );

  test('the number of the host name must be one of the shards', () => {
    expect(parseShard('auto/3', 'exporter-2')).toEqual({ shard: 2, shards: 3 });
    expect(() => parseShard('auto/2', 'exporter-2')).toThrow('There is no shard 2 of 2');
  });
});
