/** Being told to wait, in every form that the header may have: at /metrics, with the reason. */
import { describe, expect, test } from 'vitest';
import { reply } from './support/bytes.ts';
import { failuresOf, figuresOf, pollsOf, upOf } from './support/figures.ts';
import type { Endpoint } from './support/hostile-service.ts';
import { DATA } from './support/suffer.ts';
import { expectWell, World } from './support/world.ts';

describe.for([
  [429, 'rate_limited'],
  [503, 'server'],
] as const)('%i with Retry-After', ([status, reason]) => {
  /** Polls with that answer, and then with good ones; how long nobody asked, in minutes. */
  async function stayedAwayFor(
    headers: Readonly<Record<string, string>>,
    endpoints: readonly Endpoint[] = DATA,
  ): Promise<number> {
    await using world = await World.create();
    await world.start();
    const before = await world.scrape();
    const known = figuresOf(before);
    world.visit();
    world.service.misbehave(endpoints, reply(status, { headers }));
    world.service.revoke();
    await world.turn();
    const during = await world.scrape();
    expect(upOf(during)).toEqual([0, 0]);
    expect(figuresOf(during)).toEqual(known);
    // Every poll since has failed: more than one of each where the wait fits into a poll.
    const [people = NaN, logins = NaN] = pollsOf(during).failures;
    const [ofPeople = NaN, ofLogins = NaN] = pollsOf(before).polls;
    expect(pollsOf(during).polls).toEqual([ofPeople + people, ofLogins + logins]);
    expect(failuresOf(during)).toEqual([
      `people ${reason} ${people}`,
      `logins ${reason} ${logins}`,
    ]);
    world.service.heal();
    const asked = world.service.heard.length;
    let minutes = 0;
    for (; world.service.heard.length === asked && minutes < 100; minutes += 1) {
      const { totals, today } = figuresOf(await world.scrape());
      expect({ totals, today }).toEqual({ totals: known.totals, today: known.today });
      await world.turn();
    }
    await world.turn();
    await expectWell(world);
    expect(new Set(failuresOf(await world.scrape()).map((line) => line.split(' ')[1]))).toEqual(
      new Set([reason]),
    );
    const { polls, failures } = pollsOf(await world.scrape());
    expect(polls[0]).toBeGreaterThan(failures[0] ?? NaN);
    expect(await world.leaks()).toEqual([]);
    return minutes;
  }

  const date = 'Sat, 14 Nov 2026 11:00:00 GMT';

  // A poll that finds only the last half minute of it left waits that out, and then asks.
  test.for<[string, number]>([
    ['0', 1],
    ['1', 1],
    ['20', 1],
    ['120', 1],
    ['600', 9],
    ['3600', 59],
    ['Sat, 14 Nov 2026 11:10:00 GMT', 9],
    ['Sat, 14 Nov 2026 11:00:00 GMT', 1],
    ['Saturday, 14-Nov-26 11:10:00 GMT', 9],
    // An hour is the most that anybody is believed.
    ['86400', 59],
    ['999999999999999999999', 59],
    ['Fri, 31 Dec 9999 23:59:59 GMT', 59],
    // These say nothing.
    ['Thu, 01 Jan 1970 00:00:00 GMT', 1],
    ['-5', 1],
    ['1e9', 1],
    ['0x10', 1],
    ['NaN', 1],
    ['soon', 1],
    ['', 1],
    ['120, 240', 1],
    ['Sat, 99 Nov 2026 99:99:99 GMT', 1],
  ])('%s is away for %i minutes at most', async ([value, minutes]) => {
    expect(await stayedAwayFor({ date, 'retry-after': value })).toBe(minutes);
  });

  test('missing is asked again at the next poll', async () => {
    expect(await stayedAwayFor({})).toBe(1);
  });

  test('of the token endpoint keeps away too', async () => {
    expect(await stayedAwayFor({ 'retry-after': '600' }, ['token'])).toBe(9);
  });
});
