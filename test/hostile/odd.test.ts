/** Answers that are odd and nevertheless good, or that lie in what no counter hangs on. */
import { describe, expect, test } from 'vitest';
import { body, reply, replaced } from './support/bytes.ts';
import type { Misbehaviour } from './support/hostile-service.ts';
import { accepts, DATA } from './support/suffer.ts';
import { failuresOf, figuresOf, upOf, World } from './support/world.ts';

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

/** Expects exact counters; what hangs on the keys of minutes may be absent, and must not be wrong. */
async function expectCounting(world: World): Promise<void> {
  const exposition = await world.scrape();
  const truth = world.truth();
  const { occupancy, ...counters } = figuresOf(exposition);
  expect(upOf(exposition)).toEqual([1, 1]);
  expect({ ...counters, occupancy: truth.occupancy }).toEqual(truth);
  expect([undefined, truth.occupancy]).toContain(occupancy);
}

/** Polls that count exactly from the start on and later, by anchors and between them, and when it is over. */
async function counts(behave: Misbehaviour): Promise<readonly string[]> {
  const leaks: string[] = [];
  for (const reconcileIntervalMs of [MINUTE_MS, 60 * MINUTE_MS]) {
    await using world = await World.create({ reconcileIntervalMs });
    world.service.misbehave(DATA, behave);
    await world.start();
    await expectCounting(world);
    for (let i = 0; i < 5; i += 1) {
      world.visit();
      await world.turn();
      await expectCounting(world);
    }
    world.service.heal();
    world.visit();
    await world.turn();
    await expectCounting(world);
    expect(failuresOf(await world.scrape())).toEqual([]);
    // Nothing drives a customer's polls into more questions than a few at each.
    expect(world.service.heard.length).toBeLessThan(2 * 7 * 80);
    leaks.push(...(await world.leaks()));
  }
  return leaks;
}

describe('an aggregation that was not asked for never changes a counter:', () => {
  test.for([
    'day',
    'hour',
    'branch',
    'Minute',
    'minute ',
    '__proto__',
    'constructor',
    'x'.repeat(64),
  ])('"%s" in every answer', async (name) => {
    expect(
      await counts(body((good) => good.replace(/"aggregation":"\w+"/, `"aggregation":"${name}"`))),
    ).toEqual([]);
  });

  test('"hour" where minutes were asked for', async () => {
    expect(await counts(body((good) => good.replace('"minute"', '"hour"')))).toEqual([]);
  });

  test('one row for everything', async () => {
    expect(await counts(body(inOneRow))).toEqual([]);
  });

  test('another one in every answer', async () => {
    let answer = 0;
    expect(
      await counts(
        body((good) => {
          answer += 1;
          return answer % 3 === 0
            ? good.replace(/"aggregation":"\w+"/, '"aggregation":"day"')
            : good;
        }),
      ),
    ).toEqual([]);
  });
});

describe('keys that nobody can read never change a counter:', () => {
  test.for([
    '"__proto__"',
    '"constructor"',
    '""',
    '"\\ud800"',
    '"\\u0000"',
    '"<script>"',
    '"\\"} 1e9\\nlibrary_up 7"',
    '"2026-99-99T99:99"',
    '"+275760-09-13T00:00:00Z"',
    '"-1"',
    '-9007199254740991',
    '9007199254740991',
  ])('%s', async (key) => {
    expect(await counts(body((good) => good.replaceAll(/"key":"[^"]*"/g, `"key":${key}`)))).toEqual(
      [],
    );
  });

  // These can be read, as one and the same minute: the counters do not mind.
  test.for(['0', '-0', '"00:00"'])('%s', async (key) => {
    expect(
      await countsByTotals(body((good) => good.replaceAll(/"key":"[^"]*"/g, `"key":${key}`))),
    ).toEqual([]);
  });

  test('another one in every row', async () => {
    let row = 0;
    expect(
      await counts(
        body((good) => good.replaceAll(/"key":"[^"]*"/g, () => `"key":${(row += 7919)}`)),
      ),
    ).toEqual([]);
  });
});

describe('a Date header never changes a counter:', () => {
  test.for([
    undefined,
    '',
    'yesterday',
    'Thu, 01 Jan 1970 00:00:00 GMT',
    'Fri, 31 Dec 9999 23:59:59 GMT',
    'Sat, 99 Nov 2026 11:00:00 GMT',
    'Sat, 14 Nov 2026 09:00:00 GMT',
    'Sat, 14 Nov 2026 13:00:00 GMT',
    'Fri, 13 Nov 2026 12:00:00 GMT',
    'Sun, 15 Nov 2026 10:00:00 GMT',
  ])('%s', async (date) => {
    // The minutes of a service with another clock may not have come yet.
    expect(
      await countsByTotals((exchange) =>
        reply(200, { headers: { date }, body: exchange.good })(exchange),
      ),
    ).toEqual([]);
  });

  test('another one in every answer', async () => {
    let answer = 0;
    const startMs = Date.parse('2026-11-14T11:00:00Z');
    expect(
      await countsByTotals((exchange) => {
        answer += 1;
        const aheadMs = (((answer * 7) % 41) - 20) * 3_600_000;
        const date = new Date(startMs + aheadMs).toUTCString();
        reply(200, { headers: { date }, body: exchange.good })(exchange);
      }),
    ).toEqual([]);
  });
});

/** As {@link counts}, where what depends on single minutes may be anything. */
async function countsByTotals(behave: Misbehaviour): Promise<readonly string[]> {
  const leaks: string[] = [];
  for (const reconcileIntervalMs of [MINUTE_MS, 60 * MINUTE_MS]) {
    await using world = await World.create({ reconcileIntervalMs });
    world.service.misbehave(DATA, behave);
    await world.start();
    for (let i = 0; i < 5; i += 1) {
      world.visit();
      await world.turn();
      const exposition = await world.scrape();
      const { totals, today, held } = figuresOf(exposition);
      expect(upOf(exposition)).toEqual([1, 1]);
      const { occupancy: _, ...truth } = world.truth();
      expect({ totals, today, held }).toEqual(truth);
    }
    leaks.push(...(await world.leaks()));
  }
  return leaks;
}

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

function inOneRow(good: string): string {
  const { result } = JSON.parse(good) as { result: Record<string, number>[] };
  const fields = good.includes('"value"') ? ['value'] : ['in', 'out'];
  const sums = fields.map((field) => [
    field,
    result.reduce((sum, row) => sum + (row[field] ?? 0), 0),
  ]);
  const rows = result.length === 0 ? [] : [{ key: 'everything', ...Object.fromEntries(sums) }];
  return JSON.stringify({ metadata: { aggregation: 'day' }, result: rows });
}

function deep(levels: number): string {
  return `${'['.repeat(levels)}${']'.repeat(levels)}`;
}

function thousandHeaders(): Record<string, string> {
  return Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`x-${i}`, 'y']));
}
