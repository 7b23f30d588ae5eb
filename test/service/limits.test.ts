import { describe, expect, test } from 'vitest';
import { ServiceError } from '../../src/base/errors.ts';
import { createPace, Gate } from '../../src/service/limits.ts';
import { settle } from '../support/virtual-clock.ts';
import { failureOf, virtualClock } from './support/harness.ts';

/** Enters one after the other, and notes who is in. */
function crowd(gate: Gate, size: number): { inside: number[]; leave: (() => void)[] } {
  const inside: number[] = [];
  const leave: (() => void)[] = [];
  for (let i = 0; i < size; i += 1) {
    void gate.enter().then((free) => {
      inside.push(i);
      leave.push(free);
    });
  }
  return { inside, leave };
}

describe('a gate', () => {
  test('lets in as many as there are places, in the order in which they came', async () => {
    const { inside, leave } = crowd(new Gate(2), 5);
    await settle();
    expect(inside).toEqual([0, 1]);
    leave[1]?.();
    await settle();
    expect(inside).toEqual([0, 1, 2]);
    leave[0]?.();
    leave[2]?.();
    await settle();
    expect(inside).toEqual([0, 1, 2, 3, 4]);
  });

  test('counts a place once, however often it is freed', async () => {
    const { inside, leave } = crowd(new Gate(1), 3);
    await settle();
    leave[0]?.();
    leave[0]?.();
    await settle();
    expect(inside).toEqual([0, 1]);
  });

  test('forgets whoever gives up, first, last or in the middle', async () => {
    const gate = new Gate(1);
    const { inside, leave } = crowd(gate, 1);
    const controllers = Array.from({ length: 5 }, () => new AbortController());
    const entered: number[] = [];
    const waiting = controllers.map(({ signal }, i) =>
      gate.enter(signal).then((free) => {
        entered.push(i);
        free();
      }),
    );
    await settle();
    for (const i of [0, 2, 4]) {
      controllers[i]?.abort();
    }
    const outcomes = await Promise.all(
      [0, 2, 4].map((i) => failureOf(waiting[i] ?? Promise.resolve())),
    );
    expect(outcomes.map(({ reason }) => reason)).toEqual(['timeout', 'timeout', 'timeout']);
    expect(entered).toEqual([]);
    leave[0]?.();
    await settle();
    expect(inside).toEqual([0]);
    expect(entered).toEqual([1, 3]);
    controllers[1]?.abort();
    expect(await failureOf(gate.enter(controllers[1]?.signal))).toMatchObject({
      reason: 'timeout',
    });
  });

  test('turns everybody away when it is closed', async () => {
    const gate = new Gate(1);
    crowd(gate, 1);
    const waiting = failureOf(gate.enter());
    const error = new ServiceError('unreachable', 'closed');
    gate.close(error);
    expect(await waiting).toBe(error);
    expect(await failureOf(gate.enter())).toBe(error);
  });

  test('serves twenty thousand who wait, and loses none', async () => {
    const gate = new Gate(32);
    const order: number[] = [];
    await Promise.all(
      Array.from({ length: 20_000 }, async (_, i) => {
        const free = await gate.enter(new AbortController().signal);
        order.push(i);
        free();
      }),
    );
    expect(order).toEqual(Array.from({ length: 20_000 }, (_, i) => i));
  });
});

describe('a pace', () => {
  test.for([0.5, 1, 2.5, 10, 50, 667])('of %d a second is never exceeded', async (perSecond) => {
    const clock = virtualClock();
    const gate = new Gate(1_000_000, { pace: createPace(perSecond, clock), clock });
    const startedMs: number[] = [];
    for (let i = 0; i < perSecond * 4; i += 1) {
      void gate.enter().then((free) => {
        startedMs.push(clock.monotonicMs());
        free();
      });
    }
    await clock.advance(6_000);
    // In any second, not only from one full second to the next.
    const most = Math.max(
      ...startedMs.map((from) => startedMs.filter((ms) => ms >= from && ms < from + 1_000).length),
    );
    expect(most).toBeLessThanOrEqual(Math.ceil(perSecond));
    expect(startedMs).toHaveLength(Math.ceil(perSecond * 4));
    expect(startedMs.filter((ms) => ms === 0).length).toBeLessThanOrEqual(
      Math.max(1, perSecond / 4),
    );
  });

  test('does not save up what was not used for a burst later', async () => {
    const clock = virtualClock();
    const gate = new Gate(100, { pace: createPace(8, clock), clock });
    await clock.advance(60_000);
    const { inside } = crowd(gate, 100);
    await settle();
    expect(inside).toHaveLength(2);
    await clock.advance(1_000);
    expect(inside).toHaveLength(10);
  });

  test('keeps one timer for all who wait', async () => {
    const clock = virtualClock();
    crowd(new Gate(100, { pace: createPace(4, clock), clock }), 50);
    await settle();
    expect(clock.sleepers).toBe(1);
  });
});
