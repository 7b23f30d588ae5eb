/**
 * Answers that are odd in what no counter hangs on: the aggregation that was used, keys, the Date
 * header.
 */
import { describe, expect, test } from 'vitest';
import { body, reply } from './support/bytes.ts';
import { failuresOf, figuresOf, upOf } from './support/figures.ts';
import type { Misbehaviour } from './support/hostile-service.ts';
import { DATA } from './support/suffer.ts';
import { World } from './support/world.ts';

const MINUTE_MS = 60_000;

/** Expects exact counters; what hangs on the keys of minutes may be absent, and must not be wrong. */
async function expectCounting(world: World): Promise<void> {
  await expectTotals(world);
  const { occupancy } = figuresOf(await world.scrape());
  expect([undefined, world.truth().occupancy]).toContain(occupancy);
}

/** Expects exact counters, where what depends on single minutes may be anything. */
async function expectTotals(world: World): Promise<void> {
  const exposition = await world.scrape();
  const { occupancy: _shown, ...shown } = figuresOf(exposition);
  const { occupancy: _true, ...truth } = world.truth();
  expect(upOf(exposition)).toEqual([1, 1]);
  expect(shown).toEqual(truth);
}

/** Polls that count exactly from the start on and later, by anchors and between them, and when it is over. */
async function counts(
  behave: Misbehaviour,
  expectGood: typeof expectCounting = expectCounting,
): Promise<readonly string[]> {
  const leaks: string[] = [];
  for (const reconcileIntervalMs of [MINUTE_MS, 60 * MINUTE_MS]) {
    await using world = await World.create({ reconcileIntervalMs });
    world.service.misbehave(DATA, behave);
    await world.start();
    await expectGood(world);
    for (let i = 0; i < 5; i += 1) {
      world.visit();
      await world.turn();
      await expectGood(world);
    }
    world.service.heal();
    world.visit();
    await world.turn();
    await expectGood(world);
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
      await counts(
        body((good) => good.replaceAll(/"key":"[^"]*"/g, `"key":${key}`)),
        expectTotals,
      ),
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
      await counts(
        (exchange) => reply(200, { headers: { date }, body: exchange.good })(exchange),
        expectTotals,
      ),
    ).toEqual([]);
  });

  test('another one in every answer', async () => {
    let answer = 0;
    const startMs = Date.parse('2026-11-14T11:00:00Z');
    expect(
      await counts((exchange) => {
        answer += 1;
        const aheadMs = (((answer * 7) % 41) - 20) * 3_600_000;
        const date = new Date(startMs + aheadMs).toUTCString();
        reply(200, { headers: { date }, body: exchange.good })(exchange);
      }, expectTotals),
    ).toEqual([]);
  });
});

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
