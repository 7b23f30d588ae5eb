import { describe, expect, test } from 'vitest';
import { ServiceError } from '../../src/base/errors.ts';
import type { FailureReason } from '../../src/base/errors.ts';
import { final, withRetries } from '../../src/service/retry.ts';
import { failureOf, patience, virtualClock } from './support/harness.ts';

function options(clock = virtualClock(), draw = 1) {
  return { attempts: 4, clock, random: { next: () => draw }, signal: patience() };
}

describe('asking again', () => {
  test('waits a second, two and four at most, on the clock that it was given', async () => {
    const clock = virtualClock();
    const attemptsMs: number[] = [];
    const asking = failureOf(
      withRetries(() => {
        attemptsMs.push(clock.monotonicMs());
        return Promise.reject(new ServiceError('server', 'no'));
      }, options(clock)),
    );
    await clock.advance(60_000);
    expect((await asking).reason).toBe('server');
    expect(attemptsMs).toEqual([0, 1_000, 3_000, 7_000]);
  });

  test('draws each wait from nothing to that', async () => {
    const clock = virtualClock();
    const attemptsMs: number[] = [];
    const asking = failureOf(
      withRetries(
        () => {
          attemptsMs.push(clock.monotonicMs());
          return Promise.reject(new ServiceError('server', 'no'));
        },
        options(clock, 0.25),
      ),
    );
    await clock.advance(60_000);
    await asking;
    expect(attemptsMs).toEqual([0, 250, 750, 1_750]);
  });

  test('never waits longer than half a minute, however often', async () => {
    const clock = virtualClock();
    let lastMs = 0;
    let longestMs = 0;
    const asking = failureOf(
      withRetries(
        () => {
          longestMs = Math.max(longestMs, clock.monotonicMs() - lastMs);
          lastMs = clock.monotonicMs();
          return Promise.reject(new ServiceError('server', 'no'));
        },
        { ...options(clock), attempts: 12 },
      ),
    );
    await clock.advance(600_000);
    await asking;
    expect(longestMs).toBe(30_000);
  });

  test.for([
    ['auth', false],
    ['malformed', false],
    ['rejected', false],
    ['rate_limited', true],
    ['server', true],
    ['timeout', true],
    ['unreachable', true],
  ] as const)('after %s: %s', async ([reason, again]) => {
    expect(await attemptsFor(new ServiceError(reason as FailureReason, 'no'))).toBe(again ? 4 : 1);
  });

  test('after 425 it asks again, after another error of the request not', async () => {
    expect(await attemptsFor(new ServiceError('rejected', 'no', { status: 425 }))).toBe(4);
    expect(await attemptsFor(new ServiceError('rejected', 'no', { status: 422 }))).toBe(1);
  });

  test('what is final, and a mistake of ours, comes out as it is', async () => {
    const error = new ServiceError('server', 'no');
    expect(await failureOf(withRetries(() => Promise.reject(final(error)), options()))).toBe(error);
    const mistake = new RangeError('ours');
    await expect(withRetries(() => Promise.reject(mistake), options())).rejects.toBe(mistake);
  });

  test('waits as long as the service says, and a little for the others', async () => {
    const clock = virtualClock();
    let attempts = 0;
    const asking = withRetries(
      () => {
        attempts += 1;
        return attempts === 1
          ? Promise.reject(new ServiceError('server', 'no', { retryAfterMs: 20_000 }))
          : Promise.resolve(clock.monotonicMs());
      },
      options(clock, 0.5),
    );
    await clock.advance(60_000);
    expect(await asking).toBe(20_500);
  });

  test('gives up at once when the service says longer than half a minute', async () => {
    const error = new ServiceError('rate_limited', 'no', { retryAfterMs: 30_001 });
    expect(await failureOf(withRetries(() => Promise.reject(error), options()))).toBe(error);
  });

  test('stops waiting when the caller does', async () => {
    const clock = virtualClock();
    const controller = new AbortController();
    const error = new ServiceError('server', 'no');
    const asking = failureOf(
      withRetries(() => Promise.reject(error), { ...options(clock), signal: controller.signal }),
    );
    await clock.advance(10);
    controller.abort();
    expect(await asking).toBe(error);
    expect(clock.sleepers).toBe(0);
  });
});

async function attemptsFor(error: ServiceError): Promise<number> {
  const clock = virtualClock();
  let attempts = 0;
  const asking = failureOf(
    withRetries(() => {
      attempts += 1;
      return Promise.reject(error);
    }, options(clock)),
  );
  await clock.advance(60_000);
  expect(await asking).toBe(error);
  return attempts;
}
