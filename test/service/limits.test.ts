import { describe, expect, test } from 'vitest';
import { AbortedError, RateLimiter, Semaphore } from '../../src/service/limits.ts';
import { settle } from '../support/virtual-clock.ts';
import { virtualClock } from './support/harness.ts';

/** Starts actions that end when the test says so, and records the order of their starts. */
function startAll(semaphore: Semaphore, count: number) {
  const started: number[] = [];
  const ends = Array.from({ length: count }, (_, i) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    void semaphore.run(() => {
      started.push(i);
      return promise;
    });
    return resolve;
  });
  return { started, ends };
}

describe('a semaphore', () => {
  test('runs as many actions as it has places, first come first served', async () => {
    const { started, ends } = startAll(new Semaphore(2, 'all'), 5);
    await settle();
    expect(started).toEqual([0, 1]);
    ends[1]?.();
    await settle();
    expect(started).toEqual([0, 1, 2]);
    ends[0]?.();
    ends[2]?.();
    await settle();
    expect(started).toEqual([0, 1, 2, 3, 4]);
  });

  test('starts every other time an urgent action while there are any', async () => {
    const semaphore = new Semaphore(1, 'all');
    const started: string[] = [];
    const runs = ['first', 'a', 'b', 'c', 'urgent 1', 'urgent 2'].map((name) =>
      semaphore.run(
        () => Promise.resolve(started.push(name)),
        undefined,
        name.startsWith('urgent'),
      ),
    );
    await Promise.all(runs);
    expect(started).toEqual(['first', 'urgent 1', 'a', 'urgent 2', 'b', 'c']);
  });

  test('frees the place of an action that fails', async () => {
    const semaphore = new Semaphore(1, 'all');
    await expect(semaphore.run(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await semaphore.run(() => Promise.resolve('next'))).toBe('next');
  });

  test('drops a waiter that aborts, first, last or in the middle', async () => {
    const semaphore = new Semaphore(1, 'all');
    const { ends } = startAll(semaphore, 1);
    const started: number[] = [];
    const controllers = Array.from({ length: 5 }, () => new AbortController());
    const waiting = controllers.map(({ signal }, i) =>
      semaphore.run(() => Promise.resolve(started.push(i)), signal),
    );
    [0, 2, 4].forEach((i) => controllers[i]?.abort());
    ends[0]?.();
    expect(await Promise.allSettled(waiting)).toMatchObject([
      { reason: { name: 'AbortedError' } },
      { value: 1 },
      { reason: { name: 'AbortedError' } },
      { value: 2 },
      { reason: { name: 'AbortedError' } },
    ]);
    expect(started).toEqual([1, 3]);
    const aborted = semaphore.run(() => Promise.resolve(), AbortSignal.abort());
    await expect(aborted).rejects.toThrow(AbortedError);
  });
});

describe('a rate limiter', () => {
  test.for([0.5, 2.5, 50])('never exceeds %d a second', async (perSecond) => {
    const clock = virtualClock();
    const semaphore = new Semaphore(1_000_000, 'all', new RateLimiter(perSecond, clock));
    const startedMs: number[] = [];
    for (let i = 0; i < perSecond * 4; i += 1) {
      void semaphore.run(() => Promise.resolve(startedMs.push(clock.monotonicMs())));
    }
    await clock.advance(6_000);
    // In any second, wherever it begins.
    const busiest = Math.max(
      ...startedMs.map((from) => startedMs.filter((ms) => ms >= from && ms < from + 1_000).length),
    );
    expect(busiest).toBeLessThanOrEqual(Math.ceil(perSecond));
    expect(startedMs).toHaveLength(Math.ceil(perSecond * 4));
  });

  test('does not save up unused starts for a later burst', async () => {
    const clock = virtualClock();
    const semaphore = new Semaphore(100, 'all', new RateLimiter(8, clock));
    await clock.advance(60_000);
    const { started } = startAll(semaphore, 100);
    await settle();
    expect(started).toHaveLength(8);
    await clock.advance(1_000);
    expect(started).toHaveLength(16);
  });
});
