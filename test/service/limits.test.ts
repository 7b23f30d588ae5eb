import { describe, expect, test } from 'vitest';
import { AbortedError, RateLimiter, Semaphore } from '../../src/service/limits.ts';
import type { Priority } from '../../src/service/types.ts';
import { settle } from '../support/virtual-clock.ts';
import { virtualClock } from './support/harness.ts';

const PRIORITIES: Readonly<Record<string, Priority>> = { u: 'urgent', n: 'normal', o: 'optional' };

/** A semaphore whose actions have names, which begin with their priority. Half of the places are for optional ones. */
function semaphoreOf(places: number, limiter?: RateLimiter) {
  const optionalPlaces = Math.ceil(places / 2);
  const options = { places, optionalPlaces, users: 'all', ...(limiter && { limiter }) };
  const semaphore = new Semaphore(options);
  const started: string[] = [];
  function run(name: string, end = Promise.resolve(), signal?: AbortSignal): Promise<void> {
    function action(): Promise<void> {
      started.push(name);
      return end;
    }
    return semaphore.run(action, PRIORITIES[name[0] ?? ''] ?? 'normal', signal);
  }
  return { started, run };
}

describe('a semaphore', () => {
  test('starts urgent, normal and optional actions by turns', async () => {
    const { started, run } = semaphoreOf(1);
    const names = ['n1', 'n2', 'n3', 'n4', 'o1', 'o2', 'u1', 'u2', 'u3'];
    await Promise.all(names.map((name) => run(name)));
    expect(started).toEqual(['n1', 'u1', 'n2', 'u2', 'o1', 'u3', 'n3', 'n4', 'o2']);
  });

  test('leaves places to others beside optional actions', async () => {
    const { started, run } = semaphoreOf(4);
    for (const name of ['o1', 'o2', 'o3', 'n1', 'n2']) {
      void run(name, new Promise(() => {}));
    }
    await settle();
    expect(started).toEqual(['o1', 'o2', 'n1', 'n2']);
    const stop = new AbortController();
    const waiting = run('o4', undefined, stop.signal);
    stop.abort();
    await expect(waiting).rejects.toThrow('2 other requests of all for breakdowns and pasts');
  });

  test('drops a waiter that aborts, first, last or in the middle', async () => {
    const { started, run } = semaphoreOf(1);
    const running = Promise.withResolvers<void>();
    void run('n', running.promise);
    const controllers = Array.from({ length: 5 }, () => new AbortController());
    const waiting = controllers.map(({ signal }, i) => run(`n${i}`, undefined, signal));
    [0, 2, 4].forEach((i) => controllers[i]?.abort());
    running.resolve();
    const outcomes = await Promise.allSettled(waiting);
    expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(3);
    expect(started).toEqual(['n', 'n1', 'n3']);
    await expect(run('n5', undefined, AbortSignal.abort())).rejects.toThrow(AbortedError);
  });
});

describe('a rate limiter', () => {
  test.for([0.5, 50])('never exceeds %d a second', async (perSecond) => {
    const clock = virtualClock();
    const { run } = semaphoreOf(1_000, new RateLimiter(perSecond, clock));
    const startedMs: number[] = [];
    for (let i = 0; i < perSecond * 4; i += 1) {
      void run('n').then(() => startedMs.push(clock.monotonicMs()));
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
    const { started, run } = semaphoreOf(100, new RateLimiter(8, clock));
    await clock.advance(60_000);
    for (let i = 0; i < 100; i += 1) {
      void run('n');
    }
    await settle();
    expect(started).toHaveLength(8);
    await clock.advance(1_000);
    expect(started).toHaveLength(16);
  });
});
