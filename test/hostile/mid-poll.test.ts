/** A poll of many questions that breaks off at one of them leaves everything as it was. */
import { describe, expect, test } from 'vitest';
import type { FailureReason } from '../../src/base/errors.ts';
import { body, bytesAndReset, replaced, reply } from './support/bytes.ts';
import { failuresOf, figuresOf, NOTHING, upOf } from './support/figures.ts';
import type { Misbehaviour } from './support/hostile-service.ts';
import { expectWell, World } from './support/world.ts';

/** Requests in an anchor where all is well (DESIGN.md, section 3). */
const QUESTIONS = 5;

describe.for<[string, FailureReason, Misbehaviour]>([
  ['a bad row', 'malformed', replaced(/(.*)"out":\d+/s, '$1"out":-1')],
  ['a page', 'malformed', body('<html>')],
  ['half an answer', 'malformed', body((good) => good.slice(0, 40))],
  ['an error', 'server', reply(500)],
  ['a reset', 'unreachable', bytesAndReset('HTTP/1.1 200 OK\r\n')],
  ['a refusal', 'auth', reply(403)],
])('%s', ([, reason, behave]) => {
  test.for(Array.from({ length: QUESTIONS }, (_, i) => i))(
    'from question %i of an anchor on: nothing is shown of the others',
    async (after) => {
      await using world = await World.create({ reconcileIntervalMs: 60_000 });
      world.service.misbehave(['peoplecount'], behave, { after });
      await world.start();
      const first = await world.scrape();
      expect(upOf(first)).toEqual([0, 1]);
      expect(figuresOf(first).totals.slice(0, 2)).toEqual(NOTHING.totals.slice(0, 2));
      expect(figuresOf(first).today.slice(0, 2)).toEqual(NOTHING.today.slice(0, 2));
      expect(figuresOf(first).occupancy).toBeUndefined();
      expect(figuresOf(first).totals[2]).toBe(world.truth().totals[2]);
      world.service.heal();
      await world.turn();
      await expectWell(world);

      const before = figuresOf(await world.scrape());
      world.visit();
      world.service.misbehave(['peoplecount'], behave, { after });
      await world.turn();
      const during = await world.scrape();
      expect(upOf(during)).toEqual([0, 1]);
      expect(failuresOf(during)).toEqual([`people ${reason} 2`]);
      const { totals, today, occupancy } = figuresOf(during);
      expect([...totals.slice(0, 2), ...today.slice(0, 2), occupancy]).toEqual([
        ...before.totals.slice(0, 2),
        ...before.today.slice(0, 2),
        before.occupancy,
      ]);
      expect([totals[2], today[2]]).toEqual([world.truth().totals[2], world.truth().today[2]]);
      world.service.heal();
      await world.turn();
      await expectWell(world);
      expect(await world.leaks()).toEqual([]);
    },
  );
});
