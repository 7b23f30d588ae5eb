/** How long a token is kept, when it is renewed, and who waits for it. */
import { describe, expect, test } from 'vitest';
import { ServiceError } from '../../src/base/errors.ts';
import type { ExchangeAnswer } from '../../src/service/transport.ts';
import { settle } from '../support/virtual-clock.ts';
import { failureOf, patience } from './support/harness.ts';
import { createWorld, good } from './support/token-world.ts';

const MINUTE_MS = 60_000;

describe('a token', () => {
  test('is asked for once by all who wait, and kept', async () => {
    const world = createWorld();
    expect(await Promise.all([world.take(), world.take(), world.take()])).toEqual(['1', '1', '1']);
    expect(await world.take()).toBe('1');
    expect(world.requests).toBe(1);
  });

  test('is renewed when eight tenths of its life are over, without anybody waiting', async () => {
    const world = createWorld();
    await world.take();
    await world.clock.advance(48 * MINUTE_MS - 1);
    expect(await world.take()).toBe('1');
    expect(world.requests).toBe(1);
    await world.clock.advance(1);
    expect(await world.take()).toBe('1');
    await settle();
    expect(await world.take()).toBe('2');
    expect(world.requests).toBe(2);
  });

  test('that is forbidden to ask is thrown away unless it is new', async () => {
    const world = createWorld();
    const token = await world.tokens.take(patience());
    world.tokens.mistrust(token);
    await world.clock.advance(15 * MINUTE_MS - 1);
    world.tokens.mistrust(token);
    expect(await world.take()).toBe('1');
    await world.clock.advance(1);
    world.tokens.mistrust(token);
    expect(await world.take()).toBe('2');
    world.tokens.mistrust(token);
    expect(await world.take()).toBe('2');
  });

  test('is renewed up to a tenth earlier, drawn', async () => {
    const world = createWorld(0.5);
    await world.take();
    await world.clock.advance(2_736_000);
    await world.take();
    expect(world.requests).toBe(2);
  });

  test.for([
    [120, 60],
    [60, 30],
    [10, 30],
    [0, 30],
    [-5, 30],
    ['1800', 1440],
    [undefined, 2880],
    ['soon', 2880],
    [null, 2880],
    [1e12, 69_120],
    [86_400, 69_120],
  ] as const)('with expires_in %s is renewed after %d s', async ([expiresIn, seconds]) => {
    const world = createWorld();
    world.answer = (request) => Promise.resolve(good(request, expiresIn));
    await world.take();
    await world.clock.advance(seconds * 1_000 - 1);
    await world.take();
    expect(world.requests).toBe(1);
    await world.clock.advance(1);
    await world.take();
    expect(world.requests).toBe(2);
  });

  test('serves to its end while the renewal fails, tried once a minute', async () => {
    const world = createWorld();
    await world.take();
    world.answer = () => Promise.reject(new ServiceError('server', 'no'));
    await world.clock.advance(50 * MINUTE_MS);
    for (let i = 0; i < 9 * 6; i += 1) {
      expect(await world.take()).toBe('1');
      await world.clock.advance(10_000);
    }
    expect(world.requests).toBe(1 + 9);
    await world.clock.advance(MINUTE_MS);
    expect((await failureOf(world.take())).reason).toBe('server');
  });

  test('ends by the clock that does not step', async () => {
    const world = createWorld();
    await world.take();
    world.clock.step(-24 * 60 * MINUTE_MS);
    expect(await world.take()).toBe('1');
    world.clock.step(48 * 60 * MINUTE_MS);
    expect(await world.take()).toBe('1');
    expect(world.requests).toBe(1);
    await world.clock.advance(61 * MINUTE_MS);
    expect(await world.take()).toBe('2');
  });

  test('that was refused is thrown away, but not one that came after it', async () => {
    const world = createWorld();
    const first = await world.tokens.take(patience());
    world.tokens.refuse(first);
    const second = await world.tokens.take(patience());
    world.tokens.refuse(first);
    expect(await world.tokens.take(patience())).toBe(second);
    expect(world.requests).toBe(2);
  });

  test('is waited for no longer than the caller likes, and comes for the others', async () => {
    const world = createWorld();
    const coming = Promise.withResolvers<ExchangeAnswer>();
    world.answer = () => coming.promise;
    const controller = new AbortController();
    const impatient = failureOf(world.tokens.take(controller.signal));
    const patient = world.take();
    controller.abort();
    expect((await impatient).reason).toBe('timeout');
    coming.resolve(good(7));
    expect(await patient).toBe('7');
    expect(world.requests).toBe(1);
  });
});
