import { describe, expect, test } from 'vitest';
import { AbortedError, RateLimiter, Semaphore } from '../../src/service/limits.ts';
import type { Priority } from '../../src/service/types.ts';
import { settle } from '../support/virtual-clock.ts';
import { virtualClock } from './support/harness.ts';

const PRIORITIES: Readonly<Record<string, Priority>> = { u: 'urgent', n: 'normal', o: 'optional' };

/** Half of the places are for optional actions. */
function semaphoreOf(places: number, limiter?: RateLimiter): Semaphore {
  const optionalPlaces = Math.ceil(places / 2);
  return new Semaphore({ places, optionalPlaces, users: 'all', ...(limiter && { limiter }) });
}

/** Starts actions that end when the test says so, and records the order of their starts. */
function startAll(semaphore: Semaphore, count: number) {
  const started: number[] = [];
  const ends = Array.from({ length: count }, (_, i) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    void semaphore.run(() => {
      started.push(i);
      return promise;
    }, 'normal');
    return resolve;
  });
  return { started, ends };
}

describe('a semaphore', () => {
  test('starts urgent, normal and optional actions by turns', async () => {
    const semaphore = semaphoreOf(1);
    const started: string[] = [];
    const runs = 'n1 n2 n3 n4 o1 o2 u1 u2 u3'
      .split(' ')
      .map((name) =>
        semaphore.run(
          () => Promise.resolve(started.push(name)),
          PRIORITIES[name[0] ?? ''] ?? 'normal',
        ),
      );
    await Promise.all(runs);
    expect(started).toEqual(['n1', 'u1', 'n2', 'u2', 'o1', 'u3', 'n3', 'n4', 'o2']);
  });

  test('leaves places to others beside optional actions', async () => {
    const semaphore = semaphoreOf(4);
    const started: string[] = [];
    function hang(name: string): Promise<void> {
      started.push(name);
      return new Promise(() => {});
    }
    for (const name of ['o1', 'o2', 'o3', 'n1', 'n2']) {
      void semaphore.run(() => hang(name), PRIORITIES[name[0] ?? ''] ?? 'normal');
    }
    await settle();
    expect(started).toEqual(['o1', 'o2', 'n1', 'n2']);
    const stop = new AbortController();
    const waiting = semaphore.run(() => Promise.resolve(), 'optional', stop.signal);
    stop.abort();
    await expect(waiting).rejects.toThrow('2 other requests of all for breakdowns and pasts');
  });

  test('drops a waiter that aborts, first, last or in the middle', async () => {
    const semaphore = semaphoreOf(1);
    const { ends } = startAll(semaphore, 1);
    const started: number[] = [];
    const controllers = Array.from({ length: 5 }, () => new AbortController());
    const waiting = controllers.map(({ signal }, i) =>
      semaphore.run(() => Promise.resolve(started.push(i)), 'normal', signal),
    );
    [0, 2, 4].forEach((i) => controllers[i]?.abort());
    ends[0]?.();
    const outcomes = await Promise.allSettled(waiting);
    expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(3);
    expect(started).toEqual([1, 3]);
    const aborted = semaphore.run(() => Promise.resolve(), 'normal', AbortSignal.abort());
    await expect(aborted).rejects.toThrow(AbortedError);
  });
});

describe('a rate limiter', () => {
  test.for([0.5, 50])('never exceeds %d a second', async (perSecond) => {
    const clock = virtualClock();
    const semaphore = semaphoreOf(1_000_000, new RateLimiter(perSecond, clock));
    const startedMs: number[] = [];
    for (let i = 0; i < perSecond * 4; i += 1) {
      void semaphore.run(() => Promise.resolve(startedMs.push(clock.monotonicMs())), 'normal');
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
    const semaphore = semaphoreOf(100, new RateLimiter(8, clock));
    await clock.advance(60_000);
    const { started } = startAll(semaphore, 100);
    await settle();
    expect(started).toHaveLength(8);
    await clock.advance(1_000);
    expect(started).toHaveLength(16);
  });
});
