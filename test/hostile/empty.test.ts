/** Answers that are well-formed and empty where there were counts: at the start, and later. */
import { describe, expect, test } from 'vitest';
import { body } from './support/bytes.ts';
import { figuresOf, NOTHING } from './support/figures.ts';
import { DATA } from './support/suffer.ts';
import { expectWell, World } from './support/world.ts';

const MINUTE_MS = 60_000;

const EMPTY = body((good) => good.replace(/"result":.*/, '"result":[]}'));
const ZEROS = body((good) => good.replaceAll(/"(in|out|value)":\d+/g, '"$1":0'));

describe.for([
  ['without rows', EMPTY],
  ['with rows of nothing', ZEROS],
] as const)('answers %s', ([, behave]) => {
  test.for([1, 2])('at the first %i polls show nothing, least of all 0', async (polls) => {
    await using world = await World.create();
    world.service.misbehave(DATA, behave);
    await world.start();
    for (let poll = 1; poll < polls; poll += 1) {
      expect(figuresOf(await world.scrape())).toEqual(NOTHING);
      await world.turn();
    }
    expect(figuresOf(await world.scrape())).toEqual(NOTHING);
    world.service.heal();
    await world.turn();
    await expectWell(world);
    expect(await world.leaks()).toEqual([]);
  });

  test('for long at the start are believed, and exact an hour after they are over', async () => {
    await using world = await World.create();
    world.service.misbehave(DATA, behave);
    await world.start();
    await world.turns(5);
    expect(figuresOf(await world.scrape()).totals).toEqual([0, 0, 0]);
    world.service.heal();
    // The total is read anew when the anchor is an hour old (DESIGN.md, section 3).
    await world.turns(61);
    await expectWell(world);
  });

  test.for([
    [1, MINUTE_MS],
    [2, MINUTE_MS],
    [1, 60 * MINUTE_MS],
    [2, 60 * MINUTE_MS],
  ] as const)(
    'at %i polls where there were counts, anchors every %i ms, change nothing',
    async ([polls, reconcileIntervalMs]) => {
      await using world = await World.create({ reconcileIntervalMs });
      await world.start();
      const before = figuresOf(await world.scrape());
      world.service.misbehave(DATA, behave);
      world.visit();
      for (let poll = 0; poll < polls; poll += 1) {
        await world.turn();
        expect(figuresOf(await world.scrape())).toEqual(before);
      }
      world.service.heal();
      await world.turn();
      await expectWell(world);
      expect(world.told.filter((line) => line.includes('without counts'))).not.toEqual([]);
    },
  );

  test.for([MINUTE_MS, 60 * MINUTE_MS])(
    'at many polls, anchors every %i ms, take nothing from a counter, and are exact when over',
    async (reconcileIntervalMs) => {
      await using world = await World.create({ reconcileIntervalMs });
      await world.start();
      const before = figuresOf(await world.scrape());
      world.service.misbehave(DATA, behave);
      world.visit();
      for (let poll = 0; poll < 8; poll += 1) {
        await world.turn();
        expect(figuresOf(await world.scrape()).totals).toEqual(before.totals);
      }
      world.service.heal();
      await world.turn();
      await expectWell(world);
    },
  );

  test.for([0, 1, 2, 3, 4, 5])(
    'at one question of an anchor, number %i, change nothing',
    async (after) => {
      await using world = await World.create({ reconcileIntervalMs: MINUTE_MS });
      world.service.misbehave(['peoplecount'], behave, { after, times: 1 });
      await world.start();
      const shown = figuresOf(await world.scrape()).totals.slice(0, 2);
      expect([NOTHING.totals.slice(0, 2), world.truth().totals.slice(0, 2)]).toContainEqual(shown);
      await world.turn();
      await expectWell(world);
      world.visit();
      world.service.misbehave(['peoplecount'], behave, { after, times: 1 });
      await world.turn();
      await expectWell(world);
      world.visit();
      await world.turn();
      await expectWell(world);
    },
  );
});
