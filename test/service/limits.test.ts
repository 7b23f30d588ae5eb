import { describe, expect, test } from 'vitest';
import { RateLimiter, Semaphore } from '../../src/service/limits.ts';
import { settle } from '../support/virtual-clock.ts';
import { failureOf, virtualClock } from './support/harness.ts';

/** Starts actions that end when the test says so, and records the order of their starts. */
function startAll(semaphore: Semaphore, count: number) {
  const started: number[] = [];
  const end: (() => void)[] = [];
  for (let i = 0; i < count; i += 1) {
    void semaphore.run(() => {
      started.push(i);
      return new Promise<void>((resolve) => {
        end[i] = resolve;
      });
    });
  }
  return { started, end };
}

describe('a semaphore', () => {
  test('runs as many actions as it has places, first come first served', async () => {
    const { started, end } = startAll(new Semaphore(2), 5);
    await settle();
    expect(started).toEqual([0, 1]);
    end[1]?.();
    await settle();
    expect(started).toEqual([0, 1, 2]);
    end[0]?.();
    end[2]?.();
    await settle();
    expect(started).toEqual([0, 1, 2, 3, 4]);
  });

  test('starts every other time an urgent action while there are any', async () => {
    const semaphore = new Semaphore(1);
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
    const semaphore = new Semaphore(1);
    await expect(semaphore.run(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await semaphore.run(() => Promise.resolve('next'))).toBe('next');
  });

  test('drops a waiter that aborts, first, last or in the middle', async () => {
    const semaphore = new Semaphore(1);
    const { end } = startAll(semaphore, 1);
    const controllers = Array.from({ length: 5 }, () => new AbortController());
    const started: number[] = [];
    const waiting = controllers.map(({ signal }, i) =>
      semaphore.run(() => Promise.resolve(started.push(i)), signal),
    );
    const failures = Promise.all([0, 2, 4].map((i) => failureOf(waiting[i] ?? Promise.resolve())));
    for (const i of [0, 2, 4]) {
      controllers[i]?.abort();
    }
    expect((await failures).map(({ reason }) => reason)).toEqual(['timeout', 'timeout', 'timeout']);
    end[0]?.();
    await settle();
    expect(started).toEqual([1, 3]);
    const aborted = semaphore.run(() => Promise.resolve(), AbortSignal.abort());
    expect((await failureOf(aborted)).reason).toBe('timeout');
  });
});

describe('a rate limiter', () => {
  test.for([0.5, 2.5, 50])('never exceeds %d a second', async (perSecond) => {
    const clock = virtualClock();
    const semaphore = new Semaphore(1_000_000, new RateLimiter(perSecond, clock));
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
    const semaphore = new Semaphore(100, new RateLimiter(8, clock));
    await clock.advance(60_000);
    const { started } = startAll(semaphore, 100);
    await settle();
    expect(started).toHaveLength(8);
    await clock.advance(1_000);
    expect(started).toHaveLength(16);
  });
});
