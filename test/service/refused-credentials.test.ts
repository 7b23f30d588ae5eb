/** When credentials that were refused are tried again, and what is told of them. */
import { describe, expect, test } from 'vitest';
import { settle } from '../support/virtual-clock.ts';
import { failureOf } from './support/harness.ts';
import { createWorld, good, refusal } from './support/token-world.ts';

const MINUTE_MS = 60_000;

describe('refused credentials', () => {
  test('are asked about again after one minute, then two, four, eight, fifteen', async () => {
    const world = createWorld();
    world.answer = () => Promise.resolve(refusal);
    const askedMinutes: number[] = [];
    for (let minute = 0; minute < 62; minute += 1) {
      const before = world.requests;
      expect((await failureOf(world.take())).reason).toBe('auth');
      if (world.requests > before) {
        askedMinutes.push(minute);
      }
      await world.clock.advance(MINUTE_MS);
    }
    expect(askedMinutes).toEqual([0, 1, 3, 7, 15, 30, 45, 60]);
    expect(world.credentials).toEqual([false]);
  });

  test('are asked about at once when the secret is another one, and the pauses begin anew', async () => {
    const world = createWorld();
    world.answer = () => Promise.resolve(refusal);
    await failureOf(world.take());
    await world.clock.advance(MINUTE_MS);
    await failureOf(world.take());
    world.secret = 'another';
    await failureOf(world.take());
    expect(world.requests).toBe(3);
    await world.clock.advance(MINUTE_MS);
    await failureOf(world.take());
    expect(world.requests).toBe(4);
  });

  test('that are taken later are told as valid, and a refusal then starts from a minute', async () => {
    const world = createWorld();
    world.answer = (request) => Promise.resolve(request === 2 ? good(request) : refusal);
    await failureOf(world.take());
    await world.clock.advance(MINUTE_MS);
    expect(await world.take()).toBe('2');
    await world.clock.advance(61 * MINUTE_MS);
    await failureOf(world.take());
    await world.clock.advance(MINUTE_MS);
    await failureOf(world.take());
    expect(world.requests).toBe(4);
    expect(world.credentials).toEqual([false, true, false]);
  });

  test('at a renewal leave the old token to the end of its life', async () => {
    const world = createWorld();
    await world.take();
    world.answer = () => Promise.resolve(refusal);
    await world.clock.advance(50 * MINUTE_MS);
    await world.take();
    await settle();
    expect(world.credentials).toEqual([true, false]);
    expect(await world.take()).toBe('1');
    await world.clock.advance(10 * MINUTE_MS);
    expect((await failureOf(world.take())).reason).toBe('auth');
  });

  test('are not a secret that cannot be read, which is told without where it lies', async () => {
    const world = createWorld();
    world.secret = undefined;
    expect(await failureOf(world.take())).toMatchObject({
      reason: 'auth',
      message: 'the client secret could not be read',
    });
    expect(world.credentials).toEqual([]);
    world.secret = 'back';
    expect(await world.take()).toBe('1');
  });
});
