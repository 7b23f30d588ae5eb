/** Waits that the service asks for, under a virtual clock. */
import { expect, test } from 'vitest';
import { patiently } from '../../../src/cli/query/patience.ts';
import { ServiceError } from '../../../src/base/errors.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';

function asking(...outcomes: readonly (string | Error)[]) {
  const clock = new VirtualClock(0);
  const told: string[] = [];
  const stop = new AbortController();
  let asked = 0;
  const outcome = patiently(
    { clock, tell: (sentence) => told.push(sentence), signal: stop.signal },
    () => {
      const next = outcomes[Math.min(asked, outcomes.length - 1)] ?? '';
      asked += 1;
      return next instanceof Error ? Promise.reject(next) : Promise.resolve(next);
    },
  );
  outcome.catch(() => undefined);
  return { clock, told, stop, outcome, asked: () => asked };
}

const LATER = new ServiceError('rate_limited', 'status 429', { retryAfterMs: 599_001 });

test('what is not given yet is waited for as long as the service asks, and it is told', async () => {
  const { clock, told, outcome, asked } = asking(LATER, 'page');
  await clock.advance(599_999);
  expect(asked()).toBe(1);
  await clock.advance(1);
  expect(await outcome).toBe('page');
  expect(told).toEqual(['the service asks to wait for 10m: waiting']);
});

test('it is not waited for without end, and not at all where the service asks for no wait', async () => {
  const endless = asking(LATER);
  await endless.clock.advance(3_600_000);
  await expect(endless.outcome).rejects.toBe(LATER);
  expect(endless.asked()).toBe(6);
  const failed = new ServiceError('server', 'status 500');
  await expect(asking(failed, 'page').outcome).rejects.toBe(failed);
});

test('a wait ends at once when it is told to stop', async () => {
  const { clock, stop, outcome } = asking(LATER, 'page');
  await clock.advance(1_000);
  stop.abort();
  await expect(outcome).rejects.toBe(stop.signal.reason);
});
