import { expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';

test('no timer ends early', async () => {
  const early: number[] = [];
  const timers = Array.from({ length: 100 }, async (_, index) => {
    await systemClock.sleep(index / 3);
    const ms = 1 + 0.37 * index;
    const startMs = systemClock.monotonicMs();
    await new Promise<void>((ended) => {
      systemClock.after(ms, ended);
    });
    if (systemClock.monotonicMs() < startMs + ms) {
      early.push(ms);
    }
  });
  await Promise.all(timers);
  expect(early).toEqual([]);
});
