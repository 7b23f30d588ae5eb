/** Answers that are odd and nevertheless good. */
import { describe, expect, test } from 'vitest';
import { body, reply, replaced } from './support/bytes.ts';
import type { Misbehaviour } from './support/hostile-service.ts';
import { accepts } from './support/suffer.ts';

const MINUTE_MS = 60_000;
const FIRST_ROW = /\{"key":("[^"]*"),([^}]*)\}/;

describe('an answer is good though', () => {
  test.for<[string, Misbehaviour]>([
    ['it begins with a byte-order mark', body((good) => `\ufeff${good}`)],
    ['it is written over many lines', body((good) => JSON.stringify(JSON.parse(good), null, '\t'))],
    ['its fields are in another order', body(reversed)],
    ['it has fields that nobody knows', body((good) => good.replace('{', '{"error":"","x":[{}],'))],
    ['it has a deep field', body((good) => good.replace('{', `{"x":${deep(200_000)},`))],
    ['it has a field __proto__', body((good) => good.replace('{', '{"__proto__":{"result":[]},'))],
    [
      'a row has a field __proto__',
      body((good) => good.replaceAll('{"key"', '{"__proto__":{"in":999,"value":999},"key"')),
    ],
    ['fields are there twice, the right one last', body(withFieldsTwice)],
    ['two rows have one key', body((good) => good.replace(FIRST_ROW, splitRow))],
    [
      'counts have a point',
      body((good) => good.replaceAll(/"(in|out|value)":(\d+)/g, '"$1":$2.0')),
    ],
    [
      'counts have an exponent',
      body((good) => good.replaceAll(/"(in|out|value)":(\d+)/g, '"$1":$2e0')),
    ],
    ['its metadata count is wrong', body((good) => good.replace(/"count":\d+/, '"count":-1e999'))],
    ['its metadata from is wrong', body((good) => good.replace(/"from":"[^"]*"/, '"from":{}'))],
    ['its token for more is null', replaced(/"count":/, '"startToken":null,"count":')],
    ['its token for more is empty', replaced(/"count":/, '"startToken":"","count":')],
    [
      'it comes with a thousand headers',
      reply(200, { headers: thousandHeaders(), body: ({ good }) => good }),
    ],
  ])('%s', async ([, behave]) => {
    expect(await accepts(behave)).toEqual([]);
    expect(await accepts(behave, { reconcileIntervalMs: MINUTE_MS })).toEqual([]);
  });
});

function reversed(good: string): string {
  const { metadata, result } = JSON.parse(good) as { metadata: object; result: object[] };
  function turned(item: object): object {
    return Object.fromEntries(Object.entries(item).toReversed());
  }
  return JSON.stringify({ result: result.map(turned), metadata: turned(metadata) });
}

function withFieldsTwice(good: string): string {
  return good
    .replaceAll(/"(in|out|value)":/g, '"$1":99,"$1":')
    .replace('"result":', '"result":[{"key":1,"in":77,"out":7,"value":7}],"result":')
    .replace('"metadata":', '"metadata":null,"metadata":');
}

/** The counts of one row as two rows of the same key. */
function splitRow(_row: string, key: string, fields: string): string {
  const none = fields.replaceAll(/:\d+/g, ':0');
  const one = fields.replaceAll(/:\d+/g, ':1');
  const rest = fields.replaceAll(
    /:(\d+)/g,
    (_, count: string) => `:${Math.max(0, Number(count) - 1)}`,
  );
  const first = /:0/.test(fields) ? [none, fields] : [one, rest];
  return first.map((part) => `{"key":${key},${part}}`).join(',');
}

function deep(levels: number): string {
  return `${'['.repeat(levels)}${']'.repeat(levels)}`;
}

function thousandHeaders(): Record<string, string> {
  return Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`x-${i}`, 'y']));
}
