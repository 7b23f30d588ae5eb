import { expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';

test('no timer ends early', async () => {
  const lateMs = Array.from({ length: 100 }, async (_, index) => {
    await systemClock.sleep(index / 3);
    const endMs = systemClock.monotonicMs() + 1 + 0.37 * index;
    await systemClock.sleep(1 + 0.37 * index);
    return systemClock.monotonicMs() - endMs;
  });
  expect(Math.min(...(await Promise.all(lateMs)))).toBeGreaterThanOrEqual(0);
});
