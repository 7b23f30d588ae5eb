/**
 * The one check that every way to misbehave goes through: at the very first poll, and when all was
 * well before. Nothing is shown that was not so, the failure has its reason, and it is over at once.
 */
import { expect } from 'vitest';
import type { FailureReason } from '../../../src/base/errors.ts';
import { figuresOf, failuresOf, NOTHING, pollsOf, upOf } from './figures.ts';
import type { Endpoint, Misbehaviour } from './hostile-service.ts';
import { expectWell, World } from './world.ts';
import type { WorldOptions } from './world.ts';

export const DATA: readonly Endpoint[] = ['peoplecount', 'login'];

export interface Suffering extends WorldOptions {
  readonly reason: FailureReason;
  /** Makes the service misbehave, as long as it is not healed. */
  readonly begin: (world: World) => void | Promise<void>;
  readonly end?: (world: World) => void | Promise<void>;
  /** Intervals until the exporter asks again: more than one where it was told to stay away. */
  readonly recoversAfter?: number;
}

/** As {@link Suffering}, from one way to answer requests. */
export function answering(
  behave: Misbehaviour,
  endpoints: readonly Endpoint[] = DATA,
): Pick<Suffering, 'begin'> {
  return {
    begin({ service }) {
      service.misbehave(endpoints, behave);
      if (endpoints.includes('token')) {
        service.revoke();
      }
    },
  };
}

/** Gives what it leaked, to be nothing. */
export async function suffers(suffering: Suffering): Promise<readonly string[]> {
  const { reason, begin, end, recoversAfter = 1 } = suffering;
  await using world = await World.create(suffering);

  async function heal(): Promise<void> {
    world.service.heal();
    await end?.(world);
    await world.turns(recoversAfter);
    await expectWell(world);
  }

  await begin(world);
  await world.start();
  const first = await world.scrape();
  expect(upOf(first)).toEqual([0, 0]);
  expect(figuresOf(first)).toEqual(NOTHING);
  expect(failuresOf(first)).toEqual([`people ${reason} 1`, `logins ${reason} 1`]);
  expect(pollsOf(first)).toEqual({ polls: [1, 1], failures: [1, 1] });
  await heal();

  const before = await world.scrape();
  const [people = 0, logins = 0] = pollsOf(before).failures;
  world.visit();
  await begin(world);
  await world.turn();
  const during = await world.scrape();
  expect(upOf(during)).toEqual([0, 0]);
  expect(figuresOf(during)).toEqual(figuresOf(before));
  expect(figuresOf(during).totals).not.toEqual(world.truth().totals);
  expect(failuresOf(during)).toEqual([
    `people ${reason} ${people + 1}`,
    `logins ${reason} ${logins + 1}`,
  ]);
  await heal();
  return await world.leaks();
}

/**
 * What looks odd and is good: every poll is good, at the start and later, and every figure exact. Gives what
 * it leaked, to be nothing.
 */
export async function accepts(
  behave: Misbehaviour,
  options: WorldOptions & { readonly endpoints?: readonly Endpoint[] } = {},
): Promise<readonly string[]> {
  await using world = await World.create(options);
  world.service.misbehave(options.endpoints ?? DATA, behave);
  await world.start();
  await expectWell(world);
  world.visit();
  await world.turn();
  await expectWell(world);
  world.service.heal();
  world.visit();
  await world.turn();
  await expectWell(world);
  expect(failuresOf(await world.scrape())).toEqual([]);
  return await world.leaks();
}
